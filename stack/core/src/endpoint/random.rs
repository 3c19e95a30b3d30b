//! Numbers that nobody can guess: tags, initial TSNs, and what associations draw theirs from.

use tresse_wire::{Tsn, VerificationTag};

use super::Endpoint;
use crate::rng::Rng;

impl Endpoint {
    //= RFC 9260 3.3.2-15 3.3.3-17
    /// A random initial TSN (§3.3.2).
    pub(super) fn fresh_tsn(&mut self) -> Tsn {
        let tsn = Tsn(self.rng.next_u32());
        #[cfg(test)]
        let tsn = self.first_tsn.unwrap_or(tsn);
        tsn
    }

    //= RFC 9260 5.1-1 5.1-2 5.3.1-1
    /// A random tag that no association of this endpoint uses (§5.3.1).
    pub(super) fn fresh_tag(&mut self) -> VerificationTag {
        loop {
            let tag = self.rng.next_nonzero_u32();
            let ours = self.part.is_none_or(|part| part.owns(tag));
            if ours && self.index.of_tag(tag).is_none() {
                return VerificationTag(tag);
            }
        }
    }

    /// A random source for one association, so that associations do not disturb each other.
    pub(super) fn fork_rng(&mut self) -> Rng {
        let mut seed = [0; 32];
        self.rng.fill(&mut seed);
        Rng::from_seed(seed)
    }
}
