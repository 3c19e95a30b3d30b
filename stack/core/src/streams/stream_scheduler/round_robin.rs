//! Round robin (RFC 8260 §3.2, SCTP_SS_RR): a message of each stream that has some, in turn.
//!
//! Fair in messages, however long they are. A stream waits for one message of each other one at most. Interleaved, all
//! that holds for chunks.

use tresse_wire::StreamId;

use super::StreamScheduler;

#[derive(Debug, Default)]
pub(super) struct RoundRobin {
    /// How many turns were given.
    turns: u64,
}

impl StreamScheduler for RoundRobin {
    fn place(&mut self, _: StreamId, _: u16) -> u64 {
        self.turns += 1;
        self.turns
    }
}
