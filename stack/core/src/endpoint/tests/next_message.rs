//! What is read next, and when data was seen last (RFC 6458 §5.3.6, §8.1.8). That the one agrees with what is read, whatever came, is
//! looked at wherever [`Pair`] and [`Script`] read.

use super::*;
use crate::event::MessagePart;
use script::PEER_TSN;

#[test]
fn what_is_next_is_told_and_stays() {
    let options = SendOptions { ppid: Ppid(9), unordered: true, ..SendOptions::default() };
    for interleaving in [false, true] {
        let config = AssociationConfig {
            extensions: Extensions { interleaving, ..Extensions::NONE },
            partial_delivery_point: Some(1000),
            receive_buffer: 10_000,
            ..standard()
        };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        assert_eq!(pair.end(Side::Z).next_message(z), None);
        let now = pair.now;
        let end = pair.end(Side::A);
        end.send(now, a, StreamId(3), vec![1; 20].into(), options).unwrap();
        // More than the window holds.
        end.send(now, a, StreamId(4), vec![2; 50_000].into(), SendOptions::default()).unwrap();
        pair.run(secs(2));
        let (held, packets) =
            (pair.end(Side::Z).stats(z).unwrap().receive_buffered, pair.log.len());
        for _ in 0..2 {
            let next = pair.end(Side::Z).next_message(z).unwrap();
            assert_eq!((next.stream, next.ppid, next.unordered), (StreamId(3), Ppid(9), true));
            assert_eq!((next.len, next.part, next.is_complete()), (20, MessagePart::Whole, true));
        }
        // Nothing was taken, and no window told of.
        let transmit = pair.end(Side::Z).poll_transmit(now, &mut Vec::new());
        assert!(transmit.is_none() && pair.log.len() == packets);
        assert_eq!(pair.end(Side::Z).stats(z).unwrap().receive_buffered, held);
        let mut parts = Vec::new();
        for _ in 0..100 {
            while let Some(next) = pair.end(Side::Z).next_message(z) {
                let now = pair.now;
                let received = pair.end(Side::Z).recv(now, z).unwrap();
                assert_eq!(next, NextMessage::from(&received));
                parts.push((next.part, next.is_complete()));
            }
            pair.run(secs(1));
        }
        assert_eq!(parts[..2], [(MessagePart::Whole, true), (MessagePart::First, false)]);
        let (last, middle) = parts[2..].split_last().unwrap();
        assert!(middle.iter().all(|part| *part == (MessagePart::Middle, false)));
        assert_eq!(*last, (MessagePart::Last, true), "{interleaving}");
    }
}

#[test]
fn what_is_left_of_an_association_that_ended_is_told() {
    let mut script = Script::connected(&standard());
    script.data(30);
    script.give(|w| w.abort(false, &[]));
    assert!(script.closed().is_some());
    assert_eq!(script.end.next_message(script.id).map(|next| next.len), Some(30));
    assert_eq!(script.recv().map(|message| message.payload.len()), Some(30));
    assert_eq!(script.recv(), None);
}

#[test]
fn the_last_data_is_what_was_sent_or_received_last() {
    let mut script = Script::connected(&standard());
    let last = |script: &Script| script.end.last_data(script.id);
    assert_eq!(last(&script), None);
    script.wait(secs(1));
    script.data(10);
    let received = script.now;
    assert_eq!(last(&script), Some(received));
    // A SACK and heartbeats are no data, nor is what had come before.
    script.wait(secs(100));
    script.data_at(PEER_TSN, 10);
    assert_eq!(last(&script), Some(received));
    script.send(10);
    let sent = script.now;
    assert_eq!(last(&script), Some(sent));
    // What is sent again is.
    script.wait_for_data();
    assert!(last(&script) > Some(sent));
    let again = script.now;
    script.wait(ms(10));
    script.sack(1, &[]);
    assert_eq!(last(&script), Some(again));
}
