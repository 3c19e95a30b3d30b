//! Pacing: packets of a path leave in even steps instead of in bursts (Aggarwal, Savage & Anderson 2000).
//!
//! Idea: what was held up by a full buffer on another path would leave at once when it opens, and a
//! burst of a whole window overflows the queue that a steady stream would not even fill.
//!
//! ```text
//! rate = what congestion control says; else what was measured (`path/queue_limit.rs`); else
//!        gain window / SRTT, twice that in slow start until the path was seen full
//! a packet of b bytes: next = max(next, now - 1 ms) + b / rate
//! ```
//! so that what the clock or the host delays by up to a millisecond is made up for.

use std::time::Duration;

use super::window::Window;
use crate::profile::{MultipathParameters, Profile};
use crate::time::Time;

/// Delay that is made up for by a short burst.
const LAG: Duration = Duration::from_millis(1);

/// Bytes per second at which packets leave; `None` while they leave as cwnd allows.
pub(super) fn rate(profile: &Profile, window: &Window, srtt: Option<Duration>) -> Option<f64> {
    let by_window = || {
        // The first window, before anything was measured, leaves as cwnd allows.
        let srtt = srtt?;
        let gain = profile.multipath.pacing;
        let gain = if window.is_starting() { 2.0 * gain } else { gain };
        let by_window = || gain * window.limited() as f64 / srtt.as_secs_f64().max(1e-6);
        Some(window.measured_rate().unwrap_or_else(by_window))
    };
    window.control().pacing_rate().or_else(by_window)
}

/// When the next packet may leave.
#[derive(Debug, Default)]
pub(crate) struct Pacer {
    next: Time,
}

impl Pacer {
    /// If the profile asks for it, of a path that carries data beside others if it is `concurrent`, or if its congestion
    /// control says at which rate packets leave.
    pub(super) fn new(
        multipath: &MultipathParameters,
        concurrent: bool,
        sets_rate: bool,
    ) -> Option<Pacer> {
        (concurrent && multipath.pacing > 0.0 || sets_rate).then(Pacer::default)
    }

    /// The next packet may leave now.
    pub(crate) fn is_due(&self, now: Time) -> bool {
        self.next <= now
    }

    /// When it may.
    pub(crate) fn next(&self) -> Time {
        self.next
    }

    /// A packet of this many bytes left, at a rate in bytes per second.
    pub(crate) fn on_sent(&mut self, now: Time, bytes: usize, rate: f64) {
        // A clock that was put back must not stop the path.
        let earliest = Time::from_nanos(now.as_nanos().saturating_sub(LAG.as_nanos() as u64));
        let base = if self.next > now + Duration::from_secs(1) { now } else { self.next };
        let step = Duration::from_secs_f64((bytes as f64 / rate.max(1.0)).min(1.0));
        self.next = base.max(earliest) + step;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_at_the_rate_and_make_up_for_a_millisecond() {
        let mut pacer = Pacer::default();
        let start = Time::from_millis(1000);
        let mut sent = 0;
        for us in 0..100_000 {
            let now = start + Duration::from_micros(us);
            while pacer.is_due(now) {
                pacer.on_sent(now, 1000, 1e6);
                sent += 1;
            }
        }
        assert!((100..=102).contains(&sent), "{sent}");
        // Idle for a second: no more than the lag is made up for.
        let now = start + Duration::from_secs(2);
        let mut burst = 0;
        while pacer.is_due(now) {
            pacer.on_sent(now, 1000, 1e6);
            burst += 1;
        }
        assert_eq!(burst, 2);
    }

    #[test]
    fn a_clock_put_back_does_not_stop_it() {
        let mut pacer = Pacer::default();
        pacer.on_sent(Time::from_millis(100_000), 1000, 1e6);
        pacer.on_sent(Time::from_millis(1000), 1000, 1e6);
        assert!(pacer.next() < Time::from_millis(1100));
    }
}
