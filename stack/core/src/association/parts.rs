//! The association taken apart, so that each part can be given what it works with.

use super::{Association, Common, Extras, Halves, Origin, PathMonitor, Phase};
use crate::time::Time;

/// What is not common to all parts.
pub(super) struct Parts<'a> {
    pub(super) phase: &'a mut Phase,
    pub(super) origin: &'a mut Origin,
    pub(super) monitor: &'a mut PathMonitor,
    pub(super) extras: &'a mut Extras,
    pub(super) halves: Halves<'a>,
}

impl Association {
    /// What its parts have in common, and the parts.
    #[inline]
    pub(super) fn parts(&mut self, now: Time) -> (Common<'_>, Parts<'_>) {
        let state = self.state();
        let Association {
            identity,
            phase,
            config,
            paths,
            monitor,
            rng,
            origin,
            sender,
            receiver,
            outbox,
            journal,
            errors,
            standard,
            extras,
            ..
        } = self;
        let common =
            Common { now, state, config, paths, standard, journal, outbox, errors, rng, identity };
        let halves = Halves { sender, receiver };
        (common, Parts { phase, origin, monitor, extras, halves })
    }
}
