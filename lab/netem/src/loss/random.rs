//! Independent random loss: each packet is lost with the same probability (Bernoulli).

use crate::config::LinkConfig;
use crate::random::Random;

#[derive(Clone, Debug)]
pub(super) struct RandomLoss {
    probability: f64,
}

impl RandomLoss {
    pub(super) fn new(config: &LinkConfig) -> RandomLoss {
        RandomLoss { probability: config.loss }
    }

    pub(super) fn drops(&mut self, random: &mut Random) -> bool {
        random.chance(self.probability)
    }
}
