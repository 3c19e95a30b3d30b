//! Data leaves a path that may have failed before that is certain, and another one may become the primary path (RFC 7829).
//!
//! Idea: what is not answered a few times in a row says enough to send elsewhere, not that the path has failed. HEARTBEATs ask
//! it, and it carries data again as soon as it answers; unless what carried data meanwhile is the primary path by then.
//!
//! ```text
//! potentially failed <=> PFMR < PMR     and failures > PFMR + forgiven           (section 3.2)
//! hands over         <=> PSMR < 65 535  and failures > PSMR + forgiven           (section 5)
//! ```
//! Failures are errors, and with `limits.patience` also those that count as none. Forgiven is what
//! `pf_forgives_spurious.rs` says; RFC 7829 forgives nothing.

use super::Leniency;
use crate::profile::{NO_SWITCHOVER, Profile};
use crate::settings::PathSettings;

/// What was not answered in a row.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failures {
    /// Consecutive expirations, errors or not: those that came too soon for that, and those of an
    /// inactive path (RFC 7829 §4.1 rule 3).
    in_a_row: u32,
    leniency: Leniency,
}

impl Failures {
    pub(super) const fn new() -> Failures {
        Failures { in_a_row: 0, leniency: Leniency::new() }
    }

    /// Consecutive expirations, errors or not.
    #[inline]
    pub(super) const fn in_a_row(self) -> u32 {
        self.in_a_row
    }

    /// RFC 7829 §3.2 rule 1: with a threshold as high as Path.Max.Retrans there is no such state.
    #[inline]
    pub(super) const fn are_too_many(self, settings: &PathSettings) -> bool {
        let PathSettings { max_retrans, pf_max_retrans, .. } = *settings;
        let forgiven = self.leniency.forgiven(settings);
        pf_max_retrans < max_retrans && self.in_a_row > pf_max_retrans + forgiven
    }

    //= RFC 7829 5-6 5-7
    /// RFC 7829 §5: it does not remain the primary path.
    pub(super) const fn hand_over(self, settings: &PathSettings) -> bool {
        let threshold = settings.ps_max_retrans;
        let forgiven = self.leniency.forgiven(settings);
        threshold < NO_SWITCHOVER && self.in_a_row > threshold + forgiven
    }

    /// Something was not answered.
    pub(super) fn on_failure(&mut self) {
        self.in_a_row = self.in_a_row.saturating_add(1);
    }

    //= RFC 7829 3.2-14
    /// The peer answered over this path.
    pub(super) fn on_answer(&mut self) {
        self.in_a_row = 0;
    }

    /// An expiration of T3-rtx was found to be spurious: the peer had answered.
    pub(super) const fn on_spurious_timeout(&mut self, profile: &Profile) {
        self.leniency.on_spurious_timeout(profile);
    }

    /// This many in a row.
    #[cfg(test)]
    pub(super) fn set(&mut self, in_a_row: u32) {
        self.in_a_row = in_a_row;
    }
}
