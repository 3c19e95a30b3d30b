//! FORWARD TSN chunks that arrive (RFC 3758 §3.6).

use tresse_wire::ForwardTsn;

use super::Receiver;
use crate::ack::received::Advance;
use crate::streams::chunk::InboundError;
use crate::time::Time;

/// What became of a FORWARD TSN chunk.
#[derive(Debug)]
pub(crate) enum Forwarded {
    /// What is missing was passed over.
    Advanced {
        /// A message can be read, after all were.
        readable: bool,
        /// How many chunks were dropped, for the rest of their messages will not come.
        dropped: usize,
        /// Whether what is held now can be part of messages.
        result: Result<(), InboundError>,
    },
    /// Nothing is missing up to there: it is out of date.
    Stale,
    /// It is out of all range.
    OutOfRange,
}

impl Receiver {
    //= RFC 3758 3.6-1
    /// A FORWARD TSN chunk.
    pub(crate) fn on_forward_tsn(&mut self, now: Time, chunk: &ForwardTsn<'_>) -> Forwarded {
        let seq = match self.received.advance(chunk.new_cumulative_tsn) {
            Advance::To(seq) => seq,
            Advance::Stale => return Forwarded::Stale,
            Advance::OutOfRange => return Forwarded::OutOfRange,
        };
        let was_idle = self.inbound.ready() == 0;
        let (dropped, result) = self.inbound.pass_over(now, seq, chunk.skipped());
        Forwarded::Advanced { readable: was_idle && self.inbound.ready() > 0, dropped, result }
    }
}
