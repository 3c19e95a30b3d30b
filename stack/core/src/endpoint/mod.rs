//! An SCTP endpoint: its local port or ports, and all associations on them.

mod account;
mod addresses;
mod agenda;
mod api;
mod asconf;
mod authentication;
mod claims;
mod cookie;
mod crossing;
mod demux;
mod desk;
mod drops;
mod echo;
mod handshake;
mod icmp;
mod index;
mod init_ack;
mod lookup;
mod past;
mod peer_tags;
mod ports;
mod random;
mod reconfiguration;
mod reply;
mod rival;
mod roll;
mod shard;
mod shards;
#[cfg(test)]
pub(crate) mod tests;
mod tidings;

use std::net::IpAddr;

use crate::association::{Association, Blueprint, PeerKey};
use crate::config::{AssociationConfig, EndpointConfig, Families, PortConfig};
use crate::datagram::{Datagram, Transmit};
use crate::error::{AssociationError, NotOpened, SendError};
use crate::event::{Event, NextMessage, ReceivedMessage, SendOptions, TraceEvent};
use crate::ids::{AssociationId, PathId};
use crate::path::source::{Sources, is_unicast};
use crate::reliability::{AbandonPolicy, AbandonedMessages};
use crate::rng::Rng;
use crate::stats::{AssociationStats, EndpointStats, PathStats};
use crate::time::Time;
pub use authentication::AuthenticationInfo;
use bytes::Bytes;
use handshake::Greeter;
use index::Index;
use peer_tags::PeerTags;
use ports::Ports;
use random::Numbers;
use reply::ReplyQueue;
use roll::Roll;
use shard::Shard;
pub use shard::ShardKey;
use tresse_wire::StreamId;

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
    roll: Roll,
    greeter: Greeter,
    numbers: Numbers,
    replies: ReplyQueue,
    stats: EndpointStats,
}

impl Endpoint {
    /// An endpoint whose tags, nonces and keys follow from `seed`.
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Endpoint {
        Endpoint::with_shard(config, seed, None)
    }

    /// An endpoint, or one of several shards of one.
    fn with_shard(
        config: EndpointConfig,
        seed: [u8; 32],
        shard: Option<(Shard, PeerTags)>,
    ) -> Endpoint {
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
        let (shard, index) = match shard {
            Some((shard, tags)) => (Some(shard), Index::of_shard(tags)),
            None => (None, Index::default()),
        };
        Endpoint {
            ports,
            roll: Roll::new(max_associations, memory, index),
            greeter: Greeter::new(&mut rng),
            numbers: Numbers::new(rng, shard),
            replies: ReplyQueue::default(),
            stats: EndpointStats::default(),
        }
    }

    /// Opens an association to the peer's SCTP port `remote_port` at the addresses `remotes`
    /// (ASSOCIATE, RFC 9260 §11.1.2). The first address becomes the primary path.
    ///
    /// # Errors
    /// See [`NotOpened`].
    pub fn connect(
        &mut self,
        now: Time,
        remotes: &[IpAddr],
        remote_port: u16,
        config: AssociationConfig,
    ) -> Result<AssociationId, NotOpened> {
        self.connect_from(now, self.ports.main(), remotes, remote_port, config)
    }

    //= RFC 9260 1.3-1
    /// As [`connect`](Self::connect), from another port that was opened.
    ///
    /// # Errors
    /// See [`NotOpened`].
    pub fn connect_from(
        &mut self,
        now: Time,
        local_port: u16,
        remotes: &[IpAddr],
        remote_port: u16,
        config: AssociationConfig,
    ) -> Result<AssociationId, NotOpened> {
        config.check()?;
        if remotes.is_empty() {
            return Err(NotOpened::NoAddress);
        }
        if let Some(address) = remotes.iter().find(|address| !is_unicast(**address)) {
            return Err(NotOpened::NotUnicast(*address));
        }
        if remote_port == 0 {
            //= RFC 9260 3.1-1 3.1-2
            return Err(NotOpened::ZeroPort);
        }
        let Some(port) = self.ports.get(local_port) else { return Err(NotOpened::ZeroPort) };
        let sources =
            Sources::of(self.ports.host(), &port.local_addresses, remotes, config.families);
        let encapsulation = config.encapsulation;
        let key = |address| PeerKey { local_port, address, remote_port, encapsulation };
        if remotes.iter().any(|address| self.roll.is_taken(&key(*address))) {
            return Err(NotOpened::Exists);
        }
        if self.roll.is_full() {
            return Err(NotOpened::TooManyAssociations);
        }
        if self.roll.is_scarce() {
            return Err(NotOpened::OutOfMemory);
        }
        remotes.iter().for_each(|address| self.roll.release(&key(*address)));
        let blueprint = Blueprint {
            local_port,
            remote_port,
            local_tag: self.numbers.fresh_tag(self.roll.index()),
            initial_tsn: self.numbers.fresh_tsn(),
            sources,
            config,
            rng: self.numbers.fork_rng(),
        };
        let id = self.roll.insert(Association::connect(now, blueprint, remotes));
        self.roll.settle(now, &self.ports, id);
        Ok(id)
    }

    /// Takes a received packet. Bad ones are dropped and counted, or answered as the RFC says.
    // By value: payloads go on sharing the packet's bytes, so the caller gives them up.
    #[allow(clippy::needless_pass_by_value)]
    pub fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        self.roll.expect(datagram.packet.len());
        self.route(now, &datagram);
        self.roll.relieve(now, &self.ports);
    }

    /// Runs every timer that is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        self.roll.handle_timeout(now, &self.ports);
    }

    /// Writes the next packet to send into `buffer` (cleared first) and says where it goes. `None`: nothing may leave now.
    /// Any other call may change that, among them the next `handle_timeout`, which is due at
    /// [`poll_timeout`](Self::poll_timeout).
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(transmit) = self.replies.pop(buffer) {
            return Some(transmit);
        }
        self.roll.poll_transmit(now, &self.ports, buffer)
    }

    /// When `handle_timeout` must be called next, once `poll_transmit` has no packet any more: what arrived may have
    /// started timers that count from then on.
    pub fn poll_timeout(&self) -> Option<Time> {
        self.roll.next_deadline()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.roll.poll_event()
    }

    /// The next trace event of associations configured with `trace`.
    pub fn poll_trace(&mut self) -> Option<(AssociationId, Time, TraceEvent)> {
        self.roll.poll_trace()
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
        self.roll.send(now, &self.ports, (id, stream), payload, options)
    }

    /// The next message that arrived (RECEIVE, RFC 9260 §11.1.7). Taking it opens the receive
    /// window, and the last one before a reset of streams brings its event.
    pub fn recv(&mut self, now: Time, id: AssociationId) -> Option<ReceivedMessage> {
        self.roll.recv(now, &self.ports, id)
    }

    /// What [`recv`](Self::recv) gives next: it stays where it is, and goes on filling the receive window (SCTP_NXTINFO, RFC 6458
    /// §5.3.6). Of a message that is read in parts more may have come by then.
    pub fn next_message(&self, id: AssociationId) -> Option<NextMessage> {
        self.roll.get(id)?.next_message()
    }

    /// Starts a graceful shutdown (RFC 9260 §9.2): what was accepted is still delivered.
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`].
    pub fn shutdown(&mut self, now: Time, id: AssociationId) -> Result<(), AssociationError> {
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
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
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
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
        self.roll
            .with(now, &self.ports, (id, AssociationError::NoAssociation), |a| a.set_primary(path))
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
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
            a.set_stream_value(stream, value)
        })
    }

    /// What was set for an outbound stream, 0 if nothing; `None` if there is no such association or stream.
    pub fn stream_value(&self, id: AssociationId, stream: StreamId) -> Option<u16> {
        self.roll.get(id)?.stream_value(stream)
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
        let a = self.roll.get(id).ok_or(AssociationError::NoAssociation)?;
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
        self.roll.with(now, &self.ports, (id, AssociationError::NoAssociation), |a| {
            a.request_heartbeat(now, path)
        })
    }

    /// Drops a closed association with its unread messages. Without this call it goes by itself at
    /// the first `poll_event` or last `poll_transmit` after its `Closed` event, once its messages
    /// have been read: while that event is handled, its counters and messages are still there.
    pub fn forget(&mut self, id: AssociationId) {
        self.roll.forget(id);
    }

    /// Free bytes in the send buffer.
    pub fn send_space(&self, id: AssociationId) -> usize {
        self.roll.get(id).map_or(0, Association::send_space)
    }

    /// Counters of an association, while it exists (also after it closed, until forgotten).
    pub fn stats(&self, id: AssociationId) -> Option<AssociationStats> {
        self.roll.get(id).map(Association::stats)
    }

    /// State of every path of an association, in the order of path numbers.
    pub fn path_stats(&self, id: AssociationId) -> Vec<PathStats> {
        self.roll.get(id).map(Association::path_stats).unwrap_or_default()
    }

    /// Counters of what belongs to no association.
    pub fn endpoint_stats(&self) -> EndpointStats {
        let mut stats = self.stats.clone();
        self.roll.count_into(&mut stats);
        stats
    }

    /// All associations, in no particular order that a caller may rely on.
    pub fn associations(&self) -> Vec<AssociationId> {
        self.roll.ids()
    }
}
