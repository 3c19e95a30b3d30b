//! FORWARD TSN chunks that arrive (RFC 3758 §3.6), and I-FORWARD-TSN (RFC 8260 §2.3.1).

use tresse_wire::{ForwardTsn, IForwardTsn, Tsn};

use super::Receiver;
use crate::ack::received::Advance;
use crate::streams::chunk::InboundError;
use crate::streams::inbound::Inbound;
use crate::time::Time;

/// What became of a FORWARD TSN chunk.
#[derive(Clone, Copy, Debug)]
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
        self.pass_over(chunk.new_cumulative_tsn, |inbound, seq| {
            inbound.pass_over(now, seq, chunk.skipped())
        })
    }

    /// An I-FORWARD-TSN chunk: "the principle applied to ordered messages when using FORWARD-TSN chunks is applied to ordered
    /// and unordered messages" (RFC 8260 §2.3.1).
    pub(crate) fn on_i_forward_tsn(&mut self, chunk: &IForwardTsn<'_>) -> Forwarded {
        self.pass_over(chunk.new_cumulative_tsn, |inbound, seq| {
            (inbound.pass_over_messages(seq, chunk.skipped()), Ok(()))
        })
    }

    fn pass_over(
        &mut self,
        tsn: Tsn,
        pass: impl FnOnce(&mut Inbound, u64) -> (usize, Result<(), InboundError>),
    ) -> Forwarded {
        let advance = self.received.advance(tsn);
        self.packet.on_forward_tsn(advance);
        let seq = match advance {
            Advance::To(seq) => seq,
            Advance::Stale => return Forwarded::Stale,
            Advance::OutOfRange => return Forwarded::OutOfRange,
        };
        let was_idle = self.inbound.ready() == 0;
        self.inbound.advance_to(self.received.cumulative_seq());
        let (dropped, result) = pass(&mut self.inbound, seq);
        Forwarded::Advanced { readable: was_idle && self.inbound.ready() > 0, dropped, result }
    }
}
