//! CMT/RPv2: resource pooling by bandwidths (Dreibholz, Becke, Adhari, Rathgeb, "On the Impact of
//! Congestion Control for Concurrent Multipath Transfer on the Internet", 2011;
//! draft-tuexen-tsvwg-sctp-multipath).
//!
//! Idea: as CMT/RPv1, but the part of a path is that of its bandwidth `cwnd / RTT`, so that paths of
//! different delay pool what they transmit and not what they have in flight. A loss costs half of
//! the common bandwidth.
//!
//! Bytes and seconds, for path P of all paths i; I = (cwnd_P / RTT_P) / Σ (cwnd_i / RTT_i):
//! - slow start: `cwnd_P += I * min(acked, L PMDCS)`
//! - congestion avoidance: `cwnd_P += I * PMDCS` per window of acknowledged data
//! - loss, timeout: `D = max(1/2, 1 / (2 I))`;
//!   `ssthresh_P = max(cwnd_P - D * cwnd_P, I * 4 PMDCS, PMDCS)`
//!
//! Differences: "4" is the parameter `ssthresh_floor`. The first window of a path is not divided by
//! the number of paths. A path that was never measured counts with its RTO.

use super::Coupled;
use super::coupled::{Coupling, Limits};

#[derive(Debug, Default)]
pub(crate) struct CmtRpv2;

/// The part of the common bandwidth that the path has.
fn part(paths: &Coupled<'_>) -> f64 {
    paths.own.rate() / paths.sum(|p| p.rate()).max(f64::MIN_POSITIVE)
}

impl Coupling for CmtRpv2 {
    fn slow_start(&self, paths: &Coupled<'_>) -> f64 {
        part(paths)
    }

    fn avoidance(&self, paths: &Coupled<'_>) -> f64 {
        part(paths)
    }

    fn after_loss(&self, paths: &Coupled<'_>, limits: &Limits) -> usize {
        let part = part(paths);
        let decrease = (0.5 / part).max(0.5);
        let rest = paths.own.cwnd * (1.0 - decrease);
        rest.max(limits.floor as f64 * part) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::{LIMITS, path};

    #[test]
    fn takes_the_part_of_its_bandwidth() {
        // 200 kB/s and 600 kB/s.
        let paths = Coupled {
            own: path(20_000.0, 10_000.0, 0.1),
            others: &[path(30_000.0, 99_000.0, 0.05)],
        };
        assert_eq!(CmtRpv2.avoidance(&paths), 0.25);
        assert_eq!(CmtRpv2.slow_start(&paths), 0.25);
    }

    #[test]
    fn a_loss_costs_half_of_the_common_bandwidth() {
        // 800 kB/s and 200 kB/s: 500 kB/s are lost, and 300 kB/s are 30 000 bytes in 0.1 s.
        let paths = Coupled {
            own: path(80_000.0, 10_000.0, 0.1),
            others: &[path(40_000.0, 10_000.0, 0.2)],
        };
        assert_eq!(CmtRpv2.after_loss(&paths, &LIMITS), 30_000);
        // The other one has less than that: a fifth of the floor of 4000.
        let paths = Coupled {
            own: path(40_000.0, 10_000.0, 0.2),
            others: &[path(80_000.0, 10_000.0, 0.1)],
        };
        assert_eq!(CmtRpv2.after_loss(&paths, &LIMITS), 800);
    }
}
