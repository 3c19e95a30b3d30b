//! Packets that have left the queue and are on their way.

use std::cmp::Ordering;

use crate::corruption::Corruption;
use crate::packet::Entry;
use crate::time::Nanos;

/// A packet on the way, ordered by arrival and then by departure.
#[derive(Debug)]
pub(crate) struct Flying<T> {
    pub(crate) at: Nanos,
    /// Position among all that departed.
    pub(crate) sequence: u64,
    pub(crate) entry: Entry<T>,
    pub(crate) corruption: Option<Corruption>,
}

impl<T> Flying<T> {
    pub(crate) const fn key(&self) -> (Nanos, u64) {
        (self.at, self.sequence)
    }
}

impl<T> PartialEq for Flying<T> {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl<T> Eq for Flying<T> {}

impl<T> PartialOrd for Flying<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Flying<T> {
    /// Reversed: the heap's greatest element is the first to arrive.
    fn cmp(&self, other: &Self) -> Ordering {
        other.key().cmp(&self.key())
    }
}
