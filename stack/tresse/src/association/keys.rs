//! Shared keys of authenticated chunks (RFC 4895).

use tresse_core::{AuthenticationInfo, KeyError};

use super::Association;

impl Association {
    /// Sets a shared key, or replaces it. Those that associations begin with are in
    /// [`Authentication::keys`](crate::Authentication::keys).
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn set_shared_key(&self, key: u16, secret: &[u8]) -> Result<(), KeyError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.set_shared_key(now, id, key, secret))
    }

    /// Authenticates with this key from now on, also what is sent again. The peer must have it by then, or drops what
    /// comes.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn activate_shared_key(&self, key: u16) -> Result<(), KeyError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.activate_shared_key(now, id, key))
    }

    /// Does not authenticate with this key any more; the peer may.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn deactivate_shared_key(&self, key: u16) -> Result<(), KeyError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.deactivate_shared_key(now, id, key))
    }

    /// Forgets a shared key that is not the active one: what the peer authenticates with it is dropped.
    ///
    /// # Errors
    /// See [`KeyError`].
    pub fn delete_shared_key(&self, key: u16) -> Result<(), KeyError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.delete_shared_key(now, id, key))
    }

    /// How chunks are authenticated; `None` if they are not, since one of both ends does not, or if the association is gone.
    #[must_use]
    pub fn authentication(&self) -> Option<AuthenticationInfo> {
        self.inner.shared.lock().core.authentication(self.inner.id)
    }
}
