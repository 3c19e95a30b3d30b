//! Seeds of hosts, derived from the seed of the simulation as [`link_seed`](tresse_netem::link_seed)
//! derives those of its links.

use tresse_netem::mix;

/// Whose seed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    /// Endpoint of a host, in its n-th life.
    Endpoint(usize, u32),
    /// Random source for the application of a host, in its n-th life.
    Application(usize, u32),
}

/// A 256-bit seed that depends on every input bit.
pub(crate) fn derive(seed: u64, owner: Owner) -> [u8; 32] {
    let (kind, index, life) = match owner {
        // 1 is a link.
        Owner::Endpoint(index, life) => (2u64, index, life),
        Owner::Application(index, life) => (3, index, life),
    };
    let mut state = mix(seed ^ mix(kind));
    state = mix(state ^ mix(index as u64));
    state = mix(state ^ mix(u64::from(life)));
    let mut bytes = [0; 32];
    for (i, word) in bytes.chunks_exact_mut(8).enumerate() {
        word.copy_from_slice(&mix(state.wrapping_add(i as u64)).to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_owner_has_its_own_seed() {
        let mut seen = HashSet::new();
        for seed in 0..20 {
            for index in 0..20 {
                for life in 0..5 {
                    assert!(seen.insert(derive(seed, Owner::Endpoint(index, life))));
                    assert!(seen.insert(derive(seed, Owner::Application(index, life))));
                }
            }
        }
    }
}
