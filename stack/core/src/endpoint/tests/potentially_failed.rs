//! Paths that may have failed (RFC 7829 §3.2).

use super::*;
use crate::PathState::{Active, Inactive, PotentiallyFailed};
use crate::{PathState, SendOptions};

/// Confirmed paths, two timeouts from inactive, that have potentially failed at the first.
fn paths(n: u8) -> Script {
    let limits = "[limits]\npf_max_retrans = 0\npath_max_retrans = 2\n[rto]\nmin_ms = 1000";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", limits) };
    let mut script = Script::multihomed(&config, n);
    script.poll();
    script
}

fn states(script: &Script, path: u8) -> Vec<PathState> {
    let change = |e: &Event| match e {
        Event::PathChanged { path: PathId(p), state, .. } if *p == path => Some(*state),
        _ => None,
    };
    script.events.iter().filter_map(change).collect()
}

/// Paths and kinds of chunks of packets.
fn seen(sent: &[Sent]) -> Vec<(u8, Vec<ChunkType>)> {
    sent.iter().map(|p| (p.to.path.unwrap().0, p.types())).collect()
}

const DATA: ChunkType = ChunkType::DATA;
const HEARTBEAT: ChunkType = ChunkType::HEARTBEAT;

//= RFC 7829 3.2-2 3.2-3 3.2-4 3.2-5 3.2-14 3.2-19
#[test]
fn data_leaves_it_and_it_is_asked_until_it_answers() {
    let mut script = paths(2);
    script.send(100);
    let sent = script.wait(secs(1));
    // Rules 3 ii and 6.
    assert_eq!(seen(&sent), [(0, vec![HEARTBEAT]), (1, vec![DATA])]);
    assert_eq!(states(&script, 0), [PotentiallyFailed]);
    script.sack(1, &[]);
    // Rule 3 i.
    assert_eq!(seen(&script.send(100)), [(1, vec![DATA])]);
    script.sack(2, &[]);
    // Rule 7.
    let info = sent[0].find(HEARTBEAT).unwrap().value.to_vec();
    script.give(|w| w.heartbeat_ack(&info));
    assert_eq!(states(&script, 0), [PotentiallyFailed, Active]);
    assert_eq!(seen(&script.send(100)), [(0, vec![DATA])]);
}

//= RFC 7829 3.2-11 3.2-12 3.2-16
#[test]
fn heartbeats_follow_once_per_rto_and_confirm_the_failure() {
    let mut script = paths(2);
    script.send(100);
    script.wait(secs(1));
    script.sack(1, &[]);
    // Rule 6: the timeout has doubled RTO; each heartbeat lost doubles it again. Rule 8: inactive
    // after PMR - PFMR more.
    assert_eq!(seen(&script.wait(ms(1999))), []);
    assert_eq!(seen(&script.wait(ms(1))), [(0, vec![HEARTBEAT])]);
    assert_eq!(seen(&script.wait(ms(3999))), []);
    script.wait(ms(1));
    assert_eq!(states(&script, 0), [PotentiallyFailed, Inactive]);
    assert_eq!(script.state(), State::Established);
    // Rule 8 ii: "at a lower HB.Interval frequency", which is 30 s, and 8 s +- 50 %.
    let on_it = |sent: &[Sent]| seen(sent).iter().any(|(path, _)| *path == 0);
    assert!(!on_it(&script.wait(secs(33))));
    for _ in 0..3 {
        assert!(on_it(&script.wait(secs(100))), "for ever");
    }
}

//= RFC 7829 3.2-5
#[test]
fn what_timed_out_goes_to_an_active_alternate() {
    // Rule 3 ii; the next one in turn has potentially failed.
    let mut script = paths(3);
    let data = |sent: &[Sent]| {
        let data = sent.iter().filter(|p| p.carries(DATA));
        data.map(|p| p.to.path.unwrap().0).collect::<Vec<_>>()
    };
    script.end.set_primary(script.now, script.id, PathId(1)).unwrap();
    assert_eq!(data(&script.send(100)), [1]);
    script.wait(secs(1));
    script.sack(1, &[]);
    script.end.set_primary(script.now, script.id, PathId(0)).unwrap();
    assert_eq!(data(&script.send(100)), [0]);
    let sent = script.wait(secs(1));
    assert_eq!(script.path(1).state, PotentiallyFailed);
    assert_eq!(data(&sent), [2]);
}

//= RFC 7829 3.2-8 3.2-9 3.2-11
#[test]
fn of_several_the_one_with_the_fewest_errors_carries_data_and_is_not_asked() {
    let mut script = paths(2);
    script.send(100);
    script.wait(secs(1)); // Path 0 has failed once; the retransmission is on path 1.
    script.wait(secs(1)); // So has path 1.
    assert_eq!(
        (script.path(0).state, script.path(1).state),
        (PotentiallyFailed, PotentiallyFailed)
    );
    assert_eq!((script.path(0).errors, script.path(1).errors), (1, 1));
    // Rule 4: equal counts; the primary path. Rule 6: no heartbeat where data is in flight.
    script.sack(1, &[]);
    assert_eq!(seen(&script.send(100)), [(0, vec![DATA])]);
}

//= RFC 7829 3.2-11 3.2-18
#[test]
fn a_single_path_has_nothing_to_fail_over_to() {
    let mut script = paths(1);
    script.send(100);
    assert_eq!(seen(&script.wait(secs(1))), [(0, vec![DATA])]);
    assert_eq!(states(&script, 0), [PotentiallyFailed]);
    script.sack(1, &[]);
    script.send(100);
    script.sack(2, &[]);
    assert_eq!(states(&script, 0), [PotentiallyFailed, Active]);
}

#[test]
fn with_a_threshold_as_high_as_that_of_failure_it_never_is() {
    // Rule 1.
    let limits = "[limits]\npf_max_retrans = 2\npath_max_retrans = 2";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", limits) };
    let mut script = Script::multihomed(&config, 2);
    for n in 1..=3 {
        script.send(100);
        script.wait(script.path(0).rto);
        script.sack(n, &[]);
    }
    assert_eq!(states(&script, 0), [Inactive]);
}

#[test]
fn a_dead_path_holds_up_the_first_message_alone() {
    let config = AssociationConfig { no_delay: true, ..profile("tresse", "") };
    let (mut pair, a, z) = Pair::connected(&config, 2);
    pair.run(secs(2));
    let dead = [addresses(Side::Z, 1)[0], addresses(Side::A, 1)[0]];
    pair.drop = Box::new(move |p| dead.contains(&p.to.destination));
    let rto = pair.end(Side::A).path_stats(a)[0].rto;
    pair.send(Side::A, a, 0, vec![0; 1000]);
    // A tail loss probe comes first, and T3-rtx begins again with it (RFC 8985 §7.3).
    pair.run(2 * rto + pair.delay);
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    for n in 1..50 {
        let now = pair.now;
        let payload = Bytes::from(vec![n; 1000]);
        pair.end(Side::A).send(now, a, StreamId(0), payload, SendOptions::default()).unwrap();
        pair.run(ms(20));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 1, "message {n} was late");
    }
}

/// The first timeout, answered by a SACK for the retransmission and one for what was under way; what is told of the path.
fn after_early_timeout(forgives: bool) -> Vec<PathState> {
    let limits = format!("[limits]\npf_max_retrans = 0\npf_forgives_spurious = {forgives}");
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260+dup-tsn", &limits) };
    let mut script = Script::multihomed(&config, 2);
    script.poll();
    script.send(100);
    script.wait(script.path(0).rto);
    script.sack(1, &[]);
    let twice = script.tsn(0);
    script.give(|w| w.sack(twice, 100_000, [].into_iter(), [twice].into_iter()));
    assert_eq!(script.stats().spurious_timeouts, 1);
    states(&script, 0)
}

#[test]
fn a_path_with_a_spurious_timeout_has_not_failed() {
    assert_eq!(after_early_timeout(true), [PotentiallyFailed, Active]);
    // A HEARTBEAT has to be answered first.
    assert_eq!(after_early_timeout(false), [PotentiallyFailed]);
}

/// The paths that became the primary one.
fn primaries(script: &Script) -> Vec<u8> {
    let changed = |e: &Event| match e {
        Event::PrimaryChanged { path: PathId(p), .. } => Some(*p),
        _ => None,
    };
    script.events.iter().filter_map(changed).collect()
}

/// One timeout of the primary path, which then answers; returns what became the primary path, and where data goes.
fn after_failure(psmr: u32) -> (Vec<u8>, Vec<u8>) {
    let more = format!("ps_max_retrans = {psmr}");
    let limits =
        format!("[limits]\npf_max_retrans = 0\npath_max_retrans = 2\n{more}\n[rto]\nmin_ms = 1000");
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", &limits) };
    let mut script = Script::multihomed(&config, 2);
    script.poll();
    script.send(100);
    let sent = script.wait(secs(1));
    script.sack(1, &[]);
    let info = sent.iter().find_map(|p| p.find(HEARTBEAT)).expect("it is asked").value.to_vec();
    script.give(|w| w.heartbeat_ack(&info));
    assert_eq!(states(&script, 0), [PotentiallyFailed, Active]);
    let sent = script.send(100);
    (primaries(&script), sent.iter().map(|p| p.to.path.unwrap().0).collect())
}

//= RFC 7829 5-4 5-5 5-6 5-8 5-9
#[test]
fn another_primary_path_keeps_the_data() {
    // §5: "no forced switchback to a previously failed primary path".
    assert_eq!(after_failure(0), (vec![1], vec![1]));
    // The standard switchback: by default, and as long as there are not so many errors.
    for never in [1, 65_534, 65_535, u32::MAX] {
        assert_eq!(after_failure(never), (vec![], vec![0]));
    }
    assert_eq!(Profile::named("rfc9260").unwrap().limits.ps_max_retrans, 65_535);
}

//= RFC 7829 5-7
#[test]
fn without_a_pf_state_the_primary_path_changes_once_it_is_inactive() {
    let limits = "[limits]\npf_max_retrans = 5\npath_max_retrans = 2\nps_max_retrans = 2";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", limits) };
    let mut script = Script::multihomed(&config, 2);
    for n in 1..=3 {
        assert_eq!(primaries(&script), []);
        script.send(100);
        script.wait(script.path(0).rto);
        script.sack(n, &[]);
    }
    assert_eq!((states(&script, 0), primaries(&script)), (vec![Inactive], vec![1]));
}

#[test]
fn there_is_no_other_primary_path_without_another_path() {
    let limits = "[limits]\npf_max_retrans = 0\nps_max_retrans = 0";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", limits) };
    let mut script = Script::multihomed(&config, 1);
    script.send(100);
    script.wait(script.path(0).rto);
    assert_eq!((states(&script, 0), primaries(&script)), (vec![PotentiallyFailed], vec![]));
}

//= RFC 7829 5-1 5-2 5-3
#[test]
fn the_primary_path_does_not_change_before_data_leaves_it() {
    let named = |pf: u32, ps: u32| {
        let limits =
            format!("[limits]\npath_max_retrans = 4\npf_max_retrans = {pf}\nps_max_retrans = {ps}");
        Profile::named("rfc9260").unwrap().with_overrides(&limits).is_ok()
    };
    assert!(!named(2, 1) && named(2, 2) && named(2, 3));
    // Without a PF state it is Path.Max.Retrans that counts.
    assert!(!named(5, 3) && named(5, 4) && named(4, 4) && !named(4, 3));
    let mut script = paths(2);
    let settings = script.path(0).settings;
    let mut set = |pf_max_retrans, ps_max_retrans| {
        let settings = crate::PathSettings { pf_max_retrans, ps_max_retrans, ..settings };
        script.end.configure_path(script.now, script.id, PathId(0), settings).is_ok()
    };
    assert!(!set(1, 0) && set(1, 1) && !set(2, 1) && set(2, 2));
}

#[test]
fn who_sets_the_primary_path_is_told_once() {
    let mut script = paths(2);
    for path in [1, 1, 0] {
        script.end.set_primary(script.now, script.id, PathId(path)).unwrap();
    }
    script.poll();
    assert_eq!(primaries(&script), [1, 0]);
}
