//! Numbers that nobody can guess: tags, initial TSNs, and what associations draw theirs from.

use tresse_wire::{Tsn, VerificationTag};

use super::index::Index;
use super::shard::Shard;
use crate::auth::Offer;
use crate::config::AssociationConfig;
use crate::rng::Rng;

/// What an endpoint draws its numbers from.
#[derive(Debug)]
pub(super) struct Numbers {
    rng: Rng,
    /// If the endpoint is only a shard of one: which tags are its own.
    shard: Option<Shard>,
    /// What every association begins with, for tests of wrap-around.
    #[cfg(test)]
    first_tsn: Option<Tsn>,
}

impl Numbers {
    pub(super) fn new(rng: Rng, shard: Option<Shard>) -> Numbers {
        Numbers {
            rng,
            shard,
            #[cfg(test)]
            first_tsn: None,
        }
    }

    /// The shard that the endpoint is.
    pub(super) const fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// How many shards there are.
    pub(super) fn shards(&self) -> u32 {
        self.shard.map_or(1, Shard::count)
    }

    /// Of a limit, the share of this shard: what a source does is spread over all.
    pub(super) fn share_of(&self, limit: u32) -> u32 {
        limit.div_ceil(self.shards())
    }

    /// For secrets.
    pub(super) const fn rng(&mut self) -> &mut Rng {
        &mut self.rng
    }

    //= RFC 9260 3.3.2-15 3.3.3-17
    /// A random initial TSN (§3.3.2).
    pub(super) fn fresh_tsn(&mut self) -> Tsn {
        let tsn = Tsn(self.rng.next_u32());
        #[cfg(test)]
        let tsn = self.first_tsn.unwrap_or(tsn);
        tsn
    }

    //= RFC 9260 5.1-1 5.1-2 5.3.1-1
    /// A random tag that no association of the endpoint uses (§5.3.1).
    pub(super) fn fresh_tag(&mut self, index: &Index) -> VerificationTag {
        loop {
            let tag = self.rng.next_nonzero_u32();
            let ours = self.shard.is_none_or(|shard| shard.owns(tag));
            if ours && index.of_tag(tag).is_none() {
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

    /// What INIT ACK says of authenticated chunks, with another Random Number each time.
    pub(super) fn fresh_offer(&mut self, config: &AssociationConfig) -> Option<Box<Offer>> {
        let on = config.extensions.authentication;
        let offer = on.then(|| Offer::new(&config.authentication, &mut self.rng));
        offer.map(|offer| Box::new(offer.listing(config.authenticated())))
    }
}

#[cfg(test)]
impl Numbers {
    /// Every association begins with this.
    pub(super) const fn begin_at(&mut self, tsn: Tsn) {
        self.first_tsn = Some(tsn);
    }
}
