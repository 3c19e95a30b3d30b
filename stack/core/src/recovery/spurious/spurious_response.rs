//! The response to a spurious retransmission (RFC 4015; Ladha et al. §5).
//!
//! Idea: nothing was lost, so what the loss cost is given back, without a burst.
//!
//! ```text
//! pipe_prev = max(FlightSize, ssthresh)                  before the cut
//! cwnd      = FlightSize + min(bytes_acked, IW)          now
//! ssthresh  = ssthresh + decay^(n-1) (pipe_prev - ssthresh)    at the n-th timeout in a row
//! ```
//! Where a mark (ECN) had cut cwnd while the same was in flight, cwnd as it was then is the most that comes back.
//! After a spurious timeout the sender goes on with new data: what waits to be sent again counts
//! as in flight once more (no Go-Back-N). The first RTT measured on data sent after it sets
//! `SRTT = max(SRTT_prev, RTT)`, `RTTVAR = max(RTTVAR_prev, RTT/2)` (step 11), `SRTT_prev` being
//! two clock ticks above the old one.
//!
//! Difference: RFC 4015 has no decay (1, the default); the paper mentions one. cwnd is never
//! made smaller by it, which the formula would do long after the loss.
//!
//! Difference: with `standing_queue` nothing is given back on a path whose latest round trip was this many times the
//! shortest (`path/calm.rs`), if all of cwnd was in flight, and that was no thin stream's. There the timeout was spurious because of the queue that the window itself has made: given back
//! each time, it would never end. A spike is no such queue: what it delays is sent again, and gives no sample.

use std::time::Duration;

use super::Cut;
use crate::profile::SpuriousResponseParameters;

/// Whether the cut stays as it is. `is_standing` tells whether the latest round trip of the path was that many times
/// the shortest.
pub(super) fn leaves(
    parameters: &SpuriousResponseParameters,
    cut: &Cut,
    is_standing: impl FnOnce(f64) -> bool,
) -> bool {
    cut.full && is_standing(parameters.standing_queue)
}

/// cwnd and ssthresh of a path after its loss was found to be none.
pub(super) fn windows(
    parameters: &SpuriousResponseParameters,
    cut: &Cut,
    now: (usize, usize),
    flight: usize,
    bytes_acked: usize,
    initial_window: usize,
) -> (usize, usize) {
    let (cwnd, ssthresh) = now;
    let restored = (flight + bytes_acked.min(initial_window)).min(cut.most);
    let kept = parameters.decay.powi(cut.timeouts.saturating_sub(1).min(64).cast_signed());
    let lost = cut.pipe_prev.saturating_sub(ssthresh);
    let back = if kept >= 1.0 { lost } else { (lost as f64 * kept) as usize };
    (cwnd.max(restored), ssthresh.saturating_add(back))
}

/// Adaption of the timer, waiting for its first sample (step 11).
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerAdaption {
    /// Only chunks from here on were unsent when the timer expired.
    from: u64,
    srtt_prev: Duration,
    rttvar_prev: Duration,
}

impl TimerAdaption {
    pub(crate) fn new(cut: &Cut, from: u64, granularity: Duration) -> Option<TimerAdaption> {
        let srtt_prev = cut.srtt? + 2 * granularity;
        Some(TimerAdaption { from, srtt_prev, rttvar_prev: cut.rttvar })
    }

    /// Whether a sample of this chunk tells of the path as it is since.
    pub(crate) fn takes(&self, seq: u64) -> bool {
        seq >= self.from
    }

    /// SRTT and RTTVAR that follow from the sample.
    pub(crate) fn estimate(&self, sample: Duration) -> (Duration, Duration) {
        (self.srtt_prev.max(sample), self.rttvar_prev.max(sample / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::PathId;

    fn cut(timeouts: u32) -> Cut {
        let ms = Duration::from_millis;
        let (srtt, rttvar) = (Some(ms(200)), ms(10));
        let (path, pipe_prev, most) = (PathId(0), 40_000, usize::MAX);
        Cut { path, pipe_prev, most, marks: 0, full: true, timeouts, srtt, rttvar }
    }

    #[test]
    fn the_formulas_of_the_paper() {
        let parameters = SpuriousResponseParameters::default();
        let windows =
            |cut: &Cut, bytes| windows(&parameters, cut, (1468, 20_000), 29_000, bytes, 4380);
        assert_eq!(windows(&cut(1), 1468), (30_468, 40_000));
        assert_eq!(windows(&cut(1), 20_000), (33_380, 40_000), "no more than IW");
        assert_eq!(windows(&cut(3), 1468).1, 40_000);
    }

    #[test]
    fn decay_bounds_what_comes_back() {
        let parameters = SpuriousResponseParameters { decay: 0.5, ..Default::default() };
        let ssthresh = |n| windows(&parameters, &cut(n), (1468, 20_000), 0, 0, 0).1;
        assert_eq!((ssthresh(1), ssthresh(2), ssthresh(3)), (40_000, 30_000, 25_000));
    }

    #[test]
    fn the_timer_becomes_more_conservative() {
        let ms = Duration::from_millis;
        let adaption = TimerAdaption::new(&cut(1), 7, ms(1)).unwrap();
        assert_eq!(adaption.estimate(ms(100)), (ms(202), ms(50)));
        assert_eq!(adaption.estimate(ms(4000)), (ms(4000), ms(2000)));
    }
}
