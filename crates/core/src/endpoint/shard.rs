//! An endpoint in several parts, each with its own associations, so that several processors can work at
//! once. The parts know nothing of each other: whoever drives them takes packets to the right one.

use std::collections::VecDeque;
use std::net::IpAddr;

use tresse_wire::{ChunkType, Packet};

use super::Endpoint;
use crate::association::PeerKey;
use crate::config::EndpointConfig;

/// Where the initiate tag of an INIT stands, whose common header has the tag 0 (RFC 9260 §3.3.2).
const INITIATE_TAG: usize = 16;

/// Which part of an endpoint this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    index: u32,
    count: u32,
}

impl Part {
    /// Whether it may give this verification tag to an association.
    pub(super) fn owns(self, tag: u32) -> bool {
        tag % self.count == self.index
    }
}

impl Endpoint {
    /// The parts of one endpoint. Part N gives its associations only verification tags whose remainder
    /// modulo `count` is N. Each may have as many associations as `config` says, divided by `count`.
    ///
    /// # Panics
    /// When `count` is 0.
    #[must_use]
    pub fn parts(config: &EndpointConfig, seed: [u8; 32], count: u16) -> Vec<Endpoint> {
        let mut seeds = crate::Rng::from_seed(seed);
        let most = config.max_associations.div_ceil(usize::from(count));
        (0..count)
            .map(|index| {
                let mut seed = [0; 32];
                seeds.fill(&mut seed);
                let config = EndpointConfig { max_associations: most, ..config.clone() };
                let mut part = Endpoint::new(config, seed);
                part.part = Some(Part { index: index.into(), count: count.into() });
                part.index.changes = Some(VecDeque::new());
                part
            })
            .collect()
    }

    /// Whether another part may know more of a packet than this one; only the first bytes are looked
    /// at. `None`: it belongs here. Otherwise it belongs to the part that has an association with this
    /// peer; if there is none, to the part whose number is the second value modulo their number.
    #[must_use]
    pub fn elsewhere(
        &self,
        source: IpAddr,
        encapsulation: Option<u16>,
        packet: &[u8],
    ) -> Option<(PeerKey, u32)> {
        let part = self.part?;
        let header = Packet::parse_unverified(packet).ok()?.header();
        let tag = header.verification_tag.0;
        let peer = PeerKey {
            local_port: header.destination_port,
            address: source,
            remote_port: header.source_port,
            encapsulation,
        };
        if self.index.of_tag(tag).is_some() || self.index.of_peer(&peer).is_some() {
            return None;
        }
        let number = match packet.get(INITIATE_TAG..).and_then(|rest| rest.first_chunk()) {
            Some(tag) if packet[12] == ChunkType::INIT.0 => u32::from_be_bytes(*tag),
            _ => tag,
        };
        (part.count > 1).then_some((peer, number))
    }

    /// The next peer that this part has an association with (`true`), or no longer has one with. Tells
    /// of the parts of an endpoint only.
    pub fn poll_peer(&mut self) -> Option<(PeerKey, bool)> {
        self.index.changes.as_mut()?.pop_front()
    }
}
