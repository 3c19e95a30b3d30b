//! Dynamic RTO.Min (Gonzalez, Peng & McClellan 2015 §6, Listing 1).
//!
//! Idea: many fast retransmits for each timeout mean a network where the timer need not interfere,
//! so RTO.Min rises; when timeouts gain, RTO.Min falls to let them come sooner.
//!
//! Per association, at every RTT measurement (`frt`, `to` start at 1, `old` at 0):
//! ```text
//! ratio = old - old/2 + (frt/to)/2          diff = ratio - old
//! ratio > old                  RTO.Min += SRTT/4 * diff
//! RTO.Min > RTT, ratio < old   RTO.Min += SRTT/4 * diff      (diff < 0)
//! otherwise ratio <= 1         RTO.Min += SRTT/4
//! old = ratio
//! ```
//! The listing computes in integers and in jiffies; so does `arithmetic = "integer"` with
//! `tick_ms`. The text of the paper says "ratio < 4" where the listing says
//! `<= msecs_to_jiffies(1)`, which is 1: `bootstrap`.
//!
//! Difference: RTO.Min stays within `floor_ms` and RTO.Max; the listing has no bound.

use std::time::Duration;

use crate::profile::{Arithmetic, DynamicRtoMinParameters, Profile};
use crate::recovery::Algorithm;

/// The bound and the history that moves it.
#[derive(Debug)]
pub(crate) struct DynamicRtoMin {
    parameters: DynamicRtoMinParameters,
    max: Duration,
    fast_retransmits: u32,
    timeouts: u32,
    old_ratio: f64,
    /// In ticks; whole ones with integer arithmetic.
    rto_min: f64,
}

impl DynamicRtoMin {
    fn new(parameters: &DynamicRtoMinParameters, max: Duration) -> DynamicRtoMin {
        let rto_min = parameters.start_ms / parameters.tick_ms;
        DynamicRtoMin {
            parameters: parameters.clone(),
            max,
            fast_retransmits: 1,
            timeouts: 1,
            old_ratio: 0.0,
            rto_min,
        }
    }

    /// A fast retransmission began.
    fn on_fast_retransmit(&mut self) {
        self.fast_retransmits = self.fast_retransmits.saturating_add(1);
    }

    /// T3-rtx expired.
    fn on_timeout(&mut self) {
        self.timeouts = self.timeouts.saturating_add(1);
    }

    /// The bound now.
    fn bound(&self) -> Duration {
        Duration::from_secs_f64(self.rto_min * self.parameters.tick_ms / 1e3)
    }

    /// Half and quotient as the arithmetic has them.
    fn whole(&self, value: f64) -> f64 {
        if self.parameters.arithmetic == Arithmetic::Integer { value.floor() } else { value }
    }

    fn ticks(&self, time: Duration) -> f64 {
        self.whole(time.as_secs_f64() * 1e3 / self.parameters.tick_ms)
    }

    /// A round-trip time was measured; `srtt` includes it.
    fn on_rtt(&mut self, rtt: Duration, srtt: Duration) {
        let counts = self.whole(f64::from(self.fast_retransmits) / f64::from(self.timeouts));
        let ratio = self.old_ratio - self.whole(self.old_ratio / 2.0) + self.whole(counts / 2.0);
        let diff = ratio - self.old_ratio;
        let quarter = self.whole(self.ticks(srtt) / 4.0);
        let falls = self.rto_min > self.ticks(rtt) && ratio < self.old_ratio;
        if ratio > self.old_ratio || falls {
            self.rto_min += quarter * diff;
        } else if ratio <= self.parameters.bootstrap {
            self.rto_min += quarter;
        }
        let floor = self.parameters.floor_ms / self.parameters.tick_ms;
        let max = self.max.as_secs_f64() * 1e3 / self.parameters.tick_ms;
        self.rto_min = self.rto_min.clamp(floor.min(max), max);
        self.old_ratio = ratio;
    }
}

impl Algorithm for DynamicRtoMin {
    fn of(profile: &Profile, _: bool) -> Option<DynamicRtoMin> {
        let parameters = &profile.dynamic_rto_min;
        parameters.enabled.then(|| DynamicRtoMin::new(parameters, profile.rto.max()))
    }

    fn on_rtt(&mut self, sample: Duration, srtt: Duration) {
        self.on_rtt(sample, srtt);
    }

    fn rto_min(&self) -> Option<Duration> {
        Some(self.bound())
    }

    fn on_fast_recovery(&mut self) {
        self.on_fast_retransmit();
    }

    fn on_timeout(&mut self) {
        self.on_timeout();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dynamic(arithmetic: Arithmetic) -> DynamicRtoMin {
        let parameters = DynamicRtoMinParameters {
            arithmetic,
            tick_ms: 1.0,
            start_ms: 0.0,
            floor_ms: 0.0,
            ..DynamicRtoMinParameters::default()
        };
        DynamicRtoMin::new(&parameters, Duration::from_secs(60))
    }

    const RTT: Duration = Duration::from_millis(55);

    #[test]
    fn listing_1_by_hand() {
        let mut d = dynamic(Arithmetic::Integer);
        let mut seen = Vec::new();
        let mut step = |d: &mut DynamicRtoMin| {
            d.on_rtt(RTT, RTT);
            seen.push((d.old_ratio as u32, d.rto_min as u32));
        };
        // 1/1: ratio = 0 - 0 + 0; the bootstrap adds 55/4 = 13 each time.
        step(&mut d);
        step(&mut d);
        for _ in 0..7 {
            d.on_fast_retransmit();
        }
        step(&mut d); // 8/1: 0 - 0 + 4 = 4, diff 4
        step(&mut d); // 4 - 2 + 4 = 6, diff 2
        step(&mut d); // 6 - 3 + 4 = 7, diff 1
        step(&mut d); // 7 - 3 + 4 = 8, diff 1
        step(&mut d); // 8 - 4 + 4 = 8, no change, and not below the bootstrap
        d.on_timeout();
        step(&mut d); // 8/2: 8 - 4 + 2 = 6, diff -2
        let expected =
            [(0, 13), (0, 26), (4, 78), (6, 104), (7, 117), (8, 130), (8, 130), (6, 104)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn falls_only_while_it_is_above_the_rtt() {
        let mut d = dynamic(Arithmetic::Integer);
        d.rto_min = 50.0;
        d.old_ratio = 8.0;
        d.on_rtt(RTT, RTT);
        assert_eq!((d.rto_min, d.old_ratio), (50.0, 4.0));
    }

    #[test]
    fn bounded_for_any_history() {
        for arithmetic in [Arithmetic::Integer, Arithmetic::Float] {
            let mut d = dynamic(arithmetic);
            for i in 0..100_000u32 {
                if i % 3 == 0 {
                    d.on_fast_retransmit();
                }
                if i % 1000 > 900 {
                    d.on_timeout();
                }
                d.on_rtt(Duration::from_secs(u64::from(i % 70)), Duration::from_secs(2));
                assert!(d.bound() <= Duration::from_secs(60), "{arithmetic:?} {i}");
            }
        }
    }
}
