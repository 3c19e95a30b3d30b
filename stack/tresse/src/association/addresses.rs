//! Addresses that come and go while the association goes on (RFC 5061).

use std::net::IpAddr;

use tresse_core::{AddressChange, AddressError};

use super::Association;

impl Association {
    /// Asks the peer to take another address of this host into the association (RFC 5061 §4.2.1; sctp_bindx with
    /// SCTP_BINDX_ADD_ADDR, RFC 6458 §9.1). [`Event::AddressChanged`](crate::Event::AddressChanged) tells what became of it; once
    /// it is granted, packets leave from there. The endpoint must be bound to it, or to a wildcard. Both ends must have switched
    /// on [`Extensions::address_reconfiguration`](crate::Extensions::address_reconfiguration).
    ///
    /// # Errors
    /// See [`AddressError`]; it is unusable, too, if no packet of the endpoint could leave from there.
    pub fn add_address(&self, address: IpAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::Add, address)
    }

    /// Asks the peer to forget an address of this host (RFC 5061 §4.2.2; sctp_bindx with SCTP_BINDX_REM_ADDR, RFC 6458 §9.1).
    /// Nothing leaves from there any more, and what the peer still sends there is taken.
    /// [`Event::AddressChanged`](crate::Event::AddressChanged) tells what became of it.
    ///
    /// # Errors
    /// See [`AddressError`]; the last address stays.
    pub fn remove_address(&self, address: IpAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::Delete, address)
    }

    /// Asks the peer to send to this address of ours by default (RFC 5061 §4.2.4; SCTP_SET_PEER_PRIMARY_ADDR, RFC 6458
    /// §8.3.12). It is advice. Where this end sends by default is [`set_primary`](Self::set_primary).
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn set_peer_primary(&self, address: IpAddr) -> Result<(), AddressError> {
        self.change_address(AddressChange::SetPrimary, address)
    }

    fn change_address(&self, change: AddressChange, address: IpAddr) -> Result<(), AddressError> {
        let (id, shared) = (self.inner.id, &self.inner.shared);
        let is_ours = change != AddressChange::Add || shared.sends_from(address);
        shared.act(|state, now| {
            let info = state.core.info(id);
            if !is_ours && info.is_some_and(|info| info.extensions.address_reconfiguration) {
                return Err(AddressError::Unusable { address });
            }
            state.core.change_address(now, id, change, address)
        })
    }

    /// The addresses of this host that the peer knows, those of its requests that it has granted among them. Empty while the
    /// system alone chooses, and when the association has gone. Those of the peer are in [`path_stats`](Self::path_stats).
    #[must_use]
    pub fn local_addresses(&self) -> Vec<IpAddr> {
        let state = self.inner.shared.lock();
        state.core.info(self.inner.id).map(|info| info.local_addresses).unwrap_or_default()
    }
}
