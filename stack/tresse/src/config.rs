//! What a user chooses when an endpoint is made, and the window into its packets.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;

use tresse_carrier::{DEFAULT_UDP_PORT, Ecn, IpLabels, SocketOptions};
use tresse_core::{AssociationId, EndpointConfig, Event, Time, TraceEvent};

use crate::figures::AssociationMetrics;
use crate::runtime::{Reactor, Runtime};

/// How packets travel, and from which local addresses.
///
/// Several addresses make a multihomed endpoint: unless
/// [`EndpointConfig::local_addresses`] says otherwise, those that a peer can reach are offered to it. So
/// are, for a wildcard, the addresses of the host, which are looked at every few seconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Carrier {
    /// In UDP datagrams (RFC 6951): needs no permission, passes NATs and kernels without SCTP.
    Udp {
        /// Local addresses, all with the same port. `0.0.0.0` serves every IPv4 address, `[::]` every
        /// IPv6 and IPv4 address; port 0 lets the system choose.
        local: Vec<SocketAddr>,
    },
    /// Directly on IP, as protocol 132: what stacks in kernels speak. Linux only; needs the
    /// capability `CAP_NET_RAW`. See `docs/carriers.md` for a host whose kernel has SCTP, too.
    RawIp {
        /// Local addresses; `0.0.0.0` serves every IPv4 address, `::` every IPv6 address.
        local: Vec<IpAddr>,
    },
}

impl Carrier {
    /// Opens the sockets.
    pub(crate) fn open(
        &self,
        options: SocketOptions,
        runtime: &Arc<dyn Runtime>,
    ) -> io::Result<tresse_carrier::Carriers> {
        let reactor: Arc<dyn Reactor> = Arc::clone(runtime) as _;
        match self {
            Carrier::Udp { local } => tresse_carrier::Carriers::udp(local, options, &reactor),
            Carrier::RawIp { local } => tresse_carrier::Carriers::raw(local, options, &reactor),
        }
    }

    /// The addresses that are offered to peers.
    pub(crate) fn offered(&self) -> Vec<IpAddr> {
        offered(match self {
            Carrier::Udp { local } => local.iter().map(SocketAddr::ip).collect(),
            Carrier::RawIp { local } => local.clone(),
        })
    }
}

/// Which addresses are offered by what is bound to `local`: these, and none for a wildcard.
pub(crate) fn offered(local: Vec<IpAddr>) -> Vec<IpAddr> {
    if local.iter().any(IpAddr::is_unspecified) { Vec::new() } else { local }
}

impl From<SocketAddr> for Carrier {
    /// UDP encapsulation on one address.
    fn from(local: SocketAddr) -> Carrier {
        Carrier::Udp { local: vec![local] }
    }
}

/// Settings of an [`Endpoint`](crate::Endpoint).
pub struct Config {
    /// How packets travel. Default: UDP encapsulation on `0.0.0.0:9899`.
    pub carrier: Carrier,
    /// Settings of the sockets.
    pub socket: SocketOptions,
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
    /// An endpoint over UDP that only opens associations: UDP port and SCTP port are chosen freely
    /// unless `local` names a UDP port.
    #[must_use]
    pub fn client(local: SocketAddr) -> Config {
        Config::client_over(local.into())
    }

    /// An endpoint over UDP that accepts associations on an SCTP port, and can open some as well.
    #[must_use]
    pub fn server(local: SocketAddr, sctp_port: u16) -> Config {
        Config::server_over(local.into(), sctp_port)
    }

    /// As [`client`](Self::client), over any carrier.
    #[must_use]
    pub fn client_over(carrier: Carrier) -> Config {
        let sctp = EndpointConfig { local_port: 0, ..EndpointConfig::default() };
        Config { carrier, sctp, ..Config::default() }
    }

    /// As [`server`](Self::server), over any carrier.
    #[must_use]
    pub fn server_over(carrier: Carrier, sctp_port: u16) -> Config {
        let sctp =
            EndpointConfig { local_port: sctp_port, accept: true, ..EndpointConfig::default() };
        Config { carrier, sctp, ..Config::default() }
    }
}

impl Default for Config {
    fn default() -> Self {
        Config {
            carrier: SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_UDP_PORT)).into(),
            socket: SocketOptions::default(),
            sctp: EndpointConfig::default(),
            backlog: 1024,
            observer: None,
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Config")
            .field("carrier", &self.carrier)
            .field("socket", &self.socket)
            .field("sctp", &self.sctp)
            .field("backlog", &self.backlog)
            .field("observer", &self.observer.is_some())
            .finish()
    }
}

/// Which way a packet went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the peer: received from the system.
    In,
    /// To the peer: handed to the system for sending.
    Out,
}

/// One SCTP packet on its way through an endpoint.
#[derive(Clone, Copy, Debug)]
pub struct ObservedPacket<'a> {
    /// When the endpoint handled it.
    pub at: Time,
    /// Which way it went.
    pub direction: Direction,
    /// Our address and UDP port (0 on raw IP); the unspecified address if the system chose one
    /// unseen.
    pub local: SocketAddr,
    /// The peer's address and UDP port (0 on raw IP).
    pub remote: SocketAddr,
    /// Its ECN field.
    pub ecn: Ecn,
    /// The DSCP and the flow label it leaves with; of one that came they are not known.
    pub labels: IpLabels,
    /// The packet, from the SCTP common header on.
    pub packet: &'a [u8],
}

/// An event of an association, as its application is told it.
#[derive(Clone, Copy, Debug)]
pub struct ObservedEvent<'a> {
    /// When the endpoint told it.
    pub at: Time,
    /// The association.
    pub association: AssociationId,
    /// What happened.
    pub event: &'a Event,
    pub(crate) core: &'a tresse_core::Endpoint,
}

impl ObservedEvent<'_> {
    /// The figures of the association, with `Closed` the last ones.
    #[must_use]
    pub fn metrics(&self) -> Option<AssociationMetrics> {
        AssociationMetrics::of(self.core, self.association)
    }
}

/// Watches an endpoint. Called by the driver while it holds the endpoint's lock: be quick, and do
/// not call the endpoint from here.
pub trait Observer: Send {
    /// A packet came or goes.
    fn packet(&mut self, _packet: &ObservedPacket<'_>) {}

    /// An event of an association.
    fn event(&mut self, _event: &ObservedEvent<'_>) {}

    /// A decision of an association whose configuration has `trace`.
    fn trace(&mut self, _association: AssociationId, _at: Time, _event: &TraceEvent) {}
}
