//! Several paths to one peer (RFC 9260 §6.4, §8.2).

use super::*;
use crate::{AssociationError, PathState};
use sent::only;

/// Two confirmed paths, without heartbeats.
fn two_paths(limits: &str) -> Script {
    several_paths(limits, 2)
}

fn several_paths(limits: &str, count: u8) -> Script {
    let overrides = format!("[heartbeat]\nenabled = false\n[limits]\n{limits}");
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", &overrides) };
    Script::multihomed(&config, count)
}

fn paths(sent: &[Sent]) -> Vec<u8> {
    sent.iter().map(|p| p.to.path.unwrap().0).collect()
}

/// What was told of a path.
fn changes(script: &Script, path: u8) -> Vec<PathState> {
    let change = |e: &Event| match e {
        Event::PathChanged { path: PathId(p), state, .. } if *p == path => Some(*state),
        _ => None,
    };
    script.events.iter().filter_map(change).collect()
}

//= RFC 9260 6.4-1
#[test]
fn data_takes_the_primary_path() {
    // §6.4: "By default, an endpoint SHOULD always transmit to the primary path."
    let mut script = two_paths("");
    assert_eq!(paths(&script.send(10)), [0]);
    script.end.set_primary(script.now, script.id, PathId(1)).unwrap();
    assert_eq!(paths(&script.send(10)), [1]);
    assert!(script.path(1).primary && !script.path(0).primary);
    let unknown = script.end.set_primary(script.now, script.id, PathId(2));
    assert_eq!(unknown, Err(AssociationError::NoPath));
}

#[test]
fn an_unconfirmed_address_cannot_be_the_primary_path() {
    let mut script = Script::listening(&standard());
    let parameters = ParameterWriter::new().ipv4([10, 0, 1, 2].into()).finish();
    script.join(&script::peer_fields(), &parameters);
    let refused = script.end.set_primary(script.now, script.id, PathId(1));
    assert!(matches!(refused, Err(AssociationError::WrongState(_))));
}

//= RFC 9260 6.1-18 6.3.3-1 6.4-4 8.2-1
#[test]
fn what_timed_out_takes_another_path() {
    // §6.4: "SHOULD try to retransmit a chunk that timed out to an active destination transport
    // address that is different from the last destination address".
    let mut script = two_paths("");
    script.send(1000);
    let sent = script.wait(secs(1));
    assert_eq!((paths(&sent), script.numbers(&sent)), (vec![1], vec![vec![0]]));
    assert_eq!((script.path(0).errors, script.path(1).errors), (1, 0));
    assert_eq!((script.path(0).rto, script.path(1).rto), (secs(2), secs(1)));
    assert_eq!((script.path(0).flight, script.path(1).flight), (0, 1016));
    // E4: the timer of the path that it was sent to, with its RTO.
    let sent = script.wait(secs(1));
    assert_eq!(paths(&sent), [0]);
}

//= RFC 9260 6.4-5
#[test]
fn a_fast_retransmission_takes_the_same_path() {
    // §6.4: "SHOULD send fast retransmissions to the same destination transport address".
    let mut script = two_paths("max_burst = 0");
    for _ in 0..5 {
        script.send(1000);
    }
    script.sack(0, &[(2, 2)]);
    script.sack(0, &[(2, 3)]);
    let sent = script.sack(0, &[(2, 4)]);
    assert_eq!((paths(&sent), script.numbers(&sent)), (vec![0], vec![vec![0]]));
}

//= RFC 9260 7.2-3
#[test]
fn each_path_has_its_own_window() {
    // RFC 9260 §7.2: cwnd, ssthresh and partial_bytes_acked "for EACH destination address".
    let mut script = two_paths("");
    let cwnd = script.path(1).cwnd;
    script.send(1000);
    script.wait(secs(1));
    assert_eq!(script.path(0).cwnd, script::PMDCS);
    assert_eq!(script.path(1).cwnd, cwnd);
}

//= RFC 9260 8.2-4
#[test]
fn of_several_alternates_one_is_used() {
    let mut script = several_paths("path_max_retrans = 0", 4);
    script.send(100);
    script.wait(script.path(0).rto);
    script.sack(1, &[]);
    assert_eq!(changes(&script, 0), [PathState::Inactive]);
    for n in 2..10 {
        assert_eq!(paths(&script.send(100)), [1]);
        script.sack(n, &[]);
    }
}

//= RFC 9260 6.4.1-1 8.2-2 8.2-3 8.3-4 8.3-9 8.3-10
//= RFC 6458 8.1.12-3
//= RFC 7829 3.2-17
#[test]
fn a_path_with_too_many_errors_is_inactive_and_the_other_takes_over() {
    // §8.2: "When the value in the error counter exceeds the protocol parameter
    // 'Path.Max.Retrans'", inactive, and the upper layer is told; §6.4.1: data goes elsewhere.
    let mut script = two_paths("path_max_retrans = 2");
    for n in 1..=3 {
        assert_eq!(paths(&script.send(100)), [0]);
        let sent = script.wait(script.path(0).rto);
        assert_eq!(paths(&sent), [1]);
        script.sack(n, &[]);
        assert_eq!(script.path(0).errors, n, "the ack of a retransmission does not count (§8.2)");
    }
    assert_eq!(changes(&script, 0), [PathState::Inactive]);
    assert_eq!(paths(&script.send(100)), [1]);
    script.sack(4, &[]);
    // §8.3: on an inactive address the counter stops.
    assert_eq!(script.path(0).errors, 3);
    // The primary path is used again once it answers.
    script.end.request_heartbeat(script.now, script.id, PathId(0)).unwrap();
    let beat = script.poll();
    assert_eq!(paths(&beat), [0]);
    let info = only(&beat).find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
    script.give(|w| w.heartbeat_ack(&info));
    assert_eq!(changes(&script, 0), [PathState::Inactive, PathState::Active]);
    assert_eq!((script.path(0).errors, paths(&script.send(100))), (0, vec![0]));
}

//= RFC 9260 8.2-3 8.3-9 8.3-10
#[test]
fn an_acknowledgement_of_first_transmissions_clears_the_counter_of_its_path() {
    // §8.2: "When an outstanding TSN is acknowledged ... the endpoint SHOULD clear the error
    // counter of the destination transport address to which the DATA chunk was last sent".
    let mut script = two_paths("");
    script.send(100);
    script.wait(secs(1));
    script.sack(1, &[]);
    assert_eq!(script.path(0).errors, 1);
    script.send(100);
    script.sack(2, &[]);
    assert_eq!(script.path(0).errors, 0);
}

//= RFC 9260 8.1-1
#[test]
fn errors_of_all_paths_end_the_association() {
    // §8.1: "retransmissions to all the destination transport addresses of the peer".
    let mut script = two_paths("association_max_retrans = 4");
    script.send(100);
    let sent = script.wait(ms(9999));
    assert_eq!(paths(&sent), [1, 0, 1, 0], "after 1, 1, 2, 2 seconds");
    assert_eq!(script.state(), State::Established);
    script.wait(ms(1));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

#[test]
fn timers_keep_running_when_new_data_goes_elsewhere() {
    // §6.3.3 F1: "the current retransmission timers are left running".
    let mut script = two_paths("");
    script.send(100);
    script.end.set_primary(script.now, script.id, PathId(1)).unwrap();
    script.now += ms(600);
    script.send(100);
    assert!(script.wait(ms(399)).is_empty());
    let sent = script.wait(ms(1));
    assert_eq!((paths(&sent), script.numbers(&sent)), (vec![1], vec![vec![0]]));
}

#[test]
fn without_any_active_path_the_primary_one_is_tried_on() {
    // §8.2 leaves it to the implementation.
    let mut script = two_paths("path_max_retrans = 0\nassociation_max_retrans = 6");
    script.send(100);
    let sent = script.wait(secs(30));
    assert_eq!(changes(&script, 0), [PathState::Inactive]);
    assert_eq!(changes(&script, 1), [PathState::Inactive]);
    assert!(sent.len() >= 4, "{:?}", paths(&sent));
}

#[test]
fn a_transfer_survives_the_loss_of_its_path_and_comes_back() {
    let (mut pair, a, z) = Pair::connected(&standard(), 2);
    pair.run(secs(2));
    let dead: IpAddr = addresses(Side::Z, 1)[0];
    let and_back: IpAddr = addresses(Side::A, 1)[0];
    pair.drop = Box::new(move |p| [dead, and_back].contains(&p.to.destination));
    for n in 0..100 {
        pair.send(Side::A, a, 0, vec![n; 5000]);
    }
    pair.run(secs(200));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 100);
    assert_eq!(pair.end(Side::A).path_stats(a)[0].state, PathState::Inactive);
    assert_eq!(pair.end(Side::A).path_stats(a)[1].state, PathState::Active);
    pair.drop = Box::new(|_| false);
    pair.run(secs(100));
    assert_eq!(pair.end(Side::A).path_stats(a)[0].state, PathState::Active);
    let before = pair.log.len();
    pair.send(Side::A, a, 0, vec![1]);
    pair.run(ms(1));
    assert_eq!(pair.log[before].to.destination, dead);
}

//= RFC 9260 8.2-3
//= RFC 7829 3.2-17 3.2-18
#[test]
fn an_acknowledged_retransmission_on_the_same_path_clears_its_counter() {
    // RFC 7829 §3.2 rule 10: "data chunks that have been transmitted to one destination address only".
    let mut script = Script::connected(&standard());
    script.send(100);
    script.wait(secs(3)); // Sent again twice, with nowhere else to go.
    assert_eq!(script.path(0).errors, 2);
    script.sack(1, &[]);
    assert_eq!(script.path(0).errors, 0);
    // Rule 9: what was sent on two paths says nothing of either.
    let mut script = two_paths("");
    script.send(100);
    script.wait(secs(1));
    script.sack(1, &[]);
    assert_eq!((script.path(0).errors, script.path(1).errors), (1, 0));
}

/// RFC 8985 §6.2 step 4: the reordering window is a quarter of the round trip of that path, here of 40 ms, not of the 4 ms of the
/// other one.
#[test]
fn rack_waits_a_quarter_of_the_round_trip_of_its_own_path() {
    let overrides = "[heartbeat]\nenabled = false";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260+rack", overrides) };
    let mut script = Script::multihomed(&config, 2);
    for (path, round_trip, rounds) in [(1, 4, 1..2), (0, 40, 2..12)] {
        script.end.set_primary(script.now, script.id, PathId(path)).unwrap();
        for sent in rounds {
            script.send(100);
            script.now += ms(round_trip);
            script.sack(sent, &[]);
        }
    }
    // Chunks 11 to 13, of which only the last one arrives.
    for _ in 0..3 {
        script.send(100);
        script.now += ms(2);
    }
    script.now += ms(38);
    assert!(script.sack(11, &[(3, 3)]).is_empty());
    let sent = script.wait(ms(6));
    assert_eq!(script.numbers(&sent), [[11]], "the next one is due in 2 ms");
    let sent = script.wait(ms(2));
    assert_eq!(script.numbers(&sent), [[12]]);
}
