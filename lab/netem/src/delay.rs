//! Propagation delay and jitter.

use crate::config::LinkConfig;
use crate::random::Random;
use crate::ticks::Ticks;
use crate::time::Nanos;

#[derive(Clone, Debug)]
pub(crate) struct Delay {
    least: Nanos,
    /// Width of the interval in which the delay lies.
    spread: Nanos,
    ticks: Ticks,
    random: Random,
}

impl Delay {
    pub(crate) fn new(config: &LinkConfig, random: Random) -> Delay {
        let delay = Nanos::from_millis_f64(config.delay_ms);
        let jitter = Nanos::from_millis_f64(config.jitter_ms);
        Delay {
            least: delay - jitter,
            spread: jitter + jitter,
            ticks: Ticks::new(config.ticks),
            random,
        }
    }

    /// The same stream of random numbers under other settings.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        *self = Delay::new(config, self.random.clone());
    }

    /// The shortest delay that can be drawn.
    pub(crate) const fn least(&self) -> Nanos {
        self.least
    }

    /// When the next packet arrives, which leaves at `departure`.
    pub(crate) fn arrival(&mut self, departure: Nanos) -> Nanos {
        let delay = self.draw();
        self.ticks.arrival(departure, delay)
    }

    /// The delay of the next packet.
    fn draw(&mut self) -> Nanos {
        if self.spread == Nanos::ZERO {
            return self.least;
        }
        self.least + Nanos::new((self.spread.get() as f64 * self.random.unit()) as u64)
    }
}
