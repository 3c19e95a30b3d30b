//! Redundant: a thin stream goes over all paths at once, so that no loss on one of them delays it (as Frömmgen et al. 2016 do for
//! Multipath TCP).
//!
//! Idea: a thin stream leaves most of every path unused, and its messages are worth more than the
//! bytes. When the stream is not thin this is [`min_rtt`](super::min_rtt).

use super::min_rtt::MinRtt;
use super::{PathScheduler, View};
use crate::ids::{LossCause, PathId};

#[derive(Debug, Default)]
pub(crate) struct Redundant;

impl PathScheduler for Redundant {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        MinRtt.choose(view)
    }

    fn duplicates(&self, thin: bool) -> Option<LossCause> {
        thin.then_some(LossCause::Redundant)
    }
}
