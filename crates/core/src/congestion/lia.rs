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
//! Over one window of acknowledged data, after which RFC 9260 §7.2.2 steps, (1) is
//! `cwnd_P += PMDCS * min(cwnd_P * max(cwnd_i / RTT_i²) / (Σ cwnd_i / RTT_i)², 1)`.
//!
//! Differences: alpha is computed for every SACK. §3's advice for flows that the application
//! limits, min(flight, cwnd), is left out: here a window that is not used does not grow.

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
    use crate::congestion::tests::{close, path};

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
    fn no_path_is_more_aggressive_than_a_single_flow() {
        // A wide window on a slow path beside a fast one: (1) would be 1.98.
        let paths = Coupled { own: path(100_000.0, 1e6, 1.0), others: &[path(2_000.0, 1e6, 0.01)] };
        assert_eq!(Lia.avoidance(&paths), 1.0);
    }
}
