//! Addresses that come and go while the association goes on (RFC 5061): what the peer asks for (`asked.rs`), what this end
//! asks for (`asking.rs`, `host.rs`) and is answered (`answered.rs`), and what becomes of a path whose address is no more
//! (`removal.rs`).
//!
//! What is left to do comes back: an answer that leaves ([`Performed`]), paths that are gone ([`Gone`]), a timer that has
//! expired, or the end of the association.

mod answered;
mod asked;
mod asking;
mod host;
mod removal;

use std::net::IpAddr;

use tresse_wire::{Chunk, ChunkType, Packet, Tsn};

use super::addresses::Addresses;
use super::authentication::Authenticator;
use super::common::{Common, Halves};
use super::errors::End;
use super::outbox::Control;
use crate::asconf::{AsconfAckCache, AsconfRequests, Request};
use crate::event::{AddressOutcome, Event};
use crate::journal::Journal;
use crate::path::source::Sources;
use crate::state::State;
use crate::time::Time;
pub(super) use asked::{Performed, fitting};

/// Changes of addresses, in an association whose ends have agreed on them.
#[derive(Debug)]
pub(super) struct AddressChanges {
    requests: AsconfRequests,
    answers: AsconfAckCache,
    /// The address that the peer prefers, as long as it is not confirmed.
    preferred: Option<IpAddr>,
}

/// What a change of the peer's addresses has to do with.
pub(super) struct Affected<'a> {
    pub(super) halves: Halves<'a>,
    pub(super) addresses: &'a Addresses,
    pub(super) authenticator: &'a Authenticator,
}

impl AddressChanges {
    /// The peer is known: from now on addresses may change. Sequence numbers begin with the initial TSNs of both ends; the peer
    /// may have a `primary` address.
    pub(super) fn new(
        initial_tsn: Tsn,
        peer_initial_tsn: Tsn,
        primary: Option<IpAddr>,
    ) -> AddressChanges {
        AddressChanges {
            requests: AsconfRequests::new(initial_tsn),
            answers: AsconfAckCache::new(peer_initial_tsn),
            preferred: primary,
        }
    }

    /// When the T-4 RTO timer expires.
    pub(super) fn deadline(&self, state: State) -> Option<Time> {
        self.requests.deadline().filter(|_| state.may_change_addresses())
    }

    /// The association ends or begins again: nothing will be answered any more.
    pub(super) fn end(mut self, journal: &mut Journal, sources: &mut Sources) {
        for request in self.requests.give_up(false) {
            tell_of_change(journal, request, AddressOutcome::Failed);
        }
        sources.stay();
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        size_of::<AddressChanges>() + self.requests.memory() + self.answers.memory()
    }
}

fn tell_of_change(journal: &mut Journal, request: Request, outcome: AddressOutcome) {
    let Request { change, address, .. } = request;
    journal.event(Event::AddressChanged { change, address, outcome });
}

/// The addresses that ASCONF chunks of a packet name, one after the other (RFC 5061 §5.2 D2, D2-ext).
pub(crate) fn lookup_addresses(packet: &Packet<'_>) -> impl Iterator<Item = IpAddr> {
    packet.chunks().map_while(Result::ok).filter_map(|raw| {
        let asconf = (raw.chunk_type == ChunkType::ASCONF).then(|| Chunk::parse(raw).ok())??;
        if let Chunk::Asconf(asconf) = asconf { Some(asconf.address) } else { None }
    })
}
