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

/// Of 40 addresses that come and go, one after the other, while something is outstanding: how many are refused.
fn refused_of_forty(confirmed: bool) -> usize {
    let mut peer = peer(&config(), 1);
    peer.script.send(100);
    let mut refused = 0;
    for (round, number) in (0..40u8).zip(0..) {
        let address = at(round, 9);
        let first = FIRST.wrapping_add(2 * number);
        let mut sent = peer.give(asconf(first, z(0), &add(1, address)));
        refused += acknowledged(&sent).1.len();
        if confirmed {
            sent.extend(peer.script.wait(secs(1)));
            let asks = |p: &&Sent| p.to.destination == address && p.carries(ChunkType::HEARTBEAT);
            if let Some(asked) = sent.iter().find(asks) {
                let info = asked.find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
                let answer = script::packet(peer.script.tag, |w| w.heartbeat_ack(&info));
                peer.script.give_from(address, answer);
            }
        }
        peer.give(asconf(first.wrapping_add(1), z(0), &delete(1, address)));
    }
    refused
}

/// As long as something is outstanding that may have been sent there, no number is given to another address.
#[test]
fn a_number_that_is_named_is_not_given_away() {
    // One of them is not asked within its second, and takes none.
    assert_eq!(refused_of_forty(true), 40 - 31 - 1);
}

/// To an address that was never confirmed nothing was: a host whose addresses flap is not refused the one that works in the end.
#[test]
fn addresses_that_were_never_confirmed_take_no_numbers() {
    assert_eq!(refused_of_forty(false), 0);
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

/// A peer may add the address of a host that has no SCTP, or no such UDP port, and says so.
#[test]
fn an_address_that_is_not_confirmed_ends_nothing() {
    use crate::datagram::{Icmp, IcmpKind};
    let mut peer = peer(&config(), 1);
    let list = add(1, z(1));
    peer.give(asconf(FIRST, z(0), &list));
    let quoted = script::packet(script::PEER_TAG, |w| w.heartbeat(b"are you there?"));
    let told = |peer: &mut Peer, destination| {
        let quoted = Some(Bytes::copy_from_slice(&quoted));
        let message = Icmp { destination, kind: IcmpKind::NoSctp, quoted };
        peer.script.end.handle_icmp(peer.script.now, &message);
        peer.script.poll();
    };
    for _ in 0..20 {
        told(&mut peer, z(1));
        peer.script.wait(secs(1));
        assert_eq!(peer.script.state(), State::Established);
    }
    told(&mut peer, z(0));
    assert_eq!(peer.script.closed(), Some(&CloseReason::NoSctp));
}

/// A peer repeats chunks whose answers were long, from where others are.
#[test]
fn answers_draw_no_more_than_was_sent() {
    let mut peer = peer(&config(), 1);
    let mut list = ParameterWriter::new();
    for n in 0..60u32 {
        list.raw(tresse_wire::ParameterType(0xc0ff), &n.to_be_bytes());
    }
    let list = list.finish();
    let long = peer.give(asconf(FIRST, z(0), &list));
    assert!(acknowledged(&long).1.len() > 50);
    let none = IpAddr::from([0; 4]);
    let repeated = |w: &mut PacketWriter<'_>| (0..40).for_each(|_| asconf(FIRST, none, &[])(w));
    let bytes = |sent: &[Sent]| sent.iter().map(|p| p.bytes.len()).sum::<usize>();
    let packet = peer.signed(repeated);
    let len = packet.len();
    let sent = peer.script.give_from(z(9), packet);
    assert!(sent.iter().all(|p| p.to.destination == z(9)) && !sent.is_empty());
    assert!(bytes(&sent) <= len + 8, "{} for {len}", bytes(&sent));
    // E6: where it is, it gets one packet of them.
    let sent = peer.give(repeated);
    assert!(bytes(&sent) <= 1500, "{}", bytes(&sent));
    // A new one, from there as well.
    let packet = peer.signed(asconf(FIRST.wrapping_add(1), none, &list));
    let len = packet.len();
    let sent = peer.script.give_from(z(9), packet.clone());
    assert!(acknowledged(&sent).1.len() > 10 && bytes(&sent) <= len + 8);
    let again = peer.script.give_from(z(9), packet);
    assert_eq!(acknowledged(&again), acknowledged(&sent));
}

//= RFC 5061 5.1.1-6
#[test]
fn of_a_long_parameter_the_beginning_is_reported() {
    let mut peer = peer(&config(), 1);
    let list =
        ParameterWriter::new().raw(tresse_wire::ParameterType(0xc0ff), &[7; 60_000]).finish();
    let sent = peer.give(asconf(FIRST, z(0), &list));
    let (_, refused, _) = acknowledged(&sent);
    assert_eq!(refused, [(0x0707_0707, CauseCode::UNRECOGNIZED_PARAMETERS)]);
    assert!(sent.iter().all(|p| p.bytes.len() < 500));
}

/// It would ask itself whether it is the peer, and say no.
#[test]
fn an_address_of_ours_is_not_the_peers() {
    let bridge: IpAddr = [172, 17, 0, 1].into();
    let mut peer = Peer::behind_nat(&config(), &BOTH, &[a(0), bridge], z(0));
    let list = add(1, bridge);
    let sent = peer.give(asconf(FIRST, z(0), &list));
    assert_eq!(acknowledged(&sent).1, [(1, CauseCode::UNRESOLVABLE_ADDRESS)]);
    let list = add(2, z(1));
    let sent = peer.give(asconf(FIRST.wrapping_add(1), z(0), &list));
    assert_eq!(acknowledged(&sent).1, []);
    let later = peer.script.wait(secs(10));
    assert!(later.iter().all(|p| p.to.destination != bridge));
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
