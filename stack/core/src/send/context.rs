//! What the sending half does with what is not its own: the paths, the settings, and who is told.

use super::concurrent::Concurrent;
use super::single::Single;
use super::strategy::Strategy;
use super::zero_window::ZeroWindow;
use super::{Context, Patience};
use crate::config::AssociationConfig;
use crate::event::{TraceEvent, WindowCause};
use crate::journal::Journal;
use crate::path::{Path, PathId, Paths};
use crate::scoreboard::Scoreboard;
use crate::state::State;
use crate::time::Time;

/// How data is spread over these paths.
pub(super) fn chosen(paths: &Paths, config: &AssociationConfig) -> &'static dyn Strategy {
    if paths.are_concurrent(config) { &Concurrent } else { &Single }
}

impl<'a> Context<'a> {
    pub(crate) fn new(
        now: Time,
        state: State,
        config: &'a AssociationConfig,
        paths: &'a mut Paths,
        patience: &'a mut Patience,
        journal: &'a mut Journal,
    ) -> Context<'a> {
        let strategy = chosen(paths, config);
        Context { now, state, config, strategy, paths, patience, journal }
    }

    /// The peer answered over `path` what was first sent at `sent`.
    pub(super) fn path_answered(&mut self, path: PathId, sent: Time) {
        if self.paths[path].clear_errors(sent) {
            self.journal.path_changed(self.paths, path);
        }
    }

    /// The paths that carry data: those that can, or the one that RFC 9260 §6.4 names.
    pub(super) fn data_paths(&self) -> impl Iterator<Item = PathId> {
        let any = self.paths.iter().any(Path::preferred);
        let fallback = self.paths.data_path();
        self.paths
            .iter()
            .filter(move |p| if any { p.preferred() } else { p.id == fallback })
            .map(|p| p.id)
    }

    //= RFC 9260 6.1-21 6.3.3-1
    /// T3-rtx of `path` starts, with its RTO; a probe of a closed window may wait longer.
    pub(super) fn arm_t3(&mut self, path: PathId, zero_window: &ZeroWindow) {
        let now = self.now;
        let undoubled = self.paths[path].t3.take_undoubled(now);
        let rto = undoubled.unwrap_or(self.paths[path].rto());
        // A probe of a closed window is owed an answer like anything else.
        let wait = self.start_patience(path, rto);
        let wait = zero_window.wait(rto, self.profile().rto.max()).unwrap_or(wait);
        let at = self.paths[path].rtt.expiry(now, now + wait);
        self.start_t3(path, at);
    }

    /// T3-rtx of `path` runs until then.
    pub(super) fn start_t3(&mut self, path: PathId, at: Time) {
        self.paths[path].t3.start(at);
        self.journal.trace(self.now, || TraceEvent::TimerArmed { path, at });
    }

    /// The window of `path` has changed.
    pub(super) fn trace_window(&mut self, board: &Scoreboard, path: PathId, cause: WindowCause) {
        let window = &self.paths[path].window;
        let (cwnd, ssthresh) = (window.cwnd(), window.ssthresh());
        let flight = board.flight(path);
        self.journal.trace(self.now, || TraceEvent::Window { path, cwnd, ssthresh, flight, cause });
    }
}
