//! Balanced Linked Adaptation (Peng, Walid, Hwang, Low, "Multipath TCP: Analysis, Design, and
//! Implementation", 2016; draft-walid-mptcp-congestion-control-04).
//!
//! Idea: a point between LIA, which is unfriendly to single flows, and OLIA, which answers slowly to
//! changes: both the increase and the decrease of a path depend on how much slower it is than the
//! fastest.
//!
//! Bytes and seconds, for path P of all paths i; `x_i = cwnd_i / RTT_i`, `a = max(x_i) / x_P`:
//! - congestion avoidance, each SACK:
//!   `cwnd_P += x_P / (RTT_P * (Σ x_i)²) * (1 + a) / 2 * (4 + a) / 5 * acked * PMDCS`
//! - loss, timeout: `ssthresh_P = max(cwnd_P - cwnd_P / 2 * min(a, 3/2), PMDCS)`
//!
//! Over one window of acknowledged data, after which RFC 9260 §7.2.2 steps, the increase is
//! `PMDCS * (x_P / Σ x_i)² * (1 + a) / 2 * (4 + a) / 5`. With a single path the floor of ssthresh is
//! that of RFC 9260.

use super::Coupled;
use super::coupled::{Coupling, Limits};

#[derive(Debug, Default)]
pub(crate) struct Balia;

/// `a`: how much slower the path is than the fastest.
fn slowness(paths: &Coupled<'_>) -> f64 {
    paths.max(|p| p.rate()) / paths.own.rate().max(f64::MIN_POSITIVE)
}

impl Coupling for Balia {
    fn avoidance(&self, paths: &Coupled<'_>) -> f64 {
        let slowness = slowness(paths);
        let part = paths.own.rate() / paths.sum(|p| p.rate()).max(f64::MIN_POSITIVE);
        part * part * (1.0 + slowness) / 2.0 * (4.0 + slowness) / 5.0
    }

    fn after_loss(&self, paths: &Coupled<'_>, limits: &Limits) -> usize {
        if paths.others.is_empty() {
            return limits.halved();
        }
        (paths.own.cwnd * (1.0 - 0.5 * slowness(paths).min(1.5))) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::{LIMITS, close, path};

    #[test]
    fn equal_paths_grow_by_a_quarter_and_halve() {
        let own = path(20_000.0, 1e6, 0.1);
        let paths = Coupled { own, others: &[own] };
        assert!(close(Balia.avoidance(&paths), 0.25));
        assert_eq!(Balia.after_loss(&paths, &LIMITS), 10_000);
    }

    #[test]
    fn the_slower_path_falls_further() {
        // 100 kB/s beside 400 kB/s: a = 4; (1/5)² * 5/2 * 8/5 = 0.16.
        let slow = path(20_000.0, 1e6, 0.2);
        let fast = path(40_000.0, 1e6, 0.1);
        let paths = Coupled { own: slow, others: &[fast] };
        assert!(close(Balia.avoidance(&paths), 0.16));
        assert_eq!(Balia.after_loss(&paths, &LIMITS), 5_000);
        let paths = Coupled { own: fast, others: &[slow] };
        assert!(close(Balia.avoidance(&paths), 0.64));
        assert_eq!(Balia.after_loss(&paths, &LIMITS), 20_000);
    }
}
