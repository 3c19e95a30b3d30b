//! RFC 9260 §6.9 and RFC 6458 §8.1.20 for the receiver, and parts of messages against what was sent.

use std::collections::BTreeMap;

use proptest::prelude::*;
use tresse_wire::{Fsn, SkippedStream, Ssn, StreamId};

use super::*;
use crate::event::{MessagePart, NextMessage};
use crate::profile::StreamScheduler;
use crate::streams::chunk::InChunk;
use crate::streams::tests::scattered::{
    self, Came, FIRST, STREAMS, Sent, chunk, chunks_of, messages,
};
use crate::time::Time;

const LARGEST: usize = 1000;

/// A receiver that knows which TSNs came.
struct Host {
    inbound: Inbound,
    came: Came,
}

impl Host {
    fn new(interleaved: bool, point: usize) -> Host {
        let mut inbound = Inbound::new(STREAMS, LARGEST, FIRST);
        if interleaved {
            inbound.interleave((LARGEST, 0), FIRST, true);
        }
        inbound.set_partial_delivery_point(Some(point));
        Host { inbound, came: Came::default() }
    }

    fn take(&mut self, chunk: InChunk) {
        self.came.note(chunk.seq - FIRST, true);
        self.inbound.advance_to(self.came.cumulative());
        self.inbound.receive(Time::ZERO, chunk).unwrap();
    }

    fn take_all(&mut self, chunks: impl IntoIterator<Item = InChunk>) {
        chunks.into_iter().for_each(|chunk| self.take(chunk));
    }

    /// All TSNs up to `n` count as received, and messages of these streams up to these numbers are passed over.
    fn forward(&mut self, n: u64, skipped: &[(u16, bool, u32)]) {
        (0..=n).for_each(|n| self.came.note(n, true));
        self.inbound.advance_to(self.came.cumulative());
        let skipped = scattered::skipped(skipped);
        if self.inbound.interleaved.is_some() {
            self.inbound.pass_over_messages(FIRST + n, skipped);
            return;
        }
        let ordered = skipped.filter(|skipped| !skipped.unordered);
        let skipped = ordered.map(|s| SkippedStream { stream: s.stream, ssn: Ssn(s.mid.0 as u16) });
        self.inbound.pass_over(Time::ZERO, FIRST + n, skipped).1.unwrap();
    }

    /// What is read next is what was told before.
    fn pop(&mut self) -> Option<ReceivedMessage> {
        let told = self.inbound.peek();
        let received = self.inbound.pop();
        assert_eq!(told, received.as_ref().map(NextMessage::from));
        received
    }

    /// What is read next: how its part is called, and its text.
    fn read(&mut self) -> Option<String> {
        let received = self.pop()?;
        let text = String::from_utf8(received.payload.to_vec()).unwrap();
        Some(match received.part {
            MessagePart::Whole => text,
            MessagePart::First => format!("{text}.."),
            MessagePart::Middle => format!("..{text}.."),
            MessagePart::Last => format!("..{text}"),
            MessagePart::Aborted => format!("x{text}"),
        })
    }

    fn read_all(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.read()).collect()
    }
}

//= RFC 9260 6.9-15
#[test]
fn what_has_come_is_read_from_the_point_on() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 4);
        host.take(chunk(0, 1, 0, 0, "B", "abc"));
        assert_eq!((host.inbound.ready(), host.read()), (0, None));
        host.take(chunk(1, 1, 0, 1, "", "de"));
        assert_eq!(host.inbound.ready(), 1);
        assert_eq!(host.read_all(), ["abcde.."]);
        assert!(host.inbound.buffered() <= 128);
        host.take_all([chunk(2, 1, 0, 2, "", "f"), chunk(3, 1, 0, 3, "", "g")]);
        assert_eq!(host.read_all(), ["..fg.."]);
        host.take_all([chunk(4, 1, 0, 4, "", "h"), chunk(5, 1, 0, 5, "E", "i")]);
        host.take(chunk(6, 1, 1, 0, "BE", "next"));
        assert_eq!((host.inbound.ready(), host.inbound.ends()), (2, 2));
        assert_eq!(host.read_all(), ["..hi", "next"]);
        assert_eq!((host.inbound.buffered(), host.inbound.ready()), (0, 0));
    }
}

#[test]
fn what_is_complete_before_any_of_it_was_read_stays_whole() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 1);
        host.take_all([chunk(0, 1, 0, 0, "B", "abc"), chunk(1, 1, 0, 1, "", "de")]);
        assert_eq!(host.inbound.ready(), 1);
        host.take(chunk(2, 1, 0, 2, "E", "f"));
        assert_eq!(host.read_all(), ["abcdef"]);
    }
}

#[test]
fn what_is_beyond_a_missing_chunk_is_no_part_yet() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 1);
        host.take_all([chunk(0, 1, 0, 0, "B", "a"), chunk(2, 1, 0, 2, "", "c")]);
        assert_eq!(host.read_all(), ["a.."]);
        host.take(chunk(1, 1, 0, 1, "", "b"));
        assert_eq!(host.read_all(), ["..bc.."]);
    }
}

#[test]
fn with_data_all_others_wait_for_the_end_and_may_be_discarded() {
    let mut host = Host::new(false, 1);
    host.take(chunk(0, 1, 0, 0, "B", "a"));
    assert_eq!(host.read_all(), ["a.."]);
    host.take_all([
        chunk(3, 2, 0, 0, "BE", "other"),
        chunk(4, 1, 0, 0, "UBE", "unordered"),
        chunk(5, 1, 1, 0, "BE", "behind"),
        chunk(6, 3, 0, 0, "UBE", "highest"),
    ]);
    assert_eq!((host.inbound.ready(), host.read()), (0, None));
    assert_eq!(host.inbound.discard_highest(0), Some(FIRST + 6));
    host.came.note(6, false);
    assert!(host.inbound.discard(FIRST + 3));
    host.came.note(3, false);
    host.take(chunk(1, 1, 0, 1, "", "b"));
    host.take(chunk(3, 2, 0, 0, "BE", "other"));
    host.take(chunk(2, 1, 0, 2, "E", "c"));
    assert_eq!(host.read_all(), ["..bc", "behind", "unordered", "other"]);
    assert_eq!(host.inbound.buffered(), 0);
}

#[test]
fn with_i_data_other_streams_pass() {
    let mut host = Host::new(true, 1);
    host.take_all([chunk(0, 1, 0, 0, "B", "a"), chunk(1, 2, 0, 0, "B", "A")]);
    assert_eq!(host.inbound.ready(), 2);
    assert_eq!(host.read_all(), ["a..", "A.."]);
    host.take_all(
        [
            chunk(2, 1, 0, 0, "UBE", "unordered"),
            chunk(3, 3, 0, 0, "BE", "passes"),
            chunk(4, 1, 1, 0, "BE", "behind"),
            chunk(5, 2, 0, 1, "", "B"),
            chunk(6, 1, 0, 0, "", "b"),
        ]
        .map(|c| if c.seq == FIRST + 6 { InChunk { fsn: Fsn(1), ..c } } else { c }),
    );
    // Those of the same stream wait, ordered or not, and streams take turns.
    assert_eq!(host.read_all(), ["passes", "..b..", "..B.."]);
    host.take(chunk(7, 1, 0, 2, "E", "c"));
    assert_eq!(host.read_all(), ["..c", "unordered", "behind"]);
    host.take(chunk(8, 2, 0, 2, "E", "C"));
    assert_eq!((host.read_all(), host.inbound.buffered()), (vec!["..C".to_owned()], 0));
}

#[test]
fn of_unordered_messages_of_a_stream_one_is_read_at_a_time() {
    let mut host = Host::new(true, 2);
    host.take_all([chunk(0, 1, 0, 0, "UB", "ab"), chunk(1, 1, 1, 0, "UB", "AB")]);
    assert_eq!(host.read_all(), ["ab.."]);
    host.take_all([chunk(2, 1, 1, 1, "", "C"), chunk(3, 1, 1, 2, "U", "D")].map(|mut c| {
        c.flags.unordered = true;
        c
    }));
    assert_eq!(host.read_all(), [""; 0]);
    host.take_all([chunk(4, 1, 2, 0, "UBE", "whole"), chunk(5, 1, 0, 1, "UE", "c")]);
    assert_eq!(host.read_all(), ["..c", "whole"]);
    host.take(chunk(6, 1, 1, 3, "U", "E"));
    assert_eq!(host.read_all(), ["ABCDE.."]);
    host.take(chunk(7, 1, 1, 4, "UE", "F"));
    assert_eq!((host.read_all(), host.inbound.buffered()), (vec!["..F".to_owned()], 0));
}

//= RFC 3758 3.6-11
#[test]
fn what_the_peer_gives_up_is_aborted_in_its_place() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 1);
        host.take_all([chunk(0, 1, 0, 0, "B", "a"), chunk(3, 1, 1, 0, "BE", "next")]);
        assert_eq!(host.read_all(), ["a.."]);
        host.forward(2, &[(1, false, 0)]);
        assert_eq!(host.inbound.ready(), 2);
        assert_eq!(host.read_all(), ["x", "next"]);
        // Of one that nobody has begun to read nothing is told.
        host.take(chunk(4, 1, 2, 0, "B", "b"));
        host.forward(5, &[(1, false, 2)]);
        assert_eq!((host.read_all(), host.inbound.buffered()), (Vec::<String>::new(), 0));
        host.take(chunk(6, 1, 3, 0, "BE", "last"));
        assert_eq!(host.read_all(), ["last"]);
    }
}

#[test]
fn a_stream_that_begins_again_ends_what_is_read_of_it() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 1);
        host.take(chunk(0, 1, 0, 0, "B", "a"));
        assert_eq!(host.read_all(), ["a.."]);
        host.inbound.begin_again(&StreamSet::of([StreamId(2)])).unwrap();
        assert_eq!(host.read_all(), [""; 0]);
        host.inbound.begin_again(&StreamSet::of([StreamId(1)])).unwrap();
        assert_eq!((host.inbound.ends(), host.read_all()), (1, vec!["x".to_owned()]));
        let n = if interleaved {
            1
        } else {
            // What still comes of it with DATA chunks is dropped.
            host.take_all([chunk(1, 1, 0, 1, "", "b"), chunk(2, 1, 0, 2, "E", "c")]);
            3
        };
        host.take(chunk(n, 1, 0, 0, "BE", "A"));
        assert_eq!((host.read_all(), host.inbound.buffered()), (vec!["A".to_owned()], 0));
    }
}

#[test]
fn a_jump_ends_what_is_read() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 1);
        host.take(chunk(0, 1, 0, 0, "B", "a"));
        assert_eq!(host.read_all(), ["a.."]);
        host.take(chunk(2, 2, 0, 0, "BE", "other"));
        host.inbound.jump(FIRST + 1000);
        let mut left = host.read_all();
        left.sort();
        assert_eq!(left, ["other", "x"]);
    }
}

#[test]
fn the_end_ends_what_is_read_and_nothing_else_begins() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 1);
        host.take(chunk(0, 1, 0, 0, "B", "a"));
        assert_eq!(host.read_all(), ["a.."]);
        host.take_all([chunk(1, 1, 0, 1, "", "unread"), chunk(3, 2, 0, 0, "UBE", "whole")]);
        host.inbound.end_partial_delivery();
        let left = host.read_all();
        assert!(left.contains(&"x".to_owned()) && left.contains(&"whole".to_owned()), "{left:?}");
        assert_eq!(left.len(), 2);

        let mut host = Host::new(interleaved, 1);
        host.take(chunk(0, 1, 0, 0, "B", "never read"));
        host.inbound.end_partial_delivery();
        assert_eq!((host.inbound.ready(), host.read()), (0, None));
    }
}

#[test]
fn a_message_that_never_ends_holds_what_was_not_read() {
    for interleaved in [false, true] {
        let mut host = Host::new(interleaved, 100);
        for n in 0..20_000 {
            let letters = if n == 0 { "B" } else { "" };
            host.take(chunk(n, 1, 0, n as u32, letters, "0123456789"));
            while host.read().is_some() {}
            assert!(host.inbound.buffered() < 1000 && host.inbound.memory() < 10_000);
        }
    }
}

#[test]
fn a_barrier_keeps_what_was_not_begun() {
    let mut host = Host::new(false, 1);
    host.take(chunk(0, 1, 0, 0, "B", "a"));
    assert_eq!(host.read_all(), ["a.."]);
    host.inbound.keep_behind(StreamSet::All, Tsn(FIRST as u32));
    host.take(chunk(1, 1, 0, 1, "E", "b"));
    host.take(chunk(2, 1, 1, 0, "B", "A"));
    // It may be one of the time after.
    assert_eq!(host.read_all(), ["..b"]);
    host.inbound.end_barrier().unwrap();
    assert_eq!(host.read_all(), ["A.."]);
}

/// What a reader makes of what it reads.
struct Reader<'a> {
    messages: &'a [Sent],
    chunks: &'a [(InChunk, usize)],
    interleaved: bool,
    /// What was read of each message, and whether that ended, and how.
    read: Vec<(Vec<u8>, Option<MessagePart>)>,
    /// The message that is open, by stream or, with DATA chunks, in all.
    open: BTreeMap<u16, usize>,
}

impl Reader<'_> {
    fn read(&mut self, received: &ReceivedMessage) {
        let first = self.chunks.iter().find(|(chunk, _)| chunk.tsn == received.tsn).unwrap();
        assert!(first.0.flags.beginning);
        let index = first.1;
        let message = &self.messages[index].0;
        assert_eq!((received.stream, received.unordered), (message.stream, message.unordered));
        assert_eq!(received.ppid, message.ppid);
        let place = if self.interleaved { received.stream.0 } else { 0 };
        let begins = matches!(received.part, MessagePart::Whole | MessagePart::First);
        assert_eq!(self.open.get(&place).copied(), (!begins).then_some(index));
        let (bytes, ended) = &mut self.read[index];
        assert!(ended.is_none());
        assert_eq!(received.payload.is_empty(), received.part == MessagePart::Aborted);
        bytes.extend_from_slice(&received.payload);
        if received.part.ends() {
            *ended = Some(received.part);
            self.open.remove(&place);
        } else {
            self.open.insert(place, index);
        }
    }
}

/// What is passed over once these messages are given up: up to which TSN, and of which streams.
fn forward(host: &mut Host, chunks: &[(InChunk, usize)], given_up: &[bool]) {
    let edge = host.came.edge() as usize;
    let passed = |n: &usize| host.came.has(*n as u64) || given_up[chunks[*n].1];
    let Some(last) = (edge..chunks.len()).take_while(passed).last() else { return };
    if !(edge..=last).any(|n| given_up[chunks[n].1]) {
        return;
    }
    let mut skipped: BTreeMap<(u16, bool), u32> = BTreeMap::new();
    for (chunk, _) in chunks[..=last].iter().filter(|(_, index)| given_up[*index]) {
        skipped.insert((chunk.stream.0, chunk.flags.unordered), chunk.mid.0);
    }
    let skipped: Vec<_> =
        skipped.into_iter().map(|((s, unordered), mid)| (s, unordered, mid)).collect();
    host.forward(last as u64, &skipped);
}

/// While a message is handed over in parts, others of its stream that are complete wait for its end. What is dropped for want of
/// room waits no more: the peer may number what it sends again as it likes.
#[test]
fn what_was_dropped_waits_for_no_end() {
    let mut host = Host::new(true, 1);
    host.take(chunk(0, 1, 0, 0, "UB", "a"));
    assert_eq!(host.read_all(), ["a.."]);
    let before = host.inbound.memory();
    for mid in 1..100_000 {
        let late = chunk(2, 1, mid, 0, "UBE", "x");
        host.inbound.receive(Time::ZERO, late).unwrap();
        assert_eq!(host.inbound.discard_highest(FIRST + 1), Some(FIRST + 2));
    }
    assert_eq!(host.inbound.buffered(), 128, "nothing is held but the head of the message");
    let after = host.inbound.memory();
    assert!(after < before + 1000, "{before} bytes of memory before, {after} after");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any messages, order of arrival, reneging, giving up and reading: what is read of a message, put together, is the message,
    /// or its beginning and then an abort if it was given up; and messages do not mix.
    #[test]
    fn parts_are_the_message(
        messages in messages(),
        interleaved in any::<bool>(),
        point in 1usize..200,
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0u8..20), 1..400),
        gives_up in any::<bool>(),
    ) {
        let chunks = chunks_of(&messages, StreamScheduler::RoundRobinPerPacket, interleaved);
        let mut host = Host::new(interleaved, point);
        let mut given_up = vec![false; messages.len()];
        let mut reader = Reader {
            messages: &messages,
            chunks: &chunks,
            interleaved,
            read: vec![(Vec::new(), None); messages.len()],
            open: BTreeMap::new(),
        };
        let all = (0..chunks.len()).map(|_| (None, 0));
        let steps = steps.into_iter().map(|(index, what)| (Some(index), what)).chain(all);
        for (index, what) in steps {
            match what {
                0..11 => {
                    let came = |n: usize| host.came.has(n as u64);
                    let missing: Vec<usize> =
                        (0..chunks.len()).filter(|n| !came(*n) && !given_up[chunks[*n].1]).collect();
                    if let Some(near) = missing.get(..missing.len().min(6)).filter(|n| !n.is_empty()) {
                        let n = index.map_or(near[0], |index| *index.get(near));
                        host.take(chunks[n].0.clone());
                    }
                }
                11 => {
                    if let Some(seq) = host.inbound.discard_highest(0) {
                        host.came.note(seq - FIRST, false);
                    }
                }
                12 if gives_up => {
                    let n = index.map_or(0, |index| index.index(messages.len()));
                    given_up[n] = true;
                }
                _ => {
                    let was_ready = host.inbound.ready();
                    let received = host.pop();
                    prop_assert_eq!(received.is_some(), was_ready > 0);
                    if let Some(received) = received {
                        reader.read(&received);
                    }
                }
            }
            forward(&mut host, &chunks, &given_up);
        }
        while let Some(received) = host.pop() {
            reader.read(&received);
        }
        prop_assert!(reader.open.is_empty());
        for (((message, _), given_up), (read, ended)) in messages.iter().zip(given_up).zip(reader.read) {
            match ended {
                Some(MessagePart::Whole | MessagePart::Last) => prop_assert_eq!(&message.payload[..], read),
                ended => {
                    prop_assert!(given_up && message.payload.starts_with(&read), "{:?}", ended);
                    prop_assert_eq!(ended.is_some(), !read.is_empty());
                }
            }
        }
        prop_assert_eq!((host.inbound.ready(), host.inbound.buffered()), (0, 0));
    }
}
