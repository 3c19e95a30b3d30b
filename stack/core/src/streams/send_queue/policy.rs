//! When a message may be given up (RFC 3758, RFC 7496), and which one first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::time::Duration;

use crate::reliability::{AbandonPolicy, Reliability};
use crate::streams::lines::Place;

/// When a message is given up; the end of its lifetime stands beside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Policy {
    #[default]
    Full,
    Timed,
    Retransmissions(u32),
    Priority(u32),
}

impl Policy {
    /// With the lifetime, if there is one.
    #[inline]
    pub(super) fn of(reliability: Reliability) -> (Policy, Option<Duration>) {
        match reliability {
            Reliability::Full => (Policy::Full, None),
            Reliability::Timed(lifetime) => (Policy::Timed, Some(lifetime)),
            Reliability::Retransmissions(most) => (Policy::Retransmissions(most), None),
            Reliability::Priority(value) => (Policy::Priority(value), None),
        }
    }

    /// Its name, if there is one.
    pub(crate) const fn name(self) -> Option<AbandonPolicy> {
        match self {
            Policy::Full => None,
            Policy::Timed => Some(AbandonPolicy::Timed),
            Policy::Retransmissions(_) => Some(AbandonPolicy::Retransmissions),
            Policy::Priority(_) => Some(AbandonPolicy::Priority),
        }
    }
}

/// Messages that wait and have a priority: the least important first, of equal ones the oldest.
#[derive(Debug, Default)]
pub(super) struct Priorities {
    waiting: BTreeMap<(Reverse<u32>, u64), (Place, usize)>,
}

impl Priorities {
    #[inline]
    pub(super) fn insert(&mut self, policy: Policy, number: u64, place: Place, bytes: usize) {
        if let Policy::Priority(value) = policy {
            self.waiting.insert((Reverse(value), number), (place, bytes));
        }
    }

    #[inline]
    pub(super) fn remove(&mut self, policy: Policy, number: u64) {
        if let Policy::Priority(value) = policy {
            self.waiting.remove(&(Reverse(value), number));
        }
    }

    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Their values and bytes.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, usize)> + '_ {
        self.waiting.iter().map(|((Reverse(value), _), (_, bytes))| (*value, *bytes))
    }

    /// The value of the least important one.
    pub(super) fn least(&self) -> Option<u32> {
        self.waiting.first_key_value().map(|((Reverse(value), _), _)| *value)
    }

    pub(super) fn first(&self) -> Option<Place> {
        self.waiting.first_key_value().map(|(_, (place, _))| *place)
    }
}
