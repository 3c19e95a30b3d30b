//! Incoming streams and TSNs that begin again (RFC 6525 §5.2).

use tresse_wire::Tsn;

use super::Receiver;
use super::marks::ReceivedMarks;
use crate::ack::received::ReceivedTsns;
use crate::profile::NrSackMode;
use crate::streams::chunk::InboundError;
use crate::streams::stream_set::StreamSet;

/// RFC 6525 §5.2.4 G1: how far the new TSNs of the peer are from the old ones.
const HALF: u32 = 1 << 31;

impl Receiver {
    /// Whether all up to `last` has arrived.
    pub(crate) fn has_all(&self, last: Tsn) -> bool {
        !last.follows(self.received.cumulative())
    }

    /// Messages of these streams behind `last` wait until [`begin_again`](Self::begin_again).
    pub(crate) fn keep_behind(&mut self, streams: StreamSet, last: Tsn) {
        self.inbound.keep_behind(streams, last);
    }

    /// What arrived up to `last` does not wait.
    pub(crate) fn let_through(&mut self, last: Tsn) -> Result<(), InboundError> {
        self.inbound.let_through(last)
    }

    /// What waits need wait no longer.
    pub(crate) fn end_barrier(&mut self) -> Result<(), InboundError> {
        self.inbound.end_barrier()
    }

    /// The association ends: what waits and lacks nothing is handed over.
    pub(crate) fn release(&mut self) {
        self.inbound.release(self.received.cumulative());
    }

    /// Messages of these streams that waited for an SSN which will never come are there to be read: those of the time before.
    pub(crate) fn flush(&mut self, streams: &StreamSet) {
        self.inbound.flush(streams);
    }

    /// These streams begin again with SSN 0.
    pub(crate) fn begin_again(&mut self, streams: &StreamSet) -> Result<(), InboundError> {
        self.inbound.begin_again(streams)
    }

    /// More than half of the receive buffer is held.
    pub(crate) fn is_half_full(&self) -> bool {
        self.occupied() > self.buffer.size() / 2
    }

    //= RFC 6525 5.1.7-5 5.1.7-6 5.2.4-1
    /// The peer, which has nothing outstanding, shall begin again with this TSN.
    ///
    /// RFC 6525 §5.2.4 G1: "The value SHOULD be the smallest TSN not acknowledged by the receiver of the request plus
    /// 2^31."
    pub(crate) fn next_after_reset(&self) -> Tsn {
        self.received.cumulative().wrapping_add(1).wrapping_add(HALF)
    }

    //= RFC 6525 5.2.4-4
    /// All streams begin again, and the peer goes on with `next`.
    pub(crate) fn jump(&mut self, next: Tsn) {
        let ahead = next.0.wrapping_sub(self.received.cumulative().0);
        let next_seq = self.received.cumulative_seq() + u64::from(ahead);
        self.received = ReceivedTsns::from_seq(next_seq);
        self.inbound.jump(next_seq);
        if self.nr_sack == NrSackMode::Delivered {
            self.inbound.track_delivered();
        }
        self.timestamps = self.timestamps.continued(next_seq - 1);
        // Of TSNs from before, the peer would not know where they went, or take them for what it never sent.
        self.marks = ReceivedMarks::default();
    }

    //= RFC 6525 5.2.7-6
    /// The peer has reset all streams, and its first TSN since then was or is `next`: "All incoming streams MUST be reset
    /// to 0 as the next expected SSN. The peer will send DATA chunks starting with the Sender's Next TSN" (RFC 6525 §5.2.7
    /// H5).
    pub(crate) fn follow_reset(&mut self, next: Tsn) -> Result<(), InboundError> {
        let last = next.wrapping_sub(1);
        self.inbound.let_through(last)?;
        if last.follows(self.received.cumulative()) {
            // It will not send again what is missing.
            self.jump(next);
            return Ok(());
        }
        self.inbound.begin_again(&StreamSet::All)
    }

    /// The peer may use more streams.
    pub(crate) fn add_streams(&mut self, more: u16) {
        self.streams = self.streams.saturating_add(more);
        self.inbound.add_streams(more);
    }
}
