//! The seeded random source: every run replays.

use rand_chacha::ChaCha12Rng;
use rand_core::{Rng as _, SeedableRng as _};

/// A cryptographically strong generator for tags, nonces, cookie keys and timer jitter.
///
/// The seed comes from the caller: from the operating system on real networks, from the
/// experiment in the simulator.
#[derive(Clone)]
pub struct Rng(ChaCha12Rng);

impl std::fmt::Debug for Rng {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Rng(..)") // The state would reveal tags and keys.
    }
}

impl Rng {
    /// A generator whose whole output follows from `seed`.
    pub fn from_seed(seed: [u8; 32]) -> Rng {
        Rng(ChaCha12Rng::from_seed(seed))
    }

    /// A uniformly distributed 32-bit number.
    pub fn next_u32(&mut self) -> u32 {
        self.0.next_u32()
    }

    /// A uniformly distributed 64-bit number.
    pub fn next_u64(&mut self) -> u64 {
        self.0.next_u64()
    }

    //= RFC 9260 3.3.3-5
    /// A uniformly distributed 32-bit number that is not zero, as initiate tags need.
    ///
    /// RFC 9260 §5.3.1: a tag is random in the range of 1 to 2^32 - 1.
    pub fn next_nonzero_u32(&mut self) -> u32 {
        loop {
            let n = self.next_u32();
            if n != 0 {
                return n;
            }
        }
    }

    /// A uniformly distributed number in `0.0..1.0`.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Fills `bytes`.
    pub fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}
