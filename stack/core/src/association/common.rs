//! What every part of an association works with, beside its own state. The association hands it to them; none of them
//! sees the association.

use std::time::Duration;

use super::Identity;
use super::errors::{End, Errors};
use super::outbox::{Control, Outbox};
use crate::config::AssociationConfig;
use crate::ids::{PathId, PathState};
use crate::journal::Journal;
use crate::path::{Paths, StandardTimers};
use crate::profile::Profile;
use crate::receive::Receiver;
use crate::rng::Rng;
use crate::send::{Context, Sender};
use crate::state::State;
use crate::time::Time;

/// What is no part's own. It is open as a whole: what it has is closed by itself, but for settings and identity, which no part
/// changes.
pub(super) struct Common<'a> {
    pub(super) now: Time,
    pub(super) state: State,
    pub(super) config: &'a AssociationConfig,
    pub(super) paths: &'a mut Paths,
    pub(super) standard: &'a mut StandardTimers,
    pub(super) journal: &'a mut Journal,
    pub(super) outbox: &'a mut Outbox,
    pub(super) errors: &'a mut Errors,
    pub(super) rng: &'a mut Rng,
    pub(super) identity: &'a Identity,
}

/// The halves that send and receive, for what concerns both.
pub(super) struct Halves<'a> {
    pub(super) sender: &'a mut Sender,
    pub(super) receiver: &'a mut Receiver,
}

impl<'a> Common<'a> {
    pub(super) fn profile(&self) -> &'a Profile {
        &self.config.profile
    }

    /// What the sending half gets of it.
    pub(super) fn sending(&mut self) -> Context<'_> {
        let Common { now, state, config, paths, standard, journal, .. } = self;
        Context::new(*now, *state, config, paths, standard, journal)
    }

    /// Queues a control chunk; beyond the limit it is dropped. Tells whether it will leave.
    pub(super) fn push(&mut self, path: PathId, control: Control) -> bool {
        self.outbox.push(self.paths, path, control)
    }

    /// A timer starts on `path`: when it expires.
    pub(super) fn expires(&mut self, path: PathId) -> Time {
        let rto = self.paths[path].rto();
        self.now + self.sending().start_wait(path, rto)
    }

    /// A timer starts on `path` after an answer, or when something else begins: when it expires.
    pub(super) fn expires_again(&mut self, path: PathId, rto: Duration) -> Time {
        self.now + self.sending().restart_wait(path, rto)
    }

    pub(super) fn path_changed(&mut self, path: PathId) {
        self.journal.path_changed(self.paths, path);
    }

    pub(super) fn primary_changed(&mut self) {
        self.journal.primary_changed(self.paths);
    }

    /// Data goes to this path by default.
    pub(super) fn set_primary(&mut self, path: PathId) {
        if self.paths.set_primary(path) {
            self.primary_changed();
        }
    }

    /// Something was not answered on a path; `true` if that changed its state.
    pub(super) fn count_failure(&mut self, path: PathId, error: bool) -> bool {
        let failure = self.paths.count_failure(path, error);
        if failure.changes_state() {
            self.path_changed(path);
        }
        if failure.changes_primary() {
            self.primary_changed();
        }
        failure.changes_state()
    }

    /// Something was not answered on a path, which is asked if it has failed with that.
    pub(super) fn fail(&mut self, path: PathId, error: bool) {
        if self.count_failure(path, error) {
            self.ask_failed(path);
        }
    }

    /// RFC 7829 §3.2 rule 6: "HEARTBEATs are sent when a destination address reaches the PF state."
    pub(super) fn ask_failed(&mut self, path: PathId) {
        let alone = self.paths.len() == 1;
        let p = &mut self.paths[path];
        let failed = p.state() == PathState::PotentiallyFailed;
        //= RFC 7829 3.2-13
        if failed && !alone && p.settings.heartbeats && !p.heartbeat.is_awaited() {
            p.heartbeat.plan(Some(self.now));
        }
    }

    /// Whether it has been too many errors by now.
    pub(super) fn judge_errors(&self) -> Result<(), End> {
        self.errors.judge(self.profile().limits.association_max_retrans)
    }

    /// The peer has answered a request that was sent on `path`. As after a heartbeat (RFC 9260 §8.1) that forgives no data
    /// that is outstanding: who asks again and again whether a reset is done would never notice that nothing else arrives.
    pub(super) fn answered(&mut self, path: PathId, sent: Time, sender: &Sender) {
        if self.paths[path].clear_errors(sent) {
            self.path_changed(path);
        }
        self.errors.on_request_answered();
        if sender.data().outstanding() == 0 {
            self.errors.clear();
            self.standard.stop();
        }
    }
}
