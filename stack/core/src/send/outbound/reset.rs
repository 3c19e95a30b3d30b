//! Outgoing streams and TSNs that begin again (RFC 6525 §5.1, §5.2.7).

use tresse_wire::Tsn;

use super::Outbound;
use crate::scoreboard::Scoreboard;
use crate::streams::stream_set::StreamSet;

impl Outbound {
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

    /// Whether these streams stand at their beginning.
    pub(crate) fn is_fresh(&self, streams: &StreamSet) -> bool {
        self.queue.is_fresh(streams)
    }

    //= RFC 6525 5.1.2-4 5.1.7-3 5.2.4-2
    /// The TSN of the next new chunk.
    pub(crate) fn next_tsn(&self) -> Tsn {
        Scoreboard::tsn(self.board.next_seq())
    }

    //= RFC 6525 5.2.7-5
    /// Goes on with another TSN. Nothing is outstanding.
    pub(crate) fn jump(&mut self, next: Tsn) {
        self.board.jump(next);
    }

    /// Outgoing streams were added.
    pub(crate) fn add_streams(&mut self, more: u16) {
        self.queue.add_streams(more);
    }
}
