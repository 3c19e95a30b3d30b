//! What packets with data tell of the MTU, without any probe (RFC 8899 §4.3).

use super::SMALLEST;
use crate::time::Time;

/// In so many round trips in a row packets were lost that are larger than the base, and none is known to have got through: more
/// than chance.
const LOST_ROUNDS: u8 = 8;

/// What is known from data.
#[derive(Debug, Default)]
pub(super) struct Data {
    /// What left before says nothing.
    since: Time,
    /// Bytes of the largest packet with data that was acknowledged.
    proved: usize,
    /// Bytes of the largest packet that has left, as long as nothing is probed.
    largest: usize,
    /// When the newest packet larger than the base left that is known to have got through.
    large: Time,
    /// Round trips since in which some were lost.
    lost_rounds: u8,
    /// When the last one of these was counted.
    counted: Time,
}

impl Data {
    /// Nothing is known at `now`, but what has left.
    pub(super) fn forget(&mut self, now: Time) {
        *self = Data { since: now, counted: now, largest: self.largest, ..Data::default() };
    }

    /// Bytes of the largest packet with data that was acknowledged.
    pub(super) const fn proved(&self) -> usize {
        self.proved
    }

    /// A packet of this size leaves.
    pub(super) fn on_packet(&mut self, size: usize) {
        self.largest = self.largest.max(size);
    }

    /// Data was acknowledged that left at `sent` in a packet of this size. `false` if that says nothing.
    pub(super) fn on_acked(&mut self, sent: Time, size: usize, base: usize) -> bool {
        if sent < self.since {
            return false;
        }
        self.proved = self.proved.max(size);
        if size > base {
            self.large = self.large.max(sent);
            self.lost_rounds = 0;
        }
        true
    }

    /// Something was lost, for the third time if `again`: whether that may be for the size of its packet. What is little larger
    /// than what has got through is doubted the third time only.
    pub(super) fn doubts(&self, again: bool) -> bool {
        let known = self.proved.max(SMALLEST);
        self.largest > if again { known } else { known + known / 4 }
    }

    /// A chunk in a packet larger than the base is lost, which left first and last at these times; `again` if it is for the third
    /// time. Whether that is a black hole.
    pub(super) fn is_hole(&mut self, now: Time, [first, last]: [Time; 2], again: bool) -> bool {
        if last >= self.counted {
            (self.lost_rounds, self.counted) = (self.lost_rounds + 1, now);
        }
        self.lost_rounds >= LOST_ROUNDS || again && first >= self.large
    }
}
