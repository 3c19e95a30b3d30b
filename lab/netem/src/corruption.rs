//! Corruption: bits of a packet flip on the way.

use crate::config::LinkConfig;
use crate::pattern::{Numbers, Pattern};
use crate::random::Random;

/// Which bits of a delivered packet have flipped. The link never sees the bytes; the caller that delivers
/// them calls [`Corruption::apply`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Corruption {
    seed: u64,
    bits: u32,
}

impl Corruption {
    /// Flips the bits: as many different ones as configured, or all if there are fewer. The same
    /// corruption always chooses the same bits for the same length.
    pub fn apply(&self, bytes: &mut [u8]) {
        let total = (bytes.len() as u64).saturating_mul(8);
        let wanted = u64::from(self.bits).min(total);
        // Floyd's sampling: `wanted` different bits, each set of them equally likely.
        let mut chosen = Vec::with_capacity(usize::try_from(wanted).unwrap_or(0));
        let mut state = self.seed;
        for last in (total - wanted)..total {
            let bit = below(&mut state, last + 1);
            let bit = if chosen.contains(&bit) { last } else { bit };
            chosen.push(bit);
            if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|i| bytes.get_mut(i)) {
                *byte ^= 1 << (bit % 8);
            }
        }
    }
}

/// A number in `0..limit` from the SplitMix64 sequence.
fn below(state: &mut u64, limit: u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((u128::from(z ^ (z >> 31)) * u128::from(limit)) >> 64) as u64
}

#[derive(Clone, Debug)]
pub(crate) struct Corrupter {
    probability: f64,
    packets: Pattern,
    bits: u32,
    random: Random,
}

impl Corrupter {
    pub(crate) fn new(config: &LinkConfig, random: Random) -> Corrupter {
        Corrupter {
            probability: config.corrupt,
            packets: Pattern::new(&config.corrupt_packets),
            bits: config.corrupt_bits,
            random,
        }
    }

    /// The same stream of random numbers under other settings.
    pub(crate) fn reconfigure(&mut self, config: &LinkConfig) {
        *self = Corrupter::new(config, self.random.clone());
    }

    /// Copies are exempt from the list, which names each packet once.
    pub(crate) fn judge(&mut self, numbers: &Numbers, copy: bool) -> Option<Corruption> {
        let listed = !copy && self.packets.matches(numbers.packet);
        (listed || self.random.chance(self.probability))
            .then(|| Corruption { seed: self.random.next_u64(), bits: self.bits })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flips_exactly_so_many_bits() {
        for seed in 0..200 {
            for (bits, length) in [(1, 1), (3, 40), (8, 1), (20, 2)] {
                let mut bytes = vec![0u8; length];
                Corruption { seed, bits }.apply(&mut bytes);
                let flipped: u32 = bytes.iter().map(|b| b.count_ones()).sum();
                assert_eq!(flipped, bits.min(8 * length as u32), "seed {seed}");
            }
        }
        Corruption { seed: 1, bits: 1 }.apply(&mut []);
    }
}
