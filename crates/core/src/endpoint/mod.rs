//! An SCTP endpoint: one local port and all its associations.

use std::net::IpAddr;

use bytes::Bytes;

use crate::config::{AssociationConfig, EndpointConfig};
use crate::error::{AssociationError, ConnectError, SendError};
use crate::event::{Event, ReceivedMessage, SendOptions, TraceEvent};
use crate::path::PathId;
use crate::stats::{AssociationStats, EndpointStats, PathStats};
use crate::time::Time;
use tresse_wire::StreamId;

slotmap::new_key_type! {
    /// Handle of an association; never reused for another one.
    pub struct AssociationId;
}

/// A received SCTP packet with its addresses.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// The peer's IP address.
    pub source: IpAddr,
    /// Our IP address that it was sent to.
    pub destination: IpAddr,
    /// UDP source port if it came encapsulated (RFC 6951), `None` on raw IP.
    pub encapsulation: Option<u16>,
    /// The SCTP packet, from the common header on.
    pub packet: Bytes,
}

/// Where the packet that [`Endpoint::poll_transmit`] wrote goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmit {
    /// The peer's IP address.
    pub destination: IpAddr,
    /// Our source address, or `None` to leave it to the carrier.
    pub source: Option<IpAddr>,
    /// The peer's UDP port if the packet must be encapsulated (RFC 6951).
    pub encapsulation: Option<u16>,
    /// The path, for captures and logs; `None` when it belongs to no association.
    pub path: Option<PathId>,
}

/// One local SCTP port and all associations on it, without IO.
///
/// Four verbs drive it, in this order:
/// 1. [`handle_datagram`](Self::handle_datagram) for each packet received, and
///    [`handle_timeout`](Self::handle_timeout) once [`poll_timeout`](Self::poll_timeout) is past;
/// 2. [`poll_event`](Self::poll_event) until `None`, calling `recv`, `send`, ... as wanted;
/// 3. [`poll_transmit`](Self::poll_transmit) until `None`, sending each packet;
/// 4. wait until [`poll_timeout`](Self::poll_timeout) or the next packet.
///
/// Any call may make packets, events and another deadline appear; polling them again is cheap.
#[derive(Debug)]
pub struct Endpoint {}

#[allow(clippy::todo, clippy::needless_pass_by_value, clippy::unused_self, unused_variables)]
impl Endpoint {
    /// An endpoint whose tags, nonces and keys follow from `seed`.
    pub fn new(config: EndpointConfig, seed: [u8; 32]) -> Endpoint {
        todo!()
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
        todo!()
    }

    /// Takes a received packet. Bad ones are dropped and counted, or answered as the RFC says.
    pub fn handle_datagram(&mut self, now: Time, datagram: Datagram) {
        todo!()
    }

    /// Runs every timer that is due at `now`.
    pub fn handle_timeout(&mut self, now: Time) {
        todo!()
    }

    /// Writes the next packet to send into `buffer` (cleared first) and says where it goes.
    pub fn poll_transmit(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        todo!()
    }

    /// When `handle_timeout` must be called next.
    pub fn poll_timeout(&self) -> Option<Time> {
        todo!()
    }

    /// The next event.
    pub fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        todo!()
    }

    /// The next trace event of associations configured with `trace`.
    pub fn poll_trace(&mut self) -> Option<(AssociationId, Time, TraceEvent)> {
        todo!()
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
        todo!()
    }

    /// The next message that arrived (RECEIVE, RFC 9260 §11.1.7). Taking it opens the receive
    /// window.
    pub fn recv(&mut self, now: Time, id: AssociationId) -> Option<ReceivedMessage> {
        todo!()
    }

    /// Starts a graceful shutdown (RFC 9260 §9.2): what was accepted is still delivered.
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`].
    pub fn shutdown(&mut self, now: Time, id: AssociationId) -> Result<(), AssociationError> {
        todo!()
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
        todo!()
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
        todo!()
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
        todo!()
    }

    /// Drops a closed association with its unread messages. (A closed association whose
    /// messages have all been read, and whose `Closed` event was polled, goes by itself.)
    pub fn forget(&mut self, id: AssociationId) {
        todo!()
    }

    /// Free bytes in the send buffer.
    pub fn send_space(&self, id: AssociationId) -> usize {
        todo!()
    }

    /// Counters of an association, while it exists (also after it closed, until forgotten).
    pub fn stats(&self, id: AssociationId) -> Option<AssociationStats> {
        todo!()
    }

    /// State of every path of an association, in the order of path numbers.
    pub fn path_stats(&self, id: AssociationId) -> Vec<PathStats> {
        todo!()
    }

    /// Counters of what belongs to no association.
    pub fn endpoint_stats(&self) -> EndpointStats {
        todo!()
    }

    /// All associations, in no particular order that a caller may rely on.
    pub fn associations(&self) -> Vec<AssociationId> {
        todo!()
    }
}
