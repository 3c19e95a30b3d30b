//! The account of memory: what all associations hold together, and what follows from it.
//!
//! It is kept where something happens to an association: what that one holds now takes the place of what it
//! held before. So it costs the same however many associations there are. While there is plenty it is enough
//! to look after each packet that comes in and each burst that leaves; once half of it is used, after every
//! call.

use std::collections::BTreeSet;

use super::{AssociationId, Endpoint};
use crate::association::{Association, Budget};
use crate::time::Time;

/// Every association may offer a window of so many bytes while memory is short.
const LEAST_SHARE: usize = 64 << 10;

/// The account of one endpoint.
#[derive(Debug)]
pub(super) struct Account {
    limit: usize,
    used: usize,
    /// The open associations by the logarithm of what they hold, beyond what moves.
    by_size: BTreeSet<(u8, AssociationId)>,
}

/// Twice the logarithm to the base 2, and one more in the upper half; 0 for nothing.
fn size_class(bytes: usize) -> u8 {
    let bits = usize::BITS - bytes.leading_zeros();
    let half = bits > 1 && bytes >> (bits - 2) & 1 == 1;
    (2 * bits) as u8 + u8::from(half)
}

impl Account {
    pub(super) fn new(limit: usize) -> Account {
        Account { limit, used: 0, by_size: BTreeSet::new() }
    }

    /// Something has happened to an association.
    pub(super) fn update(&mut self, id: AssociationId, association: &mut Association) {
        let held = association.memory();
        self.used = self.used + held - std::mem::replace(&mut association.held, held);
        let class = match association.is_closed() {
            true => 0,
            false if self.is_short() => size_class(association.excess()),
            false => size_class(held),
        };
        let before = association.size_class;
        // One that has become a little smaller stays where it is: it may well grow again.
        if class > before || class + 1 < before {
            association.size_class = class;
            self.by_size.remove(&(before, id));
            if class > 0 {
                self.by_size.insert((class, id));
            }
        }
    }

    /// An association has gone.
    pub(super) fn remove(&mut self, id: AssociationId, association: &Association) {
        self.used -= association.held;
        self.by_size.remove(&(association.size_class, id));
    }

    /// Half of it is used: windows shrink.
    pub(super) fn is_short(&self) -> bool {
        self.used > self.limit / 2
    }

    /// There is none for another association.
    pub(super) fn is_scarce(&self) -> bool {
        self.used > self.limit / 8 * 7
    }

    /// What each may hold, if there are `count`.
    pub(super) fn budget(&self, count: usize) -> Budget {
        if !self.is_short() {
            return Budget::AMPLE;
        }
        let share = (self.limit / 2 / count.max(1)).max(LEAST_SHARE);
        Budget { share, scarce: self.is_scarce() }
    }
}

impl Endpoint {
    /// Bytes of memory that all associations hold.
    pub(super) fn memory(&self) -> usize {
        self.account.used
    }

    /// Whether there is room for another association.
    pub(super) fn has_room(&self) -> bool {
        self.index.len() < self.max_associations && !self.account.is_scarce()
    }

    /// What an association may hold now.
    pub(super) fn budget(&self) -> Budget {
        self.account.budget(self.index.len())
    }

    /// While more memory is used than there is, ends the association that holds the most. Tells whether one
    /// was ended.
    pub(super) fn relieve(&mut self, now: Time) -> bool {
        let before = self.stats.aborted_for_memory;
        while self.account.used > self.account.limit {
            let Some(&(_, id)) = self.account.by_size.last() else { break };
            let Some(worst) = self.associations.get_mut(id) else { break };
            worst.abort_for_memory();
            self.stats.aborted_for_memory += 1;
            self.settle(now, id);
        }
        self.stats.aborted_for_memory > before
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_half_a_doubling() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(size_class), [0, 2, 4, 5, 6, 6, 7, 7, 8]);
        assert!((1..100_000).all(|n| size_class(n) <= size_class(n + 1)));
        assert!(size_class(usize::MAX) < u8::MAX);
    }
}
