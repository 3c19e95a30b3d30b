//! Where every random number of a run comes from: the experiment's seed and a purpose.

use sha2::{Digest, Sha256};

/// 32 bytes that follow from `seed`, the replication and what they are for, and from nothing else.
pub(crate) fn derive(seed: u64, replication: u32, purpose: &str) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(b"tresse-lab\0");
    hash.update(purpose.as_bytes());
    hash.update([0]);
    hash.update(seed.to_be_bytes());
    hash.update(replication.to_be_bytes());
    hash.finalize().into()
}

/// The number from which the random decisions of the links of a run follow.
pub(crate) fn network(seed: u64, replication: u32) -> u64 {
    number(seed, replication, "network")
}

/// A number from 0 to 1 for this purpose.
pub(crate) fn share(seed: u64, replication: u32, purpose: &str) -> f64 {
    number(seed, replication, purpose) as f64 / u64::MAX as f64
}

fn number(seed: u64, replication: u32, purpose: &str) -> u64 {
    derive(seed, replication, purpose)[..8].iter().fold(0, |n, b| n << 8 | u64::from(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_differ_by_every_ingredient_and_repeat() {
        let base = derive(1, 2, "traffic");
        assert_eq!(base, derive(1, 2, "traffic"));
        for other in [derive(2, 2, "traffic"), derive(1, 3, "traffic"), derive(1, 2, "network")] {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn shares_lie_anywhere_from_0_to_1() {
        let shares: Vec<f64> = (0..100).map(|replication| share(1, replication, "clock")).collect();
        assert!(shares.iter().all(|share| (0.0..=1.0).contains(share)));
        assert!(shares.iter().any(|share| *share < 0.1) && shares.iter().any(|share| *share > 0.9));
    }
}
