//! Incoming streams that begin again (RFC 6525 §5.2.2, §5.2.4, §5.2.7 H5).
//!
//! A *barrier* is a TSN up to which messages belong to the time before a reset. Those behind it are kept until it is
//! known whether their streams begin again.

use std::collections::BTreeMap;

use tresse_wire::{SkippedStream, Ssn, StreamId, Tsn};

use super::{Inbound, InboundError, Stored};
use crate::streams::PIECE;
use crate::streams::ring::EntryId;
use crate::streams::stream_set::StreamSet;

/// Complete messages of some streams, from some TSN on, that nobody gets for now.
#[derive(Debug)]
pub(super) struct Barrier {
    streams: StreamSet,
    /// The last TSN of the time before.
    last: Tsn,
    /// By the TSN of their first fragment.
    kept: Vec<(Tsn, Stored)>,
    /// Ordered messages of these streams will not come up to this SSN, as was said of what lies up to this TSN (RFC 3758).
    skipped: BTreeMap<u16, (Tsn, Ssn)>,
}

impl Barrier {
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

    /// Forgets a message, because a part of it was dropped. `false` if it is not here.
    pub(super) fn forget(&mut self, tsn: Tsn) -> bool {
        let found = self.kept.iter().position(|(kept, _)| *kept == tsn);
        found.map(|at| self.kept.swap_remove(at)).is_some()
    }

    pub(super) fn memory(&self) -> usize {
        let skipped = self.skipped.len() * PIECE;
        self.streams.memory() + self.kept.capacity() * size_of::<(Tsn, Stored)>() + skipped + PIECE
    }
}

impl Inbound {
    //= RFC 6525 5.2.2-4
    /// Messages of these streams behind `last` are kept from now on.
    ///
    /// RFC 6525 §5.2.2 E2: "any data arriving with a TSN larger than the Sender's Last Assigned TSN for the
    /// affected stream(s) MUST be queued locally and held".
    pub(crate) fn keep_behind(&mut self, streams: StreamSet, last: Tsn) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.keep_behind(streams, last);
            return;
        }
        self.barrier =
            Some(Box::new(Barrier { streams, last, kept: Vec::new(), skipped: BTreeMap::new() }));
    }

    /// Messages up to `last` are no longer kept.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub(crate) fn let_through(&mut self, last: Tsn) -> Result<(), InboundError> {
        if let Some(interleaved) = &mut self.interleaved {
            return interleaved.let_through(last, &mut self.delivery);
        }
        let Some(barrier) = &mut self.barrier else { return Ok(()) };
        if !last.follows(barrier.last) {
            return Ok(());
        }
        barrier.last = last;
        let mut before: Vec<(Tsn, Stored)> =
            barrier.kept.extract_if(.., |(tsn, _)| !tsn.follows(last)).collect();
        sort(&mut before);
        let is_before = |_: &u16, (tsn, _): &mut (Tsn, Ssn)| !tsn.follows(last);
        let skipped: BTreeMap<u16, (Tsn, Ssn)> =
            barrier.skipped.extract_if(.., is_before).collect();
        before.into_iter().try_for_each(|(_, stored)| self.route_stored(stored))?;
        self.skip_all(&skipped);
        Ok(())
    }

    fn skip_all(&mut self, skipped: &BTreeMap<u16, (Tsn, Ssn)>) {
        for (stream, (_, ssn)) in skipped {
            self.skip(SkippedStream { stream: StreamId(*stream), ssn: *ssn });
        }
    }

    //= RFC 6525 5.2.2-6 5.2.2-7 5.2.2-8
    /// These streams begin again with SSN 0: first those messages leave that waited for an SSN which never came, then
    /// those that were kept.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub(crate) fn begin_again(&mut self, streams: &StreamSet) -> Result<(), InboundError> {
        self.flush(streams);
        self.end_barrier()
    }

    /// What waited for an SSN that will never come is there to be read.
    pub(crate) fn flush(&mut self, streams: &StreamSet) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.begin_again(streams, &mut self.delivery);
            return;
        }
        self.abort_parts_of(streams);
        for entry in self.delivery.begin_again(streams) {
            let message = self.reassembly.take(entry);
            self.delivery.queue(message);
        }
    }

    /// No message is kept any more.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub(crate) fn end_barrier(&mut self) -> Result<(), InboundError> {
        if let Some(interleaved) = &mut self.interleaved {
            return interleaved.end_barrier(&mut self.delivery);
        }
        let Some(barrier) = self.barrier.take() else { return Ok(()) };
        let mut kept = barrier.kept;
        sort(&mut kept);
        kept.into_iter().try_for_each(|(_, stored)| self.route_stored(stored))?;
        self.skip_all(&barrier.skipped);
        Ok(())
    }

    /// The end: it will never be known whether streams begin again. What was kept, up to a
    /// TSN before which nothing is missing, leaves in the order in which it was sent.
    pub(crate) fn release(&mut self, cumulative: Tsn) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.release(cumulative, &mut self.delivery);
            return;
        }
        let Some(barrier) = self.barrier.take() else { return };
        // What waited for its turn before may have waited for one of these.
        let held = self.delivery.begin_again(&StreamSet::All);
        let entries = barrier.kept.into_iter().map(|(_, stored)| stored.entry).chain(held);
        let ring = self.reassembly.ring();
        let tsns = entries.map(|entry| (ring.tsn(entry), entry));
        let mut all: Vec<(Tsn, EntryId)> =
            tsns.filter(|(tsn, _)| !tsn.follows(cumulative)).collect();
        sort(&mut all);
        for (_, entry) in all {
            let message = self.reassembly.take(entry);
            self.delivery.queue(message);
        }
    }

    //= RFC 6525 5.2.4-4
    /// The peer goes on with another TSN, and all streams begin again: what is incomplete never becomes complete.
    ///
    /// RFC 6525 §5.2.4 G4: "The same processing as though a FWD-TSN chunk [...] with all streams affected [...] were
    /// received MUST be performed."
    pub(crate) fn jump(&mut self, next_seq: u64) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.jump(next_seq, &mut self.delivery);
            return;
        }
        self.flush(&StreamSet::All);
        self.barrier = None;
        self.reassembly.jump(next_seq);
    }

    /// Incoming streams were added.
    pub(crate) fn add_streams(&mut self, more: u16) {
        self.streams = self.streams.saturating_add(more);
    }
}

/// In the order in which they were sent.
fn sort<T>(kept: &mut [(Tsn, T)]) {
    let Some(first) = kept.first().map(|(tsn, _)| *tsn) else { return };
    kept.sort_unstable_by_key(|(tsn, _)| tsn.distance(first));
}
