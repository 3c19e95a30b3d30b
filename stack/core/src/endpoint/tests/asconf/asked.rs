//! What the peer asks (RFC 5061 §5.2, §5.3).

use super::*;

fn remotes_of(peer: &Peer) -> Vec<IpAddr> {
    peer.script.end.path_stats(peer.script.id).iter().map(|path| path.remote).collect()
}

//= RFC 5061 4.1.1-4 5.2-8 5.2-9
#[test]
fn an_address_is_added_once() {
    let mut peer = peer(&config(), 1);
    let list = add(7, z(1));
    let sent = peer.give(asconf(FIRST, z(0), &list));
    assert_eq!(acknowledged(&sent), (FIRST, vec![], z(0)));
    assert_eq!(remotes_of(&peer), [z(0), z(1)]);
    // E2: the same again is answered from what is kept, and older ones not at all.
    let sent = peer.give(asconf(FIRST, z(0), &list));
    assert_eq!(acknowledged(&sent).0, FIRST);
    assert!(peer.give(asconf(FIRST.wrapping_sub(1), z(0), &list)).is_empty());
    // E5
    assert!(peer.give(asconf(FIRST.wrapping_add(2), z(0), &list)).is_empty());
    let stats = peer.script.stats();
    assert_eq!((stats.asconfs_received, stats.asconfs_seen_again), (1, 2));
    assert_eq!(remotes_of(&peer), [z(0), z(1)]);
}

//= RFC 5061 4.1.1-3 5.2-2 5.2-3
#[test]
fn what_is_not_authenticated_is_discarded_silently() {
    let mut peer = peer(&config(), 1);
    let list = add(7, z(1));
    let write = asconf(FIRST, z(0), &list);
    assert!(peer.script.give(&write).is_empty());
    // D5: nor is what stands behind it.
    let tag = peer.script.tag;
    let packet = script::packet(tag, |w| {
        write(w);
        w.heartbeat(b"hello");
    });
    assert!(peer.script.give_from(z(0), packet).is_empty());
    // From elsewhere, too, and nothing else of such a packet is taken.
    let packet = script::packet(tag, |w| {
        w.heartbeat(b"hello");
        write(w);
    });
    assert!(peer.script.give_from(z(5), packet).is_empty());
    assert_eq!(remotes_of(&peer), [z(0)]);
    assert_eq!(peer.script.stats().unauthenticated_chunks, 3);
}

//= RFC 5061 5.2-1 5.2-9 5.3-5 5.3-24 5.3.2-2 5.3.2-3
#[test]
fn a_peer_with_another_address_is_found_by_the_one_that_it_had() {
    for lookup in [z(0), [0; 4].into()] {
        let mut peer = peer(&config(), 1);
        let list = [add(1, z(5)), delete(2, z(0))].concat();
        let packet = peer.signed(asconf(FIRST, lookup, &list));
        let sent = peer.script.give_from(z(5), packet);
        assert_eq!(acknowledged(&sent), (FIRST, vec![], z(5)));
        assert_eq!(remotes_of(&peer), [z(5)]);
        // F1: nothing but heartbeats goes there until it is confirmed.
        let data = peer.script.send(100);
        let all = [sent, data, peer.script.wait(ms(500))].concat();
        let beats: Vec<_> = all.iter().filter(|p| !p.carries(ChunkType::ASCONF_ACK)).collect();
        assert!(!beats.is_empty() && beats.iter().all(|p| p.types() == [ChunkType::HEARTBEAT]));
        let Some(Chunk::Heartbeat(beat)) = beats[0].chunks().next() else { panic!("HEARTBEAT") };
        let info = beat.parameters.to_vec();
        let answer = script::packet(peer.script.tag, |w| w.heartbeat_ack(&info));
        let sent = peer.script.give_from(z(5), answer);
        assert_eq!(sent.iter().flat_map(Sent::data).count(), 1, "now it leaves");
        assert!(sent.iter().all(|p| p.to.destination == z(5)));
    }
    // Another address is no key.
    let mut peer = peer(&config(), 1);
    let list = add(1, z(5));
    let packet = peer.signed(asconf(FIRST, z(9), &list));
    assert!(peer.script.give_from(z(5), packet).is_empty());
    assert_eq!(remotes_of(&peer), [z(0)]);
}

//= RFC 5061 5.2-1
#[test]
fn of_several_chunks_one_names_the_peer() {
    let mut peer = peer(&config(), 1);
    let packet = peer.signed(|w| {
        asconf(FIRST, z(9), &add(1, z(5)))(w);
        asconf(FIRST.wrapping_add(1), z(0), &add(2, z(6)))(w);
    });
    let sent = peer.script.give_from(z(5), packet);
    let acks = sent.iter().filter(|p| p.carries(ChunkType::ASCONF_ACK)).count();
    assert_eq!((acks, remotes_of(&peer)), (2, vec![z(0), z(5), z(6)]));
}

//= RFC 5061 5.3-5
#[test]
fn a_shutdown_waits_until_an_address_is_confirmed() {
    let mut peer = peer(&config(), 1);
    let list = [add(1, z(5)), delete(2, z(0))].concat();
    let packet = peer.signed(asconf(FIRST, z(0), &list));
    let mut sent = peer.script.give_from(z(5), packet);
    let (now, id) = (peer.script.now, peer.script.id);
    peer.script.end.shutdown(now, id).unwrap();
    sent.extend(peer.script.poll());
    sent.extend(peer.script.wait(secs(2)));
    let is_beat = |p: &&Sent| p.types() == [ChunkType::HEARTBEAT];
    let beats: Vec<_> = sent.iter().filter(is_beat).collect();
    assert_eq!(beats.len() + 1, sent.len(), "{:?}", sent::types(&sent));
    let Some(Chunk::Heartbeat(beat)) = beats[beats.len() - 1].chunks().next() else { panic!() };
    let info = beat.parameters.to_vec();
    let answer = script::packet(peer.script.tag, |w| w.heartbeat_ack(&info));
    let mut later = peer.script.give_from(z(5), answer);
    later.extend(peer.script.wait(secs(5)));
    assert!(later.iter().any(|p| p.carries(ChunkType::SHUTDOWN)));
}

//= RFC 5061 4.2.2-1 4.2.3-1 5.2-7 5.3-15 5.3-16 5.3-17 5.3-18
#[test]
fn neither_the_last_address_nor_the_source_is_deleted() {
    let mut peer = peer(&config(), 1);
    let list = delete(7, z(0));
    let sent = peer.give(asconf(FIRST, z(0), &list));
    assert_eq!(acknowledged(&sent).1, [(7, CauseCode::REQUEST_TO_DELETE_LAST_ADDRESS)]);
    let list = [add(1, z(1)), delete(2, z(0))].concat();
    let sent = peer.give(asconf(FIRST.wrapping_add(1), z(0), &list));
    assert_eq!(acknowledged(&sent).1, [(2, CauseCode::REQUEST_TO_DELETE_SOURCE_ADDRESS)]);
    assert_eq!(remotes_of(&peer), [z(0), z(1)]);
    let list = delete(3, z(8));
    let sent = peer.give(asconf(FIRST.wrapping_add(2), z(0), &list));
    assert_eq!(acknowledged(&sent).1, [(3, CauseCode::UNRESOLVABLE_ADDRESS)]);
    let list = delete(4, z(1));
    let sent = peer.give(asconf(FIRST.wrapping_add(3), z(0), &list));
    assert_eq!(acknowledged(&sent).1, []);
    assert_eq!(remotes_of(&peer), [z(0)]);
}

//= RFC 5061 4.2.1-3 4.2.2-3
#[test]
fn a_wildcard_is_where_the_packet_comes_from() {
    let mut peer = peer(&config(), 3);
    let none: IpAddr = [0; 4].into();
    let list = [add(1, none), delete(2, none)].concat();
    let packet = peer.signed(asconf(FIRST, none, &list));
    let sent = peer.script.give_from(z(5), packet);
    assert_eq!(acknowledged(&sent), (FIRST, vec![], z(5)));
    assert_eq!(remotes_of(&peer), [z(5)], "all others are gone");
    // From nowhere that it knows, a wildcard deletes nothing.
    let list = delete(1, none);
    let packet = peer.signed(asconf(FIRST.wrapping_add(1), none, &list));
    let sent = peer.script.give_from(z(6), packet);
    let refused = vec![(1, CauseCode::REQUEST_TO_DELETE_SOURCE_ADDRESS)];
    assert_eq!(acknowledged(&sent), (FIRST.wrapping_add(1), refused, z(6)));
}

//= RFC 5061 4.2.1-1 4.2.4-1 5.1.1-6 5.2-4 5.2-5 5.2-6 5.2-7 5.3-19 5.3-20 5.3-21
#[test]
fn once_something_is_refused_all_that_follows_is() {
    let mut peer = peer(&config(), 1);
    let mut list = Vec::new();
    for net in 1..20 {
        list.extend(add(net, z(net as u8)));
    }
    list.extend(delete(20, z(1)));
    let primary = AddressRequest { correlation: 21, address: z(0) };
    list.extend(ParameterWriter::new().set_primary_address(primary).finish());
    let sent = peer.give(asconf(FIRST, z(0), &list));
    let refused = acknowledged(&sent).1;
    let expected: Vec<_> = (16..=20).map(|n| (n, CauseCode::RESOURCE_SHORTAGE)).collect();
    assert_eq!(refused, expected);
    assert_eq!(remotes_of(&peer).len(), 16);
    // Of what was done behind a refusal, that is said.
    let done = sent.iter().flat_map(Sent::chunks).any(|chunk| match chunk {
        Chunk::AsconfAck(ack) => {
            ack.responses.parsed().any(|p| p == Ok(Parameter::SuccessIndication(21)))
        }
        _ => false,
    });
    assert!(done);
}

//= RFC 5061 4.2-1 4.2-2 4.2.6-4
#[test]
fn what_is_not_understood_is_reported_and_what_is_impossible_refused() {
    let mut peer = peer(&config(), 1);
    let unknown = ParameterWriter::new()
        .raw(tresse_wire::ParameterType(0xc0ff), &[0, 0, 0, 9, 1])
        .raw(tresse_wire::ParameterType(0x80ff), &[0, 0, 0, 8])
        .adaptation_layer_indication(6)
        .finish();
    let list = [unknown, add(1, [224, 0, 0, 1].into()), add(2, z(1))].concat();
    let sent = peer.give(asconf(FIRST, z(0), &list));
    let expected = vec![
        (9, CauseCode::UNRECOGNIZED_PARAMETERS),
        (1, CauseCode::UNRESOLVABLE_ADDRESS),
        (2, CauseCode::RESOURCE_SHORTAGE),
    ];
    assert_eq!(acknowledged(&sent).1, expected);
    assert_eq!(remotes_of(&peer), [z(0)]);
}

//= RFC 5061 5.2-7
#[test]
fn what_stands_behind_a_parameter_that_stops_is_refused() {
    let mut peer = peer(&config(), 1);
    let first = add(1, z(1));
    let stop = ParameterWriter::new().raw(tresse_wire::ParameterType(0x00fe), &[0; 4]).finish();
    let request = AddressRequest { correlation: 3, address: z(0) };
    let primary = ParameterWriter::new().set_primary_address(request).finish();
    let sent = peer.give(asconf(FIRST, z(0), &[first, stop, add(2, z(2)), primary].concat()));
    let shortage = CauseCode::RESOURCE_SHORTAGE;
    assert_eq!(acknowledged(&sent).1, [(2, shortage), (3, shortage)], "silence would be success");
    assert_eq!(remotes_of(&peer), [z(0), z(1)]);
}

//= RFC 5061 4.1.1-6
#[test]
fn the_name_of_a_host_is_no_address_to_add() {
    let mut peer = peer(&config(), 1);
    let name = [&[0, 0, 0, 5][..], &[0, 11, 0, 12], b"example\0"].concat();
    let host =
        ParameterWriter::new().raw(tresse_wire::ParameterType::ADD_IP_ADDRESS, &name).finish();
    let sent = peer.give(asconf(FIRST, z(0), &[host, add(6, z(1))].concat()));
    let expected = [(5, CauseCode::UNRESOLVABLE_ADDRESS), (6, CauseCode::RESOURCE_SHORTAGE)];
    assert_eq!(acknowledged(&sent).1, expected);
    assert_eq!(remotes_of(&peer), [z(0)]);
}

//= RFC 5061 5.4-2 5.4-3
#[test]
fn the_peer_says_where_it_wants_data() {
    let mut peer = peer(&config(), 1);
    let primary = |n, net| {
        let request = AddressRequest { correlation: n, address: z(net) };
        ParameterWriter::new().set_primary_address(request).finish()
    };
    let list = [primary(1, 1), add(2, z(1)), primary(3, 1)].concat();
    let sent = peer.give(asconf(FIRST, z(0), &list));
    assert_eq!(acknowledged(&sent).1, [(1, CauseCode::UNRESOLVABLE_ADDRESS)], "not yet there");
    let is_primary = |peer: &Peer, n| peer.script.path(n).primary;
    assert!(is_primary(&peer, 0), "it is not confirmed");
    let later = peer.script.wait(ms(1));
    let beat = later.iter().find(|p| p.to.destination == z(1)).unwrap();
    let Some(Chunk::Heartbeat(beat)) = beat.chunks().next() else { panic!("HEARTBEAT") };
    let info = beat.parameters.to_vec();
    peer.give(|w| w.heartbeat_ack(&info));
    assert!(is_primary(&peer, 1));
    let data = peer.script.send(100);
    assert_eq!(data[0].to.destination, z(1));
    let list = primary(1, 0);
    peer.give(asconf(FIRST.wrapping_add(1), z(0), &list));
    assert!(is_primary(&peer, 0));
}

/// Deleting the path that data is on, with a SACK of it under way.
#[test]
fn a_sack_of_what_was_sent_to_a_deleted_address_counts() {
    let mut peer = peer(&config(), 2);
    let sent = peer.script.wait(ms(10));
    for beat in sent.iter().flat_map(Sent::chunks) {
        if let Chunk::Heartbeat(beat) = beat {
            let info = beat.parameters.to_vec();
            peer.give(|w| w.heartbeat_ack(&info));
        }
    }
    let data = peer.script.send(100);
    assert_eq!(data[0].to.destination, z(0));
    let list = delete(1, z(0));
    let packet = peer.signed(asconf(FIRST, z(1), &list));
    let sent = peer.script.give_from(z(1), packet);
    let again: Vec<_> = sent.iter().filter(|p| !p.data().is_empty()).collect();
    assert_eq!((again.len(), again[0].to.destination), (1, z(1)));
    let (tag, first) = (peer.script.tag, peer.script.first);
    let sack = script::packet(tag, |w| {
        w.sack(first, script::RWND, std::iter::empty(), std::iter::empty());
    });
    peer.script.give_from(z(1), sack);
    let later = peer.script.wait(secs(5));
    assert!(later.iter().all(|p| p.data().is_empty()));
    assert_eq!(peer.script.stats().send_buffered, 0);
}

/// The same where what is lost waits for a SACK (ns-2): none comes once nothing is in flight any more.
#[test]
fn what_waits_for_a_sack_leaves_a_deleted_address_too() {
    let parameters = "[congestion]\none_packet_until_sack = true";
    let config = AssociationConfig { profile: profile("rfc9260", parameters).profile, ..config() };
    let mut peer = peer(&config, 2);
    let sent = peer.script.wait(ms(10));
    for beat in sent.iter().flat_map(Sent::chunks) {
        if let Chunk::Heartbeat(beat) = beat {
            let info = beat.parameters.to_vec();
            peer.give(|w| w.heartbeat_ack(&info));
        }
    }
    peer.script.send(100);
    let after_timeout = peer.script.wait(secs(1));
    let again: Vec<_> = after_timeout.iter().filter(|p| !p.data().is_empty()).collect();
    assert_eq!((again.len(), again[0].to.destination), (1, z(1)));
    let packet = peer.signed(asconf(FIRST, z(0), &delete(1, z(1))));
    let sent = peer.script.give_from(z(0), packet);
    let again: Vec<_> = sent.iter().filter(|p| !p.data().is_empty()).collect();
    assert_eq!((again.len(), again[0].to.destination), (1, z(0)));
}
