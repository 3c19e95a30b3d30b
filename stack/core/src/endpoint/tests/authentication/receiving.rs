//! What comes (RFC 4895 §6.3).

use super::*;
use sent::{only, types};
use tresse_wire::Cause;

//= RFC 4895 6.3-1
#[test]
fn what_is_not_authenticated_is_dropped_silently() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let tsn = peer.script.next;
    assert!(peer.script.give(|w| write_data(w, tsn, 10)).is_empty());
    // Other chunks of the packet are taken.
    let sent = peer.script.give(|w| {
        w.heartbeat(b"hello");
        write_data(w, tsn, 10);
    });
    assert_eq!(types(&sent), [[ChunkType::HEARTBEAT_ACK]]);
    assert_eq!(peer.script.recv(), None);
    assert_eq!(peer.script.stats().unauthenticated_chunks, 2);
    assert!(peer.script.wait(secs(1)).iter().all(|p| !p.carries(ChunkType::SACK)));
    peer.data(10);
    assert!(peer.script.recv().is_some());
}

#[test]
fn what_stands_before_an_auth_chunk_is_not_authenticated() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let tsn = peer.script.next;
    let signed = peer.signed(|w| write_data(w, tsn.wrapping_add(1), 20));
    let sent = peer.script.give(|w| {
        write_data(w, tsn, 10);
        w.raw(&signed[12..]);
    });
    let sack = sent.iter().find_map(Sent::sack).expect("a gap");
    assert_eq!(sack.cumulative_tsn_ack, tsn.wrapping_sub(1));
    assert_eq!(sack.gap_blocks().count(), 1);
    let stats = peer.script.stats();
    assert_eq!((stats.unauthenticated_chunks, stats.data_chunks_received), (1, 1));
}

//= RFC 4895 6.3-7
#[test]
fn a_wrong_hmac_drops_what_follows() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let tsn = peer.script.next;
    // Any bit of the HMAC, of the chunk it covers, and of the key's number.
    for at in [8, 39, 41, 50, 65] {
        let bytes = peer.altered(|w| write_data(w, tsn, 10), |auth| auth[at] ^= 1);
        assert!(peer.script.give_bytes(bytes).is_empty(), "byte {at}");
    }
    // What is not on the list goes, too; what is in front of it stays.
    let bad = peer.altered(|w| write_data(w, tsn, 10), |auth| auth[20] ^= 1);
    let sent = peer.script.give(|w| {
        w.heartbeat(b"before");
        w.raw(&bad[12..]);
        w.heartbeat(b"behind");
    });
    assert_eq!(types(&sent), [[ChunkType::HEARTBEAT_ACK]]);
    assert_eq!(peer.script.stats().auth_chunks_forged, 6);
    assert_eq!(peer.script.recv(), None);
}

//= RFC 4895 6.3-3
#[test]
fn an_algorithm_that_was_not_asked_for_is_answered_with_an_error() {
    let settings = Authentication {
        chunks: vec![ChunkType::DATA],
        algorithms: vec![HmacIdentifier::SHA_1],
        ..Authentication::default()
    };
    let mut peer = Peer::connected(&with(settings), &[]);
    let tsn = peer.script.next;
    for algorithm in [HmacIdentifier::SHA_256, HmacIdentifier(2), HmacIdentifier(0)] {
        let hmac = vec![7; algorithm.hmac_len().unwrap_or(16)];
        let sent = peer.script.give(|w| {
            w.auth(&Auth { key: 0, algorithm, hmac: &hmac });
            write_data(w, tsn, 10);
        });
        let cause = (CauseCode::UNSUPPORTED_HMAC_IDENTIFIER, algorithm.0.to_be_bytes().to_vec());
        assert_eq!(only(&sent).causes(), [cause]);
    }
    assert_eq!(peer.script.stats().auth_unknown_algorithms, 3);
    assert_eq!(peer.script.recv(), None);
}

#[test]
fn such_an_error_from_the_peer_is_told() {
    let mut peer = Peer::connected(&asking(&[]), &[]);
    let causes = CauseWriter::new().unsupported_hmac_identifier(HmacIdentifier(3)).finish();
    peer.script.give(|w| w.error(&causes));
    let told = peer.script.events.iter().any(
        |event| matches!(event, Event::PeerError { cause: 0x105, value } if value[..] == [0, 3]),
    );
    assert!(told);
    let raw = tresse_wire::Causes::new(&causes).iter().next().unwrap().unwrap();
    let algorithm = HmacIdentifier::SHA_256;
    assert_eq!(Cause::parse(raw), Ok(Cause::UnsupportedHmacIdentifier { algorithm }));
}

//= RFC 4895 6.3-2
#[test]
fn each_algorithm_that_was_asked_for_is_taken() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    peer.data(10);
    // The one that the endpoint likes less: the peer's guard is made for an offer that has it alone.
    let weaker = Authentication {
        chunks: vec![ChunkType::DATA],
        algorithms: vec![HmacIdentifier::SHA_1],
        ..Authentication::default()
    };
    let mut peer = Peer::connected(&with(weaker), &[]);
    peer.data(10);
    assert_eq!(peer.script.stats().auth_chunks_received, 1);
    assert!(peer.script.recv().is_some());
}

//= RFC 4895 6.3-4 6.3-5 6.3-6
#[test]
fn a_key_that_is_not_there_drops_what_follows_and_is_told_once() {
    for secret in [None, Some(&b"secret"[..])] {
        let mut settings =
            Authentication { chunks: vec![ChunkType::DATA], ..Authentication::default() };
        settings.keys.set(3, secret.unwrap_or_default()).unwrap();
        if secret.is_none() {
            settings.keys.delete(3).unwrap();
        }
        let mut peer = Peer::connected(&with(settings), &[]);
        peer.keys.set(9, b"other").unwrap();
        peer.keys.activate(9).unwrap();
        let tsn = peer.script.next;
        for _ in 0..3 {
            assert!(peer.give(|w| write_data(w, tsn, 10)).is_empty());
        }
        assert_eq!(peer.told(), [AuthenticationEvent::UnknownKey { key: 9 }]);
        assert_eq!(peer.script.stats().auth_unknown_keys, 3);
        assert_eq!(peer.script.recv(), None);
        // The key is set later, and what comes again is taken.
        let (now, id) = (peer.script.now, peer.script.id);
        peer.script.end.set_shared_key(now, id, 9, b"other").unwrap();
        peer.give(|w| write_data(w, tsn, 10));
        assert!(peer.script.recv().is_some());
        assert_eq!(peer.told()[1..], [AuthenticationEvent::NewKey { key: 9, before: 0 }]);
    }
}

#[test]
fn a_flood_of_unknown_keys_costs_no_memory() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let (now, tag, source) = (peer.script.now, peer.script.tag, addresses(Side::Z, 1)[0]);
    let mut most = 0;
    for i in 0..20_000u32 {
        let bytes = packet(tag, |w| {
            let algorithm = HmacIdentifier::SHA_256;
            w.auth(&Auth { key: i as u16 | 1, algorithm, hmac: &[0; 32] });
            w.heartbeat(b"hello");
        });
        let datagram = Datagram {
            source,
            destination: addresses(Side::A, 1)[0],
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: bytes.into(),
        };
        peer.script.end.handle_datagram(now, datagram);
        most = most.max(peer.script.stats().memory);
    }
    assert!(most < 100_000, "{most} bytes");
    peer.script.poll();
    assert!(peer.told().len() <= 256);
    assert_eq!(peer.script.stats().auth_unknown_keys, 20_000);
    peer.data(10);
    assert!(peer.script.recv().is_some());
}

//= RFC 4895 5.1-5
#[test]
fn a_second_auth_chunk_is_passed_over() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let tsn = peer.script.next;
    peer.give(|w| {
        write_data(w, tsn, 10);
        w.auth(&Auth { key: 5, algorithm: HmacIdentifier::SHA_1, hmac: &[1; 20] });
        write_data(w, tsn.wrapping_add(1), 10);
    });
    assert!(peer.script.recv().is_some() && peer.script.recv().is_some());
    assert_eq!(peer.script.stats().malformed_chunks, 1);
    assert_eq!(peer.script.stats().auth_unknown_keys, 0);
}

//= RFC 4895 5.1-5
#[test]
fn no_packet_has_two_auth_chunks() {
    let (mut pair, a, _) = Pair::connected(&asking(&[ChunkType::DATA, ChunkType::SACK]), 1);
    pair.send(Side::A, a, 0, vec![1; 50_000]);
    pair.run(secs(5));
    assert!(all_authenticated(&pair.log, Side::A, ChunkType::DATA) > 30);
}

#[test]
fn a_malformed_auth_chunk_drops_what_follows() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let sent = peer.script.give(|w| {
        w.heartbeat(b"before");
        w.raw(&[15, 0, 0, 12, 0, 0, 0, 1, 1, 2, 3, 4]);
        w.heartbeat(b"behind");
    });
    assert_eq!(types(&sent), [[ChunkType::HEARTBEAT_ACK]]);
    assert_eq!(peer.script.stats().malformed_chunks, 1);
}

/// RFC 4895 §5: who does not understand it discards what follows.
#[test]
fn without_agreement_an_auth_chunk_ends_the_packet() {
    let mut script = Script::connected(&standard());
    for len in [20, 4] {
        let mut chunk = vec![15, 0, 0, 8 + len, 0, 0, 0, 1];
        chunk.resize(8 + usize::from(len), 9);
        let sent = script.give(|w| {
            w.heartbeat(b"before");
            w.raw(&chunk);
            w.heartbeat(b"behind");
        });
        assert_eq!(types(&sent), [[ChunkType::HEARTBEAT_ACK]]);
    }
}

#[test]
fn flags_of_an_auth_chunk_are_ignored() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let tsn = peer.script.next;
    let bytes = peer.altered(|w| write_data(w, tsn, 10), |auth| auth[1] = 0xff);
    peer.script.give_bytes(bytes);
    assert!(peer.script.recv().is_some());
}

#[test]
fn only_who_has_the_key_can_end_it() {
    let mut peer = Peer::connected(&asking(&[ChunkType::ABORT, ChunkType::SHUTDOWN]), &[]);
    peer.script.give(|w| w.abort(false, &[]));
    let reflected = packet(script::PEER_TAG, |w| w.abort(true, &[]));
    peer.script.give_bytes(reflected);
    let cumulative = peer.script.first.wrapping_sub(1);
    peer.script.give(|w| w.shutdown(cumulative));
    assert_eq!(peer.script.state(), State::Established);
    assert_eq!(peer.script.stats().unauthenticated_chunks, 3);
    peer.give(|w| w.abort(false, &[]));
    assert!(matches!(peer.script.closed(), Some(CloseReason::PeerAborted { .. })));
}

#[test]
fn a_reflected_abort_may_be_authenticated() {
    let mut peer = Peer::connected(&asking(&[ChunkType::ABORT]), &[]);
    let mut bytes = packet(script::PEER_TAG, |w| w.abort(true, &[]));
    peer.guard.sign(&peer.keys, None, &mut bytes);
    write_checksum(&mut bytes);
    peer.script.give_bytes(bytes);
    assert!(matches!(peer.script.closed(), Some(CloseReason::PeerAborted { .. })));
}

/// RFC 4895 §6.3: then "the handling of malformed packets should not result in tearing down the association".
#[test]
fn malformed_chunks_do_not_end_what_only_the_peer_may_end() {
    let empty = [0, 3, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0];
    for listed in [ChunkType::ABORT, ChunkType::DATA] {
        let mut peer = Peer::connected(&asking(&[listed]), &[]);
        assert!(peer.script.give(|w| w.raw(&empty)).is_empty());
        assert_eq!(peer.script.state(), State::Established);
    }
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA]), &[]);
    let sent = peer.give(|w| w.raw(&empty));
    assert_eq!(only(&sent).cause_codes(), [CauseCode::NO_USER_DATA]);
}

#[test]
fn a_packet_that_is_played_again_changes_nothing() {
    let mut peer = Peer::connected(&asking(&[ChunkType::DATA, ChunkType::SACK]), &[]);
    let tsn = peer.script.next;
    let bytes = peer.signed(|w| write_data(w, tsn, 10));
    for _ in 0..5 {
        peer.script.give_bytes(bytes.clone());
    }
    assert!(peer.script.recv().is_some());
    assert_eq!(peer.script.recv(), None);
    assert_eq!(peer.script.stats().duplicate_chunks_received, 4);
}
