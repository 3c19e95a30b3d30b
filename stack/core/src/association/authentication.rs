//! Authenticated chunks (RFC 4895): what leaves gets an AUTH chunk, and what comes without is dropped.

use tresse_wire::{Auth, CauseWriter, Chunk, ChunkError, ChunkType, RawChunk};

use super::{Association, State};
use crate::auth::{Guard, Offer, SharedKeys, Verdict};
use crate::config::AssociationConfig;
use crate::error::KeyError;
use crate::event::{AuthenticationEvent, Event};
use crate::handshake::PeerParameters;
use crate::path::PathId;

/// What an association has whose end authenticates chunks.
#[derive(Debug)]
pub(super) struct Authenticator {
    /// What our INIT or INIT ACK says.
    ours: Option<Box<Offer>>,
    keys: SharedKeys,
    /// What was agreed on, if the peer authenticates, too.
    guard: Option<Guard>,
}

impl Authenticator {
    pub(super) fn new(config: &AssociationConfig) -> Option<Box<Authenticator>> {
        let keys = || config.authentication.keys.clone();
        let on = config.extensions.authentication;
        on.then(|| Box::new(Authenticator { ours: None, keys: keys(), guard: None }))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of::<Authenticator>()
            + self.ours.as_ref().map_or(0, |_| size_of::<Offer>() + 64)
            + self.keys.memory()
            + self.guard.as_ref().map_or(0, Guard::memory)
    }
}

/// Whether what is processed of a packet comes from the peer for sure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// That is not known.
    None,
    /// Nor does it come from an address of the peer: it was taken for its ASCONF chunk, and only what stands behind an AUTH
    /// chunk that is right is processed (RFC 5061 §5.2 D5).
    Stranger,
    /// The endpoint has found its AUTH chunk to be right, which has not been reached yet.
    Judged,
    /// It stands behind an AUTH chunk that is right.
    Authentic,
}

/// What becomes of a received chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// It is processed.
    Take,
    /// It is passed over.
    Skip,
    /// It is passed over, and all behind it.
    Stop,
    /// The same, and these error causes answer it.
    Refuse(Vec<u8>),
}

impl Association {
    /// Draws the Random Number of our INIT.
    pub(super) fn make_offer(&mut self) {
        let settings = &self.config.authentication;
        if let Some(auth) = &mut self.origin.auth {
            let offer = Offer::new(settings, &mut self.rng);
            auth.ours = Some(Box::new(offer.listing(self.config.authenticated())));
        }
    }

    /// Our INIT ACK has said this.
    pub(super) fn take_offer(&mut self, offer: Option<&Offer>) {
        if let (Some(auth), Some(offer)) = (&mut self.origin.auth, offer) {
            auth.ours = Some(Box::new(offer.clone()));
        }
    }

    /// What our INIT or INIT ACK says of authenticated chunks.
    pub(crate) fn offer(&self) -> Option<Box<Offer>> {
        self.origin.auth.as_ref()?.ours.clone()
    }

    /// The peer is known: from now on chunks are authenticated, if both ends do that.
    pub(super) fn agree_on_authentication(&mut self, peer: &PeerParameters) {
        let Some(auth) = &mut self.origin.auth else { return };
        let offers = auth.ours.as_deref().zip(peer.offer.as_deref());
        auth.guard = offers.map(|(ours, theirs)| Guard::new(ours, theirs));
        self.reserve_for_authentication();
    }

    /// Keeps room for an AUTH chunk in the packets of each path.
    pub(super) fn reserve_for_authentication(&mut self) {
        let Some(auth) = &self.origin.auth else { return };
        let reserve = auth.guard.as_ref().map_or(0, Guard::reserve);
        self.paths.iter_mut().for_each(|path| path.reserve(reserve));
    }

    /// What was agreed on, and the keys; `None` if chunks are not authenticated.
    #[inline]
    pub(crate) fn guarded(&self) -> Option<(&Guard, &SharedKeys)> {
        let auth = self.origin.auth.as_ref()?;
        auth.guard.as_ref().map(|guard| (guard, &auth.keys))
    }

    #[inline]
    fn guarded_mut(&mut self) -> Option<(&mut Guard, &SharedKeys)> {
        let auth = self.origin.auth.as_mut()?;
        auth.guard.as_mut().map(|guard| (guard, &auth.keys))
    }

    /// Chunks are authenticated.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded().is_some()
    }

    /// Its keys, if this end authenticates.
    pub(crate) fn shared_keys(&self) -> Option<&SharedKeys> {
        self.origin.auth.as_ref().map(|auth| &auth.keys)
    }

    /// The peer is known for good: no cookie changes what was agreed on, unless it has restarted.
    pub(crate) fn is_settled(&self) -> bool {
        self.phase.opening().is_none() && !self.is_closed()
    }

    /// Whether a chunk of this type is taken only if it is authenticated.
    pub(crate) fn requires(&self, kind: ChunkType) -> bool {
        self.guarded().is_some_and(|(guard, _)| guard.requires(kind))
    }

    /// Whether a message may name this key: where user data is not authenticated, what it names is of no interest.
    pub(super) fn may_name_key(&self, number: u16) -> bool {
        let data = [ChunkType::DATA, ChunkType::I_DATA];
        self.guarded().is_none_or(|(guard, keys)| {
            !data.iter().any(|kind| guard.covers(*kind)) || keys.can_sign(number)
        })
    }

    /// Bytes that an AUTH chunk adds to a packet that begins with this type.
    pub(super) fn authentication_len(&self, kind: ChunkType) -> usize {
        let covering = self.guarded().filter(|(guard, _)| guard.covers(kind));
        covering.map_or(0, |(guard, _)| guard.chunk_len())
    }

    /// Authenticates a packet that leaves, if it has a chunk that the peer wants authenticated.
    #[inline]
    pub(super) fn authenticate(&mut self, packet: &mut Vec<u8>) {
        let named = self.sender.take_key();
        if let Some((guard, keys)) = self.guarded_mut()
            && guard.sign(keys, named, packet)
        {
            self.journal.stats.auth_chunks_sent += 1;
        }
    }

    /// Judges an AUTH chunk with the bytes of the packet behind it, and counts and tells of it.
    pub(crate) fn judge(&mut self, auth: &Auth<'_>, rest: &[u8]) -> Verdict {
        let Some((guard, keys)) = self.guarded_mut() else { return Verdict::Forged };
        let verdict = guard.judge(keys, auth, rest);
        let key = auth.key;
        let event = match verdict {
            Verdict::Authentic => {
                guard.on_key(key).map(|before| AuthenticationEvent::NewKey { key, before })
            }
            Verdict::UnknownKey => {
                guard.on_unknown_key(key).then_some(AuthenticationEvent::UnknownKey { key })
            }
            Verdict::Forged | Verdict::UnknownAlgorithm => None,
        };
        let stats = &mut self.journal.stats;
        match verdict {
            Verdict::Authentic => stats.auth_chunks_received += 1,
            Verdict::Forged => stats.auth_chunks_forged += 1,
            Verdict::UnknownKey => stats.auth_unknown_keys += 1,
            Verdict::UnknownAlgorithm => stats.auth_unknown_algorithms += 1,
        }
        if let Some(event) = event {
            self.journal.peer_event(Event::Authentication(event));
        }
        verdict
    }

    /// What is known of a packet on the path `known`, whose AUTH chunk may have been found `authentic`.
    pub(super) fn seal_of(&self, known: Option<PathId>, authentic: bool) -> Seal {
        if authentic {
            Seal::Judged
        } else if known.is_none() && self.has_changes() && !self.omits_addresses() {
            Seal::Stranger
        } else {
            Seal::None
        }
    }

    //= RFC 4895 5.1-5 6.3-1 6.3-3 6.3-4 6.3-6 6.3-7
    //= RFC 5061 5.2-3
    /// Whether a chunk may be processed, in an association whose chunks are authenticated; `rest` is what is behind
    /// it in its packet.
    pub(super) fn admit(&mut self, seal: &mut Seal, raw: RawChunk<'_>, rest: &[u8]) -> Admission {
        if raw.chunk_type != ChunkType::AUTH {
            // §6.3: "It MUST silently discard these chunks if they are not placed after an AUTH chunk in the packet."
            if *seal == Seal::Authentic || !self.requires(raw.chunk_type) {
                return Admission::Take;
            }
            self.journal.stats.unauthenticated_chunks += 1;
            // RFC 5061 §5.2 D5: "the receiver MUST silently discard this chunk and the rest of the packet".
            let alone = raw.chunk_type != ChunkType::ASCONF;
            return if alone { Admission::Skip } else { Admission::Stop };
        }
        // §5.1: it "MUST NOT appear more than once". The first one covers this one, too.
        if *seal == Seal::Authentic {
            self.journal.stats.malformed_chunks += 1;
            return Admission::Skip;
        }
        let Ok(Chunk::Auth(auth)) = Chunk::parse(raw) else {
            self.journal.stats.malformed_chunks += 1;
            return Admission::Stop;
        };
        let verdict = match *seal {
            Seal::None | Seal::Stranger => self.judge(&auth, rest),
            Seal::Judged | Seal::Authentic => Verdict::Authentic,
        };
        match verdict {
            Verdict::Authentic => {
                *seal = Seal::Authentic;
                Admission::Skip
            }
            Verdict::UnknownAlgorithm
                if !matches!(self.state(), State::CookieWait | State::CookieEchoed) =>
            {
                let algorithm = auth.algorithm;
                Admission::Refuse(
                    CauseWriter::new().unsupported_hmac_identifier(algorithm).finish(),
                )
            }
            Verdict::UnknownAlgorithm => Admission::Stop,
            Verdict::Forged | Verdict::UnknownKey => Admission::Stop,
        }
    }

    /// Whether a chunk that cannot be read may end the association: RFC 4895 §6.3, "if the receiver wants to tear down an
    /// association in an authenticated way only, the handling of malformed packets should not result in tearing down the
    /// association". Nor may a chunk that is not taken.
    pub(super) fn may_end_it(&self, seal: Seal, error: &ChunkError) -> bool {
        let required = matches!(error, ChunkError::NoUserData { .. })
            && [ChunkType::DATA, ChunkType::I_DATA, ChunkType::ABORT]
                .map(|t| self.requires(t))
                .contains(&true);
        seal == Seal::Authentic || !required
    }

    /// The association was set up, or the peer has restarted: tells if this end authenticates in vain.
    pub(super) fn tell_of_authentication(&mut self) {
        if self.origin.auth.is_some() && !self.is_guarded() {
            self.journal.event(Event::Authentication(AuthenticationEvent::NotSupported));
        }
    }

    /// What may still be changed: an association that is set up with a peer that does not authenticate has no use for keys.
    fn changing(&mut self) -> Result<&mut Authenticator, KeyError> {
        let known = self.receiver.initial_tsn().is_some();
        let auth = self.origin.auth.as_deref_mut();
        auth.filter(|auth| !known || auth.guard.is_some()).ok_or(KeyError::NotSupported)
    }

    pub(crate) fn set_shared_key(&mut self, key: u16, secret: &[u8]) -> Result<(), KeyError> {
        let auth = self.changing()?;
        auth.keys.set(key, secret)?;
        auth.guard.iter_mut().for_each(|guard| guard.forget(key));
        Ok(())
    }

    pub(crate) fn activate_shared_key(&mut self, key: u16) -> Result<(), KeyError> {
        self.changing()?.keys.activate(key)
    }

    pub(crate) fn deactivate_shared_key(&mut self, key: u16) -> Result<(), KeyError> {
        self.changing()?.keys.deactivate(key)?;
        self.journal.event(Event::Authentication(AuthenticationEvent::FreeKey { key }));
        Ok(())
    }

    pub(crate) fn delete_shared_key(&mut self, key: u16) -> Result<(), KeyError> {
        let auth = self.changing()?;
        auth.keys.delete(key)?;
        auth.guard.iter_mut().for_each(|guard| guard.forget(key));
        Ok(())
    }
}
