//! No exponential backoff in thin streams (Pedersen 2006 §4.3.4).
//!
//! Idea: backoff answers congestion. A thin stream sends so little that a second timeout in a row
//! says nothing about congestion, but doubles the delay of what is retransmitted.
//!
//! At an expiration of T3-rtx: `RTO = thin ? RTO : min(2 RTO, RTO.Max)` (RFC 9260 §6.3.3 E2).
//!
//! Difference: if the peer reports as a duplicate what such an expiration has sent again, it
//! was spurious; the second time without an RTT measurement in between RTO is doubled after all
//! (`backs_off_if_early`). Otherwise a SACK delay longer
//! than RTO makes every timeout spurious for ever: Karn's rule forbids to measure what was sent
//! twice. And after `expirations` in a row RTO is doubled all the same, so that a dead path is
//! not probed at full rate for ever. The paper has neither.

use crate::profile::Profile;
use crate::recovery::Rule;

/// The mechanism.
pub(in crate::recovery) struct ThinNoBackoff;

impl Rule for ThinNoBackoff {
    fn keeps_rto(profile: &Profile, thin: bool, in_a_row: u32) -> bool {
        keeps_rto(profile, thin, in_a_row)
    }

    fn makes_backoff_good(profile: &Profile) -> bool {
        profile.thin_no_backoff.backs_off_if_early
    }
}

/// Whether RTO keeps its value at the expiration number `in_a_row` (from 1).
fn keeps_rto(profile: &Profile, thin: bool, in_a_row: u32) -> bool {
    let parameters = &profile.thin_no_backoff;
    parameters.enabled
        && thin
        && (parameters.expirations == 0 || in_a_row <= parameters.expirations)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backs_off_when_thick_or_after_the_limit() {
        let mut profile = Profile::default();
        assert!(!keeps_rto(&profile, true, 1));
        profile.thin_no_backoff.enabled = true;
        assert!(keeps_rto(&profile, true, 100));
        assert!(!keeps_rto(&profile, false, 1));
        profile.thin_no_backoff.expirations = 6;
        assert!(keeps_rto(&profile, true, 6) && !keeps_rto(&profile, true, 7));
    }
}
