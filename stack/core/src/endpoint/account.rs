//! The account of memory: what all associations hold together, and what follows from it.
//!
//! What an association holds now takes the place of what it held before, whenever something has happened to it. So
//! it costs the same however many associations there are. And while there is plenty it costs next to nothing: what
//! has happened can have added no more than is known beforehand ([`growth`]; and a list that is full doubles), so
//! that a few dozen packets later is early enough to look at all that they have touched. Once half of it is used,
//! everything is looked at at once.

use std::collections::BTreeSet;

use slotmap::SlotMap;

use crate::association::Association;
use crate::ids::AssociationId;
use crate::memory::Allowance;

/// Every association may offer a window of this many bytes while memory is short.
const LEAST_SHARE: usize = 64 << 10;
/// What has ended and waits to be read counts as sixteen times as much: nothing of it moves, and lists
/// of those who do move can be long.
const ENDED: u16 = 8;
/// One that holds no more than its share of a half of the memory is not ended as long as another holds more.
const OVER: u16 = 256;
/// This many bytes may have been added since the account was right, at most.
const MAX_UNSEEN: usize = 4 << 20;

/// How many bytes of memory a packet of `len` bytes adds at most: chunks of one byte, each far from the others, or
/// a new association with as many addresses as fit.
pub(super) fn growth(len: usize) -> usize {
    64 * len + (16 << 10)
}

/// The account of one endpoint.
#[derive(Debug)]
pub(super) struct Account {
    limit: usize,
    used: usize,
    /// Associations that hold something: all but those that have just begun.
    holders: usize,
    /// Associations to which something has happened, and how many bytes it has added at most.
    touched: Vec<AssociationId>,
    unseen: usize,
    /// This many are enough to look at them: none while memory is short.
    tolerance: usize,
    /// Associations by the logarithm of what they hold, beyond what moves, those that hold more than their share above all
    /// others; those that have ended, if there is something to read.
    by_size: BTreeSet<(u16, AssociationId)>,
}

/// Twice the logarithm to the base 2, and one more in the upper half; 0 for nothing.
fn size_class(bytes: usize) -> u16 {
    let bits = usize::BITS - bytes.leading_zeros();
    let half = bits > 1 && bytes >> (bits - 2) & 1 == 1;
    (2 * bits) as u16 + u16::from(half)
}

impl Account {
    pub(super) fn new(limit: usize) -> Account {
        let (touched, by_size) = (Vec::new(), BTreeSet::new());
        let mut account =
            Account { limit, used: 0, holders: 0, touched, unseen: 0, tolerance: 0, by_size };
        account.tolerate();
        account
    }

    /// Something has happened, or is about to, that adds this many bytes at most.
    #[inline]
    pub(super) fn expect(&mut self, bytes: usize) {
        self.unseen += if cfg!(tresse_without_account) { 0 } else { bytes };
    }

    /// Something has happened to an association.
    #[inline]
    pub(super) fn touch(&mut self, id: AssociationId, association: &mut Association) {
        if cfg!(tresse_without_account) {
            return; // For `benches/account.sh`, which says what all this costs.
        }
        if !association.listing.is_touched() || self.is_short() {
            self.note(id, association);
        }
    }

    #[cold]
    #[inline(never)]
    fn note(&mut self, id: AssociationId, association: &mut Association) {
        let is_new = association.listing.held() == 0;
        if is_new || self.is_short() || association.is_closed() {
            self.measure(id, association);
        }
        if !association.listing.is_touched() {
            association.listing.set_touched(true);
            self.touched.push(id);
        }
    }

    /// Whether it is time to look at what was touched.
    #[inline]
    pub(super) fn is_due(&self) -> bool {
        self.unseen >= self.tolerance
    }

    /// Looks at what an association holds.
    fn measure(&mut self, id: AssociationId, association: &mut Association) {
        let held = association.memory();
        let before = association.listing.hold(held);
        self.holders = self.holders + usize::from(held > 0) - usize::from(before > 0);
        self.used = self.used + held - before;
        self.tolerate();
        let class = match association.is_closed() {
            true if association.readable() == 0 => 0,
            true => OVER + ENDED + size_class(held),
            false if self.is_short() => {
                let over = if held > self.share() { OVER } else { 0 };
                over + size_class(association.excess())
            }
            _ => size_class(held),
        };
        let before = association.listing.size_class();
        // One that has become a little smaller stays where it is: it may well grow again.
        if class > before || class + 1 < before {
            association.listing.set_size_class(class);
            self.by_size.remove(&(before, id));
            if class > 0 {
                self.by_size.insert((class, id));
            }
        }
    }

    /// How much may be unseen follows from how much is used.
    fn tolerate(&mut self) {
        let is_short = self.used > self.limit / 2;
        self.tolerance = if is_short { 0 } else { MAX_UNSEEN.min(self.limit / 16) };
    }

    /// An association has gone.
    pub(super) fn remove(&mut self, id: AssociationId, association: &Association) {
        self.holders -= usize::from(association.listing.held() > 0);
        self.used -= association.listing.held();
        self.tolerate();
        self.by_size.remove(&(association.listing.size_class(), id));
    }

    /// What each may hold: its share of a half of the memory.
    fn share(&self) -> usize {
        self.limit / 2 / self.holders.max(1)
    }

    /// Half of it is used: windows shrink.
    #[inline]
    pub(super) fn is_short(&self) -> bool {
        self.tolerance == 0
    }

    /// There is none for another association.
    pub(super) fn is_scarce(&self) -> bool {
        self.used > self.limit / 8 * 7
    }

    /// What each may hold, if there are `count`.
    pub(super) fn allowance(&self, count: usize) -> Allowance {
        if !self.is_short() {
            return Allowance::AMPLE;
        }
        let share = (self.limit / 2 / count.max(1)).max(LEAST_SHARE);
        Allowance { share, scarce: self.is_scarce() }
    }

    /// Bytes of memory that all associations hold.
    pub(super) fn total(&self, associations: &SlotMap<AssociationId, Association>) -> usize {
        let touched = self.touched.iter().filter_map(|id| associations.get(*id));
        touched.fold(self.used, |used, a| used + a.memory() - a.listing.held())
    }

    /// Looks at what was touched.
    pub(super) fn audit(&mut self, associations: &mut SlotMap<AssociationId, Association>) {
        let foreseen = 2 * self.used + self.unseen;
        let mut touched = std::mem::take(&mut self.touched);
        for id in touched.drain(..) {
            if let Some(a) = associations.get_mut(id) {
                a.listing.set_touched(false);
                self.measure(id, a);
            }
        }
        debug_assert!(self.used <= foreseen, "{} and not {foreseen}", self.used);
        self.touched = touched;
        self.unseen = 0;
    }

    /// Who holds the most, while more is used than there is.
    pub(super) fn worst(&self) -> Option<AssociationId> {
        let (_, id) = self.by_size.last().filter(|_| self.used > self.limit)?;
        Some(*id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_class_is_half_a_doubling() {
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8].map(size_class), [0, 2, 4, 5, 6, 6, 7, 7, 8]);
        assert!((1..100_000).all(|n| size_class(n) <= size_class(n + 1)));
        assert!(size_class(usize::MAX) < OVER);
    }
}
