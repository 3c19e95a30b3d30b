//! On a path with a spurious timeout one more error is needed before data takes another one (RFC 7829 §3.2, §5, which have
//! no such rule; RFC 4015 finds the timeout spurious).
//!
//! Idea: RFC 7829 §6 recommends to leave a path at its first timeout. Where one was spurious the RTO is too short for what
//! the round trip does, and the next timeout alone says little: the other path may be the worse one.
//!
//! ```text
//! potentially failed <=> errors > PFMR + forgiven           forgiven = 1 since a spurious timeout, 0 before
//! hands over         <=> errors > PSMR + forgiven           the same, where there is a PF state
//! ```
//! Without a PF state nothing is forgiven: at Path.Max.Retrans the path is inactive.

use crate::profile::Profile;
use crate::settings::PathSettings;

/// What a path is forgiven, until the peer restarts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Leniency {
    spurious: bool,
}

impl Leniency {
    pub(super) const fn new() -> Leniency {
        Leniency { spurious: false }
    }

    /// An expiration of T3-rtx was found to be spurious: the peer had answered.
    pub(super) const fn on_spurious_timeout(&mut self, profile: &Profile) {
        self.spurious |= profile.limits.pf_forgives_spurious;
    }

    /// Errors beyond the thresholds that do not count.
    #[inline]
    pub(super) const fn forgiven(self, settings: &PathSettings) -> u32 {
        (self.spurious && settings.pf_max_retrans < settings.max_retrans) as u32
    }
}
