//! Outgoing streams that begin again, and more of them (RFC 6525).

use tresse_wire::{StreamId, Tsn};

use super::Outbound;
use crate::scoreboard::Scoreboard;
use crate::streams::send_queue::SendQueue;
use crate::streams::stream_set::StreamSet;

/// The streams of a sending half, for what changes them.
pub(crate) struct OutgoingStreams<'a> {
    queue: &'a mut SendQueue,
    board: &'a mut Scoreboard,
}

impl OutgoingStreams<'_> {
    /// What is sent on these streams from now on waits for the end of their reset.
    pub(crate) fn park(&mut self, streams: StreamSet) {
        self.queue.park(streams);
    }

    /// Whether nothing of those streams waits or is outstanding from before.
    pub(crate) fn is_drained(&mut self) -> bool {
        self.queue.is_drained(self.board.is_empty())
    }

    /// Their reset is over, and they `begin_again` with SSN 0 or do not.
    pub(crate) fn unpark(&mut self, begin_again: bool) {
        self.queue.unpark(begin_again);
    }

    //= RFC 6525 5.2.7-5
    /// The sender goes on with another TSN. Nothing is outstanding.
    pub(crate) fn jump(&mut self, next: Tsn) {
        self.board.jump(next);
    }

    /// There are more.
    pub(crate) fn add(&mut self, more: u16) {
        self.queue.add_streams(more);
    }

    /// What the stream scheduler shall know of one.
    pub(crate) fn set_value(&mut self, stream: StreamId, value: u16) {
        self.queue.set_value(stream, value);
    }
}

impl Outbound {
    /// Its streams, for what changes them.
    pub(in crate::send) const fn streams_mut(&mut self) -> OutgoingStreams<'_> {
        OutgoingStreams { queue: &mut self.queue, board: &mut self.board }
    }

    /// Whether these streams stand at their beginning.
    pub(crate) fn is_fresh(&self, streams: &StreamSet) -> bool {
        self.queue.is_fresh(streams)
    }

    //= RFC 6525 5.1.2-4 5.1.7-3 5.2.4-2
    /// The TSN of the next new chunk.
    pub(crate) fn next_tsn(&self) -> Tsn {
        Scoreboard::tsn(self.board.next_seq())
    }
}
