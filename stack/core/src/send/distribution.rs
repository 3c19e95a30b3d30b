//! Which path carries what, while several do at once: the state of it.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::ids::PathId;
use crate::path::scheduler::{Scheduler, View};
use crate::profile::MultipathParameters;
use crate::recovery::{Buffers, Rescheduling};
use crate::scoreboard::Scoreboard;
use crate::time::Time;

/// The choice of paths for data.
#[derive(Debug)]
pub(crate) struct Distribution {
    /// Which path new data takes, when several may.
    scheduler: Scheduler,
    rescheduling: Rescheduling,
    /// Chunks of a thin stream that leave once more, on these paths.
    copies: VecDeque<(PathId, Range<u64>)>,
    /// How often the buffers kept data from a path with room.
    blocked: u64,
}

impl Distribution {
    pub(super) fn new(parameters: &MultipathParameters) -> Distribution {
        Distribution {
            scheduler: Scheduler::new(parameters.scheduler),
            rescheduling: Rescheduling::default(),
            copies: VecDeque::new(),
            blocked: 0,
        }
    }

    /// The path of the next packet of new data.
    pub(crate) fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        self.scheduler.choose(view)
    }

    /// Whether packets of a stream, thin or not, are sent over all the other paths too.
    pub(crate) fn duplicates(&mut self, thin: bool) -> bool {
        self.scheduler.duplicates(thin)
    }

    /// These chunks leave once more, on each of `paths`.
    pub(crate) fn plan_copies(&mut self, paths: impl Iterator<Item = PathId>, seqs: &Range<u64>) {
        self.copies.extend(paths.map(|path| (path, seqs.clone())));
    }

    /// No copies leave there any more: the path is gone.
    pub(crate) fn leave_path(&mut self, path: PathId) {
        self.copies.retain(|(on, _)| *on != path);
    }

    /// The next chunks that leave once more, and their path.
    #[inline]
    pub(crate) fn take_copies(&mut self) -> Option<(PathId, Range<u64>)> {
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

    /// What holds up the buffers and is to be sent again over another path, after a SACK.
    pub(crate) fn reschedule(
        &mut self,
        now: Time,
        parameters: &MultipathParameters,
        buffers: &Buffers,
        board: &Scoreboard,
        srtt: impl Fn(PathId) -> Duration,
    ) -> Option<Range<u64>> {
        self.rescheduling.on_sack(now, parameters, buffers, board, srtt)
    }
}
