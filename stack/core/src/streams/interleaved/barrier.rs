//! Incoming streams that begin again (RFC 6525 §5.2.2, §5.2.4, §5.2.7 H5), with I-DATA chunks.
//!
//! All that was sent before a reset has TSNs up to the *barrier*. Chunks behind it are kept until it is known whether
//! their streams begin again: only then it is known which messages they belong to.

use std::collections::BTreeMap;

use tresse_wire::{Mid, SkippedMessages, StreamId, Tsn};

use super::super::chunk::{InChunk, InboundError};
use super::super::delivery::Delivery;
use super::super::stream_set::StreamSet;
use super::{Interleaved, Key, PIECE, piece_charge};
use crate::event::ReceivedMessage;
use crate::ranges::RangeSet;
use crate::time::Time;

/// Chunks of some streams, from some TSN on, of messages that nobody knows for now.
#[derive(Debug)]
pub(super) struct Barrier {
    streams: StreamSet,
    /// The last TSN of the time before.
    last: Tsn,
    kept: BTreeMap<u64, (Time, InChunk)>,
    charge: usize,
    /// Messages of these streams that will not come, as was said of what lies up to this TSN.
    skipped: BTreeMap<(u16, bool), (Tsn, Mid)>,
}

impl Barrier {
    /// Whether a chunk belongs behind it.
    pub(super) fn holds(&self, stream: StreamId, tsn: Tsn) -> bool {
        tsn.follows(self.last) && self.streams.contains(stream)
    }

    pub(super) fn keep(&mut self, now: Time, chunk: InChunk) {
        self.charge += piece_charge(chunk.payload.len());
        self.kept.insert(chunk.seq, (now, chunk));
    }

    pub(super) fn discard(&mut self, seq: u64) -> bool {
        let found = self.kept.remove(&seq);
        let len = found.as_ref().map(|(_, chunk)| chunk.payload.len());
        self.charge -= len.map_or(0, piece_charge);
        found.is_some()
    }

    pub(super) fn highest(&self) -> Option<u64> {
        self.kept.last_key_value().map(|(seq, _)| *seq)
    }

    /// What is kept counts this many bytes.
    pub(super) const fn charge(&self) -> usize {
        self.charge
    }

    pub(super) fn memory(&self) -> usize {
        let kept = self.kept.len() * (2 * size_of::<(u64, Time, InChunk)>() + PIECE);
        self.charge + kept + self.streams.memory() + self.skipped.len() * PIECE + PIECE
    }

    /// Takes out what lies up to `last`, or all.
    fn take(&mut self, last: Option<Tsn>) -> (Vec<(Time, InChunk)>, Vec<SkippedMessages>) {
        let is_before = |tsn: Tsn| last.is_none_or(|last| !tsn.follows(last));
        let kept = self.kept.extract_if(.., |_, (_, chunk)| is_before(chunk.tsn));
        let kept: Vec<(Time, InChunk)> = kept.map(|(_, kept)| kept).collect();
        self.charge -=
            kept.iter().map(|(_, chunk)| piece_charge(chunk.payload.len())).sum::<usize>();
        let skipped = self.skipped.extract_if(.., |_, (tsn, _)| is_before(*tsn));
        let skipped = skipped.map(|((stream, unordered), (_, mid))| SkippedMessages {
            stream: StreamId(stream),
            unordered,
            mid,
        });
        (kept, skipped.collect())
    }
}

impl Interleaved {
    //= RFC 6525 5.2.2-4
    /// Chunks of these streams behind `last` are kept from now on.
    pub(in super::super) fn keep_behind(&mut self, streams: StreamSet, last: Tsn) {
        let (kept, skipped) = (BTreeMap::new(), BTreeMap::new());
        self.barrier = Some(Box::new(Barrier { streams, last, kept, charge: 0, skipped }));
    }

    /// Chunks up to `last` are no longer kept.
    pub(in super::super) fn let_through(
        &mut self,
        last: Tsn,
        out: &mut Delivery,
    ) -> Result<(), InboundError> {
        let Some(barrier) = self.barrier.as_mut().filter(|b| last.follows(b.last)) else {
            return Ok(());
        };
        barrier.last = last;
        let (kept, skipped) = barrier.take(Some(last));
        self.take_all(kept, skipped, out)
    }

    /// Nothing is kept any more.
    pub(in super::super) fn end_barrier(&mut self, out: &mut Delivery) -> Result<(), InboundError> {
        let Some(mut barrier) = self.barrier.take() else { return Ok(()) };
        let (kept, skipped) = barrier.take(None);
        self.take_all(kept, skipped, out)
    }

    fn take_all(
        &mut self,
        kept: Vec<(Time, InChunk)>,
        skipped: Vec<SkippedMessages>,
        out: &mut Delivery,
    ) -> Result<(), InboundError> {
        kept.into_iter().try_for_each(|(at, chunk)| self.take(at, chunk, out))?;
        skipped.into_iter().for_each(|skipped| self.skip(skipped, out));
        Ok(())
    }

    /// The end: it will never be known whether streams begin again. What was kept, up to a TSN before which nothing is
    /// missing, is handed over as far as it is whole, with what waited for its turn, in the order in which it was sent.
    pub(in super::super) fn release(&mut self, cumulative: Tsn, out: &mut Delivery) {
        let Some(mut barrier) = self.barrier.take() else { return };
        let (kept, _) = barrier.take(Some(cumulative));
        let (mut all, mut rest) = (Delivery::new(), Vec::new());
        // What cannot be part of a message is none.
        for (at, chunk) in kept {
            if self.lacks_something(Key::of(&chunk)) {
                let _ = self.take(at, chunk, &mut all);
            } else {
                rest.push((at, chunk));
            }
        }
        self.begin_again(&StreamSet::All, &mut all);
        for (at, chunk) in rest {
            let _ = self.take(at, chunk, &mut all);
        }
        self.begin_again(&StreamSet::All, &mut all);
        // What waited behind something that is missing goes on waiting for it.
        let all = std::iter::from_fn(|| all.pop());
        let mut all: Vec<ReceivedMessage> =
            all.filter(|message| !message.tsn.follows(cumulative)).collect();
        all.sort_by_key(|message| message.tsn.distance(cumulative));
        all.into_iter().for_each(|message| out.queue(message));
    }

    /// What is passed over may lie among the chunks that are kept: it is done with when they are.
    pub(in super::super) fn pass_over(
        &mut self,
        tsn: Tsn,
        skipped: SkippedMessages,
        out: &mut Delivery,
    ) {
        let SkippedMessages { stream, unordered, mid } = skipped;
        match &mut self.barrier {
            Some(barrier) if barrier.holds(stream, tsn) => {
                barrier.skipped.insert((stream.0, unordered), (tsn, mid));
            }
            _ => self.skip(skipped, out),
        }
    }

    //= RFC 6525 5.2.4-4
    /// The peer goes on with another TSN, and all streams begin again.
    pub(in super::super) fn jump(&mut self, next_seq: u64, out: &mut Delivery) {
        self.begin_again(&StreamSet::All, out);
        self.barrier = None;
        self.edge = next_seq;
        let done = self.extra.done.take().map(|_| RangeSet::default());
        self.extra.done = done;
    }
}
