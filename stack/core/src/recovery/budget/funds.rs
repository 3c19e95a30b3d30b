//! What guesses are paid from (RFC 5681 §5; RFC 8085 §3.1): credit, share and ceiling, in mean new chunks.

/// Credit and share at most.
pub(super) const MOST: f64 = 6.0;
/// The share at first, and what new data adds to it.
pub(super) const FIRST: f64 = 1.0;
pub(super) const SHARE: f64 = 1.0 / 128.0;
/// The ceiling at first and at most, and what new data adds to it.
pub(super) const CEILING: f64 = 16.0;
pub(super) const CEILING_SHARE: f64 = 1.0 / 12.0;

#[derive(Clone, Copy, Debug)]
pub(super) struct Funds {
    pub(super) credit: f64,
    pub(super) share: f64,
    pub(super) ceiling: f64,
}

impl Default for Funds {
    fn default() -> Funds {
        Funds { credit: 0.0, share: FIRST, ceiling: CEILING }
    }
}

impl Funds {
    /// They cover a guess.
    pub(super) fn cover_guess(self) -> bool {
        self.credit.min(self.share).min(self.ceiling) >= 1.0
    }

    /// They cover one for what a SACK reports missing: the first one is free.
    pub(super) fn cover_reported(self) -> bool {
        self.credit >= 0.0 && self.share.min(self.ceiling) >= 1.0
    }

    /// Adds these, which are less than zero where something is paid.
    pub(super) fn add(&mut self, credit: f64, share: f64, ceiling: f64) {
        self.credit = (self.credit + credit).min(MOST);
        self.share = (self.share + share).min(MOST);
        self.ceiling = (self.ceiling + ceiling).min(CEILING);
    }

    /// A retransmission that was no guess was in vain.
    pub(super) fn lose(&mut self, cost: f64) {
        let taken = |from: f64| (from - cost).max(-MOST).min(from);
        (self.credit, self.share) = (taken(self.credit), taken(self.share));
    }
}
