//! Which path carries what, while several do at once: the state of it.

use std::collections::VecDeque;
use std::ops::Range;

use crate::ids::{LossCause, PathId};
use crate::path::scheduler::{Scheduler, View};
use crate::profile::MultipathParameters;

/// Chunks in flight that leave once more over another path.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    pub(super) path: PathId,
    pub(super) seqs: Range<u64>,
    pub(super) cause: LossCause,
}

/// The choice of paths for data.
#[derive(Debug)]
pub(crate) struct Distribution {
    /// Which path new data takes, when several may.
    scheduler: Scheduler,
    /// What leaves once more over other paths.
    copies: VecDeque<Copies>,
    /// How often the buffers kept data from a path with room.
    blocked: u64,
}

impl Distribution {
    pub(super) fn new(parameters: &MultipathParameters) -> Distribution {
        Distribution {
            scheduler: Scheduler::new(parameters.scheduler),
            copies: VecDeque::new(),
            blocked: 0,
        }
    }

    /// The path of the next packet of new data.
    pub(crate) fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        self.scheduler.choose(view)
    }

    /// Why packets of a stream, thin or not, are sent over all the other paths too, if they are.
    pub(super) fn duplicates(&mut self, thin: bool) -> Option<LossCause> {
        self.scheduler.duplicates(thin)
    }

    /// These chunks leave once more, on each of `paths`.
    pub(super) fn plan_copies(
        &mut self,
        paths: impl Iterator<Item = PathId>,
        seqs: &Range<u64>,
        cause: LossCause,
    ) {
        self.copies.extend(paths.map(|path| Copies { path, seqs: seqs.clone(), cause }));
    }

    /// No copies leave there any more: the path is gone.
    pub(crate) fn leave_path(&mut self, path: PathId) {
        self.copies.retain(|copies| copies.path != path);
    }

    /// The next of them.
    #[inline]
    pub(super) fn take_copies(&mut self) -> Option<Copies> {
        self.copies.pop_front()
    }

    /// How often the buffers kept data from a path with room.
    pub(crate) const fn blocked(&self) -> u64 {
        self.blocked
    }

    /// They did once more.
    pub(crate) fn on_blocked(&mut self) {
        self.blocked += 1;
    }
}
