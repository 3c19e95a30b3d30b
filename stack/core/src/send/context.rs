//! What the sending half does with what is not its own: the paths, the settings, and who is told.

use super::concurrent::Concurrent;
use super::single::Single;
use super::strategy::Strategy;
use super::{Context, Patience};
use crate::config::AssociationConfig;
use crate::journal::Journal;
use crate::path::{Path, PathId, Paths};
use crate::profile::Profile;
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

    #[inline]
    pub(super) fn profile(&self) -> &'a Profile {
        &self.config.profile
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
        let is_living = self.paths.is_living(path);
        let path = &mut self.paths[path];
        if path.clear_errors(sent) && is_living {
            self.journal.path_changed(path);
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
}
