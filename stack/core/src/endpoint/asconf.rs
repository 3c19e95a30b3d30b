//! Changes of addresses, as an application asks for them (RFC 5061; RFC 6458 §8.3.12, §9.1).

use std::net::IpAddr;

use super::Endpoint;
use crate::error::AddressError;
use crate::event::AddressChange;
use crate::ids::AssociationId;
use crate::time::Time;

impl Endpoint {
    /// Asks the peer to add an address of ours to the association (sctp_bindx with SCTP_BINDX_ADD_ADDR, RFC 6458 §9.1). Packets
    /// leave from there once it has; [`Event::AddressChanged`](crate::Event::AddressChanged) tells. Where a NAT is between, the
    /// request says no address but comes from there.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn add_local_address(
        &mut self,
        now: Time,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, id, AddressChange::Add, address)
    }

    /// Asks the peer to remove an address of ours from the association (sctp_bindx with SCTP_BINDX_REM_ADDR, RFC 6458 §9.1).
    /// Nothing leaves from there any more, but by an association that has no other; what comes there is taken.
    /// [`Event::AddressChanged`](crate::Event::AddressChanged) tells what became of it.
    ///
    /// # Errors
    /// See [`AddressError`]; the last one stays.
    pub fn remove_local_address(
        &mut self,
        now: Time,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, id, AddressChange::Delete, address)
    }

    /// Asks the peer to send to this address of ours by default (SCTP_SET_PEER_PRIMARY_ADDR, RFC 6458 §8.3.12). It is advice.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn set_peer_primary(
        &mut self,
        now: Time,
        id: AssociationId,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        self.change_address(now, id, AddressChange::SetPrimary, address)
    }

    /// Asks the peer for any of these changes.
    ///
    /// # Errors
    /// See [`AddressError`].
    pub fn change_address(
        &mut self,
        now: Time,
        id: AssociationId,
        change: AddressChange,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        self.roll.with(now, &self.ports, (id, AddressError::NoAssociation), |a| {
            a.change_address(now, change, address)
        })
    }
}
