//! A fast retransmission that is lost is fast-retransmitted again, for concurrent multipath transfer: the
//! `no_fr_allowed` fix (Sarnow 2017 §6.2.1).
//!
//! Idea: RFC 9260 §7.2.4 rule 5 leaves it to T3-rtx, for a SACK cannot tell what was sent before it from what was sent
//! after. Where each path has an order of its own, and only what left later is counted, it can: a chunk that stayed on its
//! path is eligible again as if it had been new.

use crate::profile::Profile;
use crate::recovery::Rule;
use crate::scoreboard::Eligibility;

/// The mechanism.
pub(in crate::recovery) struct FastRetransmitAgain;

impl Rule for FastRetransmitAgain {
    fn eligibility(profile: &Profile, moved: Option<bool>) -> Option<Eligibility> {
        let renews = profile.multipath.fast_retransmit_again && moved == Some(false);
        renews.then_some(Eligibility::Renewed)
    }
}
