//! RFC 8260 §2.2.3 and §2.3 for the receiver, against a model, and what a faulty or hostile peer may send.

use bytes::Bytes;
use proptest::prelude::*;
use tresse_wire::{DataFlags, Ppid, Ssn, StreamId, Tsn};

use super::MOST_OPEN;
use super::message::{HALF, PIECE_CHARGE};
use crate::event::{Message, NextMessage, ReceivedMessage};
use crate::profile::StreamScheduler;
use crate::streams::chunk::{InChunk, InboundError};
use crate::streams::inbound::Inbound;
use crate::streams::stream_set::StreamSet;
use crate::streams::tests::scattered::{self, Came, FIRST, STREAMS, chunk, chunks_of, messages};
use crate::time::Time;

const LARGEST: usize = 1000;

/// An association's receiver that knows which TSNs came.
struct Host {
    inbound: Inbound,
    came: Came,
}

impl Host {
    fn new(may_skip: bool) -> Host {
        Host::with(STREAMS, may_skip)
    }

    fn with(streams: u16, may_skip: bool) -> Host {
        Host::of(streams, 0, may_skip)
    }

    fn of(streams: u16, buffer: usize, may_skip: bool) -> Host {
        let mut inbound = Inbound::new(streams, LARGEST, FIRST);
        inbound.interleave((LARGEST, buffer), FIRST, may_skip);
        inbound.track_delivered();
        Host { inbound, came: Came::default() }
    }

    fn take(&mut self, chunk: InChunk) -> Result<(), InboundError> {
        self.came.note(chunk.seq - FIRST, true);
        self.inbound.advance_to(self.came.cumulative());
        self.inbound.receive(Time::ZERO, chunk)
    }

    /// All TSNs up to `n` count as received, and messages up to these MIDs are passed over.
    fn forward(&mut self, n: u64, skipped: &[(u16, bool, u32)]) -> usize {
        (0..=n).for_each(|n| self.came.note(n, true));
        self.inbound.advance_to(self.came.cumulative());
        self.inbound.pass_over_messages(FIRST + n, scattered::skipped(skipped))
    }

    /// What is read next is what was told before.
    fn pop(&mut self) -> Option<ReceivedMessage> {
        let told = self.inbound.peek();
        let received = self.inbound.pop();
        assert_eq!(told, received.as_ref().map(NextMessage::from));
        received
    }

    fn texts(&mut self) -> Vec<String> {
        let text = |m: ReceivedMessage| String::from_utf8(m.payload.to_vec()).unwrap();
        std::iter::from_fn(|| self.pop()).map(text).collect()
    }
}

#[track_caller]
fn refused(host: &mut Host, chunk: InChunk) -> &'static str {
    match host.take(chunk) {
        Err(InboundError::Inconsistent(reason)) => reason,
        other => panic!("{other:?}"),
    }
}

//= RFC 8260 2.2.3-1
#[test]
fn several_messages_of_several_streams_are_open_at_once() {
    let mut host = Host::new(false);
    // The same MID on two streams, and an unordered one beside an ordered one.
    for part in [
        chunk(0, 0, 0, 0, "B", "a"),
        chunk(1, 1, 0, 0, "B", "A"),
        chunk(2, 0, 0, 0, "UB", "x"),
        chunk(3, 1, 0, 1, "", "B"),
        chunk(4, 0, 0, 1, "", "b"),
        chunk(5, 0, 0, 1, "UE", "y"),
        chunk(6, 2, 0, 0, "BE", "one"),
        chunk(7, 0, 0, 2, "E", "c"),
        chunk(8, 1, 0, 2, "E", "C"),
    ] {
        host.take(part).unwrap();
    }
    assert_eq!(host.texts(), ["xy", "one", "abc", "ABC"]);
    assert_eq!(host.inbound.buffered(), 0);
}

//= RFC 8260 2.2.3-2
#[test]
fn tsns_say_nothing_of_the_order() {
    let mut host = Host::new(false);
    // The last fragment has the first TSN, and the second message comes before the first one.
    for part in [
        chunk(0, 0, 1, 1, "E", "d"),
        chunk(1, 0, 0, 1, "E", "b"),
        chunk(2, 0, 1, 0, "B", "c"),
        chunk(3, 0, 0, 0, "B", "a"),
    ] {
        host.take(part).unwrap();
    }
    let received: Vec<ReceivedMessage> = std::iter::from_fn(|| host.pop()).collect();
    let told: Vec<_> = received.iter().map(|m| (m.ssn, m.tsn.0, m.ppid, &m.payload[..])).collect();
    let (first, second) =
        ((Ssn(0), 1003, Ppid(51), &b"ab"[..]), (Ssn(1), 1002, Ppid(51), &b"cd"[..]));
    assert_eq!(told, [first, second]);
}

#[test]
fn a_whole_message_goes_straight_through_without_a_copy() {
    let mut host = Host::new(false);
    let payload = Bytes::from(vec![1; 900]);
    host.take(InChunk { payload: payload.clone(), ..chunk(0, 1, 0, 0, "BE", "") }).unwrap();
    assert_eq!(host.inbound.pop().unwrap().payload.as_ptr(), payload.as_ptr());
}

#[test]
fn what_contradicts_itself_is_no_message() {
    let one = |parts: &[InChunk], last: InChunk| {
        let mut host = Host::new(false);
        parts.iter().for_each(|part| host.take(part.clone()).unwrap());
        refused(&mut host, last)
    };
    let begun = [chunk(0, 0, 0, 0, "B", "a"), chunk(1, 0, 0, 1, "", "b")];
    let twice = "two fragments with one FSN";
    assert_eq!(one(&begun, chunk(2, 0, 0, 0, "B", "x")), twice);
    assert_eq!(one(&begun, chunk(2, 0, 0, 0, "BE", "x")), twice);
    assert_eq!(one(&begun, chunk(2, 0, 0, 1, "", "x")), "an FSN that came before");
    assert_eq!(
        one(&[begun[0].clone(), chunk(2, 0, 0, 3, "", "d")], chunk(3, 0, 0, 3, "", "x")),
        twice
    );
    let behind = "a fragment behind the last one of its message";
    assert_eq!(one(&[chunk(2, 0, 0, 2, "E", "c")], chunk(3, 0, 0, 3, "", "x")), behind);
    assert_eq!(one(&[chunk(2, 0, 0, 2, "E", "c")], chunk(3, 0, 0, 1, "E", "x")), behind);
    assert_eq!(one(&[chunk(2, 0, 0, 2, "", "c")], chunk(3, 0, 0, 1, "E", "x")), behind);
    let headless = "a message does not begin with a first fragment";
    assert_eq!(one(&[], chunk(0, 0, 0, 0, "", "x")), headless);
    assert_eq!(one(&[], chunk(0, 0, 0, HALF, "", "x")), "an FSN that came before");
    let late = "a MID that was delivered already";
    assert_eq!(one(&[chunk(0, 0, 0, 0, "BE", "a")], chunk(1, 0, 0, 0, "BE", "x")), late);
    assert_eq!(one(&[], chunk(1, 0, HALF, 0, "BE", "x")), late);
}

#[test]
fn what_is_too_large_ends_the_association() {
    let large = |n, stream, fsn, letters| InChunk {
        payload: Bytes::from(vec![0; LARGEST / 2]),
        ..chunk(n, stream, 0, fsn, letters, "")
    };
    let mut host = Host::new(false);
    host.take(large(0, 0, 0, "B")).unwrap();
    host.take(large(1, 0, 1, "")).unwrap();
    assert_eq!(host.take(chunk(2, 0, 0, 2, "E", "x")), Err(InboundError::MessageTooLarge));
    // Each may have as much, and all of them some times that.
    // Or as much as the receive buffer.
    for (buffer, most) in [(0, MOST_OPEN), (20 * LARGEST, 20)] {
        let mut host = Host::of(100, buffer, false);
        let mut open = 0;
        while open < 50 && host.take(large(open, open as u16, 0, "B")) == Ok(()) {
            open += 1;
        }
        assert_eq!(open as usize, 2 * most);
        assert!(host.inbound.memory() < 3 * most * LARGEST + (64 << 10));
    }
    // What lies beyond the first missing chunk fills the window, until that one comes.
    let mut host = Host::with(100, false);
    let taken = (1..50).take_while(|n| host.take(large(*n, *n as u16, 0, "B")).is_ok());
    assert_eq!(taken.count(), 49);
    assert!(host.inbound.occupied(0) >= 49 * LARGEST / 2);
    assert_eq!(host.take(chunk(0, 0, 0, 0, "BE", "x")), Err(InboundError::MessageTooLarge));
}

#[test]
fn mids_wrap_around() {
    let mut host = Host::new(true);
    // As far as that by way of what is passed over.
    for (n, mid) in (0..).zip([HALF - 1, u32::MAX - 2]) {
        host.forward(n, &[(0, false, mid), (0, true, mid)]);
    }
    for (n, mid) in [(2, 0), (3, u32::MAX), (4, u32::MAX - 1), (5, 1)] {
        host.take(chunk(n, 0, mid, 0, "BE", "o")).unwrap();
        let ready = [0, 0, 3, 4][n as usize - 2];
        assert_eq!(host.inbound.ready(), ready, "{mid}");
    }
    // Unordered ones go on far ahead: what was passed over stays behind.
    for (n, step) in (6..).zip(0..10u32) {
        let mid = step.wrapping_mul(HALF / 2 - 1).wrapping_sub(2);
        host.take(chunk(n, 0, mid, 0, "UBE", "u")).unwrap();
    }
    assert_eq!(host.texts().len(), 14);
}

#[test]
fn fsns_wrap_around() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "B", "a")).unwrap();
    let interleaved = host.inbound.interleaved_mut();
    let key = *interleaved.open.keys().next().unwrap();
    let open = interleaved.open.get_mut(&key).unwrap();
    // As if this many fragments had come.
    (open.next, open.count) = (u64::from(u32::MAX) - 1, u64::from(u32::MAX) - 1);
    for (n, fsn, letters, text) in [(1, u32::MAX - 1, "", "b"), (3, 0, "", "d"), (4, 1, "E", "e")] {
        host.take(chunk(n, 0, 0, fsn, letters, text)).unwrap();
    }
    assert_eq!(host.inbound.ready(), 0);
    host.take(chunk(2, 0, 0, u32::MAX, "", "c")).unwrap();
    assert_eq!(host.texts(), ["abcde"]);
}

//= RFC 3758 3.6-7 3.6-8
//= RFC 8260 2-2
#[test]
fn what_is_passed_over_comes_no_more_and_holds_nothing_up() {
    let mut host = Host::new(true);
    for part in [
        chunk(1, 0, 0, 1, "", "b"),
        chunk(2, 0, 1, 0, "BE", "next"),
        chunk(3, 0, 3, 0, "BE", "later"),
        chunk(4, 1, 0, 0, "B", "other "),
        chunk(5, 0, 0, 0, "UB", "u"),
    ] {
        host.take(part).unwrap();
    }
    assert_eq!(host.inbound.ready(), 0);
    // Message 0 of stream 0 lacks something, message 2 is passed over as well; that of stream 1 is none of them.
    assert_eq!(host.forward(0, &[(0, false, 2), (0, true, 0), (9, false, 5)]), 2);
    assert_eq!(host.texts(), ["next", "later"]);
    // What comes late is dropped, of unordered messages as of ordered ones.
    host.take(chunk(6, 0, 0, 2, "E", "c")).unwrap();
    host.take(chunk(7, 0, 0, 1, "UE", "v")).unwrap();
    host.take(chunk(8, 0, 2, 0, "BE", "never")).unwrap();
    host.take(chunk(9, 1, 0, 1, "E", "stream")).unwrap();
    assert_eq!(host.texts(), ["other stream"]);
    // One that says less than before changes nothing.
    host.forward(10, &[(0, false, 1), (0, true, u32::MAX)]);
    host.take(chunk(11, 0, 4, 0, "BE", "4")).unwrap();
    host.take(chunk(12, 0, 1, 0, "UBE", "1")).unwrap();
    assert_eq!(host.texts(), ["4", "1"]);
    assert_eq!(host.inbound.buffered(), 0);
}

#[test]
fn what_is_beyond_a_missing_chunk_can_be_dropped_and_come_again() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "B", "a")).unwrap();
    host.take(chunk(2, 0, 0, 2, "E", "c")).unwrap();
    host.take(chunk(3, 0, 1, 0, "BE", "d")).unwrap();
    // Before the first missing one nothing is.
    assert!(!host.inbound.discard(FIRST));
    assert_eq!(host.inbound.discard_highest(FIRST + 3), None);
    assert_eq!(host.inbound.discard_highest(FIRST), Some(FIRST + 3));
    assert!(host.inbound.discard(FIRST + 2));
    host.came.note(2, false);
    host.came.note(3, false);
    host.take(chunk(1, 0, 0, 1, "", "b")).unwrap();
    assert_eq!(host.inbound.ready(), 0);
    // It may even have another end now.
    host.take(chunk(2, 0, 0, 2, "", "c")).unwrap();
    host.take(chunk(3, 0, 0, 3, "E", "!")).unwrap();
    assert_eq!(host.texts(), ["abc!"]);
}

#[test]
fn what_is_delivered_will_not_be_dropped() {
    let mut host = Host::new(true);
    for part in
        [chunk(1, 0, 0, 0, "BE", "a"), chunk(2, 1, 0, 0, "UB", "b"), chunk(3, 9, 0, 0, "BE", "")]
    {
        host.take(part).unwrap();
    }
    let delivered = |host: &Host| host.inbound.delivered().unwrap().iter().collect::<Vec<u64>>();
    assert_eq!(delivered(&host), [FIRST + 1, FIRST + 3]);
    host.take(chunk(4, 1, 0, 1, "UE", "c")).unwrap();
    assert_eq!(delivered(&host), [1, 2, 3, 4].map(|n| FIRST + n));
    host.take(chunk(0, 0, 1, 0, "BE", "d")).unwrap();
    assert_eq!(delivered(&host), []);
}

#[test]
fn window_and_memory_follow_what_is_held() {
    let mut host = Host::new(false);
    let part = |n, stream, mid, fsn, letters| InChunk {
        payload: Bytes::from(vec![0; 100]),
        ..chunk(n, stream, mid, fsn, letters, "")
    };
    for (n, stream) in [(0, 0), (1, 1), (2, 2)] {
        host.take(part(n, stream, 0, 0, "B")).unwrap();
    }
    // Messages that can only grow close the window by no more than half.
    assert!(host.inbound.buffered() >= 300 && host.inbound.occupied(200) == 100);
    host.take(part(4, 3, 0, 0, "B")).unwrap();
    assert_eq!(host.inbound.occupied(200), PIECE_CHARGE);
    // Something can be read, and is no part of them.
    host.take(part(3, 3, 0, 0, "UBE")).unwrap();
    assert!(host.inbound.waits_for_whole() && host.inbound.ready() > 0);
    assert_eq!(host.inbound.occupied(200), 100);
    host.inbound.set_partial_delivery_point(Some(1));
    assert!(!host.inbound.waits_for_whole());
}

#[test]
fn one_message_of_each_stream_costs_what_is_counted() {
    let mut host = Host::with(u16::MAX, false);
    host.inbound.interleave((1 << 20, 0), FIRST, false);
    for n in 0..u64::from(u16::MAX) {
        // Beyond a missing chunk every second one.
        let seq = if n % 2 == 0 { n / 2 } else { 40_000 + n / 2 };
        let fsn = u32::from(n % 3 == 0);
        let letters = if fsn == 0 { "B" } else { "" };
        let mut inchunk = chunk(seq, n as u16, 0, fsn, letters, "x");
        inchunk.seq = FIRST + seq;
        host.inbound.receive(Time::ZERO, inchunk).unwrap();
        if host.inbound.buffered() > 1 << 20 {
            break;
        }
    }
    let (memory, buffered) = (host.inbound.memory(), host.inbound.buffered());
    assert!(buffered > 1 << 20);
    assert!(memory < 3 * buffered + (256 << 10), "{memory} for {buffered}");
}

//= RFC 6525 5.2.2-4 5.2.2-7 5.2.2-8
//= RFC 8260 2.3.2-1
#[test]
fn streams_begin_again_with_mid_0() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "BE", "a")).unwrap();
    host.take(chunk(1, 0, 0, 0, "UBE", "u")).unwrap();
    let last = Tsn((FIRST + 4) as u32);
    host.inbound.keep_behind(StreamSet::of([StreamId(0)]), last);
    // Behind the barrier the MIDs of before come again; on another stream nothing changes.
    for part in [
        chunk(5, 0, 0, 0, "B", "A"),
        chunk(6, 1, 0, 0, "BE", "other"),
        chunk(7, 0, 0, 1, "E", "B"),
        chunk(8, 0, 0, 0, "UBE", "U"),
        chunk(2, 0, 1, 0, "B", "b"),
    ] {
        host.take(part).unwrap();
    }
    assert_eq!(host.texts(), ["a", "u", "other"]);
    assert!(host.inbound.buffered() >= 3 * PIECE_CHARGE);
    // What is kept can be dropped, as everything beyond a missing chunk.
    assert_eq!(host.inbound.discard_highest(0), Some(FIRST + 8));
    host.came.note(8, false);
    host.take(chunk(3, 0, 1, 1, "E", "c")).unwrap();
    host.take(chunk(4, 0, 2, 0, "BE", "d")).unwrap();
    host.take(chunk(8, 0, 0, 0, "UBE", "U")).unwrap();
    assert_eq!(host.texts(), ["bc", "d"]);
    host.inbound.begin_again(&StreamSet::of([StreamId(0)])).unwrap();
    assert_eq!(host.texts(), ["AB", "U"]);
    host.take(chunk(9, 0, 1, 0, "BE", "C")).unwrap();
    assert_eq!((host.texts(), host.inbound.buffered()), (vec!["C".to_owned()], 0));
}

#[test]
fn a_reset_that_was_refused_goes_on_with_the_mids_before() {
    let mut host = Host::new(true);
    host.take(chunk(0, 0, 0, 0, "BE", "a")).unwrap();
    host.inbound.keep_behind(StreamSet::All, Tsn(FIRST as u32));
    host.take(chunk(1, 0, 1, 0, "BE", "b")).unwrap();
    host.forward(2, &[(0, false, 2)]);
    host.take(chunk(3, 0, 3, 0, "BE", "d")).unwrap();
    assert_eq!(host.texts(), ["a"]);
    host.inbound.let_through(Tsn((FIRST + 1) as u32)).unwrap();
    assert_eq!(host.texts(), ["b"]);
    host.inbound.end_barrier().unwrap();
    assert_eq!(host.texts(), ["d"]);
}

#[test]
fn the_end_hands_over_what_is_whole() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "BE", "a")).unwrap();
    host.inbound.keep_behind(StreamSet::All, Tsn(FIRST as u32));
    host.take(chunk(1, 0, 0, 0, "BE", "A")).unwrap();
    host.take(chunk(2, 1, 7, 0, "B", "half")).unwrap();
    host.take(chunk(4, 0, 1, 0, "BE", "beyond")).unwrap();
    host.inbound.release(Tsn((FIRST + 2) as u32));
    assert_eq!(host.texts(), ["a", "A"]);
    assert_eq!(host.inbound.buffered(), 0);
}

#[test]
fn a_message_that_began_before_a_barrier_goes_on_behind_it() {
    // Whether its beginning comes before what is behind the barrier, or after it.
    for late in [false, true] {
        let mut host = Host::new(false);
        if !late {
            host.take(chunk(0, 0, 0, 0, "B", "a")).unwrap();
        }
        host.inbound.keep_behind(StreamSet::All, Tsn(FIRST as u32));
        host.take(chunk(1, 0, 0, 1, "E", "b")).unwrap();
        host.take(chunk(2, 0, 1, 0, "BE", "c")).unwrap();
        if late {
            host.take(chunk(0, 0, 0, 0, "B", "a")).unwrap();
        }
        assert_eq!(host.inbound.ready(), usize::from(!late));
        host.inbound.release(Tsn((FIRST + 2) as u32));
        assert_eq!(host.texts(), ["ab", "c"]);
    }
}

#[test]
fn the_end_hands_over_what_waited_behind_what_was_kept() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "BE", "a")).unwrap();
    host.take(chunk(2, 0, 2, 0, "BE", "c")).unwrap();
    host.inbound.keep_behind(StreamSet::All, Tsn(FIRST as u32));
    host.take(chunk(1, 0, 1, 0, "BE", "b")).unwrap();
    host.take(chunk(3, 0, 3, 0, "BE", "d")).unwrap();
    host.inbound.release(Tsn((FIRST + 3) as u32));
    assert_eq!(host.texts(), ["a", "b", "c", "d"]);
}

#[test]
fn the_end_hands_over_nothing_from_behind_what_is_missing() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "BE", "a")).unwrap();
    host.take(chunk(2, 0, 2, 0, "BE", "c")).unwrap();
    host.inbound.keep_behind(StreamSet::All, Tsn(FIRST as u32));
    host.inbound.release(Tsn(FIRST as u32));
    assert_eq!(host.texts(), ["a"]);
}

#[test]
fn a_jump_forgets_what_is_incomplete() {
    let mut host = Host::new(false);
    host.take(chunk(0, 0, 0, 0, "B", "a")).unwrap();
    host.take(chunk(2, 0, 2, 0, "BE", "waits")).unwrap();
    host.inbound.jump(FIRST + 1000);
    assert_eq!((host.texts(), host.inbound.buffered()), (vec!["waits".to_owned()], 0));
    host.inbound.advance_to(FIRST + 1000);
    host.inbound.receive(Time::ZERO, chunk(1000, 0, 0, 0, "BE", "A")).unwrap();
    assert_eq!(host.texts(), ["A"]);
}

fn schedulers() -> impl Strategy<Value = StreamScheduler> {
    prop::sample::select(StreamScheduler::ALL)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Any messages, scheduler, order of arrival and reneging: each message is delivered exactly once, whole, and as soon as
    /// it can be.
    #[test]
    fn it_agrees_with_a_model_that_sorts(
        messages in messages(),
        which in schedulers(),
        steps in prop::collection::vec((any::<prop::sample::Index>(), 0u8..10), 1..400),
    ) {
        let chunks = chunks_of(&messages, which, true);
        let mut host = Host::new(false);
        let mut arrived = vec![false; chunks.len()];
        let mut delivered = vec![false; messages.len()];
        let mut popped = Vec::new();
        let all = (0..chunks.len()).map(|_| (None, 0));
        let steps = steps.into_iter().map(|(index, what)| (Some(index), what)).chain(all);
        for (index, what) in steps {
            let edge = arrived.iter().position(|arrived| !arrived).unwrap_or(chunks.len());
            let held = |n: usize, delivered: &[bool]| arrived[n] && n > edge && !delivered[chunks[n].1];
            match what {
                0..8 => {
                    let missing: Vec<usize> = (0..chunks.len()).filter(|n| !arrived[*n]).collect();
                    if missing.is_empty() {
                        break;
                    }
                    let near = &missing[..missing.len().min(12)];
                    let n = index.map_or(near[0], |index| *index.get(near));
                    arrived[n] = true;
                    host.take(chunks[n].0.clone()).unwrap();
                    // What is complete is delivered unless an ordered message before it in its stream is not.
                    let complete = |m: usize| (0..chunks.len()).all(|n| chunks[n].1 != m || arrived[n]);
                    for m in 0..messages.len() {
                        let message = &messages[m].0;
                        let waits = (0..m).any(|o| {
                            let other = &messages[o].0;
                            !other.unordered && other.stream == message.stream && !delivered[o]
                        });
                        delivered[m] |= complete(m) && (message.unordered || !waits);
                    }
                }
                8 => {
                    let n = index.map_or(0, |index| index.index(chunks.len()));
                    let held = held(n, &delivered);
                    prop_assert_eq!(host.inbound.discard(FIRST + n as u64), held);
                    if held {
                        arrived[n] = false;
                        host.came.note(n as u64, false);
                    }
                }
                _ => {
                    let highest = (0..chunks.len()).rev().find(|n| held(*n, &delivered));
                    let expected = highest.map(|n| FIRST + n as u64);
                    prop_assert_eq!(host.inbound.discard_highest(0), expected);
                    if let Some(n) = highest {
                        arrived[n] = false;
                        host.came.note(n as u64, false);
                    }
                }
            }
            let edge = arrived.iter().position(|arrived| !arrived).unwrap_or(chunks.len());
            let done = (edge..chunks.len()).filter(|n| arrived[*n] && delivered[chunks[*n].1]);
            let done: Vec<u64> = done.map(|n| FIRST + n as u64).collect();
            prop_assert_eq!(host.inbound.delivered().unwrap().iter().collect::<Vec<u64>>(), done);
            popped.extend(std::iter::from_fn(|| host.pop()));
            prop_assert_eq!(popped.len(), delivered.iter().filter(|d| **d).count());
        }
        prop_assert_eq!(host.inbound.buffered(), 0);
        prop_assert_eq!(popped.len(), messages.len());
        for unordered in [false, true] {
            for stream in 0..STREAMS {
                let here = |m: &Message| m.stream.0 == stream && m.unordered == unordered;
                let sent = messages.iter().map(|(message, _)| message).filter(|m| here(m)).cloned();
                let got = popped.iter().cloned().map(ReceivedMessage::into_message).filter(here);
                let (mut sent, mut got): (Vec<_>, Vec<_>) = (sent.collect(), got.collect());
                if unordered {
                    let key = |m: &Message| (m.payload.clone(), m.ppid.0);
                    sent.sort_by_key(key);
                    got.sort_by_key(key);
                }
                prop_assert_eq!(got, sent);
            }
        }
    }

    /// Whatever a peer sends: no panic, what is held is what was sent at most, and no message has anything of another one.
    #[test]
    fn nonsense_does_no_harm(
        chunks in prop::collection::vec(
            (0u64..40, 0u16..4, prop_oneof![4 => 0u32..4, 1 => Just(HALF), 1 => Just(u32::MAX)],
                prop_oneof![4 => 0u32..5, 1 => Just(HALF), 1 => Just(u32::MAX)],
                any::<[bool; 3]>(), 0u8..8),
            1..150,
        ),
        strict in any::<bool>(),
        may_skip in any::<bool>(),
    ) {
        let mut host = Host::with(3, may_skip);
        let mut sent = 0;
        for (n, stream, mid, fsn, [unordered, beginning, ending], other) in chunks {
            if host.came.has(n) {
                continue;
            }
            let place = if beginning { 0 } else { fsn };
            let payload = [[stream as u8, u8::from(unordered)], [mid as u8, place as u8]].concat();
            let flags = DataFlags { unordered, beginning, ending, ..DataFlags::default() };
            let chunk = InChunk { flags, payload: payload.into(), ..chunk(n, stream, mid, fsn, "", "") };
            let result = host.take(chunk);
            sent += 2 * PIECE_CHARGE;
            prop_assert!(host.inbound.buffered() <= sent);
            if result.is_err() && strict {
                break;
            }
            match other {
                0 => {
                    if let Some(seq) = host.inbound.discard_highest(0) {
                        host.came.note(seq - FIRST, false);
                    }
                }
                1 if host.inbound.discard(FIRST + n) => host.came.note(n, false),
                2 => {
                    host.forward(n, &[(stream, unordered, mid)]);
                }
                3 => host.inbound.keep_behind(StreamSet::of([StreamId(stream)]), Tsn((FIRST + n) as u32)),
                4 => drop(host.inbound.let_through(Tsn((FIRST + n + 3) as u32))),
                5 => drop(host.inbound.begin_again(&StreamSet::All)),
                _ => {}
            }
            for message in std::iter::from_fn(|| host.pop()) {
                let head = [message.stream.0 as u8, u8::from(message.unordered), message.ssn.0 as u8];
                for (place, part) in message.payload.chunks(4).enumerate() {
                    prop_assert_eq!(part, [head[0], head[1], head[2], place as u8]);
                }
            }
            prop_assert!(host.inbound.memory() <= 3 * host.inbound.buffered() + (64 << 10));
        }
    }
}

#[test]
fn what_waits_for_an_unordered_end_keeps_its_order_where_mids_wrap_around() {
    let mut host = Host::new(true);
    host.inbound.set_partial_delivery_point(Some(1));
    // The next ordered message of stream 0 is the last but one.
    host.forward(0, &[(0, false, 0x7fff_fff0)]);
    host.forward(0, &[(0, false, 0xf000_0000)]);
    host.forward(1, &[(0, false, 0xffff_fffd)]);
    // An unordered one is read in parts.
    host.take(chunk(2, 0, 0, 0, "UB", "u")).unwrap();
    assert_eq!(host.texts(), ["u"]);
    // 0xfffffffe is missing.
    host.take(chunk(3, 0, 0xffff_ffff, 0, "BE", "first")).unwrap();
    host.take(chunk(4, 0, 0, 0, "BE", "second")).unwrap();
    assert_eq!(host.texts(), [""; 0]);
    host.forward(5, &[(0, false, 0)]);
    host.take(chunk(6, 0, 0, 1, "UE", "end")).unwrap();
    assert_eq!(host.texts(), ["end", "first", "second"]);
}
