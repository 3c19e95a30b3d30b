//! Which shard of an endpoint a verification tag or an INIT is for, by a rule that nobody outside knows.

use std::net::IpAddr;

use crate::association::PeerKey;
use crate::rng::Rng;

/// Which shard of an endpoint this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shard {
    index: u32,
    count: u32,
    key: ShardKey,
}

/// The secret that spreads verification tags over the [shards](crate::Endpoint::shards) of an endpoint. Whoever knows a tag
/// does not know which shard has it, so that nobody can see to it that all his associations have one processor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ShardKey([u32; 2]);

impl std::fmt::Debug for ShardKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ShardKey(..)")
    }
}

impl ShardKey {
    pub(super) fn new(rng: &mut Rng) -> ShardKey {
        ShardKey([rng.next_u32(), rng.next_u32() | 1])
    }

    /// The two numbers (x, m) of the rule, for those who must apply it, such as a filter of the kernel. In 32 bits, beginning with
    /// `a = tag ^ x`, twice: `a = a * m`, `a = a ^ (a >> 16)`. The shard is `a` modulo the number of shards.
    #[must_use]
    pub fn numbers(self) -> [u32; 2] {
        self.0
    }

    fn mix(self, number: u32) -> u32 {
        let [x, m] = self.0;
        let round = |a: u32| {
            let a = a.wrapping_mul(m);
            a ^ a >> 16
        };
        round(round(number ^ x))
    }
}

impl Shard {
    /// All shards of one endpoint.
    pub(super) fn all(key: ShardKey, count: u16) -> impl Iterator<Item = Shard> {
        let count = count.into();
        (0..count).map(move |index| Shard { index, count, key })
    }

    /// The shard that a verification tag is of.
    pub(super) fn of_tag(self, tag: u32) -> u32 {
        self.key.mix(tag) % self.count
    }

    /// The shard that an INIT of this peer is for.
    pub(super) fn of_peer(self, peer: &PeerKey) -> u32 {
        let address = match peer.address {
            IpAddr::V4(a) => a.to_ipv6_mapped(),
            IpAddr::V6(a) => a,
        };
        let ports = u32::from(peer.remote_port) << 16 | u32::from(peer.local_port);
        let words = address.octets();
        let words = words.as_chunks::<4>().0.iter().map(|word| u32::from_be_bytes(*word));
        words.chain([ports]).fold(0, |sum, word| self.key.mix(sum ^ word)) % self.count
    }

    /// Its number, from 0.
    pub(super) fn index(self) -> u32 {
        self.index
    }

    pub(super) fn key(self) -> ShardKey {
        self.key
    }

    /// How many there are.
    pub(super) fn count(self) -> u32 {
        self.count
    }

    /// Whether it may give this verification tag to an association.
    pub(super) fn owns(self, tag: u32) -> bool {
        self.of_tag(tag) == self.index
    }
}
