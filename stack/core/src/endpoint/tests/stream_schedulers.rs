//! Streams that share an association (RFC 8260 §3), and the send buffer that they share.

use super::*;
use crate::error::{AssociationError, SendError};
use script::FULL;

const ALL: [&str; 6] = [
    "stream-first-come-first-served",
    "stream-round-robin",
    "stream-round-robin-per-packet",
    "stream-priority",
    "stream-fair-capacity",
    "stream-weighted-fair-queueing",
];

fn config(scheduler: &str) -> AssociationConfig {
    let config = profile(&format!("rfc9260+{scheduler}"), "");
    AssociationConfig { send_buffer: 20_000, no_delay: true, ..config }
}

fn send(script: &mut Script, stream: u16, len: usize) {
    script.try_send(stream, len, SendOptions::default()).unwrap();
}

/// A line for each packet: its chunks, as TSN, stream, SSN, flags and bytes.
fn packets(script: &Script, sent: &[Sent]) -> String {
    let line = |packet: &Sent| {
        let chunks = packet.data().into_iter().map(|data| {
            let tsn = data.tsn.0.wrapping_sub(script.first.0);
            let (first, last) = (data.flags.beginning, data.flags.ending);
            let flags = [(first, "B"), (last, "E")].map(|(set, name)| if set { name } else { "" });
            let (stream, ssn, len) = (data.stream.0, data.ssn.0, data.payload.len());
            format!("{tsn}: {stream}/{ssn} {}{} {len}", flags[0], flags[1])
        });
        chunks.collect::<Vec<_>>().join(", ") + "\n"
    };
    sent.iter().filter(|packet| !packet.data().is_empty()).map(line).collect()
}

/// Bulk of three packets a message on stream 0, small messages on streams 1 and 2, of which the first is the more
/// important one; a SACK for whatever has left.
fn story(scheduler: &str) -> String {
    let mut script = Script::connected(&config(scheduler));
    script.end.set_stream_value(script.now, script.id, StreamId(0), 3).unwrap();
    script.end.set_stream_value(script.now, script.id, StreamId(2), 2).unwrap();
    (0..4).for_each(|_| send(&mut script, 0, 3 * FULL));
    let mut text = format!("{scheduler}\n");
    let mut acked = 0;
    for round in 0..6 {
        if round == 0 || round == 2 {
            [1, 2, 1, 2].into_iter().for_each(|stream| send(&mut script, stream, 100));
        }
        let sent = script.poll();
        text += &packets(&script, &sent);
        acked += sent.iter().map(|packet| packet.tsns().len() as u32).sum::<u32>();
        let more = script.sack(acked, &[]);
        text += &packets(&script, &more);
        acked += more.iter().map(|packet| packet.tsns().len() as u32).sum::<u32>();
    }
    assert_eq!(script.sack(acked, &[]).len(), 0);
    assert_eq!(script.end.send_space(script.id), 20_000, "all of it has left");
    text
}

#[test]
fn two_thin_streams_beside_bulk() {
    insta::assert_snapshot!(ALL.map(story).join("\n"));
}

#[test]
fn a_thin_stream_finds_room_beside_bulk() {
    for (scheduler, finds_room) in [(ALL[0], false), (ALL[4], true)] {
        let mut script = Script::connected(&config(scheduler));
        while script.try_send(0, 1000, SendOptions::default()).is_ok() {}
        let thin = script.try_send(1, 100, SendOptions::default());
        assert_eq!(thin.is_ok(), finds_room, "{scheduler}");
        // The reserve has an end, for one stream and for all.
        let streams = (1..10).cycle().take(1000);
        let more = streams.filter(|s| script.try_send(*s, 100, SendOptions::default()).is_ok());
        assert_eq!(more.count(), if finds_room { 22 } else { 0 }, "{scheduler}");
        assert_eq!(script.try_send(0, 1, SendOptions::default()), Err(SendError::WouldBlock));
    }
}

#[test]
fn no_stream_takes_the_whole_reserve() {
    let mut script = Script::connected(&config(ALL[4]));
    for bulk in [0, 1] {
        while script.try_send(bulk, 100, SendOptions::default()).is_ok() {}
    }
    assert!(script.try_send(2, 100, SendOptions::default()).is_ok(), "one that holds nothing");
}

#[test]
fn a_stream_alone_has_the_buffer_and_nothing_beyond() {
    for scheduler in ALL {
        let mut script = Script::connected(&config(scheduler));
        let mut accepted = 0;
        for acked in 0..200 {
            while script.try_send(3, 1000, SendOptions::default()).is_ok() {
                accepted += 1;
            }
            assert_eq!(accepted, 20 + acked, "{scheduler}");
            script.poll();
            script.sack(acked + 1, &[]);
        }
    }
}

/// Whichever scheduler: a program with one stream sees the same packets.
#[test]
fn a_stream_alone_leaves_as_it_came() {
    let play = |scheduler: &str| {
        let mut script = Script::connected(&config(scheduler));
        let (mut packets, mut acked) = (Vec::new(), 0);
        for len in [10, 3000, 1452, 700, 1, 1, 5000, 20].into_iter().cycle().take(300) {
            let unordered = len == 700;
            let options = SendOptions { unordered, ..SendOptions::default() };
            let _ = script.try_send(4, len, options);
            let mut sent = script.poll();
            while !sent.is_empty() {
                acked += sent.iter().map(|packet| packet.data().len() as u32).sum::<u32>();
                packets.extend(sent.into_iter().map(|packet| packet.bytes));
                sent = script.sack(acked, &[]);
            }
        }
        packets
    };
    let packets = play(ALL[0]);
    for scheduler in &ALL[1..] {
        assert_eq!(play(scheduler), packets, "{scheduler}");
    }
}

#[test]
fn values_are_those_of_streams_that_exist() {
    let mut script = Script::connected(&config(ALL[3]));
    let (now, id) = (script.now, script.id);
    let value = |script: &Script, stream| script.end.stream_value(id, StreamId(stream));
    assert_eq!((value(&script, 9), value(&script, 10)), (Some(0), None));
    script.end.set_stream_value(now, id, StreamId(9), 7).unwrap();
    let error = script.end.set_stream_value(now, id, StreamId(10), 7);
    assert_eq!((value(&script, 9), error), (Some(7), Err(AssociationError::NoStream)));
    // What the peer's restart takes with it is not what our application set.
    let fields = script::peer_fields();
    script.join(&fields, &[]);
    script.id = id;
    assert_eq!(value(&script, 9), Some(7));
}

#[test]
fn another_scheduler_can_be_chosen_at_run_time() {
    let mut script = Script::connected(&config(ALL[0]));
    (0..10).for_each(|_| send(&mut script, 0, FULL));
    (0..2).for_each(|_| send(&mut script, 1, FULL));
    let (now, id) = (script.now, script.id);
    script.end.reconfigure(now, id, config(ALL[1])).unwrap();
    let streams = |p: &Sent| p.data().iter().map(|data| data.stream.0).collect::<Vec<_>>();
    let streams: Vec<u16> = script.poll().iter().flat_map(streams).collect();
    assert_eq!(streams, [0, 1, 0]);
}
