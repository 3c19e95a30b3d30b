//! A host's clock that counts ticks: the jiffies of a kernel with HZ = 250.

use std::time::Duration;

use tresse_core::Time;

/// Nanoseconds of a tick.
const TICK: u64 = 4_000_000;
/// Jiffies at time zero. A timestamp of zero would mean that there is none.
const FIRST: u64 = 1000;

/// Ticks in this many milliseconds.
pub(super) const fn ticks(ms: u64) -> u64 {
    ms * 1_000_000 / TICK
}

/// Jiffies of a host, whose ticks lie anywhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// How much earlier than a multiple of the tick its ticks are, nanoseconds.
    ahead: u64,
}

impl Clock {
    pub(super) fn ahead_by(ahead: Duration) -> Clock {
        Clock { ahead: u64::try_from(ahead.as_nanos()).unwrap_or(u64::MAX) % TICK }
    }

    /// Ticks so far.
    pub(super) fn jiffies(self, now: Time) -> u64 {
        FIRST + (now.as_nanos() + self.ahead) / TICK
    }

    /// When this tick is, or time zero.
    pub(super) fn time_of(self, jiffies: u64) -> Time {
        Time::from_nanos((jiffies.saturating_sub(FIRST) * TICK).saturating_sub(self.ahead))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_lie_where_the_clock_has_them() {
        let clock = Clock::ahead_by(Duration::from_millis(5));
        let at = |ms| clock.jiffies(Time::from_millis(ms)) - FIRST;
        assert_eq!([at(0), at(2), at(3), at(7)], [0, 0, 1, 2]);
        assert_eq!(clock.time_of(FIRST + 2), Time::from_millis(7));
        assert_eq!(ticks(200), 50);
    }
}
