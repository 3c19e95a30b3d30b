//! The peer that an association is opened with.

use std::net::{IpAddr, SocketAddr};

use tresse_carrier::DEFAULT_UDP_PORT;

/// A peer: its addresses, its UDP port, and its SCTP port.
///
/// ```
/// use tresse::Peer;
///
/// let peer = Peer::new("192.0.2.1:9899".parse()?, 5001);
/// assert_eq!(peer, ("192.0.2.1:9899".parse()?, 5001).into());
/// let multihomed = Peer::multihomed(["192.0.2.1".parse()?, "198.51.100.1".parse()?], 5001);
/// assert_eq!(multihomed.udp_port, 9899);
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Peer {
    /// Its addresses, the preferred one first; at least one. More may follow from its INIT ACK.
    pub addresses: Vec<IpAddr>,
    /// The UDP port that it has at these addresses (RFC 6951), 9899 by default; without meaning on raw IP.
    pub udp_port: u16,
    /// Its SCTP port.
    pub sctp_port: u16,
    /// The interface of a link-local IPv6 address, where it was told.
    zone: Option<SocketAddr>,
}

impl Peer {
    /// The peer at an address and UDP port, with an SCTP port. A link-local IPv6 address needs its interface, as in
    /// `[fe80::1%2]:9899`.
    #[must_use]
    pub fn new(address: SocketAddr, sctp_port: u16) -> Peer {
        let (addresses, udp_port) = (vec![address.ip()], address.port());
        Peer { addresses, udp_port, sctp_port, zone: Some(address) }
    }

    /// A peer that has several addresses, the first one preferred. Its UDP port is 9899; see
    /// [`on_udp_port`](Self::on_udp_port).
    #[must_use]
    pub fn multihomed(addresses: impl IntoIterator<Item = IpAddr>, sctp_port: u16) -> Peer {
        let addresses = addresses.into_iter().collect();
        Peer { addresses, udp_port: DEFAULT_UDP_PORT, sctp_port, zone: None }
    }

    /// The same peer on another UDP port.
    #[must_use]
    pub fn on_udp_port(self, udp_port: u16) -> Peer {
        Peer { udp_port, ..self }
    }

    /// Where its first address has an interface that the sockets have to know.
    pub(crate) fn zone(&self) -> Option<SocketAddr> {
        self.zone.filter(|zone| self.addresses.contains(&zone.ip()))
    }

    /// Addresses to which this host should have routes. Of a link-local address without its interface that is not
    /// known.
    pub(crate) fn routable(&self) -> Vec<SocketAddr> {
        let link_local = |ip: &IpAddr| matches!(ip, IpAddr::V6(v6) if v6.is_unicast_link_local());
        match self.zone() {
            Some(zone) => vec![zone],
            None if self.addresses.iter().any(link_local) => Vec::new(),
            None => self.addresses.iter().map(|ip| SocketAddr::new(*ip, 0)).collect(),
        }
    }
}

impl From<(SocketAddr, u16)> for Peer {
    /// As [`Peer::new`].
    fn from((address, sctp_port): (SocketAddr, u16)) -> Peer {
        Peer::new(address, sctp_port)
    }
}
