//! Whether a queue lengthens the round trip (RFC 8085 §3.1: a growing delay is a sign of congestion).
//!
//! ```text
//! limit = least + max(least / 4, 5 ms)                least: of the last 10 to 20 minutes
//! calm <=> SRTT <= limit and the latest RTT <= limit
//! ```
//! A quarter of the round trip is no more than one packet takes at a bottleneck where that matters: there
//! the round trip without a queue is a packet and its SACK. What a host takes by itself is below 5 ms.
//!
//! A SACK may be delayed by the peer, unless it was asked for at once (RFC 7053). Then the sample shows a
//! queue only beyond that delay; in between it says nothing.

use std::time::Duration;

use crate::time::Time;
use crate::windowed::Windowed;

/// What a round trip may vary by without a queue.
const MARGIN: Duration = Duration::from_millis(5);

/// Round trips of a path, as far as they tell of its queue.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Calm {
    smoothed: Option<Duration>,
    latest: Duration,
    /// A queue was seen. Asked for each chunk that leaves, it changes with samples only.
    queued: bool,
    /// A stream of one message in ten seconds should have seen the queue empty.
    recent: Windowed<600>,
}

impl Calm {
    /// Takes a sample whose SACK may have been delayed by `delay`.
    pub(crate) fn sample(&mut self, now: Time, rtt: Duration, delay: Duration) {
        let queued = rtt.saturating_sub(delay);
        let rtt = match self.limit() {
            None => rtt,
            Some(limit) if rtt <= limit => rtt,
            Some(limit) if queued > limit => queued,
            Some(_) if delay.is_zero() => rtt,
            Some(_) => return,
        };
        self.recent.sample(now, rtt);
        self.latest = rtt;
        let smoothed = self.smoothed.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
        self.smoothed = Some(smoothed);
        self.queued = self.limit().is_some_and(|limit| smoothed.max(rtt) > limit);
    }

    fn limit(&self) -> Option<Duration> {
        self.recent.least().map(|least| least + (least / 4).max(MARGIN))
    }

    /// The shortest of the last minutes.
    pub(crate) fn least(&self) -> Option<Duration> {
        self.recent.least()
    }

    /// The shortest and the longest of the last minutes.
    pub(crate) fn range(&self) -> Option<(Duration, Duration)> {
        Some((self.recent.least()?, self.recent.most()?))
    }

    /// The latest round trip was more than `times` the shortest, or none has been measured since data is sent: there
    /// may be a queue that lasts. Zero times: none does.
    pub(crate) fn is_standing(&self, times: f64) -> bool {
        times > 0.0 && self.least().is_none_or(|least| self.latest > least.mul_f64(times))
    }

    /// No queue was seen; nothing was, before the first sample.
    pub(crate) const fn is_calm(&self) -> bool {
        !self.queued
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// Samples a second apart, with the delay that they may have.
    fn calm(samples: &[(u32, u32)]) -> bool {
        let mut calm = Calm::default();
        for (second, (rtt, delay)) in (1..).zip(samples) {
            calm.sample(Time::from_millis(1000 * second), *rtt * MS, *delay * MS);
        }
        calm.is_calm()
    }

    #[test]
    fn a_queue_ends_the_calm_and_is_forgotten_slowly() {
        assert!(calm(&[]));
        assert!(calm(&[(200, 0), (250, 0)]));
        assert!(!calm(&[(200, 0), (251, 0)]));
        assert!(!calm(&[(200, 0), (800, 0), (200, 0)]), "smoothed");
        assert!(calm(&[(200, 0), (800, 0), (200, 0), (200, 0), (200, 0), (200, 0)]));
        assert!(calm(&[(1, 0), (6, 0)]), "a host takes its time");
    }

    #[test]
    fn a_queue_stands_when_it_is_many_round_trips_long() {
        let mut calm = Calm::default();
        assert!(calm.is_standing(4.0), "nothing was measured");
        for (at, rtt, standing) in [(1, 100, false), (2, 400, false), (3, 401, true)] {
            calm.sample(Time::from_millis(at), rtt * MS, Duration::ZERO);
            assert_eq!(calm.is_standing(4.0), standing);
            assert!(!calm.is_standing(0.0));
        }
    }

    #[test]
    fn what_a_delayed_sack_may_explain_says_nothing() {
        assert!(calm(&[(100, 0), (300, 200)]));
        assert!(!calm(&[(100, 0), (326, 200)]));
        assert!(!calm(&[(100, 0), (500, 0), (300, 200), (300, 200)]), "nor that it is over");
        assert!(calm(&[(100, 0), (126, 0), (100, 200)]), "but that was not delayed");
    }
}
