//! From messages to chunks to packets and back (RFC 9260 §6.1, §6.5, §6.6, §6.9, §6.10).

use super::*;
use crate::SendError;
use script::{FULL, PEER_TSN, PMDCS, write_data};
use sent::{only, types};

fn nagle() -> AssociationConfig {
    AssociationConfig { no_delay: false, ..standard() }
}

//= RFC 9260 1.6-1 1.6-4 3.3.1-12 3.3.1-13 6.9-11
#[test]
fn tsns_wrap_around_under_loss() {
    // RFC 9260 §1.6: "the next TSN a DATA chunk MUST use after transmitting TSN = 2^32 - 1 is
    // TSN = 0".
    for first in [u32::MAX, u32::MAX - 1, u32::MAX - 7, u32::MAX - 40, 0, 1 << 31, (1 << 31) - 5] {
        let mut pair = Pair::new(&standard(), 1);
        for side in [Side::A, Side::Z] {
            pair.end(side).numbers.begin_at(Tsn(first));
        }
        let (a, z) = pair.connect(&standard());
        pair.drop = Box::new(|p| p.number % 7 == 3);
        for n in 0..80 {
            pair.send(Side::A, a, 0, vec![n; 1000]);
            pair.send(Side::Z, z, 0, vec![n; 1000]);
        }
        pair.run(secs(60));
        for (side, id) in [(Side::A, a), (Side::Z, z)] {
            let got: Vec<u8> = pair.recv_all(side, id).iter().map(|m| m.payload[0]).collect();
            assert_eq!(got, (0..80).collect::<Vec<u8>>(), "{side:?} from {first}");
        }
        let first_sent = pair.log.iter().find_map(|p| p.tsns().first().copied());
        assert_eq!(first_sent, Some(first));
    }
}

//= RFC 9260 6.5-3 6.5-4 6.5-5
#[test]
fn ssns_wrap_around() {
    // RFC 9260 §6.5: "when the Stream Sequence Number reaches the value 65535, the next Stream
    // Sequence Number MUST be set to 0".
    let config = AssociationConfig { trace: false, ..standard() };
    let (mut pair, a, z) = Pair::connected(&config, 1);
    let mut got = 0u32;
    for round in 0..67 {
        for n in 0..1000u32 {
            pair.send(Side::A, a, 3, (round * 1000 + n).to_be_bytes().to_vec());
        }
        pair.run(ms(1000));
        for message in pair.recv_all(Side::Z, z) {
            assert_eq!(message.payload[..], got.to_be_bytes());
            assert_eq!(message.ssn.0, got as u16);
            got += 1;
        }
        pair.log.clear();
    }
    assert_eq!(got, 67_000);
}

//= RFC 9260 3.3.1-2 3.3.1-3 6.6-1 6.6-2 6.6-3
#[test]
fn order_holds_within_a_stream_and_unordered_messages_do_not_wait() {
    // RFC 9260 §6.6: "MUST deliver DATA chunks received with the U flag set to 0 to the upper
    // layer according to the order of their Stream Sequence Number"; with the U flag, "it bypasses
    // the ordering mechanism".
    let mut script = Script::connected(&standard());
    let chunk = |n: u32, stream, ssn, unordered| {
        move |w: &mut PacketWriter<'_>| {
            let flags = DataFlags { unordered, ..DataFlags::UNFRAGMENTED };
            let tsn = PEER_TSN.wrapping_add(n);
            w.data(tsn, StreamId(stream), Ssn(ssn), Ppid(n), flags, b"x");
        }
    };
    let mut read = |n, stream, ssn, unordered| {
        script.give(chunk(n, stream, ssn, unordered));
        std::iter::from_fn(|| script.recv()).map(|m| m.ppid.0).collect::<Vec<_>>()
    };
    assert_eq!(read(1, 0, 1, false), []);
    assert_eq!(read(2, 1, 0, false), [2], "another stream is not blocked");
    assert_eq!(read(3, 0, 999, true), [3], "its SSN has no significance");
    assert_eq!(read(4, 0, 2, false), []);
    assert_eq!(read(0, 0, 0, false), [0, 1, 4]);
}

#[test]
fn the_cumulative_tsn_stays_in_front_of_a_gap() {
    let mut script = Script::accepted(&standard());
    let (end, tsn) = (|s: &Script| s.end.cumulative_tsn(s.id), |n| Tsn(PEER_TSN.0.wrapping_add(n)));
    let before = end(&script).unwrap();
    script.give(|w| write_data(w, tsn(1), 5));
    let early = script.end.recv(script.now, script.id).unwrap();
    assert_eq!((early.tsn, end(&script)), (tsn(1), Some(before)), "one is missing");
    script.give(|w| write_data(w, tsn(0), 5));
    assert_eq!(end(&script), Some(tsn(1)));
}

//= RFC 9260 6.5-6
#[test]
fn unordered_messages_use_no_ssn() {
    // RFC 9260 §6.5: "For unordered user messages, the Stream Sequence Number MUST NOT be changed".
    let mut script = Script::connected(&standard());
    for unordered in [false, true, true, false] {
        let options = SendOptions { unordered, ..SendOptions::default() };
        script.try_send(4, 10, options).unwrap();
    }
    let sent = script.poll();
    let data: Vec<_> = sent.iter().flat_map(|p| p.data()).collect();
    assert_eq!(
        data.iter().map(|d| d.flags.unordered).collect::<Vec<_>>(),
        [false, true, true, false]
    );
    assert_eq!((data[0].ssn, data[3].ssn), (Ssn(0), Ssn(1)));
}

//= RFC 9260 3.3.1-6 3.3.1-7 3.3.1-11 3.3.1-12 3.3.1-13 6-8 6.9-2 6.9-7 6.9-9 6.9-11 6.9-13
#[test]
fn long_messages_are_fragmented_and_marked() {
    // RFC 9260 §6.9: sequential TSNs, one SSN, B and E bits 10, 00, 01; no packet exceeds the PMTU.
    let mut script = Script::connected(&standard());
    let options = SendOptions { ppid: Ppid(7), sack_immediately: true, ..SendOptions::default() };
    script.try_send(2, 2 * FULL + 1, options).unwrap();
    let sent = script.poll();
    assert!(sent.iter().all(|p| p.bytes.len() <= 1480));
    assert_eq!(script.numbers(&sent), [[0], [1], [2]]);
    let data: Vec<_> = sent.iter().flat_map(|p| p.data()).collect();
    assert!(data.iter().all(|d| (d.stream, d.ssn, d.ppid) == (StreamId(2), Ssn(0), Ppid(7))));
    let flags: Vec<_> = data.iter().map(|d| d.flags.bits()).collect();
    assert_eq!(flags, [0b0010, 0b0000, 0b1001], "the I bit goes with the last (§11.1.5)");
}

//= RFC 9260 6.9-3 6.9-4
#[test]
fn without_fragmentation_long_messages_are_refused() {
    // RFC 9260 §6.9: "it rejects calls that would result in sending SCTP packets that exceed the
    // current PMTU".
    let config = AssociationConfig { fragmentation: false, ..standard() };
    let mut script = Script::connected(&config);
    let refused = script.try_send(0, FULL + 1, SendOptions::default());
    assert_eq!(refused, Err(SendError::TooLarge { size: FULL + 1, limit: FULL }));
    assert_eq!(only(&script.send(FULL)).bytes.len(), 1480);
}

/// SCTP_MAXSEG, RFC 6458 §8.1.16.
#[test]
fn messages_are_cut_where_the_application_wants() {
    let config = AssociationConfig { max_segment: Some(400), ..standard() };
    let mut script = Script::connected(&config);
    let sizes = |sent: &[Sent]| -> Vec<usize> {
        only(sent).data().iter().map(|chunk| chunk.payload.len()).collect()
    };
    assert_eq!(sizes(&script.send(1000)), [400, 400, 200]);
    let (now, id) = (script.now, script.id);
    assert_eq!(script.end.info(id).unwrap().fragmentation_point, 400);
    let whole = AssociationConfig { fragmentation: false, ..config };
    script.end.reconfigure(now, id, whole.clone()).unwrap();
    let refused = script.try_send(0, 401, SendOptions::default());
    assert_eq!(refused, Err(SendError::TooLarge { size: 401, limit: 400 }));
    script.end.reconfigure(now, id, AssociationConfig { max_segment: None, ..whole }).unwrap();
    assert_eq!(sizes(&script.send(1000)), [1000]);
    assert!(AssociationConfig { max_segment: Some(63), ..standard() }.check().is_err());
}

//= RFC 9260 3.3.1-5 6.2-32
#[test]
fn messages_have_a_largest_size_in_both_directions() {
    let config = AssociationConfig { max_message_size: 3000, ..standard() };
    let mut script = Script::connected(&config);
    let refused = script.try_send(0, 3001, SendOptions::default());
    assert_eq!(refused, Err(SendError::TooLarge { size: 3001, limit: 3000 }));
    assert_eq!(script.try_send(0, 0, SendOptions::default()), Err(SendError::Empty));
    script.send(3000);
    // An incoming one that grows beyond it: Out of Resource (RFC 9260 §3.3.10.4).
    let part = |n: u32| {
        move |w: &mut PacketWriter<'_>| {
            let flags = DataFlags { beginning: n == 0, ..DataFlags::default() };
            let tsn = PEER_TSN.wrapping_add(n);
            w.data(tsn, StreamId(0), Ssn(0), Ppid(0), flags, &[0; 1000]);
        }
    };
    for n in 0..3 {
        script.give(part(n));
        assert_eq!(script.state(), State::Established);
    }
    let sent = script.give(part(3));
    assert_eq!(only(&sent).cause_codes(), [CauseCode::OUT_OF_RESOURCE]);
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

//= RFC 9260 6.10-1 6.10-2 6.10-4 6.10-5
#[test]
fn small_messages_are_bundled_into_full_packets() {
    // RFC 9260 §6.10; TSNs in increasing order.
    let mut script = Script::connected(&standard());
    for _ in 0..20 {
        script.try_send(0, 100, SendOptions::default()).unwrap();
    }
    let sent = script.poll();
    let numbers: [Vec<u32>; 2] = [(0..12).collect(), (12..20).collect()];
    assert_eq!(script.numbers(&sent), numbers, "12 chunks of 116 bytes fit 1468 bytes");
}

#[test]
fn without_bundling_each_message_has_its_packet() {
    let mut script = Script::connected(&AssociationConfig { bundling: false, ..standard() });
    for _ in 0..3 {
        script.try_send(0, 10, SendOptions::default()).unwrap();
    }
    let sent = script.poll();
    assert_eq!(script.numbers(&sent), [[0], [1], [2]]);
}

//= RFC 9260 6.1-9
#[test]
fn nagle_holds_back_small_packets_while_data_is_in_flight() {
    // RFC 9260 §6.1, RFC 1122 §4.2.3.4.
    let mut script = Script::connected(&nagle());
    assert_eq!(script.send(100).len(), 1, "nothing is in flight");
    assert!(script.send(100).is_empty() && script.send(100).is_empty());
    let sent = script.send(1300);
    assert_eq!(only(&sent).tsns().len(), 2, "a full packet need not wait");
    let sent = script.sack(3, &[]);
    assert_eq!(only(&sent).tsns().len(), 1, "the rest goes when all is acknowledged");
}

#[test]
fn nagle_lets_a_message_larger_than_a_packet_leave_whole() {
    // Its tail would wait for the peer's SACK, which waits 200 ms for another packet.
    let mut script = Script::connected(&nagle());
    let sent = script.send(FULL + 48);
    assert_eq!(script.numbers(&sent), [[0], [1]]);
    assert!(script.send(48).is_empty(), "what follows it waits");
    assert_eq!(script.sack(2, &[]).len(), 1);
}

#[test]
fn nagle_does_not_hold_back_what_is_last() {
    // Nothing can be added to it any more.
    let mut script = Script::connected(&nagle());
    script.send(100);
    assert!(script.send(100).is_empty());
    assert_eq!(types(&script.shutdown()), [[ChunkType::DATA]]);
}

//= RFC 9260 6.1-1 6.1-14 6.1-15
#[test]
fn at_most_max_burst_packets_leave_at_once() {
    // RFC 9260 §6.1 D.
    let mut script = Script::connected(&standard());
    for _ in 0..300 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    let mut sent = script.poll().len() as u32;
    for acked in 1..60 {
        let more = script.sack(acked, &[]).len() as u32;
        assert!(more <= 4, "{more}");
        sent += more;
    }
    let cwnd = script.path(0).cwnd;
    assert!(cwnd > 20 * FULL);
    assert_eq!(script.sack(sent, &[]).len(), 4, "though cwnd allows more");
    assert!(script.path(0).cwnd >= cwnd, "a limited burst takes nothing from it");
}

//= RFC 9260 6.1-1 6.1-10 6.1-11 6.1-12 6.1-17 7.2-1 7.2-2 7.2-4 7.2.1-4
#[test]
fn cwnd_is_exceeded_by_one_packet_at_most() {
    // RFC 9260 §6.1 B: "The breach of cwnd MUST constitute one packet only."
    // Padding counts (§7.2).
    for len in [97, 701, FULL] {
        let config = profile("rfc9260", "[limits]\nmax_burst = 0");
        let mut script = Script::connected(&AssociationConfig { no_delay: true, ..config });
        let cwnd = script.path(0).cwnd;
        let mut flight = 0;
        for _ in 0..100 {
            script.try_send(0, len, SendOptions::default()).unwrap();
            for packet in script.poll() {
                assert!(flight < cwnd, "{len}");
                flight += packet.data().len() * (16 + len.next_multiple_of(4));
            }
        }
        assert!(flight >= cwnd && flight < cwnd + PMDCS, "{len}: {flight}");
        assert_eq!(script.path(0).flight, flight);
    }
}

#[test]
fn a_full_send_buffer_blocks_and_tells_when_there_is_room() {
    let config = AssociationConfig { send_buffer: 10_000, ..standard() };
    let mut script = Script::connected(&config);
    let mut n = 0;
    while script.try_send(0, 1000, SendOptions::default()).is_ok() {
        n += 1;
    }
    assert_eq!((n, script.end.send_space(script.id)), (10, 0));
    assert_eq!(script.try_send(0, 1000, SendOptions::default()), Err(SendError::WouldBlock));
    script.poll();
    let writable = |s: &Script| s.events.contains(&Event::Writable);
    script.sack(3, &[]);
    assert!(!writable(&script));
    script.poll();
    script.sack(5, &[]);
    assert!(writable(&script), "half of it is free");
    // What is longer than the buffer is accepted once it is empty.
    script.sack(10, &[]);
    script.try_send(0, 50_000, SendOptions::default()).unwrap();
    assert_eq!(script.try_send(0, 1, SendOptions::default()), Err(SendError::WouldBlock));
}

//= RFC 9260 6-2 6-4
#[test]
fn data_is_only_taken_in_the_states_that_allow_it() {
    // RFC 9260 §6: "A DATA chunk received in any other state SHOULD be discarded."
    for state in Script::STATES {
        let mut script = Script::in_state(state);
        script.give(|w| write_data(w, PEER_TSN, 10));
        let taken =
            matches!(state, State::Established | State::ShutdownPending | State::ShutdownSent);
        assert_eq!(script.recv().is_some(), taken, "{state:?}");
    }
}
