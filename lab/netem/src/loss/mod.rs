//! Loss: which packets vanish. A new model is a file of its own and a variant of [`Model`].

pub(crate) mod gilbert_elliott;
mod random;

use std::mem;

use crate::config::LinkConfig;
use crate::pattern::{Numbers, Pattern};
use crate::random::Random;
use crate::stats::DropCause;
use crate::time::Nanos;
use gilbert_elliott::GilbertElliott;
use random::RandomLoss;

/// A model that decides packet by packet.
#[derive(Clone, Debug)]
enum Model {
    Random(RandomLoss),
    GilbertElliott(GilbertElliott),
}

impl Model {
    fn new(config: &LinkConfig) -> Model {
        match config.gilbert_elliott {
            Some(gilbert_elliott) => Model::GilbertElliott(GilbertElliott::new(gilbert_elliott)),
            None => Model::Random(RandomLoss::new(config)),
        }
    }

    fn drops(&mut self, now: Nanos, random: &mut Random) -> bool {
        match self {
            Model::Random(model) => model.drops(random),
            Model::GilbertElliott(model) => model.drops(now, random),
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
            model: Model::new(config),
            random,
        }
    }

    /// The same stream of random numbers under other settings. A channel that is bad stays bad.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        let before = mem::replace(self, Loss::new(config, self.random.clone())).model;
        if let (Model::GilbertElliott(mut model), Some(bursts)) = (before, config.gilbert_elliott) {
            model.reconfigure(bursts);
            self.model = Model::GilbertElliott(model);
        }
    }

    /// Whether and why the packet is lost at `now`. Copies are exempt from lists, which name each packet
    /// once.
    pub(crate) fn judge(&mut self, now: Nanos, numbers: &Numbers, copy: bool) -> Option<DropCause> {
        if !copy {
            let listed = self.packets.matches(numbers.packet)
                | self.data.matches(numbers.data)
                | self.acks.matches(numbers.ack);
            if listed {
                return Some(DropCause::Pattern);
            }
        }
        self.model.drops(now, &mut self.random).then_some(DropCause::Random)
    }
}
