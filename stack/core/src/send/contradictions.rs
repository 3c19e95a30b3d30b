//! SACKs that contradict those before without telling anything new.
//!
//! RFC 9260 §6.2 lets a receiver drop what it acknowledged beyond a gap, as often as it is short of memory; but then that is
//! sent again before it is acknowledged again. A SACK that comes late looks like a lie too: of those, no more are on the way
//! than chunks are outstanding.

use crate::scoreboard::AckOutcome;

/// How many came in a row.
#[derive(Debug, Default)]
pub(super) struct Contradictions(usize);

impl Contradictions {
    /// A SACK was applied: whether it is one of them.
    pub(super) const fn note(&mut self, outcome: &AckOutcome) -> bool {
        if outcome.newly_acked > 0 {
            self.0 = 0;
            return false;
        }
        let is_one = outcome.contradictions > 0;
        self.0 += is_one as usize;
        is_one
    }

    /// Whether they are not to be believed any more: more than `limit`, 0 for none, and than may be `on_the_way`.
    pub(super) fn are_too_many(&self, limit: u32, on_the_way: usize) -> bool {
        limit > 0 && self.0 > on_the_way.max(limit as usize)
    }
}
