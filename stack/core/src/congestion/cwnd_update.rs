//! Congestion window update for CMT (CUC; Iyengar, Amer & Stewart 2006; draft-tuexen-tsvwg-sctp-multipath;
//! Sarnow 2017 §3.2).
//!
//! Idea: RFC 9260 §7.2.1 lets a window grow when the Cumulative TSN Ack Point advances. With several paths a gap on one
//! holds that up for all of them. So each path has a point of its own:
//!
//! `advanced(p) <=> the earliest outstanding chunk of p was acknowledged`, by a gap block as well.

use crate::ids::PathId;
use crate::profile::Profile;
use crate::scoreboard::AckOutcome;

/// With several paths at once: whether a SACK advanced what `path` waits for, as its controller sees it.
pub(crate) fn has_advanced(profile: &Profile, outcome: &AckOutcome, path: PathId) -> bool {
    if profile.multipath.cwnd_update {
        return outcome.paths[usize::from(path.0)].earliest;
    }
    outcome.cumulative_advanced
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scoreboard::PathAck;

    #[test]
    fn a_gap_on_one_path_does_not_hold_up_another() {
        let sack = |cumulative_advanced| {
            let paths = [PathAck::default(), PathAck { earliest: true, ..PathAck::default() }];
            AckOutcome {
                paths: paths.into_iter().collect(),
                cumulative_advanced,
                ..Default::default()
            }
        };
        let (gap, cumulative) = (sack(false), sack(true));
        let mut profile = Profile::default();
        let advanced = |profile: &Profile, outcome| {
            [0, 1].map(|path| has_advanced(profile, outcome, PathId(path)))
        };
        assert_eq!(advanced(&profile, &gap), [false, true]);
        assert_eq!(advanced(&profile, &cumulative), [false, true]);
        profile.multipath.cwnd_update = false;
        assert_eq!(advanced(&profile, &gap), [false, false]);
        assert_eq!(advanced(&profile, &cumulative), [true, true]);
    }
}
