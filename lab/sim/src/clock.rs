//! The clock of a host, which may jump.

use tresse_core::Time;

/// The clock of a host: simulation time shifted by the jumps so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    /// Nanoseconds ahead of simulation time.
    ahead: i64,
}

impl Clock {
    pub(crate) const fn read(self, simulation: Time) -> Time {
        Time::from_nanos(simulation.as_nanos().saturating_add_signed(self.ahead))
    }

    pub(crate) fn to_simulation(self, local: Time) -> Time {
        if local == Time::FAR_FUTURE {
            return local;
        }
        let back = self.ahead.checked_neg().unwrap_or(i64::MAX);
        Time::from_nanos(local.as_nanos().saturating_add_signed(back))
    }

    pub(crate) const fn jump(&mut self, by: i64) {
        self.ahead = self.ahead.saturating_add(by);
    }
}
