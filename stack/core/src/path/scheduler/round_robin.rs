//! Round robin: the reference of Sarnow 2017 (§5.3) and of draft-tuexen-tsvwg-sctp-multipath.
//!
//! Idea: the paths take turns, packet by packet; one whose window is full is passed over. On unequal
//! paths that makes gaps in the order of TSNs, and these fill the buffers.
//!
//! `next = first open path after the last one used, in the order of the addresses`

use super::{PathScheduler, View};
use crate::ids::PathId;

#[derive(Debug, Default)]
pub(crate) struct RoundRobin {
    last: Option<PathId>,
}

impl PathScheduler for RoundRobin {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let open = || view.paths.iter().filter(|p| p.open).map(|p| p.id);
        let next = open().find(|id| Some(*id) > self.last).or_else(|| open().next())?;
        self.last = Some(next);
        Some(next)
    }
}
