//! Seeds of hosts and links, all derived from the seed of the simulation.

/// Whose seed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    Link(usize),
    /// Endpoint of a host, in its n-th life.
    Endpoint(usize, u32),
    /// Random source for the application of a host, in its n-th life.
    Application(usize, u32),
}

/// A 256-bit seed that depends on every input bit.
pub(crate) fn derive(seed: u64, owner: Owner) -> [u8; 32] {
    let (kind, index, life) = match owner {
        Owner::Link(index) => (1u64, index, 0),
        Owner::Endpoint(index, life) => (2, index, life),
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

/// A 64-bit seed for a link.
pub(crate) fn derive_link(seed: u64, index: usize) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = derive(seed, Owner::Link(index));
    u64::from_le_bytes([a, b, c, d, e, f, g, h])
}

/// One step of SplitMix64: a bijection that spreads every bit.
pub(crate) const fn mix(value: u64) -> u64 {
    let mut z = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
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
                assert!(seen.insert(derive(seed, Owner::Link(index))));
                for life in 0..5 {
                    assert!(seen.insert(derive(seed, Owner::Endpoint(index, life))));
                    assert!(seen.insert(derive(seed, Owner::Application(index, life))));
                }
            }
        }
    }
}
