//! A link whose delays end at the ticks of a clock, as those of Linux netem did before it had timers of high
//! resolution.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, MAX_MILLIS, fault};
use crate::time::Nanos;

/// The clock of a link: packets arrive at its ticks only, the first one at which their delay is over.
///
/// ```
/// let config: tresse_netem::LinkConfig = toml::from_str(
///     "
///     delay_ms = 50
///     ticks = { every_ms = 4, slow_ppm = 20 }
///     ",
/// )?;
/// assert_eq!(config.validate(), Ok(()));
/// # Ok::<(), toml::de::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TicksConfig {
    /// Milliseconds between two ticks by the clock of the link, more than 0. The first one is at time zero.
    pub every_ms: f64,
    /// By how many millionths the clock is slow, 0 to 10 000; so its ticks drift past those of other clocks.
    /// Delays are by this clock as well. Default 0.
    #[serde(default)]
    pub slow_ppm: f64,
}

impl TicksConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        if !(1e-3..=MAX_MILLIS).contains(&self.every_ms) {
            return fault(
                "ticks.every_ms",
                format!("milliseconds between 0.001 and {MAX_MILLIS} are needed"),
            );
        }
        if !(0.0..=10_000.0).contains(&self.slow_ppm) {
            return fault("ticks.slow_ppm", "0 to 10000 are needed".to_string());
        }
        Ok(())
    }
}

/// When packets arrive.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ticks {
    /// Nanoseconds between two ticks; 0: there are none.
    every: f64,
    /// Nanoseconds in one of the link's clock.
    rate: f64,
}

impl Ticks {
    /// Exact delays without any.
    pub(crate) fn new(ticks: Option<TicksConfig>) -> Ticks {
        let ticks = ticks.unwrap_or(TicksConfig { every_ms: 0.0, slow_ppm: 0.0 });
        Ticks { every: ticks.every_ms * 1e6, rate: 1.0 + ticks.slow_ppm * 1e-6 }
    }

    /// When a packet arrives that leaves at `departure` and is delayed by `delay`; never earlier than that.
    pub(crate) fn arrival(self, departure: Nanos, delay: Nanos) -> Nanos {
        if self.every == 0.0 {
            return departure + delay;
        }
        let due = departure.get() as f64 / self.rate + delay.get() as f64;
        let tick = (due / self.every).ceil() * self.every * self.rate;
        Nanos::new(tick.round() as u64).max(departure + delay)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ticks(slow_ppm: f64) -> Ticks {
        Ticks::new(Some(TicksConfig { every_ms: 4.0, slow_ppm }))
    }

    #[test]
    fn a_delay_ends_at_the_next_tick() {
        let arrival = |ms: f64| {
            let at = ticks(0.0).arrival(Nanos::from_millis_f64(ms), Nanos::from_millis(50));
            at.as_secs_f64() * 1e3 - ms
        };
        // Right after a tick, in its middle, and at it.
        assert!((arrival(8.01) - 51.99).abs() < 1e-9);
        assert!((arrival(10.01) - 53.99).abs() < 1e-9);
        assert!((arrival(10.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn the_ticks_of_a_slow_clock_drift() {
        // 1000 ppm: the thousandth tick, of 4 s, comes 4 ms late.
        let slow = ticks(1000.0);
        let arrival = |ms: f64| slow.arrival(Nanos::from_millis_f64(ms), Nanos::ZERO);
        assert_eq!(arrival(4000.0), Nanos::new(4_004_000_000));
        assert_eq!(arrival(4004.1), Nanos::new(4_008_004_000));
        let huge = slow.arrival(Nanos::MAX, Nanos::MAX);
        assert_eq!(huge, Nanos::MAX);
    }
}
