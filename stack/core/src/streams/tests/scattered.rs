//! Messages, the chunks that a sender makes of them, and which of these have come: what tests of the receiver share.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use tresse_wire::{DataFlags, Fsn, Mid, Ppid, SkippedMessages, StreamId, Tsn};

use crate::chunk::NewChunk;
use crate::event::{Message, SendOptions};
use crate::profile::StreamScheduler;
use crate::streams::chunk::InChunk;
use crate::streams::send_queue::SendQueue;
use crate::time::Time;

/// The first TSN, unwrapped.
pub(in crate::streams) const FIRST: u64 = (1 << 32) + 1000;
pub(in crate::streams) const STREAMS: u16 = 4;

/// A message and the size of its fragments.
pub(in crate::streams) type Sent = (Message, usize);

/// Which chunks have come, counted from the first TSN.
#[derive(Default)]
pub(in crate::streams) struct Came(Vec<bool>);

impl Came {
    pub(in crate::streams) fn has(&self, n: u64) -> bool {
        self.0.get(n as usize) == Some(&true)
    }

    pub(in crate::streams) fn note(&mut self, n: u64, came: bool) {
        if self.0.len() <= n as usize {
            self.0.resize(n as usize + 1, false);
        }
        self.0[n as usize] = came;
    }

    /// The first one that is missing.
    pub(in crate::streams) fn edge(&self) -> u64 {
        self.0.iter().position(|came| !came).unwrap_or(self.0.len()) as u64
    }

    /// The TSN before that.
    pub(in crate::streams) fn cumulative(&self) -> u64 {
        FIRST + self.edge() - 1
    }
}

/// A chunk `n` TSNs after the first one: its message, its FSN, flags as letters.
pub(in crate::streams) fn chunk(
    n: u64,
    stream: u16,
    mid: u32,
    fsn: u32,
    letters: &str,
    text: &'static str,
) -> InChunk {
    let has = |letter| letters.contains(letter);
    let flags = DataFlags {
        unordered: has('U'),
        beginning: has('B'),
        ending: has('E'),
        ..DataFlags::default()
    };
    let (seq, ppid) = (FIRST + n, Ppid(if has('B') { 51 } else { 0 }));
    let (tsn, stream, payload) =
        (Tsn(seq as u32), StreamId(stream), Bytes::from_static(text.as_bytes()));
    InChunk { seq, tsn, stream, mid: Mid(mid), fsn: Fsn(fsn), ppid, flags, payload }
}

/// What of these streams, ordered or not, is passed over up to these numbers.
pub(in crate::streams) fn skipped(
    list: &[(u16, bool, u32)],
) -> impl Iterator<Item = SkippedMessages> {
    list.iter().map(|(stream, unordered, mid)| SkippedMessages {
        stream: StreamId(*stream),
        unordered: *unordered,
        mid: Mid(*mid),
    })
}

/// What the send queue gave, as it arrives in a DATA chunk.
pub(in crate::streams) fn arriving(seq: u64, out: NewChunk) -> InChunk {
    let NewChunk { stream, mid, ppid, flags, payload, .. } = out;
    InChunk { seq, tsn: Tsn(seq as u32), stream, mid, fsn: Fsn(0), ppid, flags, payload }
}

pub(in crate::streams) fn messages() -> impl Strategy<Value = Vec<Sent>> {
    let message = (0..STREAMS, any::<bool>(), 1usize..300, any::<u8>(), 1usize..60).prop_map(
        |(stream, unordered, len, seed, fragment)| {
            let payload: Vec<u8> = (0..len).map(|i| seed.wrapping_add(i as u8)).collect();
            let (stream, ppid) = (StreamId(stream), Ppid(u32::from(seed)));
            (Message { stream, ppid, unordered, payload: payload.into() }, fragment)
        },
    );
    prop::collection::vec(message, 1..30)
}

/// What the send queue makes of messages that are there from the beginning; and the message of each chunk.
pub(in crate::streams) fn chunks_of(
    messages: &[Sent],
    which: StreamScheduler,
    interleaved: bool,
) -> Vec<(InChunk, usize)> {
    let mut queue = SendQueue::new(STREAMS, which);
    queue.set_interleaving(interleaved);
    let mut waiting: BTreeMap<u16, Vec<usize>> = BTreeMap::new();
    for (index, (message, _)) in messages.iter().enumerate() {
        let Message { stream, ppid, unordered, payload } = message.clone();
        let options = SendOptions { ppid, unordered, ..SendOptions::default() };
        queue.push(Time::ZERO, stream, payload, options);
        waiting.entry(stream.0).or_default().insert(0, index);
    }
    let mut chunks = Vec::new();
    for n in 0.. {
        let Some(out) = queue.next(messages[n as usize % messages.len()].1) else { break };
        queue.end_packet();
        let of = waiting.get_mut(&out.stream.0).unwrap();
        let index = *of.last().unwrap();
        if out.flags.ending {
            of.pop();
        }
        // RFC 8260 §2.1: an I-DATA chunk has its FSN where the first one of its message has the PPID.
        let (fsn, ppid) = match (interleaved, out.flags.beginning) {
            (true, false) => (out.fsn, Ppid(0)),
            _ => (Fsn(0), out.ppid),
        };
        chunks.push((InChunk { fsn, ppid, ..arriving(FIRST + n, out) }, index));
    }
    assert!(queue.is_empty() && waiting.values().all(Vec::is_empty));
    chunks
}
