//! What comes from a carrier and goes to one: datagrams with their addresses, and ICMP messages.

use std::net::IpAddr;

use bytes::Bytes;
pub use tresse_wire::{Dscp, Ecn, FlowLabel, IcmpKind, IpFragments, IpLabels};

use crate::ids::PathId;

/// A received SCTP packet with its addresses.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// The peer's IP address.
    pub source: IpAddr,
    /// Our IP address that it was sent to.
    pub destination: IpAddr,
    /// UDP source port if it came encapsulated (RFC 6951), `None` on raw IP.
    pub encapsulation: Option<u16>,
    /// The ECN field it arrived with; [`NotEct`](Ecn::NotEct) if that is not known.
    pub ecn: Ecn,
    /// The SCTP packet, from the common header on.
    pub packet: Bytes,
}

/// Where the packet that [`Endpoint::poll_transmit`](crate::Endpoint::poll_transmit) wrote goes.
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
    /// Whether IP may fragment the packet: it is needed where the path MTU has shrunk since its contents were made (RFC 9260
    /// §6.9), and allowed where it is below 512, or nobody is to find it out
    /// ([`MtuDiscovery::Off`](crate::MtuDiscovery::Off)). All others leave with DF set (§7.3).
    pub fragments: IpFragments,
    /// The ECN field to send it with: ECT(0) for new data, if [`Extensions::ecn`](crate::Extensions::ecn) was agreed on.
    pub ecn: Ecn,
    /// The DSCP and the flow label to send it with: those of its path ([`PathSettings::labels`](crate::PathSettings::labels)), of
    /// an INIT ACK those of its port, of other packets without an association none.
    pub labels: IpLabels,
}

/// An ICMP or ICMPv6 message, reduced to what RFC 9260 §10 needs. Carriers leave out what ICMP1 to
/// ICMP4 let them ignore.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Icmp {
    /// Where the packet went.
    pub destination: IpAddr,
    /// What is wrong.
    pub kind: IcmpKind,
    /// The beginning of the SCTP packet, as far as it was quoted; `None` when the message comes from
    /// this host and needs no proof.
    pub quoted: Option<Bytes>,
}

/// Bytes of the headers of IP and UDP before a packet.
pub(crate) fn headers(address: IpAddr, encapsulation: Option<u16>) -> usize {
    let ip = if address.is_ipv4() { 20 } else { 40 };
    ip + if encapsulation.is_some() { 8 } else { 0 }
}
