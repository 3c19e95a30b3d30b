//! Linked Increases (RFC 6356 §3), as MPTCP uses it.
//!
//! Idea: each path halves its window as always, but the increases are linked so that all paths
//! together get as much as a single flow would on the best of them. No path is more aggressive
//! than a single flow there.
//!
//! Bytes and seconds, for path P of all paths i:
//! - `alpha = Σ cwnd_i * max(cwnd_i / RTT_i²) / (Σ cwnd_i / RTT_i)²` (2)
//! - congestion avoidance, each SACK:
//!   `cwnd_P += min(alpha * acked * PMDCS / Σ cwnd_i, acked * PMDCS / cwnd_P)` (1)
//!
//! - loss, timeout: `ssthresh_P = max(cwnd_P / 2, 4 PMDCS / n, PMDCS)`, n paths
//!
//! Over one window of acknowledged data, after which RFC 9260 §7.2.2 steps, (1) is
//! `cwnd_P += PMDCS * min(cwnd_P * max(cwnd_i / RTT_i²) / (Σ cwnd_i / RTT_i)², 1)`.
//!
//! Differences: alpha is computed for every SACK. §3's advice for flows that the application
//! limits, min(flight, cwnd), is left out: here a window that is not used does not grow. The floor of
//! ssthresh is that of RFC 9260 §7.2.3 divided among the paths; for two that is TCP's (RFC 5681 §3.1).
//!
//! The windows in (2) are those of the moment, as §3 has them. Those of two paths are seldom in step,
//! so that alpha is larger than for their means: together they get about a tenth more than one flow.

use super::Coupled;
use super::coupled::Coupling;

#[derive(Debug, Default)]
pub(crate) struct Lia;

impl Coupling for Lia {
    fn avoidance(&self, paths: &Coupled<'_>) -> f64 {
        let best = paths.max(|p| p.cwnd / (p.rtt * p.rtt));
        let rate = paths.sum(|p| p.rate()).max(f64::MIN_POSITIVE);
        (paths.own.cwnd * best / (rate * rate)).min(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::coupled::Limits;
    use crate::congestion::tests::{LIMITS, close, path};

    /// Equation (2).
    fn alpha(paths: &Coupled<'_>) -> f64 {
        let total = paths.sum(|p| p.cwnd);
        Lia.avoidance(paths) * total / paths.own.cwnd
    }

    #[test]
    fn equal_paths_grow_together_as_one() {
        // §3: "the algorithm will grow the total window by approximately alpha*MSS per RTT", and
        // alpha is 1/2 for two equal ones, so that the common rate is that of one flow.
        let paths = Coupled { own: path(20_000.0, 1e6, 0.1), others: &[path(20_000.0, 1e6, 0.1)] };
        assert!(close(alpha(&paths), 0.5));
        assert!(close(Lia.avoidance(&paths), 0.25));
    }

    #[test]
    fn the_better_path_sets_the_pace() {
        // max(cwnd / RTT²) = 20 000 / 0.01 = 2e6; Σ cwnd / RTT = 200 000 + 50 000 = 250 000;
        // alpha = 40 000 * 2e6 / 6.25e10 = 1.28.
        let fast = path(20_000.0, 1e6, 0.1);
        let slow = path(20_000.0, 1e6, 0.4);
        let paths = Coupled { own: fast, others: &[slow] };
        assert!(close(alpha(&paths), 1.28));
        assert!(close(Lia.avoidance(&paths), 0.64));
    }

    #[test]
    fn windows_out_of_step_grow_more_than_their_means() {
        // One path at the top of its sawtooth, one at the bottom: 2/3 of a packet together and
        // not the 1/2 of equation (2) for the means.
        let (top, bottom) = (path(40_000.0, 1e6, 0.1), path(20_000.0, 1e6, 0.1));
        let both = Lia.avoidance(&Coupled { own: top, others: &[bottom] })
            + Lia.avoidance(&Coupled { own: bottom, others: &[top] });
        assert!(close(both, 2.0 / 3.0));
    }

    #[test]
    fn the_paths_together_keep_no_more_than_one_flow_would() {
        let own = path(2000.0, 1e6, 0.1);
        let limits = Limits { half: 1000, ..LIMITS };
        assert_eq!(Lia.after_loss(&Coupled { own, others: &[] }, &limits), 4000);
        assert_eq!(Lia.after_loss(&Coupled { own, others: &[own] }, &limits), 2000);
        assert_eq!(Lia.after_loss(&Coupled { own, others: &[own] }, &LIMITS), LIMITS.half);
    }

    #[test]
    fn no_path_is_more_aggressive_than_a_single_flow() {
        // A wide window on a slow path beside a fast one: (1) would be 1.98.
        let paths = Coupled { own: path(100_000.0, 1e6, 1.0), others: &[path(2_000.0, 1e6, 0.01)] };
        assert_eq!(Lia.avoidance(&paths), 1.0);
    }
}
