//! What stands together in a packet, in which order, and in which states (RFC 9260 §6, §6.10,
//! §12.4).

use super::*;
use script::{FULL, PEER_TAG, PEER_TSN, init_packet, packet, peer_fields, write_data};
use sent::{only, types};

/// Chunk number `n` of the peer.
fn nth(n: u32) -> Tsn {
    PEER_TSN.wrapping_add(n)
}

//= RFC 9260 3-1 5.1-9 5.1-10 6.10-8
#[test]
fn init_init_ack_and_shutdown_complete_are_alone() {
    let alone = [ChunkType::INIT, ChunkType::INIT_ACK, ChunkType::SHUTDOWN_COMPLETE];
    for lost in 0..12 {
        let mut pair = Pair::new(&standard(), 2);
        pair.drop = Box::new(move |p| p.number == lost);
        let a = pair.open(Side::A, &standard());
        pair.open(Side::Z, &standard());
        pair.send(Side::A, a, 0, vec![1; 100]);
        pair.run(secs(10));
        pair.shutdown(Side::A, a);
        pair.run(secs(20));
        for packet in &pair.log {
            let types = packet.types();
            assert!(
                types.len() == 1 || types.iter().all(|kind| !alone.contains(kind)),
                "{types:?}"
            );
        }
        let sent = |kind| pair.log.iter().any(|p| p.carries(kind));
        assert!(alone.into_iter().all(sent), "{lost}");
    }
}

//= RFC 9260 1.6-3 6.1-22
#[test]
fn a_send_window_has_no_more_tsns_than_a_sack_can_name() {
    // §6.1: "MUST NOT use a TSN that is more than 2^31 - 1 above the beginning TSN of the current
    // send window"; a Gap Ack Block reaches 65 535 only (§3.3.4).
    let config = AssociationConfig { send_buffer: 16 << 20, ..bursty() };
    let mut script = Script::connected(&config);
    let path = &mut script.end.roll[script.id].paths_mut()[PathId(0)];
    path.window.control_mut().set_window(4 << 20, usize::MAX);
    for _ in 0..70_000 {
        script.try_send(0, 1, SendOptions { unordered: true, ..SendOptions::default() }).unwrap();
    }
    let sent = script.poll();
    let numbers = script.numbers(&sent).concat();
    assert_eq!(numbers, (0..65_535).collect::<Vec<u32>>());
    assert!(script.path(0).flight < script.path(0).cwnd, "nothing else stops it");
}

//= RFC 9260 3.3.2-5 3.3.3-3
#[test]
fn chunk_flags_of_init_and_init_ack_are_zero_and_ignored() {
    let flags = |packet: &Sent| packet.bytes[13];
    // The same packet, with all flags set.
    let flagged = |bytes: &[u8], tag| {
        let mut chunk = bytes[12..].to_vec();
        chunk[1] = 0xff;
        packet(tag, |w| w.raw(&chunk))
    };
    let mut script = Script::listening(&standard());
    let init = flagged(&init_packet(&peer_fields(), &[]), VerificationTag(0));
    let ack = script.give_bytes(init);
    assert_eq!((only(&ack).types(), flags(only(&ack))), (vec![ChunkType::INIT_ACK], 0));

    let mut script = Script::listening(&standard());
    let init = script.connect(&standard(), &addresses(Side::Z, 1));
    assert_eq!(flags(only(&init)), 0);
    let parameters = ParameterWriter::new().state_cookie(b"c").finish();
    let ack = packet(script.tag, |w| w.init_ack(&peer_fields(), &parameters));
    let echo = script.give_bytes(flagged(&ack, script.tag));
    assert_eq!(only(&echo).types(), [ChunkType::COOKIE_ECHO]);
}

//= RFC 9260 3.3.7-2 9.1-2
#[test]
fn an_abort_is_the_last_chunk() {
    // §3.3.7: control chunks MUST be placed before it, and DATA never stands with it.
    let mut script = Script::connected(&standard());
    script.data(10);
    script.try_send(0, 100, SendOptions::default()).unwrap();
    let empty = [&[0, 3, 0, 16][..], &nth(1).0.to_be_bytes(), &[0; 8]].concat();
    let sent = script.give(|w| {
        w.heartbeat(b"info");
        w.raw(&[0xfe, 0, 0, 4]);
        w.raw(&empty);
    });
    let abort = sent.iter().find(|p| p.carries(ChunkType::ABORT)).unwrap();
    assert_eq!(abort.types().last(), Some(&ChunkType::ABORT));
    assert_eq!((abort.tag(), abort.reflected()), (PEER_TAG, false));
    assert!(!abort.carries(ChunkType::DATA));
    assert!(sent.last().unwrap().carries(ChunkType::ABORT), "nothing follows");
}

//= RFC 9260 6-1
#[test]
fn data_leaves_in_the_states_that_allow_it() {
    // §6: ESTABLISHED, SHUTDOWN-PENDING and SHUTDOWN-RECEIVED; §5.1: or behind a COOKIE ECHO.
    let has_data = |sent: &[Sent]| sent.iter().any(|p| p.carries(ChunkType::DATA));
    let mut script = Script::connecting(&standard());
    assert!(!has_data(&script.send(100)) && !has_data(&script.wait(secs(5))));
    for packet in script.init_ack().iter().chain(&script.wait(secs(5))) {
        assert!(packet.types()[0] == ChunkType::COOKIE_ECHO, "{:?}", packet.types());
    }
    for state in [State::ShutdownPending, State::ShutdownReceived] {
        let mut script = Script::in_state(state);
        assert!(has_data(&script.wait(secs(2))), "{state:?}");
    }
    // In SHUTDOWN-SENT and SHUTDOWN-ACK-SENT there is nothing left, and nothing new is taken.
    for state in [State::ShutdownSent, State::ShutdownAckSent] {
        let mut script = Script::in_state(state);
        assert!(script.try_send(0, 1, SendOptions::default()).is_err());
        assert!(!has_data(&script.wait(secs(100))), "{state:?}");
    }
}

//= RFC 9260 6-5 6-7
#[test]
fn a_sack_counts_in_the_states_that_allow_it() {
    // §6: "MUST be processed in ESTABLISHED, SHUTDOWN-PENDING, and SHUTDOWN-RECEIVED", "A SACK
    // chunk received in any other state SHOULD be discarded".
    let outstanding = |s: &Script| s.end.info(s.id).unwrap().unacknowledged_chunks;
    for state in [State::Established, State::ShutdownPending, State::ShutdownReceived] {
        let mut script = Script::in_state(state);
        if state == State::Established {
            script.send(100);
        }
        assert_eq!(outstanding(&script), 1, "{state:?}");
        script.sack(1, &[]);
        assert_eq!(outstanding(&script), 0, "{state:?}");
    }
    let mut script = Script::connecting(&standard());
    script.send(100);
    script.init_ack();
    script.sack(1, &[]);
    assert_eq!((script.state(), outstanding(&script)), (State::CookieEchoed, 1));
    // One that would be a violation is not even looked at.
    for state in [State::CookieWait, State::ShutdownSent, State::ShutdownAckSent] {
        let mut script = Script::in_state(state);
        assert!(script.sack(1, &[]).iter().all(|p| !p.carries(ChunkType::ABORT)));
        assert_eq!(script.state(), state);
    }
}

//= RFC 9260 6.9-8
#[test]
fn a_full_chunk_and_a_sack_need_two_packets() {
    // §6.9: "MUST also take into account the space required for a SACK chunk".
    let mut script = Script::connected(&standard());
    script.data_at(nth(0), 10);
    script.data_at(nth(1), 10);
    let sent = script.send(2 * FULL);
    assert!(sent.iter().all(|p| p.bytes.len() <= 1480), "{:?}", types(&sent));
    assert_eq!(script.numbers(&sent), [[0], [1]]);
}

//= RFC 9260 6.10-2
#[test]
fn a_packet_is_as_large_as_its_own_path_takes() {
    let mut script = Script::multihomed(&standard(), 2);
    let icmp = crate::datagram::Icmp {
        destination: addresses(Side::Z, 1)[0],
        kind: crate::datagram::IcmpKind::TooBig { mtu: 1000 },
        quoted: Some(packet(PEER_TAG, |w| w.cookie_ack()).into()),
    };
    script.end.handle_icmp(script.now, &icmp);
    assert_eq!([0, 1].map(|path| script.path(path).mtu), [1000, 1500]);
    for _ in 0..20 {
        script.try_send(0, 100, SendOptions::default()).unwrap();
    }
    let mut sent = script.poll();
    sent.extend(script.wait(secs(1)));
    let largest = |path| {
        let on_it = sent.iter().filter(|p| p.to.path == Some(PathId(path)));
        20 + on_it.map(|p| p.bytes.len()).max().unwrap()
    };
    assert!(largest(0) <= 1000 && (1001..=1500).contains(&largest(1)), "{}", largest(1));
}

//= RFC 9260 6.10-1
#[test]
fn no_packet_is_larger_than_the_pmtu() {
    for multihomed in [1, 2] {
        let config = AssociationConfig { mtu: 576, ..standard() };
        let (mut pair, a, z) = Pair::connected(&config, multihomed);
        pair.drop = Box::new(|p| p.number % 6 == 5);
        for n in 0..200u16 {
            let size = usize::from(n) * 37 % 3000 + 1;
            pair.send(Side::A, a, n % 3, vec![1; size]);
            pair.send(Side::Z, z, n % 3, vec![2; size]);
        }
        pair.run(secs(200));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 200);
        let largest = pair.log.iter().map(|p| p.bytes.len()).max().unwrap();
        assert!((540..=556).contains(&largest), "{largest}");
    }
}

//= RFC 9260 6.10-6
#[test]
fn chunks_are_processed_in_their_order() {
    // In SHUTDOWN-ACK-SENT, DATA is not taken any more.
    for data_first in [true, false] {
        let mut script = Script::connected(&standard());
        let last = script.first.wrapping_sub(1);
        let sent = script.give(|w| {
            if data_first {
                write_data(w, nth(0), 10);
            }
            w.shutdown(last);
            if !data_first {
                write_data(w, nth(0), 10);
            }
        });
        assert_eq!(script.state(), State::ShutdownAckSent);
        assert!(sent.iter().any(|p| p.carries(ChunkType::SHUTDOWN_ACK)));
        assert_eq!(script.recv().is_some(), data_first);
    }
}

//= RFC 9260 6.10-7
#[test]
fn a_partial_chunk_is_dropped_and_those_before_it_count() {
    let mut script = Script::connected(&standard());
    let cut = [&[0, 3, 0, 40][..], &nth(1).0.to_be_bytes(), &[0; 8], b"only a part"].concat();
    script.give(|w| {
        write_data(w, nth(0), 10);
        w.raw(&cut);
    });
    assert_eq!(std::iter::from_fn(|| script.recv()).count(), 1);
    assert_eq!(script.stats().malformed_chunks, 1);
    assert_eq!(script.state(), State::Established);
}

//= RFC 9260 12.4-2
#[test]
fn one_packet_is_answered_by_one_packet() {
    // §12.4: "the sender of the response chunk(s) MUST NOT send more than one packet containing
    // chunks other than DATA chunks".
    let unknown = |len: u8| {
        let mut chunk = vec![0xfe, 0, 0, len];
        chunk.resize(usize::from(len), 7);
        chunk
    };
    for len in [4, 60, 200] {
        let mut script = Script::connected(&standard());
        script.send(100);
        let sent = script.give(|w| {
            w.heartbeat(&[5; 300]);
            while w.len() + usize::from(len) < 1450 {
                w.raw(&unknown(len));
            }
        });
        let other = |p: &&Sent| p.types().iter().any(|kind| *kind != ChunkType::DATA);
        let control: Vec<&Sent> = sent.iter().filter(other).collect();
        assert_eq!(control.len(), 1, "{len}: {:?}", types(&sent));
        assert!(control[0].bytes.len() <= 1480);
        assert!(
            control[0].carries(ChunkType::HEARTBEAT_ACK) && control[0].carries(ChunkType::ERROR)
        );
    }
    // A SACK goes with the rest, also on a path that carries no data of ours.
    let mut script = Script::multihomed(&standard(), 2);
    script.data_at(nth(0), 10);
    let both = packet(script.tag, |w| {
        w.heartbeat(b"info");
        write_data(w, nth(2), 10);
    });
    let sent = script.give_from(addresses(Side::Z, 2)[1], both);
    assert_eq!(only(&sent).types(), [ChunkType::HEARTBEAT_ACK, ChunkType::SACK]);
    // A heartbeat that fills its packet leaves no room for more.
    let mut script = Script::connected(&standard());
    let sent = script.give(|w| {
        w.heartbeat(&[5; 1430]);
        w.raw(&unknown(40));
    });
    assert_eq!(only(&sent).types(), [ChunkType::HEARTBEAT_ACK]);
}

//= RFC 9260 12.4-4
#[test]
fn a_sack_for_what_was_never_sent_is_a_violation() {
    // §12.4: "MUST abort the association if it receives a SACK chunk acknowledging a TSN that has
    // not been sent".
    for gap in [false, true] {
        let mut script = Script::connected(&standard());
        script.send(100);
        let sent = if gap { script.sack(0, &[(2, 2)]) } else { script.sack(2, &[]) };
        assert_eq!(types(&sent), [[ChunkType::ABORT]], "gap: {gap}");
        assert_eq!(only(&sent).tag(), PEER_TAG);
        assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
    }
}
