//! Loss: which packets vanish. A new model is a file of its own and a variant of [`Model`].

mod random;

use crate::config::LinkConfig;
use crate::packet::Numbers;
use crate::pattern::Pattern;
use crate::random::Random;
use crate::stats::DropCause;
use random::RandomLoss;

/// A model that decides packet by packet.
#[derive(Clone, Debug)]
enum Model {
    Random(RandomLoss),
}

impl Model {
    fn drops(&mut self, random: &mut Random) -> bool {
        match self {
            Model::Random(model) => model.drops(random),
        }
    }
}

/// The exact lists and the model of one link.
#[derive(Clone, Debug)]
pub(crate) struct Loss {
    packets: Pattern,
    data: Pattern,
    acks: Pattern,
    model: Model,
    random: Random,
}

impl Loss {
    pub(crate) fn new(config: &LinkConfig, random: Random) -> Loss {
        Loss {
            packets: Pattern::new(&config.drop_packets),
            data: Pattern::new(&config.drop_data),
            acks: Pattern::new(&config.drop_acks),
            model: Model::Random(RandomLoss::new(config)),
            random,
        }
    }

    /// The same stream of random numbers under other settings.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        *self = Loss::new(config, self.random.clone());
    }

    /// Whether and why the packet is lost. Copies are exempt from lists, which name each packet
    /// once.
    pub(crate) fn judge(&mut self, numbers: &Numbers, copy: bool) -> Option<DropCause> {
        if !copy {
            let listed = self.packets.matches(numbers.packet)
                | self.data.matches(numbers.data)
                | self.acks.matches(numbers.ack);
            if listed {
                return Some(DropCause::Pattern);
            }
        }
        self.model.drops(&mut self.random).then_some(DropCause::Random)
    }
}
