//! Messages that are read in parts (RFC 9260 §6.9, RFC 6458 §8.1.21), as somebody would use them who wants to break something: readers
//! that stop in the middle, ends, restarts, and messages and streams that end before the last part has come.

use super::*;
use crate::event::{MessagePart, ReconfigurationOutcome, ResetDirection};
use crate::reliability::Reliability;

const BUFFER: u32 = 100_000;

/// Parts from 1000 bytes on, with I-DATA chunks or with DATA.
fn config(interleaving: bool) -> AssociationConfig {
    AssociationConfig {
        extensions: Extensions {
            interleaving,
            partial_reliability: true,
            stream_reconfiguration: true,
            ..Extensions::NONE
        },
        no_delay: true,
        partial_delivery_point: Some(1000),
        receive_buffer: BUFFER,
        send_buffer: 1 << 23,
        outbound_streams: 10,
        ..profile("rfc9260+stream-round-robin", "[limits]\nmax_burst = 0")
    }
}

/// An association between two such ends; A has sent a message of this many bytes on stream 0, and Z has read its first part.
fn begun(interleaving: bool, len: usize) -> (Pair, AssociationId, AssociationId) {
    let (mut pair, a, z) = Pair::connected(&config(interleaving), 1);
    pair.send(Side::A, a, 0, vec![1; len]);
    pair.run(ms(200));
    let now = pair.now;
    let first = pair.end(Side::Z).recv(now, z).unwrap();
    assert_eq!((first.part, first.stream), (MessagePart::First, StreamId(0)));
    (pair, a, z)
}

/// Stream, part, and length of all that can be read.
fn read(pair: &mut Pair, z: AssociationId) -> Vec<(u16, MessagePart, usize)> {
    let read = pair.recv_all(Side::Z, z);
    read.iter().map(|m| (m.stream.0, m.part, m.payload.len())).collect()
}

fn last(read: &[(u16, MessagePart, usize)]) -> Option<(u16, MessagePart)> {
    read.last().map(|(stream, part, _)| (*stream, *part))
}

/// The window closes, whatever is sent on other streams; when it opens again all of it comes.
#[test]
fn a_reader_that_stops_in_the_middle_costs_the_buffer_and_no_more() {
    for interleaving in [false, true] {
        let (mut pair, a, z) = begun(interleaving, 3_000_000);
        for round in 0..200u32 {
            let now = pair.now;
            let payload = vec![2; 900].into();
            let stream = StreamId(1 + (round % 9) as u16);
            let _ = pair.end(Side::A).send(now, a, stream, payload, SendOptions::default());
            pair.run(ms(500));
            let stats = pair.end(Side::Z).stats(z).unwrap();
            assert!(stats.receive_buffered <= BUFFER as usize + 3000, "{}", stats.receive_buffered);
            assert!(stats.memory < 4 * BUFFER as usize, "{}", stats.memory);
        }
        assert!(pair.closed(Side::A).is_none() && pair.closed(Side::Z).is_none());
        let mut seen = Vec::new();
        for _ in 0..2000 {
            seen.extend(read(&mut pair, z));
            pair.run(ms(100));
        }
        let of = |stream: u16| seen.iter().filter(move |(s, ..)| *s == stream);
        let sent = pair.end(Side::A).stats(a).unwrap().user_bytes_sent;
        assert_eq!(pair.end(Side::Z).stats(z).unwrap().user_bytes_received, sent);
        assert!((1..10).all(|stream| of(stream).count() > 5), "{interleaving}");
        assert_eq!(pair.end(Side::A).stats(a).unwrap().send_buffered, 0);
    }
}

#[test]
fn an_end_in_the_middle_is_told_as_one() {
    for interleaving in [false, true] {
        // The peer aborts.
        let (mut pair, a, z) = begun(interleaving, 500_000);
        let now = pair.now;
        pair.end(Side::A).abort(now, a, b"").unwrap();
        pair.run(ms(50));
        assert!(matches!(pair.closed(Side::Z), Some(CloseReason::PeerAborted { .. })));
        assert_eq!(last(&read(&mut pair, z)), Some((0, MessagePart::Aborted)));
        assert_eq!(read(&mut pair, z), []);
        // This end does.
        let (mut pair, _, z) = begun(interleaving, 500_000);
        let now = pair.now;
        pair.end(Side::Z).abort(now, z, b"").unwrap();
        pair.run(ms(50));
        assert_eq!(last(&read(&mut pair, z)), Some((0, MessagePart::Aborted)));
        assert_eq!(read(&mut pair, z), []);
        // The peer is gone.
        let (mut pair, a, z) = begun(interleaving, 500_000);
        pair.drop = Box::new(|_| true);
        pair.send(Side::Z, z, 0, vec![1; 10]);
        pair.run(secs(1000));
        assert_eq!(pair.closed(Side::Z), Some(&CloseReason::Unreachable));
        assert_eq!(last(&read(&mut pair, z)), Some((0, MessagePart::Aborted)));
        assert!(pair.closed(Side::A).is_some(), "{a:?}");
    }
}

/// A shutdown waits for all of it (RFC 9260 §9.2), so that nothing is cut off.
#[test]
fn a_shutdown_in_the_middle_waits_for_the_end() {
    for interleaving in [false, true] {
        let (mut pair, a, z) = begun(interleaving, 500_000);
        pair.shutdown(Side::A, a);
        let mut seen = Vec::new();
        for _ in 0..200 {
            pair.run(ms(100));
            seen.extend(read(&mut pair, z));
        }
        assert_eq!(last(&seen), Some((0, MessagePart::Last)), "{interleaving}");
        assert_eq!(pair.closed(Side::Z), Some(&CloseReason::Shutdown));
    }
}

/// What belongs to its first life ends; that of the second begins with SSN 0, and none of its bytes is mixed up with it.
#[test]
fn a_restart_in_the_middle_ends_the_message() {
    for interleaving in [false, true] {
        let (mut pair, _, z) = begun(interleaving, 500_000);
        let reborn = EndpointConfig {
            local_addresses: addresses(Side::A, 1),
            association: config(interleaving),
            ..EndpointConfig::default()
        };
        pair.replace(Side::A, Endpoint::new(reborn, [77; 32]));
        let a = pair.open(Side::A, &config(interleaving));
        pair.run(secs(1));
        assert!(pair.saw(Side::Z, |e| *e == Event::Restarted));
        pair.send(Side::A, a, 0, vec![9; 5000]);
        pair.run(secs(2));
        let got = pair.recv_all(Side::Z, z);
        let aborted = got.iter().position(|m| m.part == MessagePart::Aborted).unwrap();
        assert!(got[..aborted].iter().all(|m| m.payload.iter().all(|byte| *byte == 1)));
        let new: Vec<u8> = got[aborted + 1..].iter().flat_map(|m| m.payload.to_vec()).collect();
        assert_eq!(new, vec![9; 5000], "{interleaving}");
        assert_eq!(got[aborted + 1].ssn, Ssn(0));
    }
}

/// FORWARD TSN and I-FORWARD-TSN chunks: what was given up ends where it is, and what follows comes.
#[test]
fn a_message_that_is_given_up_in_the_middle_is_aborted() {
    for interleaving in [false, true] {
        let (mut pair, a, z) = Pair::connected(&config(interleaving), 1);
        let options = SendOptions {
            reliability: Some(Reliability::Timed(secs(1))),
            ..SendOptions::default()
        };
        let now = pair.now;
        let end = pair.end(Side::A);
        end.send(now, a, StreamId(0), vec![1; 500_000].into(), options).unwrap();
        pair.run(ms(200));
        let first = pair.recv_all(Side::Z, z);
        assert_eq!(first[0].part, MessagePart::First);
        // Z reads no more, until it is given up.
        pair.run(secs(3));
        pair.send(Side::A, a, 0, vec![2; 10]);
        let mut seen = Vec::new();
        for _ in 0..50 {
            seen.extend(read(&mut pair, z));
            pair.run(ms(200));
        }
        let aborted = seen.iter().position(|(_, part, _)| *part == MessagePart::Aborted);
        assert!(aborted.is_some(), "{interleaving}: {seen:?}");
        assert_eq!(seen.last(), Some(&(0, MessagePart::Whole, 10)));
        let told = std::iter::from_fn(|| pair.end(Side::Z).poll_trace());
        let told = told.filter_map(|(_, _, event)| match event {
            TraceEvent::PartialDeliveryAborted { tsn, stream } => Some((tsn, stream)),
            _ => None,
        });
        assert_eq!(told.collect::<Vec<_>>(), [(first[0].tsn, StreamId(0))]);
        assert!(pair.saw(Side::A, |e| matches!(e, Event::Abandoned(_))));
    }
}

/// RFC 6525 §5.2.2, §5.2.7: messages of before are read to their end before those of after.
#[test]
fn a_stream_that_is_reset_in_the_middle_ends_its_message_first() {
    for interleaving in [false, true] {
        for direction in [ResetDirection::Outgoing, ResetDirection::Incoming] {
            let (mut pair, a, z) = begun(interleaving, 200_000);
            let now = pair.now;
            let zero = [StreamId(0)];
            match direction {
                ResetDirection::Outgoing => {
                    pair.end(Side::A).reset_streams(now, a, direction, &zero)
                }
                _ => pair.end(Side::Z).reset_streams(now, z, direction, &zero),
            }
            .unwrap();
            // What is sent once the request is there belongs to the time after.
            pair.run(ms(100));
            pair.send(Side::A, a, 0, vec![2; 10]);
            let mut seen = Vec::new();
            for _ in 0..300 {
                pair.run(ms(100));
                let now = pair.now;
                while let Some(received) = pair.end(Side::Z).recv(now, z) {
                    seen.push((received.part, received.ssn, received.payload[0]));
                }
            }
            assert_eq!(
                seen[seen.len() - 2..],
                [(MessagePart::Last, Ssn(0), 1), (MessagePart::Whole, Ssn(0), 2)],
                "{interleaving} {direction:?}"
            );
            let performed = |e: &Event| {
                matches!(e, Event::StreamsReset { outcome: ReconfigurationOutcome::Performed, .. })
            };
            assert!(pair.saw(Side::Z, performed));
        }
    }
}

/// Whatever the application chooses in the middle, the message goes on as it has begun.
#[test]
fn another_point_in_the_middle_changes_nothing_of_what_was_begun() {
    for interleaving in [false, true] {
        for point in [None, Some(1), Some(BUFFER as usize)] {
            let (mut pair, _, z) = begun(interleaving, 200_000);
            let now = pair.now;
            let changed =
                AssociationConfig { partial_delivery_point: point, ..config(interleaving) };
            pair.end(Side::Z).reconfigure(now, z, changed).unwrap();
            let mut seen = Vec::new();
            for _ in 0..100 {
                seen.extend(read(&mut pair, z));
                pair.run(ms(100));
            }
            assert_eq!(last(&seen), Some((0, MessagePart::Last)), "{interleaving} {point:?}");
            assert!(seen[..seen.len() - 1].iter().all(|(_, part, _)| *part == MessagePart::Middle));
        }
    }
}
