//! No exponential backoff in thin streams (Pedersen 2006 §4.3.4).
//!
//! Idea: backoff answers congestion. A thin stream sends so little that a second timeout in a row
//! says nothing about congestion, but doubles the delay of what is retransmitted.
//!
//! At an expiration of T3-rtx: `RTO = thin ? RTO : min(2 RTO, RTO.Max)` (RFC 9260 §6.3.3 E2).
//!
//! Difference: if the peer reports as a duplicate what such an expiration has sent again, it
//! was spurious; the second time without an RTT measurement in between RTO is doubled after all
//! (`backs_off_if_spurious`). Otherwise a SACK delay longer
//! than RTO makes every timeout spurious for ever: Karn's rule forbids to measure what was sent
//! twice. And after `expirations` in a row RTO is doubled all the same, so that a dead path is
//! not sent to at full rate for ever. The paper has neither.

use smallvec::SmallVec;

use crate::ids::PathId;
use crate::profile::Profile;
use crate::recovery::Advisor;

/// Expirations on one path that kept RTO, since its RTT was measured.
#[derive(Debug)]
struct KeptRto {
    path: PathId,
    /// What had been sent by the last one, unless that has shown to be spurious.
    highest: Option<u64>,
    /// How many were spurious.
    spurious: u32,
}

/// The mechanism.
#[derive(Debug)]
pub(in crate::recovery) struct ThinNoBackoff(SmallVec<[KeptRto; 1]>);

impl Advisor for ThinNoBackoff {
    fn of(_profile: &Profile) -> ThinNoBackoff {
        ThinNoBackoff(SmallVec::new())
    }

    fn on_rtt(&mut self, path: PathId) {
        self.on_path_gone(path);
    }

    fn on_path_gone(&mut self, path: PathId) {
        self.0.retain(|kept| kept.path != path);
    }

    fn keeps_rto(&self, profile: &Profile, thin: bool, in_a_row: u32) -> bool {
        keeps_rto(profile, thin, in_a_row)
    }

    fn on_rto_kept(&mut self, path: PathId, highest: u64) {
        let highest = Some(highest);
        match self.0.iter_mut().find(|kept| kept.path == path) {
            Some(kept) => kept.highest = highest,
            None => self.0.push(KeptRto { path, highest, spurious: 0 }),
        }
    }

    fn late_backoffs(&mut self, profile: &Profile, duplicates: &[u64]) -> u32 {
        if !profile.thin_no_backoff.backs_off_if_spurious {
            return 0;
        }
        let mut paths = 0;
        for kept in &mut self.0 {
            let repeats = |until: u64| duplicates.iter().any(|seq| *seq <= until);
            if kept.highest.is_some_and(repeats) {
                kept.highest = None;
                kept.spurious += 1;
                // Once is none.
                paths |= if kept.spurious > 1 { kept.path.bit() } else { 0 };
            }
        }
        paths
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

    #[test]
    fn the_second_spurious_expiration_backs_off() {
        let (mut profile, path) = (Profile::default(), PathId(2));
        let mut own = ThinNoBackoff::of(&profile);
        let expire = |profile: &Profile, own: &mut ThinNoBackoff, duplicates: &[u64]| {
            own.on_rto_kept(path, 7);
            own.late_backoffs(profile, duplicates)
        };
        assert_eq!(expire(&profile, &mut own, &[8]), 0, "that was sent later");
        assert_eq!(expire(&profile, &mut own, &[7]), 0, "the first one");
        assert_eq!(expire(&profile, &mut own, &[]), 0);
        assert_eq!(expire(&profile, &mut own, &[3]), path.bit());
        own.on_rtt(path);
        assert_eq!(expire(&profile, &mut own, &[7]), 0, "the RTT is known");
        own.on_path_gone(path);
        assert_eq!(expire(&profile, &mut own, &[7]), 0);
        profile.thin_no_backoff.backs_off_if_spurious = false;
        own.on_rto_kept(path, 7);
        assert_eq!(own.late_backoffs(&profile, &[7]), 0);
    }
}
