//! The peer that an association is opened with.

use std::fmt;
use std::net::{IpAddr, SocketAddr};

use tresse_carrier::DEFAULT_UDP_PORT;
use tresse_core::NotOpened;

/// A peer: its addresses, its UDP port, and its SCTP port.
///
/// ```
/// use tresse::Peer;
///
/// let peer = Peer::new("192.0.2.1:9899".parse()?, 5001);
/// assert_eq!(peer, ("192.0.2.1:9899".parse()?, 5001).into());
/// let multihomed = Peer::multihomed(["192.0.2.1".parse()?, "198.51.100.1".parse()?], 5001);
/// assert_eq!(multihomed.udp_port, None);
/// assert_eq!(multihomed.to_string(), "192.0.2.1, 198.51.100.1 (SCTP port 5001)");
/// let elsewhere = multihomed.on_udp_port(9900);
/// assert_eq!(elsewhere.to_string(), "192.0.2.1, 198.51.100.1 (UDP port 9900, SCTP port 5001)");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Peer {
    /// Its addresses, the preferred one first; at least one. More may follow from its INIT ACK.
    pub addresses: Vec<IpAddr>,
    /// The UDP port that it has at these addresses (RFC 6951). `None` stands for
    /// [`AssociationConfig::encapsulation`](crate::AssociationConfig::encapsulation), and for 9899 if that is `None`, too;
    /// on raw IP it has no meaning.
    pub udp_port: Option<u16>,
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
        let (addresses, udp_port) = (vec![address.ip()], Some(address.port()));
        Peer { addresses, udp_port, sctp_port, zone: Some(address) }
    }

    /// A peer that has several addresses, the first one preferred. These carry data from the beginning; others that it
    /// lists in the handshake once they have answered a heartbeat (RFC 9260 §5.4). Its UDP port is what
    /// [`udp_port`](Self::udp_port) says of `None`, unless [`on_udp_port`](Self::on_udp_port) is called.
    #[must_use]
    pub fn multihomed(addresses: impl IntoIterator<Item = IpAddr>, sctp_port: u16) -> Peer {
        let addresses = addresses.into_iter().collect();
        Peer { addresses, udp_port: None, sctp_port, zone: None }
    }

    /// This peer on another UDP port.
    #[must_use]
    pub fn on_udp_port(self, udp_port: u16) -> Peer {
        Peer { udp_port: Some(udp_port), ..self }
    }

    /// This peer with IPv4 addresses as such, and not in their IPv6 form (RFC 4291 §2.5.5.2).
    pub(crate) fn canonical(mut self) -> Peer {
        self.addresses.iter_mut().for_each(|address| *address = address.to_canonical());
        self
    }

    /// Its UDP port, if packets travel in UDP datagrams; `set` is that of the settings.
    pub(crate) fn encapsulation(
        &self,
        set: Option<u16>,
        in_udp: bool,
    ) -> Result<Option<u16>, NotOpened> {
        match (set, self.udp_port) {
            (Some(set), _) if !in_udp => Err(NotOpened::Config(format!(
                "encapsulation = {set}, but this endpoint is on raw IP: leave it None"
            ))),
            (Some(set), Some(own)) if set != own => Err(NotOpened::Config(format!(
                "encapsulation = {set}, but the peer has UDP port {own}: leave one of the two None"
            ))),
            (Some(0), _) | (_, Some(0)) if in_udp => {
                let what =
                    format!("UDP port 0 of the peer; the registered one is {DEFAULT_UDP_PORT}");
                Err(NotOpened::Config(what))
            }
            (set, own) => Ok(in_udp.then(|| own.or(set).unwrap_or(DEFAULT_UDP_PORT))),
        }
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

impl fmt::Display for Peer {
    /// Such as `192.0.2.1, 198.51.100.1 (UDP port 9899, SCTP port 5001)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, address) in self.addresses.iter().enumerate() {
            write!(f, "{}{address}", if n > 0 { ", " } else { "" })?;
        }
        match self.udp_port {
            Some(udp_port) => write!(f, " (UDP port {udp_port}, SCTP port {})", self.sctp_port),
            None => write!(f, " (SCTP port {})", self.sctp_port),
        }
    }
}

impl From<(SocketAddr, u16)> for Peer {
    /// As [`Peer::new`].
    fn from((address, sctp_port): (SocketAddr, u16)) -> Peer {
        Peer::new(address, sctp_port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_udp_port_is_that_of_the_peer_or_of_the_settings() {
        let peer = |udp_port| Peer { udp_port, ..Peer::multihomed([], 1) };
        assert_eq!(peer(None).encapsulation(None, true), Ok(Some(DEFAULT_UDP_PORT)));
        assert_eq!(peer(None).encapsulation(Some(7), true), Ok(Some(7)));
        assert_eq!(peer(Some(8)).encapsulation(None, true), Ok(Some(8)));
        assert_eq!(peer(Some(8)).encapsulation(Some(8), true), Ok(Some(8)));
        assert_eq!(peer(Some(8)).encapsulation(None, false), Ok(None));
        let both = peer(Some(8)).encapsulation(Some(7), true).unwrap_err();
        assert!(both.to_string().ends_with("the peer has UDP port 8: leave one of the two None"));
        let zero = peer(Some(0)).encapsulation(None, true).unwrap_err();
        assert!(zero.to_string().ends_with("UDP port 0 of the peer; the registered one is 9899"));
        let raw = peer(None).encapsulation(Some(7), false).unwrap_err();
        assert!(raw.to_string().contains("raw IP"));
    }
}
