//! Round robin per packet (RFC 8260 §3.3, SCTP_SS_RR_PKT): a packet with new messages of one stream, in turn.
//!
//! A lost packet holds one stream up only; short messages of several streams do not share packets. A message of
//! several packets still leaves entirely before the turn ends, unless messages are interleaved.

use tresse_wire::StreamId;

use super::StreamScheduler;

#[derive(Debug, Default)]
pub(super) struct RoundRobinPerPacket {
    /// How many turns were given.
    turns: u64,
}

impl StreamScheduler for RoundRobinPerPacket {
    fn place(&mut self, _: StreamId, _: u16) -> u64 {
        self.turns += 1;
        self.turns
    }

    fn is_per_packet(&self) -> bool {
        true
    }
}
