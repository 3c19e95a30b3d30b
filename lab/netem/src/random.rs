//! The seeded random source of each stage.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng as _, SeedableRng as _};

/// A seed for link number `index` of a network whose randomness follows from `seed`: different for
/// every link, and the same for the same network in a simulator and in an emulator.
pub const fn link_seed(seed: u64, index: usize) -> u64 {
    mix(mix(mix(mix(seed ^ mix(1)) ^ mix(index as u64)) ^ mix(0)))
}

/// One step of SplitMix64: a bijection that spreads every bit.
pub const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Which stage draws. The numbers select independent streams of one seed: never reuse one.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stage {
    Loss = 1,
    Duplication = 2,
    Corruption = 3,
    Jitter = 4,
    Reordering = 5,
    Spikes = 6,
    Red = 7,
    Cellular = 8,
}

/// Random numbers for one stage of one link.
#[derive(Clone, Debug)]
pub(crate) struct Random(ChaCha8Rng);

impl Random {
    pub(crate) fn new(seed: u64, stage: Stage) -> Random {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(stage as u64);
        Random(rng)
    }

    pub(crate) fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Uniform in `0.0..1.0`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// `true` with the given probability. 0 draws nothing.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        probability > 0.0 && self.unit() < probability
    }
}
