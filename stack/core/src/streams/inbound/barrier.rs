//! What is kept while streams begin again.
//!
//! A *barrier* is a TSN up to which messages belong to the time before a reset. Those behind it are kept until it is
//! known whether their streams begin again.

use std::collections::BTreeMap;

use tresse_wire::{SkippedStream, Ssn, StreamId, Tsn};

use crate::streams::PIECE;
use crate::streams::ring::Stored;
use crate::streams::stream_set::StreamSet;

/// Up to which SSN ordered messages of a stream will not come, as was said of what lies up to a TSN.
pub(super) type Skipped = BTreeMap<u16, (Tsn, Ssn)>;

/// Complete messages of some streams, from some TSN on, that nobody gets for now.
#[derive(Debug)]
pub(super) struct Barrier {
    streams: StreamSet,
    /// The last TSN of the time before.
    last: Tsn,
    /// By the TSN of their first fragment.
    kept: Vec<(Tsn, Stored)>,
    /// Ordered messages of these streams will not come up to this SSN, as was said of what lies up to this TSN (RFC 3758).
    skipped: Skipped,
}

impl Barrier {
    /// Messages of these streams behind `last` belong behind it.
    pub(super) const fn new(streams: StreamSet, last: Tsn) -> Barrier {
        Barrier { streams, last, kept: Vec::new(), skipped: Skipped::new() }
    }

    /// Whether a message belongs behind it.
    pub(super) fn holds(&self, stream: StreamId, tsn: Tsn) -> bool {
        tsn.follows(self.last) && self.streams.contains(stream)
    }

    pub(super) fn keep(&mut self, tsn: Tsn, stored: Stored) {
        self.kept.push((tsn, stored));
    }

    /// What is passed over may lie among the messages that are kept: it is done with when they are.
    pub(super) fn pass_over(&mut self, tsn: Tsn, skipped: SkippedStream) {
        self.skipped.insert(skipped.stream.0, (tsn, skipped.ssn));
    }

    /// The streams of these.
    pub(super) fn skipped(&self) -> impl Iterator<Item = StreamId> + '_ {
        self.skipped.keys().copied().map(StreamId)
    }

    /// Forgets a message, because a part of it was dropped. `false` if it is not here.
    pub(super) fn forget(&mut self, tsn: Tsn) -> bool {
        let found = self.kept.iter().position(|(kept, _)| *kept == tsn);
        found.map(|at| self.kept.swap_remove(at)).is_some()
    }

    pub(super) fn memory(&self) -> usize {
        let skipped = self.skipped.len() * PIECE;
        self.streams.memory() + self.kept.capacity() * size_of::<(Tsn, Stored)>() + skipped + PIECE
    }

    /// Messages up to `last` are not kept any more: these, in the order in which they were sent, and what is passed over among them.
    pub(super) fn let_through(&mut self, last: Tsn) -> (Vec<Stored>, Skipped) {
        if !last.follows(self.last) {
            return (Vec::new(), Skipped::new());
        }
        self.last = last;
        let before = self.kept.extract_if(.., |(tsn, _)| !tsn.follows(last)).collect();
        let is_before = |_: &u16, (tsn, _): &mut (Tsn, Ssn)| !tsn.follows(last);
        (in_order(before), self.skipped.extract_if(.., is_before).collect())
    }

    /// No messages are kept any more: all of them, in the order in which they were sent, and all that is passed over.
    pub(super) fn end(self) -> (Vec<Stored>, Skipped) {
        (in_order(self.kept), self.skipped)
    }
}

/// In the order in which they were sent.
pub(super) fn in_order<T>(mut kept: Vec<(Tsn, T)>) -> Vec<T> {
    if let Some(first) = kept.first().map(|(tsn, _)| *tsn) {
        kept.sort_unstable_by_key(|(tsn, _)| tsn.distance(first));
    }
    kept.into_iter().map(|(_, one)| one).collect()
}
