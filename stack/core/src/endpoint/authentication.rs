//! Authenticated chunks (RFC 4895), as an application sees to them.

use tresse_wire::{ChunkType, HmacIdentifier};

use super::Endpoint;
use crate::association::{Association, KeyChange};
use crate::error::KeyError;
use crate::ids::AssociationId;
use crate::time::Time;

/// How chunks of an association are authenticated (RFC 6458 §8.2.3, §8.2.4, §8.1.17, §8.1.18).
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

    /// Authenticates with this key from now on, also what is sent again (SCTP_AUTH_ACTIVE_KEY, RFC 6458 §8.1.18). The peer must
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
        let (guard, keys) = self.roll.get(id)?.authenticator().guarded()?;
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
        self.roll.with(now, &self.ports, (id, KeyError::NoAssociation), operation)
    }
}
