//! An endpoint in several shards, each with its own associations, so that several processors can work at
//! once. The shards know nothing of each other but the tags of their peers (`peer_tags`): whoever drives them takes
//! packets to the right one.

use std::net::IpAddr;

use tresse_wire::Packet;

use super::Endpoint;
use super::peer_tags::PeerTags;
use super::shard::{Shard, ShardKey};
use crate::association::PeerKey;
use crate::config::EndpointConfig;
use crate::rng::Rng;

impl Endpoint {
    /// The `count` shards of one endpoint: each an endpoint to drive, with the ports and addresses of all and with
    /// associations of its own, so that several processors can work at once. Each gives its associations only
    /// verification tags that are its own by [`ShardKey`]: so packets are taken to the right one. Those that came
    /// to another one are told by [`elsewhere`](Self::elsewhere).
    ///
    /// Each may have as many associations and as many bytes of memory as `config` says, divided by `count`. Tags,
    /// nonces and keys of all of them follow from `seed`, which has to be secret.
    ///
    /// # Panics
    /// When `count` is 0.
    #[must_use]
    pub fn shards(config: &EndpointConfig, seed: [u8; 32], count: u16) -> Vec<Endpoint> {
        let mut seeds = Rng::from_seed(seed);
        let key = ShardKey::new(&mut seeds);
        let most = config.max_associations.div_ceil(usize::from(count));
        let memory = config.memory / usize::from(count);
        Shard::all(key, count)
            .zip(PeerTags::of_shards(count.into()))
            .map(|(shard, tags)| {
                let mut seed = [0; 32];
                seeds.fill(&mut seed);
                let config = EndpointConfig { max_associations: most, memory, ..config.clone() };
                Endpoint::with_shard(config, seed, Some((shard, tags)))
            })
            .collect()
    }

    /// The secret that says which verification tags are whose, the same for all shards of an endpoint; `None` if this
    /// one has no shards ([`shards`](Self::shards)).
    #[must_use]
    pub fn shard_key(&self) -> Option<ShardKey> {
        self.numbers.shard().map(Shard::key)
    }

    /// Whether another shard may know more of a packet than this one; only the first bytes are looked
    /// at. `None`: it belongs here. Otherwise it belongs to the shard that has an association with this
    /// peer; if there is none, to the shard with this number.
    ///
    /// An INIT through UDP may stay where the system has put it. On raw IP all arrive at one shard, which
    /// spreads them by the peer's address and port.
    #[must_use]
    pub fn elsewhere(
        &self,
        source: IpAddr,
        encapsulation: Option<u16>,
        packet: &[u8],
    ) -> Option<(PeerKey, usize)> {
        let shard = self.numbers.shard()?;
        let header = Packet::parse_unverified(packet).ok()?.header();
        let tag = header.verification_tag.0;
        let peer = PeerKey {
            local_port: header.destination_port,
            address: source,
            remote_port: header.source_port,
            encapsulation,
        };
        let index = self.roll.index();
        if index.of_tag(tag).is_some() || index.of_peer(&peer).is_some() {
            return None;
        }
        let number = match (tag, encapsulation) {
            (0, Some(_)) => shard.index(),
            (0, None) => shard.of_peer(&peer),
            _ => shard.of_tag(tag),
        };
        (shard.count() > 1).then_some((peer, number as usize))
    }

    /// The next peer that this shard has an association with (`true`), or no longer has one with. Tells
    /// of the shards of an endpoint only.
    pub fn poll_peer(&mut self) -> Option<(PeerKey, bool)> {
        self.roll.next_change()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(tag: u32, port: u16) -> Vec<u8> {
        let mut packet = [&port.to_be_bytes()[..], &5000u16.to_be_bytes()].concat();
        packet.extend([tag.to_be_bytes(), [0; 4]].concat());
        // An INIT with an initiate tag that its sender always chooses alike.
        packet.extend([1, 0, 0, 20, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 1]);
        packet
    }

    #[test]
    fn nobody_chooses_a_shard_by_a_tag() {
        let config = EndpointConfig::default();
        let source = IpAddr::from([10, 0, 0, 1]);
        let place = |shards: &[Endpoint], encapsulation, packet: &[u8]| {
            shards[0].elsewhere(source, encapsulation, packet).map(|(_, number)| number)
        };
        let (one, other) =
            (Endpoint::shards(&config, [1; 32], 4), Endpoint::shards(&config, [2; 32], 4));
        // Tags with one remainder, and INITs from ports with one remainder, go to all shards, and to others
        // when the secret is another one.
        let tags: Vec<_> = (1..1000).map(|n| packet(4 * n, 7)).collect();
        let inits: Vec<_> = (1..1000).map(|n| packet(0, 4 * n)).collect();
        for packets in [tags, inits] {
            let places = |shards: &[Endpoint]| -> Vec<usize> {
                packets.iter().map(|p| place(shards, None, p).unwrap()).collect()
            };
            let (ones, others) = (places(&one), places(&other));
            for shard in 0..4 {
                let count = ones.iter().filter(|place| **place == shard).count();
                assert!((150..350).contains(&count), "{count} of 999 for shard {shard}");
            }
            let same = ones.iter().zip(&others).filter(|(a, b)| a == b).count();
            assert!(same < 500, "{same} of 999 go the same way");
        }
        // What came through UDP stays where the kernel has put it.
        assert_eq!(place(&one, Some(9899), &packet(0, 9)), Some(0));
    }

    #[test]
    fn a_shard_gives_out_its_own_tags() {
        let mut shards = Endpoint::shards(&EndpointConfig::default(), [3; 32], 3);
        for index in 0..3 {
            let Endpoint { numbers, roll, .. } = &mut shards[index];
            let tag = numbers.fresh_tag(roll.index()).0;
            let (_, number) =
                shards[0].elsewhere([10, 0, 0, 1].into(), None, &packet(tag, 7)).unwrap();
            assert_eq!(number, index);
        }
    }
}
