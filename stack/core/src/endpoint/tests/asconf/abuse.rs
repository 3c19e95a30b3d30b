//! Peers and strangers that mean no good (RFC 5061 §6, RFC 5062).

use super::*;

/// A flood of additions and deletions costs bounded memory, and few heartbeats to others.
#[test]
fn a_flood_of_changes_is_bounded() {
    let mut peer = peer(&config(), 1);
    let memory = peer.script.stats().memory;
    let mut heartbeats = 0;
    let mut number = FIRST;
    for round in 0..400u32 {
        let list: Vec<u8> = (0..30u8)
            .flat_map(|n| {
                let address = IpAddr::from([10, n, round as u8, 9]);
                [add(u32::from(n), address), delete(u32::from(n), address)].concat()
            })
            .collect();
        let sent = peer.give(asconf(number, z(0), &list));
        heartbeats += sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT)).count();
        number = number.wrapping_add(1);
    }
    let stats = peer.script.stats();
    assert_eq!(stats.asconfs_received, 400);
    assert!(stats.memory < memory + 200_000, "{} to {}", memory, stats.memory);
    assert!(heartbeats < 4000, "{heartbeats}");
    assert_eq!(peer.script.end.path_stats(peer.script.id).len(), 1);
    assert_eq!(peer.script.state(), State::Established);
}

/// Numbers of paths are given away again once nothing outstanding can name them.
#[test]
fn numbers_of_paths_are_not_used_up() {
    let mut peer = peer(&config(), 1);
    for (round, number) in (0..200u8).zip(0..) {
        let list = add(1, at(round, 9));
        let first = FIRST.wrapping_add(2 * number);
        let sent = peer.give(asconf(first, z(0), &list));
        assert_eq!(acknowledged(&sent).1, [], "{round}");
        let list = delete(1, at(round, 9));
        let sent = peer.give(asconf(first.wrapping_add(1), z(0), &list));
        assert_eq!(acknowledged(&sent).1, [], "{round}");
    }
    let ids: Vec<_> = peer.script.end.path_stats(peer.script.id).iter().map(|p| p.id).collect();
    assert_eq!(ids, [PathId(0)]);
}

/// As long as something is outstanding, no number is given to another address.
#[test]
fn a_number_that_is_named_is_not_given_away() {
    let mut peer = peer(&config(), 1);
    peer.script.send(100);
    let mut refused = 0;
    for (round, number) in (0..40u8).zip(0..) {
        let list = add(1, at(round, 9));
        let first = FIRST.wrapping_add(2 * number);
        let sent = peer.give(asconf(first, z(0), &list));
        refused += acknowledged(&sent).1.len();
        let list = delete(1, at(round, 9));
        peer.give(asconf(first.wrapping_add(1), z(0), &list));
    }
    assert_eq!(refused, 40 - 31);
}

/// Strangers that know the tag but no key change nothing.
#[test]
fn a_stranger_changes_nothing() {
    let (mut pair, id, peer) = Pair::connected(&config(), 1);
    let tag = pair.end(Side::Z).info(peer).unwrap().local_tag;
    let stranger = at(77, 66);
    for number in 0..50 {
        let number = AsconfNumber(number);
        for lookup in [a(0), IpAddr::from([0; 4]), stranger] {
            let list = [add(1, stranger), delete(2, a(0))].concat();
            for source in [stranger, a(0)] {
                let packet = script::packet(tag, |w| {
                    asconf(number, lookup, &list)(w);
                    w.abort(false, &[]);
                });
                // The ABORT is for another test: without it the packet would be answered from a(0).
                let packet = if source == a(0) {
                    script::packet(tag, asconf(number, lookup, &list))
                } else {
                    packet
                };
                pair.inject(Side::Z, source, packet);
            }
        }
    }
    pair.send(Side::A, id, 0, numbered(1));
    pair.run(secs(1));
    assert_eq!(numbers(&pair.recv_all(Side::Z, peer)), [1]);
    assert_eq!(remotes(&mut pair, Side::Z, peer), [a(0)]);
    assert!(pair.log.iter().all(|p| p.to.destination != stranger));
}

#[test]
fn a_malformed_chunk_is_dropped() {
    let mut peer = peer(&config(), 1);
    let sound = {
        let list = add(7, z(1));
        let mut bytes = Vec::new();
        let header = CommonHeader {
            source_port: 1,
            destination_port: 1,
            verification_tag: VerificationTag(1),
        };
        let mut writer = PacketWriter::new(&mut bytes, header);
        asconf(FIRST, z(0), &list)(&mut writer);
        writer.finish();
        bytes.split_off(12)
    };
    for cut in 4..sound.len() {
        let mut chunk = sound[..cut].to_vec();
        chunk[3] = cut as u8;
        let sent = peer.give(|w| w.raw(&chunk));
        // Without requests it is sound, and has nothing to refuse.
        let answered = sent.iter().any(|p| p.carries(ChunkType::ASCONF_ACK));
        assert_eq!(answered, cut == 16, "{cut}");
    }
    assert_eq!(peer.script.end.path_stats(peer.script.id).len(), 1);
}
