//! The monotonic clock of one endpoint.

use std::time::{Duration, Instant};

use tresse_core::Time;

/// Maps the system's monotonic clock to the core's time, which counts from the endpoint's birth.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Clock {
    epoch: Instant,
}

impl Clock {
    pub(crate) fn start() -> Clock {
        Clock { epoch: Instant::now() }
    }

    pub(crate) fn now(&self) -> Time {
        Time::ZERO + self.epoch.elapsed()
    }

    /// The instant of a core time. Times beyond the system's range become a century from the
    /// epoch, which no timer outlives.
    pub(crate) fn instant(&self, time: Time) -> Instant {
        const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
        self.epoch + time.since(Time::ZERO).min(CENTURY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_and_times_agree_and_never_overflow() {
        let clock = Clock::start();
        let time = clock.now();
        assert!(clock.instant(time) <= Instant::now());
        assert!(clock.instant(Time::FAR_FUTURE) > Instant::now());
        assert!(clock.now() >= time);
    }
}
