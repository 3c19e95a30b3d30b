//! Incoming streams that begin again (RFC 6525 §5.2.2, §5.2.4, §5.2.7 H5); what is kept until that is known (`barrier.rs`).

use tresse_wire::{SkippedStream, StreamId, Tsn};

use super::barrier::{Barrier, Skipped, in_order};
use super::{Inbound, InboundError};
use crate::streams::ring::{EntryId, Stored};
use crate::streams::stream_set::StreamSet;

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
        self.barrier = Some(Box::new(Barrier::new(streams, last)));
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
        let (before, skipped) = barrier.let_through(last);
        self.route_kept(before, skipped)
    }

    /// Messages that were kept, and what is passed over among them.
    fn route_kept(&mut self, kept: Vec<Stored>, mut skipped: Skipped) -> Result<(), InboundError> {
        skipped.retain(|stream, _| !self.delivery.doubts(StreamId(*stream)));
        let edge = Tsn(self.reassembly.ring().edge() as u32); // Truncation is the wrap-around.
        for stored in kept {
            if edge.follows(stored.tsn) && !stored.unordered {
                self.settle(stored.stream, stored.ssn);
            }
            self.route_stored(stored)?;
        }
        for (stream, (_, ssn)) in skipped {
            self.skip(SkippedStream { stream: StreamId(stream), ssn });
        }
        Ok(())
    }

    //= RFC 6525 5.2.2-6 5.2.2-7 5.2.2-8
    /// These streams begin again with SSN 0: first those messages leave that waited for an SSN which never came, then
    /// those that were kept.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub(crate) fn begin_again(&mut self, streams: &StreamSet) -> Result<(), InboundError> {
        self.flush(streams);
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.renew_skipped(streams);
        }
        // What was to be passed over may be all that was ever sent on a stream.
        let skipped = self.barrier.iter().flat_map(|barrier| barrier.skipped());
        for stream in skipped.filter(|stream| streams.contains(*stream)) {
            self.delivery.renew(stream);
        }
        self.end_barrier()
    }

    /// What waited for an SSN that will never come is there to be read.
    pub(crate) fn flush(&mut self, streams: &StreamSet) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.begin_again(streams, &mut self.delivery);
            return;
        }
        self.reassembly.track_reached();
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
        let (kept, skipped) = barrier.end();
        self.route_kept(kept, skipped)
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
        let (kept, _) = barrier.end();
        let entries = kept.into_iter().map(|stored| stored.entry).chain(held);
        let ring = self.reassembly.ring();
        let tsns = entries.map(|entry| (ring.head(entry).tsn, entry));
        let all: Vec<(Tsn, EntryId)> = tsns.filter(|(tsn, _)| !tsn.follows(cumulative)).collect();
        for entry in in_order(all) {
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
