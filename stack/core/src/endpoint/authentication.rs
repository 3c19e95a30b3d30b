//! Authenticated chunks (RFC 4895), as an application sees to them, and a COOKIE ECHO that is to be authenticated.

use tresse_wire::{Auth, Chunk, ChunkType, HmacIdentifier, Packet};

use super::cookie::Cookie;
use super::{AssociationId, Endpoint};
use crate::association::{Association, KeyChange};
use crate::auth::{Guard, Offer, Verdict};
use crate::config::AssociationConfig;
use crate::error::KeyError;
use crate::time::Time;

/// How chunks of an association are authenticated (RFC 6458 §8.2.3, §8.2.4, §8.1.16, §8.1.20).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuthenticationInfo {
    /// Types of chunks that are taken only if they are authenticated (SCTP_LOCAL_AUTH_CHUNKS).
    pub local_chunks: Vec<ChunkType>,
    /// Types of chunks that are authenticated for the peer (SCTP_PEER_AUTH_CHUNKS).
    pub peer_chunks: Vec<ChunkType>,
    /// With what this end authenticates: what the peer likes best of what is known here.
    pub algorithm: HmacIdentifier,
    /// The number of the key that this end authenticates with.
    pub active_key: u16,
    /// The numbers of all keys, in ascending order.
    pub keys: Vec<u16>,
    /// Those of them that were deactivated: this end authenticates nothing with them.
    pub deactivated_keys: Vec<u16>,
}

impl Endpoint {
    /// Sets a shared key of an association, or replaces it, also the active one (SCTP_AUTH_KEY, RFC 6458 §8.3.2). Those that
    /// associations begin with are in [`Authentication::keys`](crate::Authentication::keys).
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn set_shared_key(
        &mut self,
        now: Time,
        id: AssociationId,
        key: u16,
        secret: &[u8],
    ) -> Result<(), KeyError> {
        self.with_keys(now, id, |a| a.set_shared_key(key, secret))
    }

    /// Authenticates with this key from now on, also what is sent again (SCTP_AUTH_ACTIVE_KEY, RFC 6458 §8.1.20). The peer must
    /// have it by then, or drops what comes.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn activate_shared_key(
        &mut self,
        now: Time,
        id: AssociationId,
        key: u16,
    ) -> Result<(), KeyError> {
        self.with_keys(now, id, |a| a.change_key(KeyChange::Activate, key))
    }

    /// Does not authenticate with this key any more; the peer may (SCTP_AUTH_DEACTIVATE_KEY, RFC 6458 §8.3.4). It is not the
    /// active one, so this takes effect at once, and [`AuthenticationEvent::FreeKey`](crate::AuthenticationEvent::FreeKey) says
    /// so.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn deactivate_shared_key(
        &mut self,
        now: Time,
        id: AssociationId,
        key: u16,
    ) -> Result<(), KeyError> {
        self.with_keys(now, id, |a| a.change_key(KeyChange::Deactivate, key))
    }

    /// Forgets a shared key that is not the active one: what the peer authenticates with it is dropped (SCTP_AUTH_DELETE_KEY, RFC
    /// 6458 §8.3.5).
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn delete_shared_key(
        &mut self,
        now: Time,
        id: AssociationId,
        key: u16,
    ) -> Result<(), KeyError> {
        self.with_keys(now, id, |a| a.change_key(KeyChange::Delete, key))
    }

    /// How chunks are authenticated; `None` if there is no such association, or none that authenticates, or not yet.
    pub fn authentication(&self, id: AssociationId) -> Option<AuthenticationInfo> {
        let (guard, keys) = self.associations.get(id)?.authenticator().guarded()?;
        let (local_chunks, peer_chunks) = guard.lists();
        Some(AuthenticationInfo {
            local_chunks,
            peer_chunks,
            algorithm: guard.algorithm(),
            active_key: keys.active(),
            keys: keys.numbers().collect(),
            deactivated_keys: keys.deactivated().collect(),
        })
    }

    fn with_keys(
        &mut self,
        now: Time,
        id: AssociationId,
        operation: impl FnOnce(&mut Association) -> Result<(), KeyError>,
    ) -> Result<(), KeyError> {
        let a = self.associations.get_mut(id).filter(|a| !a.is_closed());
        let result = operation(a.ok_or(KeyError::NoAssociation)?);
        self.settle(now, id);
        result
    }

    /// What INIT ACK says of authenticated chunks, with another Random Number each time.
    pub(super) fn fresh_offer(&mut self, config: &AssociationConfig) -> Option<Box<Offer>> {
        let on = config.extensions.authentication;
        let offer = on.then(|| Offer::new(&config.authentication, &mut self.rng));
        offer.map(|offer| Box::new(offer.listing(config.authenticated())))
    }

    //= RFC 4895 6.3-8 6.3-9 6.3-10
    /// Whether a packet with this COOKIE ECHO is taken, and then whether it was found to be authentic; `None` if it is
    /// discarded.
    ///
    /// RFC 4895 §6.3: an association that exists judges with its own keys; where there is none, the cookie has what
    /// they are made of. So it is with one that is being set up: whose Random Number counts after a collision, the
    /// cookie says, as it does of the tag (§6.1).
    pub(super) fn admits_echo(
        &mut self,
        packet: &Packet<'_>,
        cookie: &Cookie,
        known: Option<AssociationId>,
    ) -> Option<bool> {
        let first = packet.chunks().next()?.ok()?;
        let auth = (first.chunk_type == ChunkType::AUTH).then(|| Chunk::parse(first));
        let auth = match auth {
            None => None,
            Some(Ok(Chunk::Auth(auth))) => Some(auth),
            Some(_) => {
                self.stats.unauthenticated_cookies += 1;
                return None;
            }
        };
        let association = known.and_then(|id| self.associations.get_mut(id));
        let judged = match association.filter(|a| a.is_settled()) {
            Some(a) => judge_echo(a, auth.as_ref(), packet),
            None => self.judge_first_echo(auth.as_ref(), packet, cookie, known),
        };
        if judged.is_none() {
            self.stats.unauthenticated_cookies += 1;
        }
        judged
    }

    fn judge_first_echo(
        &self,
        auth: Option<&Auth<'_>>,
        packet: &Packet<'_>,
        cookie: &Cookie,
        known: Option<AssociationId>,
    ) -> Option<bool> {
        let offers = cookie.offer.as_ref().zip(cookie.peer.offer.as_ref());
        let Some((ours, theirs)) = offers else {
            // RFC 4895 §5: who does not authenticate discards what follows an AUTH chunk.
            return auth.is_none().then_some(false);
        };
        let mut guard = Guard::new(ours, theirs);
        let Some(auth) = auth else {
            return (!guard.requires(ChunkType::COOKIE_ECHO)).then_some(false);
        };
        let own = known.and_then(|id| self.associations.get(id)?.authenticator().shared_keys());
        let of_port = || Some(&self.ports.get(cookie.local_port)?.association.authentication.keys);
        let keys = own.or_else(of_port)?;
        let verdict = guard.judge(keys, auth, behind_first(packet));
        (verdict == Verdict::Authentic).then_some(true)
    }
}

/// The bytes behind the first chunk of a packet.
fn behind_first<'a>(packet: &Packet<'a>) -> &'a [u8] {
    let mut chunks = packet.chunks();
    chunks.next();
    chunks.rest()
}

/// As [`Endpoint::admits_echo`], with the keys of an association.
fn judge_echo(
    association: &mut Association,
    auth: Option<&Auth<'_>>,
    packet: &Packet<'_>,
) -> Option<bool> {
    let authenticator = association.authenticator();
    if !authenticator.is_guarded() {
        return auth.is_none().then_some(false);
    }
    match auth {
        None => (!authenticator.requires(ChunkType::COOKIE_ECHO)).then_some(false),
        Some(auth) => {
            (association.judge(auth, behind_first(packet)) == Verdict::Authentic).then_some(true)
        }
    }
}
