//! What an association has in which both ends authenticate chunks: writes AUTH chunks, and judges those of the peer.

use std::collections::BTreeMap;

use tresse_wire::{Auth, ChunkType, HmacIdentifier, Packet, auth_chunk_len, authenticate};

use super::chunk_set::ChunkSet;
use super::keys::SharedKeys;
use super::mac::{HmacAlgorithm, Keyed};
use super::offer::Offer;

/// What an AUTH chunk of the peer is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AuthVerdict {
    /// All that follows it comes from the peer.
    Authentic,
    /// The HMAC is wrong.
    Forged,
    /// There is no key with its number.
    UnknownKey,
    /// This end has not asked for its algorithm.
    UnknownAlgorithm,
}

/// Authentication as it was agreed on.
#[derive(Debug)]
pub(crate) struct Guard {
    ours: Offer,
    theirs: Offer,
    /// Taken from the peer only if authenticated.
    required: ChunkSet,
    /// Authenticated when sent.
    wanted: ChunkSet,
    /// With which this end authenticates.
    algorithm: HmacAlgorithm,
    /// Made of shared keys when they were first needed.
    made: BTreeMap<(u16, HmacAlgorithm), Keyed>,
    /// The number of the key that the peer has used last.
    peer_key: u16,
    /// A number without a key of which was told last.
    unknown: Option<u16>,
}

impl Guard {
    pub(crate) fn new(ours: &Offer, theirs: &Offer) -> Guard {
        Guard {
            required: ours.wanted(),
            wanted: theirs.wanted(),
            algorithm: theirs.preferred(),
            ours: ours.clone(),
            theirs: theirs.clone(),
            made: BTreeMap::new(),
            peer_key: 0,
            unknown: None,
        }
    }

    //= RFC 4895 6.3-1
    /// Whether a chunk of this type is taken only if it is authenticated.
    #[inline]
    pub(crate) const fn requires(&self, kind: ChunkType) -> bool {
        self.required.contains(kind)
    }

    /// Whether chunks of this type are authenticated when sent.
    pub(crate) const fn covers(&self, kind: ChunkType) -> bool {
        self.wanted.contains(kind)
    }

    /// Types that the peer is to authenticate, and those that it wants to be.
    pub(crate) fn lists(&self) -> (Vec<ChunkType>, Vec<ChunkType>) {
        (self.required.iter().collect(), self.wanted.iter().collect())
    }

    /// With what this end authenticates.
    pub(crate) const fn algorithm(&self) -> HmacIdentifier {
        self.algorithm.identifier()
    }

    /// Bytes that an AUTH chunk takes of a packet.
    pub(crate) const fn chunk_len(&self) -> usize {
        auth_chunk_len(self.algorithm.identifier())
    }

    /// Bytes of each packet that are kept free for an AUTH chunk. What answers a change of addresses (RFC 5061) is not
    /// sent beside data.
    pub(crate) fn reserve(&self) -> usize {
        let rare = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];
        let often = self.wanted.iter().any(|kind| !rare.contains(&kind));
        if often { self.chunk_len() } else { 0 }
    }

    /// A key was set or deleted: what was made of it is forgotten.
    pub(crate) fn forget(&mut self, number: u16) {
        self.made.retain(|(other, _), _| *other != number);
        self.unknown = None;
    }

    //= RFC 4895 6.2-5 6.3-5
    fn keyed(
        &mut self,
        keys: &SharedKeys,
        number: u16,
        algorithm: HmacAlgorithm,
    ) -> Option<&Keyed> {
        let secret = keys.secret(number)?;
        let (ours, theirs) = (&self.ours, &self.theirs);
        let make = || Keyed::new(algorithm, &ours.association_key(theirs, secret));
        Some(self.made.entry((number, algorithm)).or_insert_with(make))
    }

    /// Where in a packet the AUTH chunk stands: in front of the first chunk that is to be authenticated.
    fn place(&self, packet: &[u8]) -> Option<usize> {
        let mut chunks = Packet::parse_unverified(packet).ok()?.chunks();
        loop {
            let at = packet.len() - chunks.rest().len();
            let raw = chunks.next()?.ok()?;
            if self.wanted.contains(raw.chunk_type) {
                return Some(at);
            }
        }
    }

    //= RFC 4895 6.2-1 6.2-2 6.2-3 6.2-4
    /// Authenticates a finished packet, if it has a chunk that is to be; `true` if it does. With the key that is `named`, if it
    /// can be used, or the active one.
    ///
    /// What stands in front of the first such chunk stays there: a COOKIE ECHO or COOKIE ACK is the first chunk of its
    /// packet (RFC 9260 §5.1), unless it is to be authenticated itself.
    pub(crate) fn sign(
        &mut self,
        keys: &SharedKeys,
        named: Option<u16>,
        packet: &mut Vec<u8>,
    ) -> bool {
        let Some(at) = self.place(packet) else { return false };
        let named = named.filter(|number| keys.can_sign(*number));
        let (number, algorithm) = (named.unwrap_or(keys.active()), self.algorithm);
        let Some(keyed) = self.keyed(keys, number, algorithm) else { return false };
        authenticate(packet, at, number, algorithm.identifier(), |bytes| keyed.sign(bytes));
        true
    }

    //= RFC 4895 6.3-2 6.3-3 6.3-4 6.3-5 6.3-6 6.3-7
    /// Judges an AUTH chunk, with the bytes of the packet behind it.
    pub(crate) fn judge(&mut self, keys: &SharedKeys, auth: &Auth<'_>, rest: &[u8]) -> AuthVerdict {
        let algorithm =
            HmacAlgorithm::of(auth.algorithm).filter(|_| self.ours.takes(auth.algorithm));
        let Some(algorithm) = algorithm else { return AuthVerdict::UnknownAlgorithm };
        let Some(keyed) = self.keyed(keys, auth.key, algorithm) else {
            return AuthVerdict::UnknownKey;
        };
        let zeros = [0; 32];
        match keyed.verify([&auth.header(), &zeros[..auth.hmac.len().min(32)], rest], auth.hmac) {
            true => AuthVerdict::Authentic,
            false => AuthVerdict::Forged,
        }
    }

    /// The peer has used this key; the one that it had used before, if that was another.
    pub(crate) fn on_key(&mut self, number: u16) -> Option<u16> {
        let before = std::mem::replace(&mut self.peer_key, number);
        Some(before).filter(|before| *before != number)
    }

    /// The peer has named a key that is not there; `true` if that is news.
    pub(crate) fn on_unknown_key(&mut self, number: u16) -> bool {
        self.unknown.replace(number) != Some(number)
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        let made = self.made.len() * (size_of::<((u16, HmacAlgorithm), Keyed)>() + 16);
        size_of::<Guard>() + self.ours.memory() + self.theirs.memory() + made
    }
}
