//! The clock that callers pass in: the core never reads one.

use std::ops::{Add, AddAssign, Sub};
use std::time::Duration;

/// A moment, as nanoseconds since an epoch of the caller's choice.
///
/// All moments given to one endpoint must share one epoch. A moment that lies before an earlier
/// one is tolerated: differences saturate at zero, so a clock that jumps back delays timers and
/// never panics.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Time(u64);

impl Time {
    /// The epoch itself.
    pub const ZERO: Time = Time(0);
    /// A moment that never comes.
    pub const FAR_FUTURE: Time = Time(u64::MAX);

    /// The moment `nanos` nanoseconds after the epoch.
    pub const fn from_nanos(nanos: u64) -> Time {
        Time(nanos)
    }

    /// The moment `micros` microseconds after the epoch.
    pub const fn from_micros(micros: u64) -> Time {
        Time(micros.saturating_mul(1_000))
    }

    /// The moment `millis` milliseconds after the epoch.
    pub const fn from_millis(millis: u64) -> Time {
        Time(millis.saturating_mul(1_000_000))
    }

    /// Nanoseconds since the epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the epoch, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// Time from `earlier` to `self`; zero when `earlier` is the later one.
    pub const fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    fn add(self, delay: Duration) -> Time {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_add(nanos))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, delay: Duration) {
        *self = *self + delay;
    }
}

impl Sub<Duration> for Time {
    type Output = Time;
    fn sub(self, delay: Duration) -> Time {
        let nanos = u64::try_from(delay.as_nanos()).unwrap_or(u64::MAX);
        Time(self.0.saturating_sub(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_saturate() {
        let (early, late) = (Time::from_millis(1), Time::from_millis(3));
        assert_eq!(late.since(early), Duration::from_millis(2));
        assert_eq!(early.since(late), Duration::ZERO);
        assert_eq!(early - Duration::from_secs(1), Time::ZERO);
        assert_eq!(late + Duration::MAX, Time::FAR_FUTURE);
    }
}
