//! What leaves first, what may be in flight and how large it is (RFC 9260 §6.1, §6.2, §6.9, §7.2,
//! §7.3).

use super::*;
use crate::datagram::{Icmp, IcmpKind};
use script::{FULL, PEER_TAG, PEER_TSN, PMDCS, packet};
use sent::only;

/// A router on path `path` passes packets of 1000 bytes only.
fn narrow(script: &mut Script, path: u8) {
    let icmp = Icmp {
        destination: addresses(Side::Z, path + 1)[usize::from(path)],
        kind: IcmpKind::TooBig { mtu: 1000 },
        quoted: Some(packet(PEER_TAG, |w| w.cookie_ack()).into()),
    };
    script.end.handle_icmp(script.now, &icmp);
}

//= RFC 9260 6.1-13
#[test]
fn what_is_lost_goes_before_what_is_new() {
    // §6.1 C: "before sending new DATA chunks, the sender MUST first transmit any DATA chunks that
    // are marked for retransmission".
    let mut script = Script::flying(&bursty(), 12);
    for _ in 0..20 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    let mut sent = script.poll();
    for last in 5..12 {
        sent.extend(script.sack(0, &[(5, last)]));
    }
    sent.extend(script.sack(12, &[]));
    let order = script.numbers(&sent).concat();
    // New chunks left while nothing was lost, and leave again when nothing is; between, none does.
    let lost: Vec<usize> = (0..order.len()).filter(|i| order[*i] < 4).collect();
    assert!(lost.len() >= 3 && *lost.last().unwrap() < order.len() - 1, "{order:?}");
    assert!(lost.windows(2).all(|w| w[1] == w[0] + 1), "{order:?}");
}

//= RFC 9260 7.2.4-6
#[test]
fn the_window_grows_before_it_is_halved() {
    // §7.2.4: "if the received SACK chunk also acknowledges new DATA chunks and advances the
    // Cumulative TSN Ack Point, the cwnd adjustment rules ... MUST be applied first".
    let mut script = Script::grown(&bursty(), 20);
    for _ in 0..100 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    script.poll();
    script.sack(0, &[(3, 3)]);
    script.sack(0, &[(3, 4)]);
    let before = script.path(0);
    assert!(before.flight >= before.cwnd, "it is fully used");
    // Chunk 0 arrives, chunk 4 too; chunk 1 is missing for the third time.
    script.sack(1, &[(2, 4)]);
    assert_eq!(script.stats().fast_recoveries, 1);
    assert_eq!(script.path(0).cwnd, (before.cwnd + PMDCS) / 2);
}

//= RFC 9260 7.2.1-9
#[test]
fn each_path_grows_by_what_was_acknowledged_there() {
    // §7.2.1: "update its cwnd (or cwnds) apportioned to the destination addresses to which it
    // transmitted the acknowledged data".
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", "") };
    let mut script = Script::multihomed(&config, 2);
    let initial = script.path(0).cwnd;
    for _ in 0..4 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    let sent = script.poll();
    assert!(sent.iter().all(|p| p.to.path == Some(PathId(0))));
    script.sack(sent.len() as u32, &[]);
    assert_eq!(script.path(0).cwnd, initial + PMDCS);
    assert_eq!(script.path(1).cwnd, initial);
}

//= RFC 9260 6-9 6.9-5 6.9-10 7.3-1 7.3-2 7.3-3 7.3-4
#[test]
fn fragments_fit_the_narrowest_path() {
    // §7.3: "The sender SHOULD track an AMDCS that will be the smallest PMDCS discovered for all of
    // the peer's destination addresses"; and each address has a PMTU of its own.
    let mut script = Script::multihomed(&standard(), 2);
    narrow(&mut script, 1);
    assert_eq!((script.path(0).mtu, script.path(1).mtu), (1500, 1000));
    let sent = script.send(3000);
    assert!(sent.iter().all(|p| p.to.path == Some(PathId(0))));
    let largest = sent.iter().flat_map(|p| p.data()).map(|d| d.payload.len()).max();
    assert_eq!(largest, Some(1000 - 20 - 12 - 16));
    // Packets of several chunks may be as large as the path allows.
    let mut script = Script::multihomed(&standard(), 2);
    narrow(&mut script, 1);
    for _ in 0..20 {
        script.try_send(0, 100, SendOptions::default()).unwrap();
    }
    assert!(script.poll()[0].bytes.len() > 1300);
}

//= RFC 9260 3.3.8-2
#[test]
fn a_shutdown_is_no_renege() {
    // §3.3.8: "MUST NOT interpret the lack of a Gap Ack Block as a renege".
    let mut script = Script::connected(&standard());
    for _ in 0..3 {
        script.send(100);
    }
    script.sack(0, &[(2, 3)]);
    let flight = script.path(0).flight;
    let none = script.first.wrapping_sub(1);
    script.give(|w| w.shutdown(none));
    assert_eq!((script.stats().reneged, script.path(0).flight), (0, flight));
    let again = script.wait(secs(1));
    assert_eq!(script.numbers(&again), [[0]], "only what is missing");
}

//= RFC 9260 6.2-23 6.2-24
#[test]
fn fragments_that_wait_keep_the_window_closed() {
    // §6.2: "if the receiver is holding fragmented DATA chunks in a reassembly queue, it SHOULD
    // NOT increment a_rwnd".
    let mut script = Script::connected(&AssociationConfig { receive_buffer: 50_000, ..standard() });
    let mut windows = Vec::new();
    for n in 0..20u32 {
        let flags = DataFlags { beginning: n == 0, immediate: true, ..DataFlags::default() };
        let tsn = PEER_TSN.wrapping_add(n);
        let sent = script.give(|w| w.data(tsn, StreamId(0), Ssn(0), Ppid(0), flags, &[1; 1000]));
        windows.push(only(&sent).sack().unwrap().a_rwnd);
        assert!(script.recv().is_none());
    }
    assert!(windows.windows(2).all(|w| w[1] < w[0]), "{windows:?}");
}

//= RFC 9260 6.2-26 6.2-29 6.2-30
#[test]
fn nothing_is_dropped_while_there_is_room() {
    // §6.2: "An endpoint SHOULD NOT revoke a SACK chunk and discard data."
    let mut script = Script::connected(&standard());
    let mut known = std::collections::BTreeSet::new();
    for step in 1..300u32 {
        let n = step * 7919 % 601 + 1; // Never the first one: everything waits behind a gap.
        let sent = script.data_at(PEER_TSN.wrapping_add(n), 1000);
        let sack = only(&sent).sack().unwrap();
        assert_eq!(sack.cumulative_tsn_ack, PEER_TSN.wrapping_sub(1));
        let reported: std::collections::BTreeSet<u32> =
            sack.gap_blocks().flat_map(|g| u32::from(g.start)..=u32::from(g.end)).collect();
        assert!(reported.is_superset(&known), "step {step}");
        known = reported;
    }
    assert_eq!(known.len(), 299);
}

//= RFC 9260 6.4.1-2
#[test]
fn what_timed_out_takes_another_pair_of_addresses() {
    // §6.4.1: "the endpoint SHOULD attempt to pick the most divergent source-destination pair from
    // the original source-destination pair".
    let (mut pair, a, z) = Pair::connected(&standard(), 2);
    pair.run(secs(2));
    let before = pair.log.len();
    let lost = addresses(Side::Z, 1)[0];
    pair.drop = Box::new(move |p| p.to.destination == lost && p.carries(ChunkType::DATA));
    pair.send(Side::A, a, 0, vec![1; 100]);
    pair.run(secs(3));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    let data = pair.log[before..].iter().filter(|p| p.carries(ChunkType::DATA));
    let pairs: Vec<_> = data.map(|p| (p.to.source, p.to.destination)).collect();
    let (ours, theirs) = (addresses(Side::A, 2), addresses(Side::Z, 2));
    assert_eq!(pairs, [(Some(ours[0]), theirs[0]), (Some(ours[1]), theirs[1])]);
}
