//! DSCP and flow label of paths (RFC 6458 §8.1.12).

use super::*;
use crate::datagram::{Dscp, FlowLabel};
use crate::settings::PathSettings;

fn labels(dscp: u8, flow: u32) -> IpLabels {
    IpLabels { dscp: Dscp::new(dscp).unwrap(), flow: FlowLabel::new(flow).unwrap() }
}

/// All packets of a phase, those to the first address of the peer apart from those to its second.
fn told(pair: &Pair, side: Side, since: usize) -> [Vec<IpLabels>; 2] {
    let [first, second] = [0, 1].map(|n| addresses(side.other(), 2)[n]);
    [first, second].map(|to| {
        let sent = pair.log[since..].iter().filter(|p| p.from == side && p.to.destination == to);
        sent.map(|p| p.to.labels).collect()
    })
}

#[test]
fn every_packet_of_an_association_has_those_of_its_path() {
    let config = AssociationConfig { labels: labels(46, 7), ..AssociationConfig::default() };
    let (mut pair, a, z) = Pair::connected(&config, 2);
    pair.send(Side::A, a, 0, vec![1; 4000]);
    pair.run(Duration::from_secs(40));
    // INIT and INIT ACK, data, SACKs, heartbeats to both addresses.
    for side in [Side::A, Side::Z] {
        for packets in told(&pair, side, 0) {
            assert!(!packets.is_empty() && packets.iter().all(|l| *l == config.labels));
        }
    }
    for kind in [ChunkType::INIT, ChunkType::COOKIE_ECHO, ChunkType::DATA, ChunkType::HEARTBEAT] {
        assert!(!pair.sent(Side::A, kind).is_empty(), "{kind:?}");
    }
    assert!(!pair.sent(Side::Z, ChunkType::INIT_ACK).is_empty());

    // One path has its own, and keeps it when something else of the association changes.
    let (now, own) = (pair.now, labels(10, 7));
    let settings = pair.end(Side::A).path_stats(a)[1].settings;
    let changed = PathSettings { labels: own, ..settings };
    pair.end(Side::A).configure_path(now, a, PathId(1), changed).unwrap();
    let others = AssociationConfig { labels: labels(46, 9), ..config };
    pair.end(Side::A).reconfigure(now, a, others).unwrap();
    let since = pair.log.len();
    pair.send(Side::A, a, 0, vec![1; 4000]);
    pair.run(Duration::from_secs(40));
    let [first, second] = told(&pair, Side::A, since);
    assert!(!first.is_empty() && first.iter().all(|l| *l == labels(46, 9)), "{first:?}");
    // Its DSCP was set for it alone, its flow label never.
    assert!(!second.is_empty() && second.iter().all(|l| *l == labels(10, 9)), "{second:?}");
    assert_eq!(pair.recv_all(Side::Z, z).len(), 2);
}

//= RFC 9260 7.2.5.1-1
/// Another DSCP may mean another queue: "MUST be reset to their initial values".
#[test]
fn another_dscp_begins_with_a_new_window() {
    let (mut pair, a, _) = Pair::connected(&AssociationConfig::default(), 2);
    let cwnds = |pair: &mut Pair| {
        let paths = pair.end(Side::A).path_stats(a);
        [paths[0].cwnd, paths[1].cwnd]
    };
    let initial = cwnds(&mut pair);
    pair.send(Side::A, a, 0, vec![1; 40_000]);
    pair.run(Duration::from_millis(100));
    let grown = cwnds(&mut pair);
    assert!(grown[0] > initial[0]);
    let (now, settings) = (pair.now, pair.end(Side::A).path_stats(a)[0].settings);
    let mut set = |labels| {
        let changed = PathSettings { labels, ..settings };
        pair.end(Side::A).configure_path(now, a, PathId(0), changed).unwrap();
        cwnds(&mut pair)
    };
    assert_eq!(set(labels(0, 7)), grown, "a flow label is no class");
    assert_eq!(set(labels(46, 7)), initial);
}

/// What belongs to no association is best effort.
#[test]
fn a_stranger_is_answered_without() {
    let config = AssociationConfig { labels: labels(46, 0), ..AssociationConfig::default() };
    let mut script = Script::listening(&config);
    let sent = script.give_bytes(script::packet(VerificationTag(7), |w| w.heartbeat(b"x")));
    assert_eq!(sent.len(), 1);
    assert_eq!(sent[0].to.labels, IpLabels::default());
}
