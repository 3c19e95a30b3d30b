//! What the sending half does with what is not its own: the paths, the settings, and who is told.

use super::{Context, Patience};
use crate::config::AssociationConfig;
use crate::journal::Journal;
use crate::path::{Path, PathId, Paths};
use crate::profile::Profile;
use crate::scoreboard::PathAck;
use crate::state::State;
use crate::time::Time;

impl<'a> Context<'a> {
    pub(crate) fn new(
        now: Time,
        state: State,
        config: &'a AssociationConfig,
        paths: &'a mut Paths,
        patience: &'a mut Patience,
        journal: &'a mut Journal,
    ) -> Context<'a> {
        Context { now, state, config, paths, patience, journal }
    }

    #[inline]
    pub(super) fn profile(&self) -> &'a Profile {
        &self.config.profile
    }

    /// Several paths may carry data at once.
    #[inline]
    pub(super) fn is_concurrent(&self) -> bool {
        self.paths.are_concurrent(self.config)
    }

    /// DATA may be sent in this state.
    #[inline]
    pub(super) const fn may_send_data(&self) -> bool {
        self.state.may_send_data()
    }

    /// An opportunity to send came.
    pub(super) fn opportunity(&mut self) {
        self.paths.grant(self.profile().limits.max_burst);
    }

    /// The peer answered over `path` what was first sent at `sent`.
    pub(super) fn path_answered(&mut self, path: PathId, sent: Time) {
        let path = &mut self.paths[path];
        if path.clear_errors(sent) {
            self.journal.path_changed(path);
        }
    }

    /// Bytes that may be in flight on `path`.
    pub(super) fn window(&self, path: PathId) -> usize {
        let p = &self.paths[path];
        if self.is_concurrent() { p.window.limited() } else { p.window.cwnd() }
    }

    /// After a cut: with several paths the window need not fall below what this one holds without a queue.
    pub(super) fn spare_window(&mut self, path: PathId) {
        if self.is_concurrent() {
            self.paths[path].window.spare();
        }
    }

    /// What a recovery has lowered below the floor of ssthresh is raised to that again, now that it is over.
    pub(super) fn restore_floor(&mut self, path: PathId) {
        if self.is_concurrent() {
            return; // Coupled controls divide the floor among the paths.
        }
        let floor = self.profile().congestion.ssthresh_floor;
        let p = &mut self.paths[path];
        let floor = (floor * p.pmdcs() as f64) as usize;
        p.window.restore_floor(floor);
    }

    /// Measures the path by what a SACK acknowledged on it.
    pub(super) fn watch_queue(&mut self, path: PathId, ack: &PathAck, next: u64) {
        if self.is_concurrent() {
            self.paths[path].window.watch_queue(self.now, ack, next);
        }
    }

    /// Whether pacing holds packets back on `path`.
    pub(super) fn is_held_back(&self, path: PathId) -> bool {
        self.is_concurrent() && self.paths[path].bursts.is_held_back()
    }

    /// The paths that carry data: those that can, or the one that RFC 9260 §6.4 names.
    pub(super) fn carriers(&self) -> impl Iterator<Item = PathId> {
        let any = self.paths.iter().any(Path::preferred);
        let fallback = self.paths.data_path();
        self.paths
            .iter()
            .filter(move |p| if any { p.preferred() } else { p.id == fallback })
            .map(|p| p.id)
    }
}
