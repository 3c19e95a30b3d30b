//! Which path a packet of new data takes, of those that an association sends over at once.
//!
//! A scheduler sees the paths and the buffers, and decides; it never sends. One file each.

mod blest;
mod blest_all;
mod correction;
mod ecf;
mod min_rtt;
mod primary;
mod redundant;
mod round_robin;
#[cfg(test)]
mod tests;

use std::time::Duration;

use crate::ids::{LossCause, PathId};
use crate::profile;
use blest::Blest;
use blest_all::BlestAll;
use ecf::Ecf;
use min_rtt::MinRtt;
use primary::Primary;
use redundant::Redundant;
use round_robin::RoundRobin;

/// A path that carries data: confirmed and active.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathView {
    pub(crate) id: PathId,
    /// A packet of new data may leave on it now: cwnd, its share of the buffers and Max.Burst
    /// allow it.
    pub(crate) open: bool,
    /// Smoothed RTT; that of the fastest path for one that was not measured yet, so that it will
    /// be, or zero if none was.
    pub(crate) srtt: Duration,
    pub(crate) rttvar: Duration,
    /// Congestion window in bytes.
    pub(crate) cwnd: usize,
    /// Slow start threshold in bytes.
    pub(crate) ssthresh: usize,
    /// Bytes in flight.
    pub(crate) flight: usize,
    /// Bytes per second that it carries, as far as is known: as they are paced, or a window each round trip.
    pub(crate) rate: f64,
    /// The part of the chunks sent here that was declared lost, 0 to 1.
    pub(crate) loss: f64,
}

impl PathView {
    fn rtt(&self) -> f64 {
        self.srtt.as_secs_f64().max(1e-6)
    }

    /// Seconds until the acknowledgement of what is sent as soon as the window has room: a window leaves
    /// each round trip.
    pub(crate) fn delivers_after(&self) -> f64 {
        let waits = self.flight.saturating_sub(self.cwnd) as f64 / self.cwnd.max(1) as f64;
        self.rtt() * (1.0 + waits)
    }
}

/// What a scheduler may look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    /// In the order of the addresses; at least one.
    pub(crate) paths: &'a [PathView],
    pub(crate) primary: PathId,
    /// Bytes of user data that wait to be sent.
    pub(crate) queued: usize,
    /// Bytes that may be outstanding in all: the send buffer, or the peer's window if it is less.
    pub(crate) window: usize,
    /// Bytes of chunks in a full packet (PMDCS).
    pub(crate) mss: usize,
    /// How often the buffers kept data from an open path, since the association began.
    pub(crate) blocked: u64,
}

impl<'a> View<'a> {
    /// The path with the smallest RTT, of those that `wanted` names.
    fn fastest(&self, wanted: impl Fn(&PathView) -> bool) -> Option<&'a PathView> {
        self.paths.iter().filter(|p| wanted(p)).min_by(|a, b| a.rtt().total_cmp(&b.rtt()))
    }
}

/// A path scheduler.
trait PathScheduler {
    /// The path for the next packet of new data, an open one; `None` to wait for a better one.
    fn choose(&mut self, view: &View<'_>) -> Option<PathId>;
    /// Why packets of a stream, thin or not, are sent over all the other paths too, if they are.
    fn duplicates(&self, _thin: bool) -> Option<LossCause> {
        None
    }
}

/// Makes the registry: an enum of the schedulers.
macro_rules! schedulers {
    ($($name:ident,)*) => {
        /// The scheduler that a profile has chosen.
        #[derive(Debug)]
        pub(crate) enum Scheduler {
            $($name($name),)*
        }

        impl Scheduler {
            pub(crate) fn new(which: profile::Scheduler) -> Scheduler {
                match which {
                    $(profile::Scheduler::$name => Scheduler::$name($name::default()),)*
                }
            }

            fn get_mut(&mut self) -> &mut dyn PathScheduler {
                match self {
                    $(Scheduler::$name(scheduler) => scheduler,)*
                }
            }
        }
    };
}

schedulers! { Primary, RoundRobin, MinRtt, Ecf, Blest, BlestAll, Redundant, }

impl Scheduler {
    /// As [`PathScheduler::choose`]. With nothing in flight there is nothing to wait for: the first
    /// open path is taken then.
    pub(crate) fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let choice = self.get_mut().choose(view);
        let idle = view.paths.iter().all(|p| p.flight == 0);
        choice.or_else(|| view.fastest(|p| idle && p.open).map(|p| p.id))
    }

    /// As [`PathScheduler::duplicates`].
    pub(crate) fn duplicates(&mut self, thin: bool) -> Option<LossCause> {
        self.get_mut().duplicates(thin)
    }
}
