//! Addresses that come and go while the association goes on (RFC 5061): what the peer asks for (`asked.rs`), what this end
//! asks for (`asking.rs`), and what becomes of a path whose address is no more (`removal.rs`).

mod asked;
mod asking;
mod host;
mod removal;

pub(crate) use asking::lookup_addresses;

use std::net::IpAddr;

use super::{Association, State};
use crate::asconf::{Changes, Request};
use crate::event::{AddressOutcome, Event};
use crate::handshake::PeerParameters;
use crate::time::Time;

impl Association {
    /// The peer is known: from now on addresses may change, if both ends do that.
    pub(super) fn agree_on_changes(&mut self, peer: &PeerParameters) {
        self.end_changes();
        let agreed = self.sender.extensions().chosen.address_reconfiguration && self.is_guarded();
        let new = || Box::new(Changes::new(self.origin.initial_tsn, peer.initial_tsn));
        self.addresses.changes = agreed.then(new);
    }

    /// Addresses may change.
    #[inline]
    pub(super) fn has_changes(&self) -> bool {
        self.addresses.changes.is_some()
    }

    //= RFC 5061 5.1.1-5
    /// ASCONF chunks are sent and answered in these states.
    pub(super) fn may_change_addresses(&self) -> bool {
        self.has_changes()
            && matches!(
                self.state(),
                State::Established
                    | State::ShutdownPending
                    | State::ShutdownReceived
                    | State::ShutdownSent
            )
    }

    //= RFC 5061 5.2-1 5.3.2-2
    /// Whether a packet with an ASCONF chunk, which comes from an address that is none of the peer's, may be for this
    /// association: its Address Parameter is one of them, or says nothing. Its tag was right.
    pub(crate) fn is_named_by(&self, lookup: IpAddr) -> bool {
        self.may_change_addresses()
            && (lookup.is_unspecified() || self.paths.find(lookup).is_some())
    }

    //= RFC 5061 5.3-5 5.3-24
    /// Some address of the peer is confirmed, so that it can be sent more than what verifies one. Without changes of addresses
    /// there always is.
    #[inline]
    pub(super) fn has_confirmed_path(&self) -> bool {
        !self.has_changes() || self.paths.iter().any(|path| path.is_confirmed())
    }

    /// When the T-4 RTO timer expires.
    pub(super) fn changes_deadline(&self) -> Option<Time> {
        let deadline = self.addresses.changes.as_ref()?.requests.deadline();
        deadline.filter(|_| self.may_change_addresses())
    }

    /// The association ends or begins again: nothing will be answered any more.
    pub(super) fn end_changes(&mut self) {
        let Some(mut changes) = self.addresses.changes.take() else { return };
        for request in changes.requests.give_up(false) {
            self.tell_of_change(request, AddressOutcome::Failed);
        }
        self.addresses.sources.stay();
    }

    fn tell_of_change(&mut self, request: Request, outcome: AddressOutcome) {
        let Request { change, address, .. } = request;
        self.journal.event(Event::AddressChanged { change, address, outcome });
    }
}
