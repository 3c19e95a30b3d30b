//! Endpoint pair shared keys (RFC 4895 §6.1): secrets with numbers, which both ends know from elsewhere.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::error::KeyError;

/// A secret.
#[derive(Clone, PartialEq, Eq)]
struct Secret {
    bytes: Arc<[u8]>,
    /// No chunk is authenticated with it any more; those of the peer may be.
    deactivated: bool,
}

/// Endpoint pair shared keys by their numbers (Shared Key Identifiers, RFC 4895 §6.1), and which of them this end
/// authenticates its chunks with. In the beginning there is number 0, empty, and active: with it chunks are safe from all
/// who have not seen INIT and INIT ACK, but from nobody who has (RFC 4895 §9).
///
/// A peer may use each of them. Who wants to be safe from those who have seen the handshake sets a key, activates it and
/// deletes number 0.
///
/// ```
/// use tresse_core::SharedKeys;
///
/// let mut keys = SharedKeys::default();
/// keys.set(7, b"a long secret, made at random")?;
/// keys.activate(7)?;
/// keys.delete(0)?;
/// assert_eq!((keys.active(), keys.numbers().collect::<Vec<_>>()), (7, vec![7]));
/// // What is secret is not shown.
/// assert!(!format!("{keys:?}").contains("secret"));
/// # Ok::<(), tresse_core::KeyError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct SharedKeys {
    secrets: BTreeMap<u16, Secret>,
    active: u16,
}

impl Default for SharedKeys {
    /// The empty key with number 0.
    fn default() -> SharedKeys {
        let empty = Secret { bytes: Arc::from([]), deactivated: false };
        SharedKeys { secrets: BTreeMap::from([(0, empty)]), active: 0 }
    }
}

impl std::fmt::Debug for SharedKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let numbers: Vec<u16> = self.numbers().collect();
        f.debug_struct("SharedKeys")
            .field("numbers", &numbers)
            .field("active", &self.active)
            .finish_non_exhaustive()
    }
}

impl SharedKeys {
    /// Sets a key (SCTP_AUTH_KEY, RFC 6458 §8.3.2). One that has this number already is replaced, also the active one or one
    /// that was deactivated.
    ///
    /// # Errors
    /// None at present.
    pub fn set(&mut self, number: u16, secret: &[u8]) -> Result<(), KeyError> {
        let secret = Secret { bytes: Arc::from(secret), deactivated: false };
        self.secrets.insert(number, secret);
        Ok(())
    }

    /// Authenticates with this key from now on (SCTP_AUTH_ACTIVE_KEY, RFC 6458 §8.1.18).
    ///
    /// # Errors
    /// [`KeyError::Unknown`], [`KeyError::Deactivated`].
    pub fn activate(&mut self, number: u16) -> Result<(), KeyError> {
        if self.known(number)?.deactivated {
            return Err(KeyError::Deactivated { key: number });
        }
        self.active = number;
        Ok(())
    }

    /// Does not authenticate with this key any more (SCTP_AUTH_DEACTIVATE_KEY, RFC 6458 §8.3.4). The peer may.
    ///
    /// # Errors
    /// [`KeyError::Unknown`], [`KeyError::Active`].
    pub fn deactivate(&mut self, number: u16) -> Result<(), KeyError> {
        self.check_inactive(number)?;
        self.known(number)?.deactivated = true;
        Ok(())
    }

    /// Forgets a key (SCTP_AUTH_DELETE_KEY, RFC 6458 §8.3.5): what the peer authenticates with it is dropped from now on.
    ///
    /// # Errors
    /// [`KeyError::Unknown`], [`KeyError::Active`]: another one is to be activated first.
    pub fn delete(&mut self, number: u16) -> Result<(), KeyError> {
        self.check_inactive(number)?;
        self.secrets.remove(&number);
        Ok(())
    }

    /// The number of the key that this end authenticates its chunks with.
    #[must_use]
    pub const fn active(&self) -> u16 {
        self.active
    }

    /// The numbers of all keys, in ascending order.
    pub fn numbers(&self) -> impl Iterator<Item = u16> {
        self.secrets.keys().copied()
    }

    /// The secret with this number.
    pub(super) fn secret(&self, number: u16) -> Option<&[u8]> {
        Some(&self.secrets.get(&number)?.bytes)
    }

    /// The numbers of those that were deactivated.
    pub(crate) fn deactivated(&self) -> impl Iterator<Item = u16> {
        self.numbers().filter(|number| !self.can_sign(*number))
    }

    /// Whether chunks can be authenticated with this key.
    pub(crate) fn can_sign(&self, number: u16) -> bool {
        self.secrets.get(&number).is_some_and(|secret| !secret.deactivated)
    }

    /// Bytes of memory beside its own.
    pub(crate) fn memory(&self) -> usize {
        let bytes: usize = self.secrets.values().map(|secret| secret.bytes.len()).sum();
        self.secrets.len() * (size_of::<(u16, Secret)>() + 16) + bytes
    }

    fn known(&mut self, number: u16) -> Result<&mut Secret, KeyError> {
        self.secrets.get_mut(&number).ok_or(KeyError::Unknown { key: number })
    }

    fn check_inactive(&mut self, number: u16) -> Result<(), KeyError> {
        self.known(number)?;
        match self.active == number {
            true => Err(KeyError::Active { key: number }),
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_through_its_life() {
        let mut keys = SharedKeys::default();
        assert_eq!(keys.secret(0), Some(&[][..]));
        assert_eq!(keys.delete(0), Err(KeyError::Active { key: 0 }));
        assert_eq!(keys.activate(1), Err(KeyError::Unknown { key: 1 }));
        keys.set(1, b"one").unwrap();
        keys.set(1, b"other").unwrap();
        keys.activate(1).unwrap();
        assert_eq!(keys.deactivate(1), Err(KeyError::Active { key: 1 }));
        keys.deactivate(0).unwrap();
        assert_eq!(keys.activate(0), Err(KeyError::Deactivated { key: 0 }));
        assert_eq!(keys.secret(0), Some(&[][..]), "the peer may still use it");
        keys.delete(0).unwrap();
        assert_eq!((keys.secret(0), keys.secret(1)), (None, Some(&b"other"[..])));
        assert_eq!(keys.delete(0), Err(KeyError::Unknown { key: 0 }));
        keys.set(0, b"new").unwrap();
        keys.deactivate(0).unwrap();
        keys.set(0, b"newer").unwrap();
        keys.activate(0).unwrap();
        assert_eq!(keys.numbers().collect::<Vec<_>>(), [0, 1]);
    }

    #[test]
    fn secrets_are_not_shown() {
        let mut keys = SharedKeys::default();
        keys.set(3, &[0x5e; 9]).unwrap();
        let shown = format!("{keys:?}");
        assert_eq!(shown, "SharedKeys { numbers: [0, 3], active: 0, .. }");
    }
}
