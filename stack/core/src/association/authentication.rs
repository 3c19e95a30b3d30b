//! Authenticated chunks (RFC 4895): what leaves gets an AUTH chunk, and what comes without is dropped.

use tresse_wire::{Auth, CauseWriter, Chunk, ChunkError, ChunkType, RawChunk};

use crate::auth::{AuthVerdict, Guard, Offer, SharedKeys};
use crate::config::AssociationConfig;
use crate::error::KeyError;
use crate::event::{AuthenticationEvent, Event};
use crate::handshake::PeerParameters;
use crate::journal::Journal;
use crate::path::Paths;
use crate::rng::Rng;
use crate::state::State;

/// What signs the packets of an association, and judges those of its peer; nothing if its end does not authenticate.
#[derive(Debug)]
pub(crate) struct Authenticator {
    own: Option<Box<Own>>,
}

/// What an end has that authenticates chunks.
#[derive(Debug)]
struct Own {
    /// What our INIT or INIT ACK says.
    offer: Option<Box<Offer>>,
    keys: SharedKeys,
    /// What was agreed on, if the peer authenticates, too.
    guard: Option<Guard>,
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
    /// It is passed over, and all behind it, and these error causes answer it.
    Refuse(Vec<u8>),
}

/// What is done to a shared key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeyChange {
    /// Packets are authenticated with it from now on.
    Activate,
    /// Nothing is any more.
    Deactivate,
    /// It is forgotten.
    Delete,
}

impl Authenticator {
    pub(super) fn new(config: &AssociationConfig) -> Authenticator {
        let keys = || config.authentication.keys.clone();
        let on = config.extensions.authentication;
        let own = on.then(|| Box::new(Own { offer: None, keys: keys(), guard: None }));
        Authenticator { own }
    }

    /// Bytes of memory beside its own.
    pub(super) fn memory(&self) -> usize {
        let Some(own) = &self.own else { return 0 };
        size_of::<Own>()
            + own.offer.as_ref().map_or(0, |_| size_of::<Offer>() + 64)
            + own.keys.memory()
            + own.guard.as_ref().map_or(0, Guard::memory)
    }

    /// Draws the Random Number of our INIT.
    pub(super) fn make_offer(&mut self, config: &AssociationConfig, rng: &mut Rng) {
        if let Some(own) = &mut self.own {
            let offer = Offer::new(&config.authentication, rng);
            own.offer = Some(Box::new(offer.listing(config.authenticated())));
        }
    }

    /// Our INIT ACK has said this.
    pub(super) fn take_offer(&mut self, offer: Option<&Offer>) {
        if let (Some(own), Some(offer)) = (&mut self.own, offer) {
            own.offer = Some(Box::new(offer.clone()));
        }
    }

    /// What our INIT or INIT ACK says of authenticated chunks.
    pub(crate) fn offer(&self) -> Option<Box<Offer>> {
        self.own.as_ref()?.offer.clone()
    }

    /// The peer is known: from now on chunks are authenticated, if both ends do that.
    pub(super) fn agree(&mut self, peer: &PeerParameters, paths: &mut Paths) {
        let Some(own) = &mut self.own else { return };
        let offers = own.offer.as_deref().zip(peer.offer.as_deref());
        own.guard = offers.map(|(ours, theirs)| Guard::new(ours, theirs));
        self.reserve(paths);
    }

    /// Keeps room for an AUTH chunk in the packets of each path.
    pub(super) fn reserve(&self, paths: &mut Paths) {
        let Some(own) = &self.own else { return };
        let reserve = own.guard.as_ref().map_or(0, Guard::reserve);
        paths.iter_mut().for_each(|path| path.reserve(reserve));
    }

    /// What was agreed on, and the keys; `None` if chunks are not authenticated.
    #[inline]
    pub(crate) fn guarded(&self) -> Option<(&Guard, &SharedKeys)> {
        let own = self.own.as_ref()?;
        own.guard.as_ref().map(|guard| (guard, &own.keys))
    }

    #[inline]
    fn guarded_mut(&mut self) -> Option<(&mut Guard, &SharedKeys)> {
        let own = self.own.as_mut()?;
        own.guard.as_mut().map(|guard| (guard, &own.keys))
    }

    /// Chunks are authenticated.
    #[inline]
    pub(crate) fn is_guarded(&self) -> bool {
        self.guarded().is_some()
    }

    /// Its keys, if this end authenticates.
    pub(crate) fn shared_keys(&self) -> Option<&SharedKeys> {
        self.own.as_ref().map(|own| &own.keys)
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
    pub(super) fn len_before(&self, kind: ChunkType) -> usize {
        let covering = self.guarded().filter(|(guard, _)| guard.covers(kind));
        covering.map_or(0, |(guard, _)| guard.chunk_len())
    }

    /// Authenticates a packet that leaves, if it has a chunk that the peer wants authenticated, with the key that was `named`.
    /// Tells whether it has one.
    #[inline]
    pub(super) fn sign(&mut self, named: Option<u16>, packet: &mut Vec<u8>) -> bool {
        self.guarded_mut().is_some_and(|(guard, keys)| guard.sign(keys, named, packet))
    }

    /// Judges an AUTH chunk with the bytes of the packet behind it, and counts and tells of it.
    pub(crate) fn judge(
        &mut self,
        auth: &Auth<'_>,
        rest: &[u8],
        journal: &mut Journal,
    ) -> AuthVerdict {
        let Some((guard, keys)) = self.guarded_mut() else { return AuthVerdict::Forged };
        let verdict = guard.judge(keys, auth, rest);
        let key = auth.key;
        let event = match verdict {
            AuthVerdict::Authentic => {
                guard.on_key(key).map(|before| AuthenticationEvent::NewKey { key, before })
            }
            AuthVerdict::UnknownKey => {
                guard.on_unknown_key(key).then_some(AuthenticationEvent::UnknownKey { key })
            }
            AuthVerdict::Forged | AuthVerdict::UnknownAlgorithm => None,
        };
        let stats = &mut journal.stats;
        match verdict {
            AuthVerdict::Authentic => stats.auth_chunks_received += 1,
            AuthVerdict::Forged => stats.auth_chunks_forged += 1,
            AuthVerdict::UnknownKey => stats.auth_unknown_keys += 1,
            AuthVerdict::UnknownAlgorithm => stats.auth_unknown_algorithms += 1,
        }
        if let Some(event) = event {
            journal.peer_event(Event::Authentication(event));
        }
        verdict
    }

    //= RFC 4895 5.1-5 6.3-1 6.3-3 6.3-4 6.3-6 6.3-7
    //= RFC 5061 5.2-3
    /// Whether a chunk may be processed, in an association whose chunks are authenticated; `rest` is what is behind
    /// it in its packet.
    pub(super) fn admit(
        &mut self,
        seal: &mut Seal,
        raw: RawChunk<'_>,
        rest: &[u8],
        state: State,
        journal: &mut Journal,
    ) -> Admission {
        if raw.chunk_type != ChunkType::AUTH {
            // §6.3: "It MUST silently discard these chunks if they are not placed after an AUTH chunk in the packet."
            if *seal == Seal::Authentic || !self.requires(raw.chunk_type) {
                return Admission::Take;
            }
            journal.stats.unauthenticated_chunks += 1;
            // RFC 5061 §5.2 D5: "the receiver MUST silently discard this chunk and the rest of the packet".
            let alone = raw.chunk_type != ChunkType::ASCONF;
            return if alone { Admission::Skip } else { Admission::Stop };
        }
        // §5.1: it "MUST NOT appear more than once". The first one covers this one, too.
        if *seal == Seal::Authentic {
            journal.stats.malformed_chunks += 1;
            return Admission::Skip;
        }
        let Ok(Chunk::Auth(auth)) = Chunk::parse(raw) else {
            journal.stats.malformed_chunks += 1;
            return Admission::Stop;
        };
        let verdict = match *seal {
            Seal::None | Seal::Stranger => self.judge(&auth, rest, journal),
            Seal::Judged | Seal::Authentic => AuthVerdict::Authentic,
        };
        match verdict {
            AuthVerdict::Authentic => {
                *seal = Seal::Authentic;
                Admission::Skip
            }
            AuthVerdict::UnknownAlgorithm
                if !matches!(state, State::CookieWait | State::CookieEchoed) =>
            {
                let algorithm = auth.algorithm;
                Admission::Refuse(
                    CauseWriter::new().unsupported_hmac_identifier(algorithm).finish(),
                )
            }
            AuthVerdict::UnknownAlgorithm => Admission::Stop,
            AuthVerdict::Forged | AuthVerdict::UnknownKey => Admission::Stop,
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
    pub(super) fn warn_if_in_vain(&self, journal: &mut Journal) {
        if self.own.is_some() && !self.is_guarded() {
            journal.event(Event::Authentication(AuthenticationEvent::NotSupported));
        }
    }

    /// What may still be changed: an association that is set up, so that its peer is `known`, with one that does not authenticate
    /// has no use for keys.
    fn changing(&mut self, known: bool) -> Result<&mut Own, KeyError> {
        let own = self.own.as_deref_mut();
        own.filter(|own| !known || own.guard.is_some()).ok_or(KeyError::NotSupported)
    }

    /// Sets a shared key, or replaces it.
    pub(super) fn set_key(&mut self, known: bool, key: u16, secret: &[u8]) -> Result<(), KeyError> {
        let own = self.changing(known)?;
        own.keys.set(key, secret)?;
        own.guard.iter_mut().for_each(|guard| guard.forget(key));
        Ok(())
    }

    /// Does something else to one.
    pub(super) fn change_key(
        &mut self,
        known: bool,
        change: KeyChange,
        key: u16,
        journal: &mut Journal,
    ) -> Result<(), KeyError> {
        let own = self.changing(known)?;
        match change {
            KeyChange::Activate => own.keys.activate(key)?,
            KeyChange::Deactivate => {
                own.keys.deactivate(key)?;
                journal.event(Event::Authentication(AuthenticationEvent::FreeKey { key }));
            }
            KeyChange::Delete => {
                own.keys.delete(key)?;
                own.guard.iter_mut().for_each(|guard| guard.forget(key));
            }
        }
        Ok(())
    }
}
