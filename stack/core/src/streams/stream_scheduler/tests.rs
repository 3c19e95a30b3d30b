//! RFC 8260 §3: what each scheduler chooses, as the queue of messages asks it.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use proptest::prelude::*;
use tresse_wire::{DataFlags, StreamId};

use crate::chunk::NewChunk;
use crate::event::SendOptions;
use crate::profile::StreamScheduler::{self, *};
use crate::streams::send_queue::SendQueue;
use crate::time::Time;

fn push(queue: &mut SendQueue, stream: u16, size: usize) {
    let payload = Bytes::from(vec![stream as u8; size]);
    queue.push(Time::ZERO, StreamId(stream), payload, SendOptions::default());
}

/// A queue with streams and sizes of messages in the order in which they came.
fn queue(which: StreamScheduler, messages: &[(u16, usize)]) -> SendQueue {
    let mut queue = SendQueue::new(10, which);
    messages.iter().for_each(|(stream, size)| push(&mut queue, *stream, *size));
    queue
}

/// Streams of the chunks that leave, one a packet.
fn leave(queue: &mut SendQueue, chunks: usize) -> Vec<u16> {
    let mut next = || {
        let chunk = queue.next(1000);
        queue.end_packet();
        Some(chunk?.stream.0)
    };
    (0..chunks).map_while(|_| next()).collect()
}

#[test]
fn messages_leave_as_they_came_or_in_turn() {
    let messages = [(0, 9), (0, 9), (0, 9), (2, 9), (2, 9), (1, 9)];
    let of = |which| leave(&mut queue(which, &messages), 9);
    assert_eq!(of(FirstComeFirstServed), [0, 0, 0, 2, 2, 1]);
    assert_eq!(of(RoundRobin), [0, 2, 1, 0, 2, 0]);
    assert_eq!(of(RoundRobinPerPacket), [0, 2, 1, 0, 2, 0]);
    // Without priorities in turn: RFC 8260 §3.4 leaves that open.
    assert_eq!(of(Priority), [0, 2, 1, 0, 2, 0]);
}

#[test]
fn fragments_of_a_message_stay_together() {
    // RFC 8260 Figure 1.
    for which in [RoundRobin, RoundRobinPerPacket, Priority, FairCapacity, WeightedFairQueueing] {
        let mut queue = queue(which, &[(0, 3000), (1, 1000), (1, 1000), (1, 1000), (2, 3000)]);
        assert_eq!(leave(&mut queue, 7), [0, 0, 0, 1, 2, 2, 2], "{which:?}");
        push(&mut queue, 2, 3000);
        assert_eq!(leave(&mut queue, 1), [1], "{which:?}");
    }
}

#[test]
fn a_packet_carries_one_stream() {
    let mut queue = queue(RoundRobinPerPacket, &[(0, 9), (0, 9), (1, 9), (1, 9), (0, 1500)]);
    let mut packet = || {
        let chunks: Vec<u16> =
            std::iter::from_fn(|| Some(queue.next(1000)?.stream.0)).take(2).collect();
        queue.end_packet();
        chunks
    };
    assert_eq!(packet(), [0, 0]);
    assert_eq!(packet(), [1, 1]);
    // Nothing else fits in, though the message ends in the second packet.
    assert_eq!(packet(), [0, 0]);
    let mut queue = self::queue(RoundRobinPerPacket, &[(0, 1500), (1, 9), (0, 9)]);
    queue.next(1000);
    queue.end_packet();
    assert_eq!(queue.next(1000).map(|c| c.payload.len()), Some(500));
    assert_eq!((queue.next(1000).map(|c| c.stream.0), queue.next_len(1000)), (Some(0), None));
    queue.end_packet();
    assert_eq!(leave(&mut queue, 2), [1]);
}

#[test]
fn the_least_value_goes_first() {
    let mut queue = queue(Priority, &[(0, 9), (0, 9), (1, 9), (1, 9), (2, 9), (2, 9)]);
    queue.set_value(StreamId(0), 7);
    queue.set_value(StreamId(2), 1);
    assert_eq!(leave(&mut queue, 3), [1, 1, 2]);
    push(&mut queue, 1, 9);
    assert_eq!(leave(&mut queue, 2), [1, 2]);
    // It holds for what waits.
    push(&mut queue, 1, 9);
    queue.set_value(StreamId(1), 9);
    assert_eq!(leave(&mut queue, 9), [0, 0, 1]);
}

#[test]
fn a_thin_stream_waits_for_one_message() {
    for which in [RoundRobin, RoundRobinPerPacket, FairCapacity, WeightedFairQueueing] {
        let mut queue = queue(which, &[(0, 900); 100]);
        leave(&mut queue, 50);
        for _ in 0..10 {
            push(&mut queue, 1, 9);
            let left = leave(&mut queue, 2);
            assert!(left.contains(&1), "{which:?}: {left:?}");
        }
    }
}

#[test]
fn what_was_not_used_is_not_saved_up() {
    let mut queue = queue(FairCapacity, &[(0, 100); 100]);
    leave(&mut queue, 50);
    (0..20).for_each(|_| push(&mut queue, 1, 100));
    let left = leave(&mut queue, 20);
    let of_new = left.iter().filter(|stream| **stream == 1).count();
    assert!((9..=11).contains(&of_new), "{left:?}");
}

#[test]
fn another_scheduler_takes_over_what_waits() {
    let mut queue = queue(FirstComeFirstServed, &[(0, 1500), (0, 9), (0, 9), (2, 9), (1, 9)]);
    assert_eq!(leave(&mut queue, 1), [0]);
    queue.set_scheduler(RoundRobin);
    // Stream 0 goes on with its message, and then waits behind those that wait already.
    assert_eq!(leave(&mut queue, 3), [0, 2, 1]);
    queue.set_scheduler(FirstComeFirstServed);
    push(&mut queue, 5, 9);
    assert_eq!(leave(&mut queue, 9), [0, 0, 5]);
}

#[test]
fn a_stream_that_may_not_go_on_keeps_no_other_one() {
    for which in StreamScheduler::ALL.iter().copied() {
        let mut queue = queue(which, &[]);
        (0..32_767).for_each(|_| push(&mut queue, 0, 1));
        assert_eq!(leave(&mut queue, 40_000).len(), 32_767);
        push(&mut queue, 0, 1);
        push(&mut queue, 1, 1);
        let others = if which == FirstComeFirstServed { vec![] } else { vec![1] };
        assert_eq!(leave(&mut queue, 9), others, "{which:?}");
        let flags = DataFlags { ending: true, ..DataFlags::default() };
        queue.on_acked(StreamId(0), flags, 1);
        assert_eq!(leave(&mut queue, 1), [0], "{which:?}");
    }
}

/// Bytes of each stream among `chunks`.
fn shares(queue: &mut SendQueue, chunks: usize) -> [usize; 2] {
    let mut shares = [0; 2];
    for _ in 0..chunks {
        let Some(NewChunk { stream, payload, .. }) = queue.next(1000) else { break };
        shares[usize::from(stream.0)] += payload.len();
        queue.end_packet();
    }
    shares
}

/// A model: messages of each stream in a list of its own, all streams looked at whenever one is chosen.
#[derive(Default)]
struct Model {
    messages: BTreeMap<u16, VecDeque<usize>>,
    /// Streams with messages, in the order of their turns.
    ring: Vec<u16>,
    values: BTreeMap<u16, u16>,
    /// Virtual time, and the finish of each stream, in bytes for the weight of 1.
    now: u64,
    finish: BTreeMap<u16, u64>,
    starts: BTreeMap<u16, u64>,
}

impl Model {
    fn start(&mut self, stream: u16) {
        if self.ring.is_empty() {
            self.now = self.finish.values().copied().max().unwrap_or_default();
        }
        let finish = self.finish.get(&stream).copied().unwrap_or_default();
        self.starts.insert(stream, self.now.max(finish));
        self.ring.push(stream);
    }

    fn push(&mut self, stream: u16, size: usize) {
        let messages = self.messages.entry(stream).or_default();
        messages.push_back(size);
        if messages.len() == 1 {
            self.start(stream);
        }
    }

    /// Stream and size of the next message.
    fn next(&mut self, which: StreamScheduler) -> Option<(u16, usize)> {
        let value = |stream: &u16| self.values.get(stream).copied().unwrap_or_default();
        let ring = self.ring.iter().copied();
        let stream = match which {
            RoundRobin => ring.take(1).next(),
            Priority => ring.min_by_key(value),
            _ => ring.min_by_key(|stream| (self.starts[stream], *stream)),
        }?;
        let weight = if which == WeightedFairQueueing { value(&stream).max(1) } else { 1 };
        let messages = self.messages.get_mut(&stream)?;
        let size = messages.pop_front()?;
        let more = !messages.is_empty();
        self.ring.retain(|other| *other != stream);
        self.now = self.starts[&stream];
        let cost = (size as u64 * 4096).div_ceil(u64::from(weight));
        self.finish.insert(stream, self.now + cost);
        if more {
            self.start(stream);
        }
        Some((stream, size))
    }
}

fn schedulers() -> impl Strategy<Value = StreamScheduler> {
    prop::sample::select(StreamScheduler::ALL)
}

proptest! {
    /// Whatever happens, each message leaves once and whole, and those of a stream in their order.
    #[test]
    fn nothing_is_lost_or_out_of_order(
        first in schedulers(),
        steps in proptest::collection::vec((0u8..10, 0u16..5, 1usize..2500, schedulers()), 1..200),
    ) {
        let mut queue = SendQueue::new(5, first);
        let mut waiting: BTreeMap<u16, VecDeque<usize>> = BTreeMap::new();
        let (mut begun, mut bytes, mut ssns) = (None, 0, BTreeMap::<u16, u16>::new());
        let drained = [(3u8, 0u16, 1usize, first); 1200];
        for (step, stream, size, which) in steps.into_iter().chain(drained) {
            match step {
                0..3 => {
                    push(&mut queue, stream, size);
                    waiting.entry(stream).or_default().push_back(size);
                    bytes += size;
                }
                3..8 => {
                    let announced = queue.next_len(1000);
                    let chunk = queue.next(1000);
                    prop_assert_eq!(announced, chunk.as_ref().map(|c| c.payload.len()));
                    let Some(chunk) = chunk else {
                        // Only the end of a packet can be waited for.
                        queue.end_packet();
                        prop_assert_eq!(queue.next_len(1).is_none(), bytes == 0);
                        continue;
                    };
                    let stream = chunk.stream.0;
                    let whole = begun.unwrap_or_else(|| (stream, waiting[&stream][0]));
                    prop_assert_eq!(whole.0, stream, "interleaved");
                    prop_assert_eq!(chunk.flags.beginning, begun.is_none());
                    prop_assert_eq!(chunk.mid.0 as u16, *ssns.entry(stream).or_default());
                    let left = whole.1 - chunk.payload.len();
                    bytes -= chunk.payload.len();
                    prop_assert_eq!(chunk.flags.ending, left == 0);
                    begun = (left > 0).then_some((stream, left));
                    if left == 0 {
                        waiting.get_mut(&stream).and_then(VecDeque::pop_front);
                        *ssns.entry(stream).or_default() += 1;
                    }
                }
                8 => queue.set_value(StreamId(stream), size as u16),
                _ if size % 2 == 0 => queue.end_packet(),
                _ => queue.set_scheduler(which),
            }
            prop_assert_eq!(queue.bytes(), bytes);
            prop_assert_eq!(queue.messages(), waiting.values().map(VecDeque::len).sum::<usize>());
        }
        prop_assert!(queue.is_empty());
    }

    /// The same choice as that of the model.
    #[test]
    fn each_chooses_as_its_model_does(
        which in schedulers(),
        values in proptest::collection::vec(0u16..5, 6),
        steps in proptest::collection::vec((any::<bool>(), 0u16..6, 1usize..1000), 1..300),
    ) {
        prop_assume!(!matches!(which, FirstComeFirstServed | RoundRobinPerPacket));
        let (mut queue, mut model) = (SendQueue::new(6, which), Model::default());
        for (stream, value) in (0..).zip(values) {
            queue.set_value(StreamId(stream), value);
            model.values.insert(stream, value);
        }
        for (pushes, stream, size) in steps {
            if pushes {
                push(&mut queue, stream, size);
                model.push(stream, size);
            } else {
                let chunk = queue.next(1000).map(|chunk| (chunk.stream.0, chunk.payload.len()));
                prop_assert_eq!(chunk, model.next(which));
            }
        }
    }

    /// Goyal et al. 1996, Theorem 1: of two streams with messages what left differs by the largest message of each at most,
    /// each divided by the weight.
    #[test]
    fn bytes_are_shared_fairly(
        sizes in [1usize..1000, 1usize..1000],
        weight in 1u16..50,
        chunks in 10usize..400,
    ) {
        for (which, weight) in [(FairCapacity, 1), (WeightedFairQueueing, weight)] {
            let mut queue = queue(which, &[]);
            queue.set_value(StreamId(1), weight);
            for stream in [0, 1] {
                (0..500).for_each(|_| push(&mut queue, stream, sizes[usize::from(stream)]));
            }
            let [a, b] = shares(&mut queue, chunks);
            let service = [a as f64, b as f64 / f64::from(weight)];
            let bound = sizes[0] as f64 + (sizes[1] + 1) as f64 / f64::from(weight);
            prop_assert!((service[0] - service[1]).abs() <= bound, "{service:?}, {bound}");
        }
    }

    /// Of two streams with messages the numbers that left differ by one at most.
    #[test]
    fn messages_are_shared_fairly(sizes in [1usize..1000, 1usize..1000], chunks in 1usize..400) {
        for which in [RoundRobin, RoundRobinPerPacket, Priority] {
            let mut queue = queue(which, &[]);
            for stream in [0, 1] {
                (0..500).for_each(|_| push(&mut queue, stream, sizes[usize::from(stream)]));
            }
            let [a, b] = shares(&mut queue, chunks);
            prop_assert!((a / sizes[0]).abs_diff(b / sizes[1]) <= 1);
        }
    }
}

#[test]
fn what_a_stream_sent_alone_is_not_held_against_it() {
    for which in [FairCapacity, WeightedFairQueueing] {
        let mut queue = queue(which, &[(0, 1000); 50]);
        assert_eq!(leave(&mut queue, 50), [0; 50]);
        for stream in [0, 1, 1, 1, 1] {
            push(&mut queue, stream, 1000);
        }
        let order = leave(&mut queue, 5);
        assert!(order[..2].contains(&0), "{which:?}: {order:?}");
    }
}

#[test]
fn a_value_that_stays_costs_no_turn() {
    for which in StreamScheduler::ALL.iter().copied() {
        let mut queue = queue(which, &[0, 1, 2, 0, 1, 2].map(|stream| (stream, 1000)));
        let mut order = Vec::new();
        for _ in 0..6 {
            queue.set_value(StreamId(0), 0);
            order.extend(leave(&mut queue, 1));
        }
        assert_eq!(order.iter().rposition(|stream| *stream == 0), Some(3), "{which:?}: {order:?}");
    }
}

/// The same with I-DATA.
fn interleaved(which: StreamScheduler, messages: &[(u16, usize)]) -> SendQueue {
    let mut queue = queue(which, &[]);
    queue.set_interleaving(true);
    messages.iter().for_each(|(stream, size)| push(&mut queue, *stream, *size));
    queue
}

#[test]
fn fragments_of_messages_are_interleaved() {
    // RFC 8260 Figure 2.
    let messages = [(0, 3000), (1, 1000), (1, 1000), (1, 1000), (2, 3000)];
    for which in [RoundRobin, RoundRobinPerPacket, Priority, FairCapacity, WeightedFairQueueing] {
        let mut queue = interleaved(which, &messages);
        let mut chunks = Vec::new();
        while let Some(chunk) = queue.next(1000) {
            queue.end_packet();
            chunks.push((chunk.stream.0, chunk.mid.0, chunk.fsn.0));
        }
        let figure = [
            (0, 0, 0),
            (1, 0, 0),
            (2, 0, 0),
            (0, 0, 1),
            (1, 1, 0),
            (2, 0, 1),
            (0, 0, 2),
            (1, 2, 0),
            (2, 0, 2),
        ];
        assert_eq!(chunks, figure, "{which:?}");
    }
    // RFC 8260 §3.1: "No modification of the order is done at all."
    let mut queue = interleaved(FirstComeFirstServed, &messages);
    assert_eq!(leave(&mut queue, 20), [0, 0, 0, 1, 1, 1, 2, 2, 2]);
}

#[test]
fn what_matters_more_does_not_wait_for_the_end_of_a_message() {
    let mut queue = interleaved(Priority, &[(0, 100_000)]);
    queue.set_value(StreamId(0), 5);
    for _ in 0..10 {
        assert_eq!(leave(&mut queue, 2), [0, 0]);
        push(&mut queue, 1, 9);
        push(&mut queue, 1, 2000);
        assert_eq!(leave(&mut queue, 4), [1, 1, 1, 0]);
    }
}

//= RFC 8260 3-1
#[test]
fn a_thin_stream_waits_for_one_chunk() {
    for which in [RoundRobin, RoundRobinPerPacket, FairCapacity, WeightedFairQueueing] {
        let mut queue = interleaved(which, &[(0, 900_000)]);
        leave(&mut queue, 50);
        for _ in 0..10 {
            push(&mut queue, 1, 9);
            let left = leave(&mut queue, 2);
            assert!(left.contains(&1), "{which:?}: {left:?}");
        }
    }
}

#[test]
fn a_packet_carries_one_stream_of_interleaved_ones() {
    let mut queue = interleaved(RoundRobinPerPacket, &[(0, 2500), (1, 10), (0, 9), (1, 2000)]);
    let mut packet = || {
        let chunks: Vec<u16> =
            std::iter::from_fn(|| Some(queue.next(1000)?.stream.0)).take(2).collect();
        queue.end_packet();
        chunks
    };
    assert_eq!([packet(), packet()], [[0, 0], [1, 1]]);
    assert_eq!([packet(), packet()], [vec![0, 0], vec![1]]);
}

//= RFC 8260 2.2.2-5
#[test]
fn one_message_of_a_stream_leaves_at_a_time() {
    let mut queue = interleaved(RoundRobin, &[]);
    let unordered = SendOptions { unordered: true, ..SendOptions::default() };
    for (stream, options) in
        [(0, unordered), (0, SendOptions::default()), (0, unordered), (1, unordered)]
    {
        queue.push(Time::ZERO, StreamId(stream), Bytes::from(vec![0; 2000]), options);
    }
    let mut chunks = Vec::new();
    while let Some(chunk) = queue.next(1000) {
        queue.end_packet();
        chunks.push((chunk.stream.0, chunk.flags.unordered, chunk.mid.0, chunk.fsn.0));
    }
    // Ordered and unordered messages count for themselves.
    let of_0: Vec<_> = chunks.iter().filter(|c| c.0 == 0).map(|c| (c.1, c.2, c.3)).collect();
    assert_eq!(
        of_0,
        [(true, 0, 0), (true, 0, 1), (false, 0, 0), (false, 0, 1), (true, 1, 0), (true, 1, 1)]
    );
    assert_eq!(chunks.iter().position(|c| c.0 == 1), Some(1));
}

#[test]
fn another_scheduler_takes_over_what_has_begun_to_leave() {
    let mut queue = interleaved(RoundRobin, &[(2, 3000), (1, 3000), (0, 9)]);
    assert_eq!(leave(&mut queue, 2), [2, 1]);
    // What came first goes first, and entirely.
    queue.set_scheduler(FirstComeFirstServed);
    assert_eq!(leave(&mut queue, 3), [2, 2, 1]);
    queue.set_scheduler(RoundRobin);
    assert_eq!(leave(&mut queue, 9), [1, 0]);
    assert!(queue.is_empty() && !queue.mid_message());
}

proptest! {
    /// Whatever happens, each message leaves once and whole, those of a stream in their order, numbered as RFC 8260 §2.1 has it.
    #[test]
    fn nothing_is_lost_between_others(
        first in schedulers(),
        steps in proptest::collection::vec((0u8..10, 0u16..5, 1usize..2500, schedulers()), 1..200),
    ) {
        let mut queue = SendQueue::new(5, first);
        queue.set_interleaving(true);
        let mut waiting: BTreeMap<u16, VecDeque<(usize, bool)>> = BTreeMap::new();
        // Of each stream: the next FSN and what is left of the message that is leaving; the next MIDs.
        let mut open: BTreeMap<u16, (u32, usize)> = BTreeMap::new();
        let mut mids = BTreeMap::<(u16, bool), u32>::new();
        let mut bytes = 0;
        let drained = [(3u8, 0u16, 1usize, first); 1200];
        for (step, stream, size, which) in steps.into_iter().chain(drained) {
            match step {
                0..3 => {
                    let options = SendOptions { unordered: size % 3 == 0, ..SendOptions::default() };
                    let payload = Bytes::from(vec![stream as u8; size]);
                    queue.push(Time::ZERO, StreamId(stream), payload, options);
                    waiting.entry(stream).or_default().push_back((size, options.unordered));
                    bytes += size;
                }
                3..8 => {
                    let announced = queue.next_len(1000);
                    let chunk = queue.next(1000);
                    prop_assert_eq!(announced, chunk.as_ref().map(|c| c.payload.len()));
                    let Some(chunk) = chunk else {
                        queue.end_packet();
                        prop_assert_eq!(queue.next_len(1).is_none(), bytes == 0);
                        continue;
                    };
                    let stream = chunk.stream.0;
                    let (whole, unordered) = waiting[&stream][0];
                    let (fsn, left) = open.get(&stream).copied().unwrap_or((0, whole));
                    prop_assert_eq!(chunk.flags.beginning, fsn == 0);
                    prop_assert_eq!((chunk.fsn.0, chunk.flags.unordered), (fsn, unordered));
                    let mid = mids.entry((stream, unordered)).or_default();
                    prop_assert_eq!(chunk.mid.0, *mid);
                    let left = left - chunk.payload.len();
                    bytes -= chunk.payload.len();
                    prop_assert_eq!(chunk.flags.ending, left == 0);
                    open.insert(stream, (fsn + 1, left));
                    if left == 0 {
                        open.remove(&stream);
                        waiting.get_mut(&stream).and_then(VecDeque::pop_front);
                        *mid += 1;
                    }
                }
                8 => queue.set_value(StreamId(stream), size as u16),
                _ if size % 2 == 0 => queue.end_packet(),
                _ => queue.set_scheduler(which),
            }
            prop_assert_eq!(queue.bytes(), bytes);
            prop_assert_eq!(queue.mid_message(), !open.is_empty());
            prop_assert_eq!(queue.messages(), waiting.values().map(VecDeque::len).sum::<usize>());
        }
        prop_assert!(queue.is_empty());
    }

    /// What is shared is the same however large the messages are: chunks, or bytes.
    #[test]
    fn chunks_are_shared_fairly(sizes in [1000usize..90_000, 1000usize..90_000], chunks in 2usize..300) {
        for which in [RoundRobin, RoundRobinPerPacket, Priority, FairCapacity, WeightedFairQueueing] {
            let messages = [0u16, 1].map(|stream| {
                let size = sizes[usize::from(stream)];
                vec![(stream, size); 400_000 / size]
            });
            let mut queue = interleaved(which, &messages.concat());
            if matches!(which, FairCapacity | WeightedFairQueueing) {
                let [a, b] = shares(&mut queue, chunks);
                prop_assert!(a.abs_diff(b) <= 2000, "{which:?}: {a} {b}");
                continue;
            }
            let left = leave(&mut queue, chunks);
            let of_0 = left.iter().filter(|stream| **stream == 0).count();
            prop_assert!(of_0.abs_diff(left.len() - of_0) <= 1, "{which:?}");
        }
    }
}
