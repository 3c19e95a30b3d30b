//! What packets with data tell of the MTU, without any probe (RFC 8899 §4.3).

use crate::time::Time;

/// Packets are never made for less: a cookie must fit ([`AssociationConfig::check`]). Over IPv4, routers
/// fragment them where the path MTU is smaller still.
///
/// [`AssociationConfig::check`]: crate::AssociationConfig::check
pub(crate) const SMALLEST: usize = 512;

/// In so many round trips in a row large packets were lost, and none is known to have got through: more than chance.
const LOST_ROUNDS: u8 = 4;

/// What is known from data. *Large* is what is larger than a size that is thought to get through whatever happens: the base, or
/// where packets are not larger, [`SMALLEST`].
#[derive(Debug, Default)]
pub(super) struct Data {
    /// What left before says nothing.
    since: Time,
    /// Bytes of the largest packet with data that was acknowledged.
    proved: usize,
    /// Bytes of the largest packet that has left since a large one was known to have got through.
    largest: usize,
    /// When the newest large packet left that is known to have got through.
    large: Time,
    /// Round trips since in which data was lost.
    lost_rounds: u8,
    /// When the last one of these was counted.
    counted: Time,
}

/// What was lost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LostChunk {
    /// When it left first.
    pub(crate) first: Time,
    /// When it left last.
    pub(crate) last: Time,
    /// How often it was sent.
    pub(crate) times: u32,
    /// T3-rtx says that it is lost, which waits longer each time.
    pub(crate) timeout: bool,
}

impl Data {
    /// Nothing is known at `now`.
    pub(super) fn forget(&mut self, now: Time) {
        *self = Data { since: now, counted: now, ..Data::default() };
    }

    /// Bytes of the largest packet with data that was acknowledged.
    pub(super) const fn proved(&self) -> usize {
        self.proved
    }

    /// A packet of this size leaves.
    #[inline]
    pub(super) fn on_packet(&mut self, size: usize) {
        self.largest = self.largest.max(size);
    }

    /// Data was acknowledged that left at `sent` in a packet of this size; what is larger than `safe` is large. `false` if that
    /// says nothing.
    pub(super) fn on_acked(&mut self, sent: Time, size: usize, safe: usize) -> bool {
        if sent < self.since {
            return false;
        }
        self.proved = self.proved.max(size);
        if size > safe {
            self.large = self.large.max(sent);
            (self.largest, self.lost_rounds) = (0, 0);
        }
        true
    }

    /// Whether a large packet has left of which nothing is known.
    pub(super) const fn is_open(&self, safe: usize) -> bool {
        self.largest > safe
    }

    /// Whether more has left in one packet than was ever known to get through, by much.
    pub(super) fn is_untried(&self) -> bool {
        let known = self.proved.max(SMALLEST);
        self.largest > known + known / 4
    }

    /// A chunk is lost. Whether it is large packets that do not get through: it was lost three times, or something was in several
    /// round trips, and no large one got through meanwhile.
    pub(super) fn is_hole(&mut self, now: Time, lost: LostChunk, safe: usize) -> bool {
        if !self.is_open(safe) {
            return false;
        }
        if lost.last >= self.counted {
            (self.lost_rounds, self.counted) = (self.lost_rounds + 1, now);
        }
        self.lost_rounds >= LOST_ROUNDS || lost.times >= 3 && lost.first >= self.large
    }
}
