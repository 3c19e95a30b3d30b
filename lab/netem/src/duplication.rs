//! Duplication: a second copy of a packet right behind the first.

use crate::config::LinkConfig;
use crate::pattern::{Numbers, Pattern};
use crate::random::Random;

#[derive(Clone, Debug)]
pub(crate) struct Duplication {
    probability: f64,
    packets: Pattern,
    random: Random,
}

impl Duplication {
    pub(crate) fn new(config: &LinkConfig, random: Random) -> Duplication {
        Duplication {
            probability: config.duplicate,
            packets: Pattern::new(&config.duplicate_packets),
            random,
        }
    }

    /// The same stream of random numbers under other settings.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        *self = Duplication::new(config, self.random.clone());
    }

    pub(crate) fn judge(&mut self, numbers: &Numbers) -> bool {
        self.packets.matches(numbers.packet) || self.random.chance(self.probability)
    }
}
