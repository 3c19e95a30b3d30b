//! An SCTP endpoint: its local port or ports, and all associations on them.

mod account;
mod addresses;
mod agenda;
mod asconf;
mod authentication;
mod claims;
mod cookie;
mod crossing;
mod demux;
mod handshake;
mod icmp;
mod index;
mod init_ack;
mod past;
mod peer_tags;
mod ports;
mod random;
mod reconfiguration;
mod reply;
mod rival;
mod shard;
#[cfg(test)]
pub(crate) mod tests;
mod tidings;
mod upkeep;

use std::net::IpAddr;

use bytes::Bytes;
use slotmap::SlotMap;

use crate::association::{Association, Blueprint, PeerKey};
use crate::config::{AssociationConfig, EndpointConfig, Families, PortConfig};
pub use crate::datagram::{Datagram, Icmp, IcmpKind, Transmit};
use crate::error::{AssociationError, ConnectError, SendError};
use crate::event::{Event, ReceivedMessage, SendOptions, TraceEvent};
use crate::path::PathId;
use crate::path::source::Sources;
use crate::reliability::{AbandonPolicy, AbandonedMessages};
use crate::rng::Rng;
use crate::stats::{AssociationStats, EndpointStats, PathStats};
use crate::time::Time;
use account::{Account, growth};
use agenda::Agenda;
pub use authentication::AuthenticationInfo;
use claims::Claims;
use cookie::CookieKeys;
use index::Index;
use past::PastAssociations;
use ports::Ports;
use reply::Replies;
use shard::Part;
pub use shard::PartKey;
use tidings::Tidings;
use tresse_wire::StreamId;
#[cfg(test)]
use tresse_wire::Tsn;

slotmap::new_key_type! {
    /// Handle of an association; never reused for another one.
    pub struct AssociationId;
}

/// One local SCTP port, or several, and all associations on them, without IO.
///
/// Five methods drive it, in this order:
/// 1. [`handle_datagram`](Self::handle_datagram) for each packet received, and
///    [`handle_timeout`](Self::handle_timeout) once [`poll_timeout`](Self::poll_timeout) is past;
/// 2. [`poll_event`](Self::poll_event) until `None`, calling `recv`, `send`, ... as wanted;
/// 3. [`poll_transmit`](Self::poll_transmit) until `None`, sending each packet;
/// 4. wait until [`poll_timeout`](Self::poll_timeout) or the next packet.
///
/// Two more are for those who have what they take or give: [`handle_icmp`](Self::handle_icmp) and
/// [`poll_trace`](Self::poll_trace).
///
/// Any call may make packets, events and another deadline appear; polling them again is cheap.
#[derive(Debug)]
pub struct Endpoint {
    ports: Ports,
    max_associations: usize,
    rng: Rng,
    keys: CookieKeys,
    associations: SlotMap<AssociationId, Association>,
    /// If it is only a part of an endpoint.
    part: Option<Part>,
    /// Which association a packet is for. Closed ones are not in it.
    index: Index,
    agenda: Agenda,
    replies: Replies,
    account: Account,
    claims: Claims,
    past: PastAssociations,
    tidings: Tidings,
    stats: EndpointStats,
    /// What every association begins with, for tests of wrap-around.
    #[cfg(test)]
    first_tsn: Option<Tsn>,
}

impl Endpoint {
    /// An endpoint whose tags, nonces and keys follow from `seed`.
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Endpoint {
        let mut rng = Rng::from_seed(seed);
        let EndpointConfig {
            local_port,
            local_addresses,
            accept,
            peers,
            max_associations,
            memory,
            association,
        } = config;
        let mut ports = Ports::new(local_port);
        if local_port != 0 {
            let families = Families::default();
            let port = PortConfig {
                local_addresses,
                accept,
                peers,
                families,
                one_family: false,
                association,
            };
            ports.open(local_port, port);
        }
        Endpoint {
            ports,
            max_associations,
            keys: CookieKeys::new(&mut rng),
            claims: Claims::new(&mut rng),
            rng,
            associations: SlotMap::with_key(),
            part: None,
            index: Index::default(),
            agenda: Agenda::default(),
            replies: Replies::default(),
            account: Account::new(memory),
            past: PastAssociations::default(),
            tidings: Tidings::default(),
            stats: EndpointStats::default(),
            #[cfg(test)]
            first_tsn: None,
        }
    }

    /// Opens an association to the peer's SCTP port `remote_port` at the addresses `remotes`
    /// (ASSOCIATE, RFC 9260 §11.1.2). The first address becomes the primary path.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn connect(
        &mut self,
        now: Time,
        remotes: &[IpAddr],
        remote_port: u16,
        config: AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        self.connect_from(now, self.ports.main(), remotes, remote_port, config)
    }

    //= RFC 9260 1.3-1
    /// As [`connect`](Self::connect), from another port that was opened.
    ///
    /// # Errors
    /// See [`ConnectError`].
    pub fn connect_from(
        &mut self,
        now: Time,
        local_port: u16,
        remotes: &[IpAddr],
        remote_port: u16,
        config: AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        config.check()?;
        if remotes.is_empty() {
            return Err(ConnectError::NoAddress);
        }
        if remote_port == 0 {
            //= RFC 9260 3.1-1 3.1-2
            return Err(ConnectError::ZeroPort);
        }
        let Some(port) = self.ports.get(local_port) else { return Err(ConnectError::ZeroPort) };
        let sources =
            Sources::of(self.ports.host(), &port.local_addresses, remotes, config.families);
        let encapsulation = config.encapsulation;
        let key = |address| PeerKey { local_port, address, remote_port, encapsulation };
        if remotes.iter().any(|address| self.is_taken(&key(*address))) {
            return Err(ConnectError::Exists);
        }
        if self.associations.len() >= self.max_associations {
            return Err(ConnectError::TooManyAssociations);
        }
        if self.account.is_scarce() {
            return Err(ConnectError::OutOfMemory);
        }
        remotes.iter().for_each(|address| self.index.release(&key(*address)));
        let blueprint = Blueprint {
            local_port,
            remote_port,
            local_tag: self.fresh_tag(),
            initial_tsn: self.fresh_tsn(),
            sources,
            config,
            rng: self.fork_rng(),
        };
        let id = self.insert(Association::connect(now, blueprint, remotes));
        self.settle(now, id);
        Ok(id)
    }

    /// Takes a received packet. Bad ones are dropped and counted, or answered as the RFC says.
    // By value: payloads go on sharing the packet's bytes, so the caller gives them up.
    #[allow(clippy::needless_pass_by_value)]
    pub fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        self.account.expect(growth(datagram.packet.len()));
        self.route(now, &datagram);
        self.relieve(now);
    }

    /// Runs every timer that is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(id) = self.agenda.take_due(now) {
            if let Some(a) = self.associations.get_mut(id) {
                a.listing.register(None);
                a.obey(now, self.account.budget(self.index.len()));
                a.handle_timeout(now);
            }
            self.settle(now, id);
        }
        self.relieve(now);
    }

    /// Writes the next packet to send into `buffer` (cleared first) and says where it goes.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.replies.pop(buffer) {
            return Some(transmit);
        }
        loop {
            if let Some(packet) = self.poll_associations(now, buffer) {
                self.relieve(now);
                return Some(packet);
            }
            // What is ended for want of memory has a last packet to send.
            if !self.relieve(now) {
                break;
            }
        }
        self.reap(); // What a closed association still had to send has left.
        None
    }

    /// When `handle_timeout` must be called next, once `poll_transmit` has no packet any more: what arrived may have
    /// started timers that count from then on.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.agenda.next_deadline()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.reap();
        let (id, event) = self.tidings.next_event()?;
        if let Some(a) = self.associations.get_mut(id) {
            a.journal.told(&event);
            self.account.touch(id, a);
            if matches!(event, Event::Closed(_)) {
                a.listing.leave();
                self.agenda.may_leave(id);
            }
        }
        Some((id, event))
    }

    /// The next trace event of associations configured with `trace`.
    pub fn poll_trace(&mut self) -> Option<(AssociationId, Time, TraceEvent)> {
        self.tidings.next_trace()
    }

    /// Queues a message (SEND, RFC 9260 §11.1.5).
    ///
    /// # Errors
    /// [`SendError::WouldBlock`] when the send buffer is full; see [`SendError`].
    pub fn send(
        &mut self,
        now: Time,
        id: AssociationId,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let a = self.associations.get_mut(id).ok_or(SendError::NoAssociation)?;
        if self.account.is_short() || a.is_bounded() {
            a.obey(now, self.account.budget(self.index.len()));
        }
        self.account.expect(growth(0) + payload.len());
        a.send(now, stream, payload, options)?;
        self.account.touch(id, a);
        self.relieve(now);
        // No event or deadline comes of it that draining `poll_transmit` will not see to.
        self.enqueue(id);
        Ok(())
    }

    /// The next message that arrived (RECEIVE, RFC 9260 §11.1.7). Taking it opens the receive
    /// window, and the last one before a reset of streams brings its event.
    pub fn recv(&mut self, now: Time, id: AssociationId) -> Option<ReceivedMessage> {
        let a = self.associations.get_mut(id)?;
        if self.account.is_short() {
            a.obey(now, self.account.budget(self.index.len()));
        }
        let message = a.recv();
        message.as_ref()?;
        self.account.touch(id, a);
        let tells = !a.journal.events.is_empty();
        if a.listing.is_leaving() && a.readable() == 0 {
            self.agenda.may_leave(id);
        } else if a.sack_is_due() && !a.is_closed() {
            self.enqueue(id);
        }
        if tells {
            self.settle(now, id);
        }
        message
    }

    /// Starts a graceful shutdown (RFC 9260 §9.2): what was accepted is still delivered.
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`].
    pub fn shutdown(&mut self, now: Time, id: AssociationId) -> Result<(), AssociationError> {
        self.with(now, id, |a| {
            a.shutdown(now);
            Ok(())
        })
    }

    /// Aborts with a User-Initiated Abort cause that carries `reason` (RFC 9260 §9.1).
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`].
    pub fn abort(
        &mut self,
        now: Time,
        id: AssociationId,
        reason: &[u8],
    ) -> Result<(), AssociationError> {
        self.with(now, id, |a| {
            a.abort(reason);
            Ok(())
        })
    }

    /// Sends new data to `path` by default from now on (RFC 9260 §11.1.6).
    ///
    /// # Errors
    /// See [`AssociationError`]; the path must be confirmed.
    pub fn set_primary(
        &mut self,
        now: Time,
        id: AssociationId,
        path: PathId,
    ) -> Result<(), AssociationError> {
        self.with(now, id, |a| a.set_primary(path))
    }

    /// Tells the stream scheduler ([`StreamScheduler`](crate::profile::StreamScheduler)) of the value of an outbound stream: its
    /// priority, of which the least goes first, or its weight (SCTP_STREAM_SCHEDULER_VALUE, RFC 8260 §4.3.3). Default 0. Other
    /// schedulers than these ignore it. It outlives a restart by the peer.
    ///
    /// # Errors
    /// See [`AssociationError`].
    pub fn set_stream_value(
        &mut self,
        now: Time,
        id: AssociationId,
        stream: StreamId,
        value: u16,
    ) -> Result<(), AssociationError> {
        self.with(now, id, |a| a.set_stream_value(stream, value))
    }

    /// What was set for an outbound stream, 0 if nothing; `None` if there is no such association or stream.
    pub fn stream_value(&self, id: AssociationId, stream: StreamId) -> Option<u16> {
        self.associations.get(id)?.stream_value(stream)
    }

    /// How many messages of an outbound stream were given up by a policy, or of all streams or by any policy
    /// (SCTP_PR_STREAM_STATUS and SCTP_PR_ASSOC_STATUS, RFC 7496 §4.3, §4.4). A restart by the peer does not take it
    /// back.
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`], [`AssociationError::NoStream`].
    pub fn abandoned(
        &self,
        id: AssociationId,
        stream: Option<StreamId>,
        policy: Option<AbandonPolicy>,
    ) -> Result<AbandonedMessages, AssociationError> {
        let a = self.associations.get(id).ok_or(AssociationError::NoAssociation)?;
        a.abandoned(stream, policy)
    }

    /// Sends a heartbeat to `path` now (RFC 9260 §11.1.10).
    ///
    /// # Errors
    /// See [`AssociationError`].
    pub fn request_heartbeat(
        &mut self,
        now: Time,
        id: AssociationId,
        path: PathId,
    ) -> Result<(), AssociationError> {
        self.with(now, id, |a| a.request_heartbeat(now, path))
    }

    /// Drops a closed association with its unread messages. Without this call it goes by itself at
    /// the first `poll_event` or last `poll_transmit` after its `Closed` event, once its messages
    /// have been read: while that event is handled, its counters and messages are still there.
    pub fn forget(&mut self, id: AssociationId) {
        if self.associations.get(id).is_some_and(Association::is_closed) {
            self.remove(id);
        }
    }

    /// Free bytes in the send buffer.
    pub fn send_space(&self, id: AssociationId) -> usize {
        self.associations.get(id).map_or(0, Association::send_space)
    }

    /// Counters of an association, while it exists (also after it closed, until forgotten).
    pub fn stats(&self, id: AssociationId) -> Option<AssociationStats> {
        self.associations.get(id).map(Association::stats)
    }

    /// State of every path of an association, in the order of path numbers.
    pub fn path_stats(&self, id: AssociationId) -> Vec<PathStats> {
        self.associations.get(id).map(Association::path_stats).unwrap_or_default()
    }

    /// Counters of what belongs to no association.
    pub fn endpoint_stats(&self) -> EndpointStats {
        EndpointStats { memory: self.memory(), ..self.stats.clone() }
    }

    /// All associations, in no particular order that a caller may rely on.
    pub fn associations(&self) -> Vec<AssociationId> {
        self.associations.keys().collect()
    }

    fn with(
        &mut self,
        now: Time,
        id: AssociationId,
        operation: impl FnOnce(&mut Association) -> Result<(), AssociationError>,
    ) -> Result<(), AssociationError> {
        let a = self.associations.get_mut(id).filter(|a| !a.is_closed());
        let result = operation(a.ok_or(AssociationError::NoAssociation)?);
        self.settle(now, id);
        result
    }
}
