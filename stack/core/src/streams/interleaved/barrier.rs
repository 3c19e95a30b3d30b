//! What comes of streams of which it is not known whether they begin again (RFC 6525 §5.2.2), with I-DATA chunks.

use std::collections::BTreeMap;

use tresse_wire::{Mid, SkippedMessages, StreamId, Tsn};

use super::super::PIECE;
use super::super::chunk::InChunk;
use super::super::stream_set::StreamSet;
use super::message::piece_charge;
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
    pub(super) const fn new(streams: StreamSet, last: Tsn) -> Barrier {
        Barrier { streams, last, kept: BTreeMap::new(), charge: 0, skipped: BTreeMap::new() }
    }

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

    /// The barrier moves on to `last`. False if it is there, or further on.
    pub(super) fn move_to(&mut self, last: Tsn) -> bool {
        let moves = last.follows(self.last);
        if moves {
            self.last = last;
        }
        moves
    }

    /// Messages of a stream up to this one will not come.
    pub(super) fn skip(
        &mut self,
        tsn: Tsn,
        SkippedMessages { stream, unordered, mid }: SkippedMessages,
    ) {
        self.skipped.insert((stream.0, unordered), (tsn, mid));
    }

    /// The streams of these, and whether they are unordered ones.
    pub(super) fn skipped(&self) -> impl Iterator<Item = (StreamId, bool)> + '_ {
        self.skipped.keys().map(|(stream, unordered)| (StreamId(*stream), *unordered))
    }

    /// Takes out what lies up to `last`, or all.
    pub(super) fn take(
        &mut self,
        last: Option<Tsn>,
    ) -> (Vec<(Time, InChunk)>, Vec<SkippedMessages>) {
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
