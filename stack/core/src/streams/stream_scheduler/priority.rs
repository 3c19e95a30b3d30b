//! Strict priority (RFC 8260 §3.4, SCTP_SS_PRIO): streams of the least value first, those of one value in turn.
//!
//! Interleaved, a message that has begun to leave does not hold up those that matter more. A stream starves while those before it have messages. Without values it is round robin, which RFC 8260 leaves open.

use tresse_wire::StreamId;

use super::StreamScheduler;

/// Bits for turns: more messages than any association lives to send.
const TURN_BITS: u32 = 48;

#[derive(Debug, Default)]
pub(super) struct Priority {
    /// How many turns were given.
    turns: u64,
}

impl StreamScheduler for Priority {
    fn place(&mut self, _: StreamId, value: u16) -> u64 {
        self.turns += 1;
        u64::from(value) << TURN_BITS | self.turns
    }
}
