//! The clock that callers pass in.

use std::ops::{Add, Sub};
use std::time::Duration;

/// A moment or a span, in nanoseconds. Moments count from an epoch of the caller's choice, the
/// same for all calls on one link. Arithmetic saturates.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Nanos(u64);

impl Nanos {
    /// The epoch, or no time at all.
    pub const ZERO: Nanos = Nanos(0);
    /// A moment that never comes.
    pub const MAX: Nanos = Nanos(u64::MAX);

    /// `nanos` nanoseconds.
    pub const fn new(nanos: u64) -> Nanos {
        Nanos(nanos)
    }

    /// `millis` milliseconds.
    pub const fn from_millis(millis: u64) -> Nanos {
        Nanos(millis.saturating_mul(1_000_000))
    }

    /// `millis` milliseconds, rounded to the nearest nanosecond; negative values and not-a-number
    /// give zero.
    pub fn from_millis_f64(millis: f64) -> Nanos {
        Nanos((millis * 1e6).round() as u64) // `as` saturates at both ends.
    }

    /// The number of nanoseconds.
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whole milliseconds, rounded down.
    pub const fn as_millis(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds, for reports.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }
}

impl From<Duration> for Nanos {
    fn from(span: Duration) -> Nanos {
        Nanos(u64::try_from(span.as_nanos()).unwrap_or(u64::MAX))
    }
}

impl From<Nanos> for Duration {
    fn from(span: Nanos) -> Duration {
        Duration::from_nanos(span.0)
    }
}

impl Add for Nanos {
    type Output = Nanos;
    fn add(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_add(span.0))
    }
}

impl Sub for Nanos {
    type Output = Nanos;
    fn sub(self, span: Nanos) -> Nanos {
        Nanos(self.0.saturating_sub(span.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Nanos::MAX + Nanos::new(1), Nanos::MAX);
        assert_eq!(Nanos::ZERO - Nanos::new(1), Nanos::ZERO);
        assert_eq!(Nanos::from_millis_f64(-1.0), Nanos::ZERO);
        assert_eq!(Nanos::from_millis_f64(f64::NAN), Nanos::ZERO);
        assert_eq!(Nanos::from_millis_f64(0.0015), Nanos::new(1500));
        assert_eq!(Nanos::from(Duration::MAX), Nanos::MAX);
    }
}
