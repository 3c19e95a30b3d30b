//! CMT/RPv1: resource pooling by slow start thresholds (Dreibholz, Becke, Adhari, Rathgeb, "On the
//! Impact of Congestion Control for Concurrent Multipath Transfer on the Internet", 2011;
//! draft-tuexen-tsvwg-sctp-multipath).
//!
//! Idea: the paths together are one flow. ssthresh says how much of the capacity a path has; it
//! takes that part of every increase, and a loss on any path costs half of all windows together,
//! as it would cost half the window of one flow.
//!
//! Bytes, for path P of all paths i; S = ssthresh_P / Σ ssthresh_i:
//! - slow start: `cwnd_P += S * min(acked, L PMDCS)`
//! - congestion avoidance: `cwnd_P += S * PMDCS` per window of acknowledged data
//! - loss, timeout: `ssthresh_P = max(cwnd_P - Σ cwnd_i / 2, S * 4 PMDCS, PMDCS)`
//!
//! Differences: "4" is the parameter `ssthresh_floor`. The first window of a path is not divided by
//! the number of paths. An ssthresh that is still "arbitrarily high" counts as the peer's receive
//! buffer.

use super::Coupled;
use super::coupled::{Coupling, Limits};

#[derive(Debug, Default)]
pub(crate) struct CmtRpv1;

/// The part of the common ssthresh that the path has.
fn part(paths: &Coupled<'_>) -> f64 {
    paths.own.ssthresh / paths.sum(|p| p.ssthresh).max(1.0)
}

impl Coupling for CmtRpv1 {
    fn slow_start(&self, paths: &Coupled<'_>) -> f64 {
        part(paths)
    }

    fn avoidance(&self, paths: &Coupled<'_>) -> f64 {
        part(paths)
    }

    fn after_loss(&self, paths: &Coupled<'_>, limits: &Limits) -> usize {
        let rest = paths.own.cwnd - paths.sum(|p| p.cwnd) / 2.0;
        let floor = limits.floor as f64 * part(paths);
        rest.max(floor) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::{LIMITS, path};

    #[test]
    fn takes_its_part_of_every_increase() {
        let own = path(20_000.0, 30_000.0, 0.1);
        let others = [path(9_000.0, 10_000.0, 0.9)];
        let paths = Coupled { own, others: &others };
        assert_eq!(CmtRpv1.avoidance(&paths), 0.75);
        assert_eq!(CmtRpv1.slow_start(&paths), 0.75);
    }

    #[test]
    fn a_loss_costs_half_of_all_windows() {
        let others = [path(10_000.0, 25_000.0, 0.1)];
        let own = path(50_000.0, 75_000.0, 0.1);
        let paths = Coupled { own, others: &others };
        assert_eq!(CmtRpv1.after_loss(&paths, &LIMITS), 20_000);
        // The smaller path cannot pay that: three quarters of the floor of 4000 are left to it.
        let own = path(10_000.0, 75_000.0, 0.1);
        let others = [path(50_000.0, 25_000.0, 0.1)];
        let paths = Coupled { own, others: &others };
        assert_eq!(CmtRpv1.after_loss(&paths, &LIMITS), 3000);
    }
}
