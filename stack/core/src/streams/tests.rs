//! Both directions together, and the receiver against a model that sorts.

pub(super) mod scattered;

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use tresse_wire::{DataFlags, Fsn, Mid, Ppid, SkippedStream, Ssn, StreamId, Tsn};

use self::scattered::{STREAMS, Sent, arriving};
use super::MIN_CHARGE;
use super::chunk::InChunk;
use super::inbound::Inbound;
use super::send_queue::SendQueue;
use crate::event::{Message, NextMessage, ReceivedMessage, SendOptions};
use crate::profile::StreamScheduler;
use crate::time::Time;

fn message() -> impl Strategy<Value = Sent> {
    (0..STREAMS, any::<u32>(), any::<bool>(), 1usize..200, any::<u8>(), 1usize..120).prop_map(
        |(stream, ppid, unordered, len, seed, fragment)| {
            let payload = (0..len).map(|i| seed.wrapping_add(i as u8)).collect::<Vec<u8>>();
            let (stream, ppid) = (StreamId(stream), Ppid(ppid));
            (Message { stream, ppid, unordered, payload: payload.into() }, fragment)
        },
    )
}

/// What the send queue makes of messages, with TSNs from `first` on; and the message of each.
fn chunks_of(messages: &[Sent], first: u64) -> Vec<(InChunk, usize)> {
    let mut queue = SendQueue::new(STREAMS, StreamScheduler::FirstComeFirstServed);
    let mut chunks = Vec::new();
    for (index, (message, fragment)) in messages.iter().enumerate() {
        let Message { stream, ppid, unordered, payload } = message.clone();
        let options = SendOptions { ppid, unordered, ..SendOptions::default() };
        queue.push(Time::ZERO, stream, payload, options);
        while let Some(out) = queue.next(*fragment) {
            let seq = first + chunks.len() as u64;
            let chunk = arriving(seq, out);
            chunks.push((chunk, index));
        }
        assert_eq!(queue.bytes(), 0);
    }
    chunks
}

/// The receiver as it should be, by looking at everything each time.
struct Model<'a> {
    messages: &'a [Sent],
    chunks: &'a [(InChunk, usize)],
    arrived: Vec<bool>,
    delivered: Vec<bool>,
    popped: Vec<bool>,
}

impl<'a> Model<'a> {
    fn new(messages: &'a [Sent], chunks: &'a [(InChunk, usize)]) -> Self {
        Model {
            messages,
            chunks,
            arrived: vec![false; chunks.len()],
            delivered: vec![false; messages.len()],
            popped: vec![false; messages.len()],
        }
    }

    fn complete(&self, message: usize) -> bool {
        self.chunks.iter().zip(&self.arrived).all(|((_, m), arrived)| *m != message || *arrived)
    }

    /// Marks and returns what can be delivered now.
    fn deliver(&mut self) -> Vec<usize> {
        let mut blocked = [false; STREAMS as usize];
        let mut now = Vec::new();
        for (index, (message, _)) in self.messages.iter().enumerate() {
            let stream = usize::from(message.stream.0);
            let complete = self.complete(index);
            if complete && !self.delivered[index] && (message.unordered || !blocked[stream]) {
                self.delivered[index] = true;
                now.push(index);
            }
            blocked[stream] |= !complete && !message.unordered;
        }
        now
    }

    /// Index of the first chunk missing.
    fn edge(&self) -> usize {
        self.arrived.iter().position(|arrived| !arrived).unwrap_or(self.arrived.len())
    }

    /// Whether the chunk is held beyond the edge.
    fn held(&self, index: usize) -> bool {
        self.arrived[index] && !self.delivered[self.chunks[index].1] && index > self.edge()
    }

    fn buffered(&self) -> usize {
        let charge = |len: usize| if len == 0 { 0 } else { len.max(MIN_CHARGE) };
        let edge = self.edge();
        let len = |index: usize| self.chunks[index].0.payload.len();
        let assembly = (0..edge).filter(|i| !self.delivered[self.chunks[*i].1]).map(len).sum();
        let held: usize =
            (edge..self.chunks.len()).filter(|i| self.held(*i)).map(|i| charge(len(i))).sum();
        let ready: usize = (0..self.messages.len())
            .filter(|m| self.delivered[*m] && !self.popped[*m])
            .map(|m| charge(self.messages[m].0.payload.len()))
            .sum();
        charge(assembly) + held + ready
    }
}

/// Which chunk comes next: of those missing, the one at this position, in a window of some; or
/// something else happens.
#[derive(Clone, Debug)]
enum Step {
    Arrive(prop::sample::Index),
    Discard(prop::sample::Index),
    DiscardHighest,
    Pop,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => any::<prop::sample::Index>().prop_map(Step::Arrive),
        1 => any::<prop::sample::Index>().prop_map(Step::Discard),
        1 => Just(Step::DiscardHighest),
        4 => Just(Step::Pop),
    ]
}

/// One comparison of the receiver with the model, step by step.
struct Comparison<'a> {
    model: Model<'a>,
    inbound: Inbound,
    first: u64,
    completed_at: BTreeMap<usize, Time>,
    now: Time,
    next_ssn: [u16; STREAMS as usize],
}

impl Comparison<'_> {
    fn arrive(&mut self, index: usize) {
        self.now = Time::from_nanos(self.now.as_nanos() + 1);
        self.inbound.receive(self.now, self.model.chunks[index].0.clone()).unwrap();
        self.model.arrived[index] = true;
        let message = self.model.chunks[index].1;
        if self.model.complete(message) {
            self.completed_at.insert(message, self.now);
        }
        self.model.deliver();
    }

    fn discard(&mut self, index: usize) {
        self.model.arrived[index] = false;
        self.completed_at.remove(&self.model.chunks[index].1);
    }

    fn pop(&mut self) {
        let told = self.inbound.peek();
        let received = self.inbound.pop();
        assert_eq!(told, received.as_ref().map(NextMessage::from));
        let Some(received) = received else { return };
        let index = self.model.chunks[..]
            .iter()
            .find(|(chunk, _)| chunk.tsn == received.tsn)
            .map(|(_, message)| *message)
            .unwrap();
        assert_eq!(received.clone().into_message(), self.model.messages[index].0);
        assert_eq!(received.completed_at, self.completed_at[&index]);
        assert!(self.model.delivered[index] && !self.model.popped[index]);
        self.model.popped[index] = true;
        if !received.unordered {
            let next = &mut self.next_ssn[usize::from(received.stream.0)];
            assert_eq!(received.ssn, Ssn(*next));
            *next += 1;
        }
    }

    fn step(&mut self, step: &Step) {
        match step {
            Step::Arrive(choice) => {
                let missing: Vec<usize> =
                    (0..self.model.chunks.len()).filter(|i| !self.model.arrived[*i]).collect();
                if !missing.is_empty() {
                    self.arrive(*choice.get(&missing[..missing.len().min(12)]));
                }
            }
            Step::Discard(choice) => {
                let index = choice.index(self.model.chunks.len());
                let held = self.model.held(index);
                assert_eq!(self.inbound.discard(self.first + index as u64), held);
                if held {
                    self.discard(index);
                }
            }
            Step::DiscardHighest => {
                let highest = (0..self.model.chunks.len()).rev().find(|i| self.model.held(*i));
                let expected = highest.map(|index| self.first + index as u64);
                assert_eq!(self.inbound.discard_highest(0), expected);
                if let Some(index) = highest {
                    self.discard(index);
                }
            }
            Step::Pop => self.pop(),
        }
        let waiting = |(delivered, popped): (&bool, &bool)| *delivered && !*popped;
        let ready = self.model.delivered.iter().zip(&self.model.popped).filter(|p| waiting(*p));
        assert_eq!(self.inbound.ready(), ready.count());
        assert_eq!(self.inbound.buffered(), self.model.buffered());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any messages, fragments, order of arrival, TSN wrap-around and reneging: each message is
    /// delivered exactly once, whole, in order, as soon as it can be.
    #[test]
    fn inbound_agrees_with_a_model_that_sorts(
        messages in prop::collection::vec(message(), 1..40),
        steps in prop::collection::vec(step(), 1..300),
        first in prop_oneof![Just(1u64 << 32), Just((2u64 << 32) - 20), (1u64 << 32)..(2u64 << 32)],
    ) {
        let chunks = chunks_of(&messages, first);
        let mut run = Comparison {
            model: Model::new(&messages, &chunks),
            inbound: Inbound::new(STREAMS, 200, first),
            first,
            completed_at: BTreeMap::new(),
            now: Time::ZERO,
            next_ssn: [0; STREAMS as usize],
        };
        for step in &steps {
            run.step(step);
        }
        for index in 0..chunks.len() {
            if !run.model.arrived[index] {
                run.arrive(index);
            }
        }
        while run.inbound.ready() > 0 {
            run.pop();
        }
        prop_assert!(run.model.popped.iter().all(|popped| *popped));
        prop_assert_eq!(run.inbound.buffered(), 0);
    }

    /// Fragments in order give the same messages in the same order.
    #[test]
    fn round_trip(messages in prop::collection::vec(message(), 1..60)) {
        let mut inbound = Inbound::new(STREAMS, 200, 1 << 32);
        let mut received = Vec::new();
        for (chunk, _) in chunks_of(&messages, 1 << 32) {
            inbound.receive(Time::ZERO, chunk).unwrap();
            received.extend(inbound.pop().map(ReceivedMessage::into_message));
        }
        let sent: Vec<Message> = messages.into_iter().map(|(message, _)| message).collect();
        prop_assert_eq!(received, sent);
    }

    /// A sender that numbers SSNs in another order than TSNs.
    #[test]
    fn ssn_order_wins(
        order in Just((0..30u16).collect::<Vec<_>>()).prop_shuffle(),
        arrival in Just((0..30u64).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let mut inbound = Inbound::new(1, 1000, 1 << 32);
        for seq in arrival {
            // Odd ones have two fragments.
            for half in 0..=seq % 2 {
                let seq_of = |seq: u64| (1 << 32) + seq + seq / 2;
                let flags = DataFlags {
                    beginning: half == 0,
                    ending: half == seq % 2,
                    ..DataFlags::default()
                };
                inbound.receive(Time::ZERO, InChunk {
                    seq: seq_of(seq) + half,
                    tsn: Tsn((seq_of(seq) + half) as u32),
                    stream: StreamId(0),
                    mid: Mid(order[seq as usize].into()),
                    fsn: Fsn(0),
                    ppid: Ppid(0),
                    flags,
                    payload: Bytes::from(vec![half as u8; 10]),
                }).unwrap();
            }
        }
        let ssns: Vec<u16> = std::iter::from_fn(|| inbound.pop()).map(|m| m.ssn.0).collect();
        prop_assert_eq!(ssns, (0..30).collect::<Vec<_>>());
        prop_assert_eq!(inbound.buffered(), 0);
    }

    /// Whatever a peer sends: no panic, and what is held is what was sent at most.
    #[test]
    fn nonsense_does_no_harm(
        chunks in prop::collection::vec(
            (0u64..24, 0u16..4, prop_oneof![0u16..5, Just(0x8000), Just(u16::MAX)],
                any::<[bool; 3]>(), 0usize..100, any::<bool>()),
            1..120,
        ),
        strict in any::<bool>(),
    ) {
        let mut inbound = Inbound::new(3, 300, 1 << 32);
        let mut sent = 0;
        for (ahead, stream, ssn, [unordered, beginning, ending], len, other) in chunks {
            let seq = (1 << 32) + ahead;
            let flags = DataFlags { unordered, beginning, ending, ..DataFlags::default() };
            let result = inbound.receive(Time::ZERO, InChunk {
                seq,
                tsn: Tsn(seq as u32),
                stream: StreamId(stream),
                mid: Mid(ssn.into()),
                fsn: Fsn(0),
                ppid: Ppid(0),
                flags,
                payload: Bytes::from(vec![0; len]),
            });
            sent += len.max(MIN_CHARGE);
            prop_assert!(inbound.buffered() <= sent);
            if result.is_err() && strict {
                break;
            }
            if other {
                inbound.discard_highest((1 << 32) + ahead);
                inbound.discard(seq + 1);
                inbound.pop();
            }
        }
    }
}

#[test]
fn ssns_wrap_on_their_way() {
    // 200 000 messages of one stream; every seventh chunk is late by 100.
    const MESSAGES: u32 = 200_000;
    let mut queue = SendQueue::new(1, StreamScheduler::FirstComeFirstServed);
    let mut inbound = Inbound::new(1, 1000, (1 << 32) - 1);
    let mut late: Vec<(u64, InChunk)> = Vec::new();
    let (mut seq, mut expected) = ((1u64 << 32) - 1, 0u32);
    let mut receive = |inbound: &mut Inbound, queue: &mut SendQueue, chunk: InChunk| {
        let (stream, flags) = (chunk.stream, chunk.flags);
        inbound.receive(Time::ZERO, chunk).unwrap();
        queue.on_acked(stream, flags, 1);
        while let Some(received) = inbound.pop() {
            assert_eq!(received.payload, expected.to_be_bytes().as_slice());
            assert_eq!(u32::from(received.ssn.0), expected % 65_536);
            expected += 1;
        }
    };
    for n in 0..MESSAGES {
        let payload = Bytes::copy_from_slice(&n.to_be_bytes());
        queue.push(Time::ZERO, StreamId(0), payload, SendOptions::default());
        while let Some(out) = queue.next(3) {
            let chunk = arriving(seq, out);
            seq += 1;
            if seq % 7 == 0 {
                late.push((seq + 100, chunk));
            } else {
                receive(&mut inbound, &mut queue, chunk);
            }
            if late.first().is_some_and(|(due, _)| *due <= seq) {
                let (_, chunk) = late.remove(0);
                receive(&mut inbound, &mut queue, chunk);
            }
        }
    }
    for (_, chunk) in late {
        receive(&mut inbound, &mut queue, chunk);
    }
    assert_eq!(expected, MESSAGES);
    assert_eq!((inbound.buffered(), queue.bytes()), (0, 0));
}

/// What may happen to a receiver.
#[derive(Clone, Debug)]
enum Event {
    /// One of the chunks that have not arrived does.
    Arrive(prop::sample::Index),
    /// The sender has given up what is not complete of the first messages, and says so.
    PassOver(prop::sample::Index),
}

fn passing_steps() -> impl Strategy<Value = Vec<Event>> {
    let arrive = any::<prop::sample::Index>().prop_map(Event::Arrive);
    let pass_over = any::<prop::sample::Index>().prop_map(Event::PassOver);
    prop::collection::vec(prop_oneof![12 => arrive, 1 => pass_over], 1..300)
}

proptest! {
    /// Whatever is passed over: whole messages come out, once, each stream in its order, and nothing is left.
    #[test]
    fn what_is_passed_over_is_missing_and_nothing_else(
        messages in prop::collection::vec(message(), 1..25),
        steps in passing_steps(),
    ) {
        let first = 1 << 32;
        let chunks = chunks_of(&messages, first);
        let of = |index: usize| chunks.iter().filter(move |(_, of)| *of == index);
        let mut inbound = Inbound::new(STREAMS, 1 << 20, first);
        let mut arrived = vec![false; chunks.len()];
        // Messages that are complete, given up, and delivered.
        let (mut complete, mut given_up) = (vec![false; messages.len()], vec![false; messages.len()]);
        let mut delivered = vec![false; messages.len()];
        let mut cumulative = first - 1;
        for step in steps {
            match step {
                Event::Arrive(index) => {
                    let open: Vec<usize> = (0..chunks.len())
                        .filter(|at| !arrived[*at] && chunks[*at].0.seq > cumulative)
                        .collect();
                    if open.is_empty() {
                        continue;
                    }
                    let at = open[index.index(open.len())];
                    arrived[at] = true;
                    inbound.receive(Time::ZERO, chunks[at].0.clone()).unwrap();
                    let message = chunks[at].1;
                    complete[message] = of(message).all(|(c, _)| arrived[(c.seq - first) as usize]);
                }
                Event::PassOver(index) => {
                    let last = index.index(messages.len());
                    let seq = of(last).map(|(chunk, _)| chunk.seq).max().unwrap();
                    if seq <= cumulative {
                        continue;
                    }
                    let mut skipped: BTreeMap<u16, Ssn> = BTreeMap::new();
                    for message in 0..=last {
                        if !complete[message] && !given_up[message] {
                            given_up[message] = true;
                            let chunk = &of(message).next().unwrap().0;
                            if !chunk.flags.unordered {
                                skipped.insert(chunk.stream.0, Ssn(chunk.mid.0 as u16));
                            }
                        }
                    }
                    let skipped = skipped
                        .into_iter()
                        .map(|(stream, ssn)| SkippedStream { stream: StreamId(stream), ssn });
                    inbound.pass_over(Time::ZERO, seq, skipped).1.unwrap();
                    cumulative = seq;
                }
            }
            while arrived.get((cumulative + 1 - first) as usize) == Some(&true) {
                cumulative += 1;
            }
            while let Some(found) = inbound.pop() {
                let message = chunks.iter().find(|(c, _)| c.tsn == found.tsn).unwrap().1;
                prop_assert_eq!(&messages[message].0, &found.into_message());
                prop_assert!(complete[message] && !given_up[message] && !delivered[message]);
                delivered[message] = true;
                let (sent, _) = &messages[message];
                let before = (0..message).filter(|n| {
                    !messages[*n].0.unordered && messages[*n].0.stream == sent.stream
                });
                for other in before.filter(|_| !sent.unordered) {
                    prop_assert!(delivered[other] || given_up[other], "{other} before {message}");
                }
            }
            // Whatever can be delivered is.
            for message in 0..messages.len() {
                let (sent, _) = &messages[message];
                let same = |n: &usize| !messages[*n].0.unordered && messages[*n].0.stream == sent.stream;
                let free = (0..message).filter(same).all(|n| delivered[n] || given_up[n]);
                let due = complete[message] && !given_up[message] && (sent.unordered || free);
                prop_assert_eq!(due, delivered[message], "message {}", message);
            }
        }
        if cumulative + 1 == first + chunks.len() as u64 {
            prop_assert_eq!(inbound.buffered(), 0);
        }
    }
}
