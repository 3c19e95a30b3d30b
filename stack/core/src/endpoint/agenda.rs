//! What is to be done for associations: whose deadline is next, who may have a packet to send, and who may go.

use std::collections::{BTreeSet, VecDeque};

use crate::association::Listing;
use crate::ids::AssociationId;
use crate::time::Time;

/// Associations by what they wait for. Each knows itself where it stands (`association/listing.rs`).
#[derive(Debug, Default)]
pub(super) struct Agenda {
    /// Deadlines: at least as early as the association's own, so that a timer that moves back
    /// costs nothing until then.
    deadlines: BTreeSet<(Time, AssociationId)>,
    /// Associations that may have a packet to send.
    ready: VecDeque<AssociationId>,
    /// Closed associations whose last event was polled, and that may have nothing left to send or to read.
    leaving: Vec<AssociationId>,
}

impl Agenda {
    /// The next deadline.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(at, _)| *at)
    }

    /// Takes an association whose deadline is due, the earliest one first.
    pub(super) fn take_due(&mut self, now: Time) -> Option<AssociationId> {
        self.deadlines.first().filter(|(at, _)| *at <= now)?;
        self.deadlines.pop_first().map(|(_, id)| id)
    }

    /// Registers a deadline, unless an earlier one of this association is registered.
    pub(super) fn schedule(&mut self, id: AssociationId, listing: &mut Listing, next: Time) {
        if listing.registered().is_none_or(|at| next < at) {
            if let Some(old) = listing.register(Some(next)) {
                self.deadlines.remove(&(old, id));
            }
            self.deadlines.insert((next, id));
        }
    }

    /// An association has gone, and its deadline with it.
    pub(super) fn strike(&mut self, id: AssociationId, listing: &Listing) {
        if let Some(at) = listing.registered() {
            self.deadlines.remove(&(at, id));
        }
    }

    /// An association may have packets to send.
    #[inline]
    pub(super) fn enqueue(&mut self, id: AssociationId, listing: &mut Listing) {
        if listing.enqueue() {
            self.ready.push_back(id);
        }
    }

    /// Whose turn it is to send.
    pub(super) fn sender(&self) -> Option<AssociationId> {
        self.ready.front().copied()
    }

    /// It has nothing more to send.
    pub(super) fn end_turn(&mut self) {
        self.ready.pop_front();
    }

    /// An association may have nothing left to send or to read.
    pub(super) fn may_leave(&mut self, id: AssociationId) {
        self.leaving.push(id);
    }

    /// Takes one of these.
    pub(super) fn take_leaving(&mut self) -> Option<AssociationId> {
        self.leaving.pop()
    }

    /// Nobody may leave.
    #[cfg(test)]
    pub(super) fn nobody_leaves(&self) -> bool {
        self.leaving.is_empty()
    }

    /// There is nothing to do for anybody.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.deadlines.is_empty() && self.ready.is_empty() && self.leaving.is_empty()
    }
}
