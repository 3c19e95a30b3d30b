//! Which path a retransmission takes when all paths carry data (Iyengar, Amer, Stewart: *Concurrent
//! Multipath Transfer Using SCTP Multihoming Over Independent End-to-End Paths*, 2006, §4).
//!
//! Idea: a retransmission holds up everything behind it, so it should take the path where it is
//! least likely to be lost again or late.

use super::scheduler::PathView;
use crate::ids::PathId;
use crate::profile::{Profile, RetransmissionPolicy};

/// The path for a chunk that was last sent on `last`, as the profile wants it; `None` if no path carries data.
pub(crate) fn wanted(profile: &Profile, last: PathId, paths: &[PathView]) -> Option<PathId> {
    choose(profile.multipath.retransmission, last, paths)
}

/// The fastest one.
pub(crate) fn fastest(last: PathId, paths: &[PathView]) -> Option<PathId> {
    choose(RetransmissionPolicy::MinRtt, last, paths)
}

/// The next one in turn.
pub(crate) fn next(last: PathId, paths: &[PathView]) -> Option<PathId> {
    choose(RetransmissionPolicy::Alternate, last, paths)
}

/// What is lost joins whatever packet leaves now, on any path: with `earliest`.
pub(crate) fn joins_any(profile: &Profile) -> bool {
    profile.multipath.retransmission == RetransmissionPolicy::Earliest
}

fn choose(policy: RetransmissionPolicy, last: PathId, paths: &[PathView]) -> Option<PathId> {
    let stay = || paths.iter().find(|p| p.id == last);
    // The one with the highest score; `last` if it is as good as any.
    let best = |score: fn(&PathView) -> f64| {
        paths
            .iter()
            .max_by(|a, b| score(a).total_cmp(&score(b)).then((a.id == last).cmp(&(b.id == last))))
    };
    let fastest = |p: &PathView| -p.srtt.as_secs_f64();
    let found = match policy {
        RetransmissionPolicy::Same => stay().or_else(|| best(fastest)),
        RetransmissionPolicy::Alternate => {
            let after = paths.iter().find(|p| p.id > last);
            after.or_else(|| paths.iter().find(|p| p.id != last)).or_else(stay)
        }
        RetransmissionPolicy::LargestCwnd => best(|p| p.cwnd as f64),
        RetransmissionPolicy::LargestSsthresh => best(|p| p.ssthresh as f64),
        RetransmissionPolicy::LowestLoss => best(|p| -p.loss),
        RetransmissionPolicy::MinRtt => best(fastest),
        RetransmissionPolicy::Earliest => best(|p| -p.delivers_after()),
    };
    found.map(|p| p.id)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn path(id: u8, cwnd: usize, ssthresh: usize, loss: f64, rtt_ms: u64) -> PathView {
        PathView {
            id: PathId(id),
            open: true,
            srtt: Duration::from_millis(rtt_ms),
            rttvar: Duration::ZERO,
            cwnd,
            ssthresh,
            flight: 0,
            rate: 0.0,
            loss,
        }
    }

    #[test]
    fn each_policy_chooses_by_its_own_measure() {
        use RetransmissionPolicy::*;
        let paths =
            [path(0, 10, 40, 0.02, 30), path(1, 20, 30, 0.03, 10), path(2, 15, 20, 0.01, 20)];
        let at = |policy, last| choose(policy, PathId(last), &paths).unwrap().0;
        assert_eq!(at(Same, 2), 2);
        assert_eq!(at(Same, 7), 1, "its path has failed");
        assert_eq!([at(Alternate, 0), at(Alternate, 2)], [1, 0]);
        assert_eq!(at(LargestCwnd, 0), 1);
        assert_eq!(at(LargestSsthresh, 1), 0);
        assert_eq!(at(LowestLoss, 0), 2);
        assert_eq!(at(MinRtt, 0), 1);
        assert_eq!(at(Earliest, 0), 1);
        // Behind half a window, the fastest takes as long as half a round trip more.
        let behind = |flight| {
            let busy = [paths[0], PathView { flight, ..paths[1] }, paths[2]];
            choose(Earliest, PathId(0), &busy).unwrap().0
        };
        assert_eq!([behind(20), behind(30), behind(45)], [1, 1, 2]);
        assert_eq!(choose(Same, PathId(0), &[]), None);
        let alone = [path(0, 1, 1, 0.0, 1)];
        assert_eq!(choose(Alternate, PathId(0), &alone), Some(PathId(0)));
    }

    #[test]
    fn equal_paths_keep_what_they_have() {
        let paths = [path(0, 10, 10, 0.0, 10), path(1, 10, 10, 0.0, 10)];
        for last in [0, 1] {
            for policy in [RetransmissionPolicy::LargestCwnd, RetransmissionPolicy::LowestLoss] {
                assert_eq!(choose(policy, PathId(last), &paths), Some(PathId(last)));
            }
        }
    }
}
