//! What is drawn of a world, each by itself.

use tresse_netem::mix;
use tresse_sim::Draw;

/// Random numbers for one property of a world, so that none depends on how many another one takes.
#[derive(Clone, Copy)]
pub(super) enum Area {
    Paths = 1,
    Rates,
    Delays,
    Loss,
    Jitter,
    Queues,
    Capacity,
    Buffers,
    Messages,
    Sharing,
    Lossy,
    Outages,
    Thin,
}

impl Area {
    pub(super) fn draw(self, seed: u64) -> Draw {
        Draw::new(mix(mix(seed ^ 0x6761_756e_746c_6574) ^ self as u64))
    }
}
