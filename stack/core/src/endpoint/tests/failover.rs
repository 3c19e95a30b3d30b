//! Which path data takes when some or all have failed (RFC 7829 §3.2, §4.1).

use super::*;
use crate::PathState::{self, Active, Inactive, PotentiallyFailed};

/// Confirmed paths that have potentially failed at the first timeout, and failed after two more.
fn paths(n: u8, more: &str) -> Script {
    let limits = format!("[limits]\npf_max_retrans = 0\npath_max_retrans = 2\n{more}");
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", &limits) };
    let mut script = Script::multihomed(&config, n);
    script.poll();
    script
}

/// Paths that carry DATA.
fn data(sent: &[Sent]) -> Vec<u8> {
    let data = sent.iter().filter(|p| p.carries(ChunkType::DATA));
    data.map(|p| p.to.path.unwrap().0).collect()
}

/// This many things in a row were not answered on a path.
fn set_errors(script: &mut Script, path: u8, errors: u32) {
    let path = &mut script.end.roll[script.id].paths_mut()[PathId(path)];
    path.reachability.fail(errors);
}

/// State and errors of each path.
fn health(script: &Script) -> Vec<(PathState, u32)> {
    script.end.path_stats(script.id).iter().map(|p| (p.state, p.errors)).collect()
}

//= RFC 7829 3.2-6
#[test]
fn a_path_asked_for_is_not_used_while_it_has_failed() {
    // §3.2 rule 3 iii: "the sender SHOULD send the data to an alternate destination address in
    // active state if one exists".
    let mut script = paths(2, "");
    script.send(100);
    script.wait(secs(1));
    script.sack(1, &[]);
    assert_eq!(script.path(0).state, PotentiallyFailed);
    script.end.set_primary(script.now, script.id, PathId(0)).unwrap();
    assert_eq!(data(&script.send(100)), [1]);
}

//= RFC 7829 3.2-8 3.2-9 3.2-10
#[test]
fn the_one_with_the_fewest_errors_is_chosen_and_stays_as_it_is() {
    // §3.2 rule 4: "lowest error count"; "The sender MUST NOT change the state and the error
    // counter of any destination addresses as the result of the selection."
    let mut script = paths(3, "");
    for (path, errors) in [(0, 2), (1, 1), (2, 2)] {
        set_errors(&mut script, path, errors);
    }
    let before = health(&script);
    assert_eq!(before, [(PotentiallyFailed, 2), (PotentiallyFailed, 1), (PotentiallyFailed, 2)]);
    assert_eq!(data(&script.send(100)), [1]);
    assert_eq!(health(&script), before);
    // A retransmission takes the best of the others.
    set_errors(&mut script, 0, 1);
    let sent = script.wait(secs(1));
    assert_eq!(data(&sent), [0]);
}

//= RFC 7829 3.2-7
#[test]
fn being_chosen_clears_nothing() {
    // §3.2 rule 3: "In all cases, the sender MUST NOT change the state of the chosen destination
    // address ... and it MUST NOT clear the error counter".
    let mut script = paths(2, "");
    set_errors(&mut script, 0, 1);
    let before = health(&script);
    assert_eq!(before, [(PotentiallyFailed, 1), (Active, 0)]);
    assert_eq!(data(&script.send(100)), [1]);
    assert_eq!(health(&script), before);
}

//= RFC 7829 3.2-13
#[test]
fn without_heartbeats_it_is_not_asked() {
    // §3.2 rule 6: "if the Path Heartbeat function is disabled for the destination address in
    // question, HEARTBEATs MUST NOT be sent".
    let mut script = paths(2, "[heartbeat]\nenabled = false");
    script.send(100);
    script.wait(secs(1));
    script.sack(1, &[]);
    assert_eq!(script.path(0).state, PotentiallyFailed);
    assert!(script.wait(secs(300)).iter().all(|p| !p.carries(ChunkType::HEARTBEAT)));
}

//= RFC 7829 3.2-15
#[test]
fn the_window_is_small_when_it_comes_back() {
    // §3.2 rule 7: data transmission resumes "following the prescriptions of Section 7.2": in slow
    // start, with what the timeout left of the window.
    let mut script = paths(2, "");
    script.send(100);
    let sent = script.wait(secs(1));
    script.sack(1, &[]);
    let beat = sent.iter().find_map(|p| p.find(ChunkType::HEARTBEAT)).unwrap().value.to_vec();
    script.give(|w| w.heartbeat_ack(&beat));
    assert_eq!(script.path(0).state, Active);
    assert_eq!(script.path(0).cwnd, script::PMDCS);
    for _ in 0..10 {
        script.try_send(0, script::FULL, SendOptions::default()).unwrap();
    }
    assert_eq!(data(&script.poll()), [0], "one packet");
}

//= RFC 7829 3.2-17 3.2-18
#[test]
fn an_ambiguous_acknowledgement_clears_nothing() {
    // §3.2 rule 9: acknowledgements of what "was retransmitted to a different destination address
    // ... SHOULD NOT clear the error count".
    let mut script = paths(2, "");
    set_errors(&mut script, 1, 1);
    script.send(100);
    assert_eq!(data(&script.wait(secs(1))), [1]);
    script.sack(1, &[]);
    assert_eq!(health(&script), [(PotentiallyFailed, 1); 2], "whichever brought it there");
    // Rule 10: what went to one address only does.
    script.end.set_primary(script.now, script.id, PathId(1)).unwrap();
    assert_eq!(data(&script.send(100)), [1]);
    script.sack(2, &[]);
    assert_eq!(health(&script)[1], (Active, 0));
}

//= RFC 7829 4-1 4-2 4.1-1 4.1-2 4.1-3 4.1-4
#[test]
fn when_all_are_inactive_data_goes_on() {
    // §4.1: "the sender MUST choose one destination and transmit data to this destination address",
    // "it remains in inactive state"; of equal ones, another than the one that failed last.
    for pf_max_retrans in [0, 2] {
        let more = "association_max_retrans = 100\n[heartbeat]\nenabled = false";
        let limits =
            format!("[limits]\npath_max_retrans = 2\npf_max_retrans = {pf_max_retrans}\n{more}");
        let config = AssociationConfig { no_delay: true, ..profile("rfc9260", &limits) };
        let mut script = Script::multihomed(&config, 3);
        script.send(100);
        while script.end.path_stats(script.id).iter().any(|p| p.state != Inactive) {
            script.wait(secs(1));
            assert!(script.now < Time::from_millis(2_000_000), "{:?}", health(&script));
        }
        let before = health(&script);
        let mut taken = Vec::new();
        while taken.len() < 6 {
            taken.extend(data(&script.wait(secs(1))));
        }
        assert!(taken.windows(2).all(|w| w[0] != w[1]), "{taken:?}");
        assert!((0..3).all(|path| taken.contains(&path)), "{taken:?}");
        assert_eq!(health(&script), before);
        assert_eq!(script.state(), State::Established);
    }
}

//= RFC 7829 4.1-3
/// Whose acknowledgement that is cannot be told, so that it makes no path active (RFC 7829 §3.2 rule 10). But
/// what is new must not go for ever where nothing comes through.
#[test]
fn when_all_are_inactive_new_data_goes_where_the_fewest_timeouts_were() {
    let mut script = paths(2, "[heartbeat]\nenabled = false");
    for path in [0, 1] {
        set_errors(&mut script, path, 3);
        script.end.roll[script.id].paths_mut()[PathId(path)].reachability.deactivate();
    }
    assert_eq!(data(&script.send(100)), [0]);
    assert_eq!(data(&script.wait_for_data()), [1]);
    script.sack(1, &[]);
    assert_eq!([0, 1].map(|path| script.path(path).state), [Inactive; 2]);
    assert_eq!(data(&script.send(100)), [1]);
    script.sack(2, &[]);
    assert_eq!([0, 1].map(|path| script.path(path).state), [Inactive, Active]);
}
