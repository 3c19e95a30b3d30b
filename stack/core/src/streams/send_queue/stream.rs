//! What the sender keeps of a stream.

use tresse_wire::Mid;

/// The most ordered messages of one stream that may be in the send window.
///
/// RFC 9260 §6.1: a sender must not have more than 2^16 - 1 of them. Receivers commonly compare
/// SSNs in serial number arithmetic, which is ambiguous from 2^15 on, so we stop short of that. With I-DATA chunks it
/// could be more (RFC 8260 §2.1); the reach of Gap Ack Blocks stops soon behind it anyway, unordered messages and
/// fragments, too.
const MAX_ORDERED_IN_FLIGHT: u16 = 32_767;

/// An outgoing stream.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OutStream {
    /// MID of the next ordered message, whose low bits are its SSN. RFC 9260 §6.5: it starts from 0.
    pub(super) next: Mid,
    /// Ordered messages begun and not yet cumulatively acknowledged to their end.
    pub(super) in_flight: u16,
    /// What the application set for the stream scheduler.
    pub(super) value: u16,
    /// Bytes that wait, or are not cumulatively acknowledged.
    pub(super) held: u32,
    /// Messages that have not left entirely, and chunks that are not cumulatively acknowledged.
    pub(super) pieces: u32,
}

impl OutStream {
    /// No ordered message may begin before others are acknowledged.
    #[inline]
    pub(super) const fn is_blocked(&self) -> bool {
        self.in_flight >= MAX_ORDERED_IN_FLIGHT
    }

    /// A message or a chunk is done with. What the receiver keeps for good has no bytes any more when it is acknowledged.
    #[inline]
    pub(super) fn release(&mut self, bytes: usize) {
        self.pieces = self.pieces.saturating_sub(1);
        self.held = match self.pieces {
            0 => 0,
            _ => self.held.saturating_sub(u32::try_from(bytes).unwrap_or(u32::MAX)),
        };
    }
}
