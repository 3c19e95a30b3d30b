//! What a user chooses when an endpoint is made, and the window into its packets.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};

use tresse_carrier::{DEFAULT_UDP_PORT, Ecn, UdpOptions};
use tresse_core::{AssociationId, EndpointConfig, Time, TraceEvent};

/// Settings of an [`Endpoint`](crate::Endpoint).
pub struct Config {
    /// Local UDP address and port. Default `0.0.0.0:9899`. `[::]` serves IPv6 and IPv4; port 0
    /// lets the system choose.
    pub local: SocketAddr,
    /// Settings of the UDP socket.
    pub udp: UdpOptions,
    /// The SCTP endpoint. A `local_port` of 0 takes a random dynamic port (49152 to 65535), which
    /// a client needs: a peer tells associations from one address apart by SCTP ports only.
    pub sctp: EndpointConfig,
    /// Associations that peers opened and that wait in [`accept`](crate::Endpoint::accept) at
    /// most; more are aborted. Default 1024.
    pub backlog: usize,
    /// Sees every packet, and every trace event of associations that record them. Default none.
    pub observer: Option<Box<dyn Observer>>,
}

impl Config {
    /// An endpoint that only opens associations: UDP port and SCTP port are chosen freely unless
    /// `local` names a UDP port.
    #[must_use]
    pub fn client(local: SocketAddr) -> Config {
        let sctp = EndpointConfig { local_port: 0, ..EndpointConfig::default() };
        Config { local, sctp, ..Config::default() }
    }

    /// An endpoint that accepts associations on an SCTP port, and can open some as well.
    #[must_use]
    pub fn server(local: SocketAddr, sctp_port: u16) -> Config {
        let sctp =
            EndpointConfig { local_port: sctp_port, accept: true, ..EndpointConfig::default() };
        Config { local, sctp, ..Config::default() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            local: SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_UDP_PORT)),
            udp: UdpOptions::default(),
            sctp: EndpointConfig::default(),
            backlog: 1024,
            observer: None,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("local", &self.local)
            .field("udp", &self.udp)
            .field("sctp", &self.sctp)
            .field("backlog", &self.backlog)
            .field("observer", &self.observer.is_some())
            .finish()
    }
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// Received.
    In,
    /// Handed to the system for sending.
    Out,
}

/// One SCTP packet on its way through an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPacket<'a> {
    /// When the endpoint handled it.
    pub at: Time,
    /// Which way it went.
    pub direction: Direction,
    /// Our address and UDP port; the unspecified address if the system chose one unseen.
    pub local: SocketAddr,
    /// The peer's address and UDP port.
    pub remote: SocketAddr,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The packet, from the SCTP common header on.
    pub packet: &'a [u8],
}

/// Watches an endpoint. Called by the driver while it holds the endpoint's lock: be quick, and do
/// not call the endpoint from here.
pub trait Observer: Send {
    /// A packet came or goes.
    fn packet(&mut self, _packet: &ObservedPacket<'_>) {}

    /// A decision of an association whose configuration has `trace`.
    fn trace(&mut self, _association: AssociationId, _at: Time, _event: &TraceEvent) {}
}
