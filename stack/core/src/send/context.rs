//! What the sending half does with what is not its own: the paths, the settings, and who is told.

use super::concurrent::Concurrent;
use super::single::Single;
use super::strategy::Strategy;
use crate::config::AssociationConfig;
use crate::event::TraceEvent;
use crate::ids::{PathId, WindowCause};
use crate::journal::Journal;
use crate::path::{Paths, StandardTimers};
use crate::profile::Profile;
use crate::scoreboard::Scoreboard;
use crate::state::State;
use crate::time::Time;

/// How data is spread over these paths.
pub(super) fn chosen(paths: &Paths, config: &AssociationConfig) -> &'static dyn Strategy {
    if paths.are_concurrent(config) { &Concurrent } else { &Single }
}

/// What the sending half works with that is not its own.
pub(crate) struct Context<'a> {
    pub(super) now: Time,
    pub(super) state: State,
    pub(super) config: &'a AssociationConfig,
    pub(super) strategy: &'static dyn Strategy,
    pub(super) paths: &'a mut Paths,
    pub(super) standard: &'a mut StandardTimers,
    pub(super) journal: &'a mut Journal,
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        now: Time,
        state: State,
        config: &'a AssociationConfig,
        paths: &'a mut Paths,
        standard: &'a mut StandardTimers,
        journal: &'a mut Journal,
    ) -> Context<'a> {
        let strategy = chosen(paths, config);
        Context { now, state, config, strategy, paths, standard, journal }
    }

    /// The peer answered over `path` what was first sent at `sent`.
    pub(super) fn path_answered(&mut self, path: PathId, sent: Time) {
        if self.paths[path].clear_errors(sent) {
            self.journal.path_changed(self.paths, path);
        }
    }

    #[inline]
    pub(super) fn profile(&self) -> &'a Profile {
        &self.config.profile
    }

    /// DATA may be sent in this state.
    #[inline]
    pub(super) const fn may_send_data(&self) -> bool {
        self.state.may_send_data()
    }

    /// The window of `path` has changed.
    pub(super) fn trace_window(&mut self, board: &Scoreboard, path: PathId, cause: WindowCause) {
        let window = &self.paths[path].window;
        let (cwnd, ssthresh) = (window.cwnd(), window.ssthresh());
        let flight = board.flight(path);
        self.journal.trace(self.now, || TraceEvent::Window { path, cwnd, ssthresh, flight, cause });
    }
}
