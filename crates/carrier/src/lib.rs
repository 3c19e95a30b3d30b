//! Carriers move whole SCTP packets between hosts; they know nothing of what is inside.
//!
//! There is one now: [`UdpCarrier`], UDP encapsulation as of RFC 6951. Every carrier takes and
//! gives the same two types, [`Incoming`] and [`Outgoing`], in batches: `poll_recv` appends what
//! has arrived, `queue` accepts packets to send and `poll_flush` hands them to the system. A
//! carrier on raw IP differs only in leaving `encapsulation` empty.

#![forbid(unsafe_code)]
#![deny(missing_docs)]

mod address;
mod batch;
mod udp;

use std::net::IpAddr;

use bytes::Bytes;

pub use udp::{UdpCarrier, UdpOptions};

/// The UDP port registered for SCTP tunnelled over UDP (RFC 6951 §5.1).
pub const DEFAULT_UDP_PORT: u16 = 9899;

/// The ECN field of an IP packet (RFC 3168 §5). RFC 6951 §5.8: the ECN bits MUST NOT be changed
/// during sending and receiving, so a carrier passes them on in both directions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// 00: the sender does not use ECN. The default.
    #[default]
    NotEct,
    /// 01: ECT(1), ECN-capable transport.
    Ect1,
    /// 10: ECT(0), ECN-capable transport.
    Ect0,
    /// 11: congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits as they stand in the IP header.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Ecn::NotEct => 0b00,
            Ecn::Ect1 => 0b01,
            Ecn::Ect0 => 0b10,
            Ecn::Ce => 0b11,
        }
    }
}

/// A packet that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Incoming {
    /// The peer's IP address.
    pub source: IpAddr,
    /// Our IP address that it was sent to. The unspecified address when the system does not tell.
    pub destination: IpAddr,
    /// The UDP source port if it came encapsulated: the port to answer to (RFC 6951 §5.4).
    pub encapsulation: Option<u16>,
    /// The ECN field it arrived with.
    pub ecn: Ecn,
    /// The SCTP packet, common header first. It owns its memory: keeping it keeps nothing else
    /// of the batch alive.
    pub packet: Bytes,
}

/// Where a packet goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The peer's IP address.
    pub destination: IpAddr,
    /// The source address to use, `None` to leave it to the system. Ignored by a carrier that is
    /// bound to one address.
    pub source: Option<IpAddr>,
    /// The UDP destination port (RFC 6951 §5.3); a UDP carrier uses 9899 if there is none.
    pub encapsulation: Option<u16>,
    /// The ECN field to send with.
    pub ecn: Ecn,
}

/// What a carrier did. Counters only grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CarrierStats {
    /// Datagrams that the system accepted.
    pub datagrams_sent: u64,
    /// Bytes of SCTP packets in them.
    pub bytes_sent: u64,
    /// System calls that sent them: fewer than datagrams when segmentation is offloaded.
    pub send_calls: u64,
    /// Times that the system's send buffer was full; nothing is lost by it.
    pub send_blocked: u64,
    /// Datagrams lost because they exceed the MTU of the route (`EMSGSIZE`).
    pub send_too_large: u64,
    /// Datagrams lost for any other reason: unreachable network, refused by ICMP, filtered,
    /// no memory. SCTP sends what was in them again.
    pub send_failed: u64,
    /// Datagrams received.
    pub datagrams_received: u64,
    /// Bytes of SCTP packets in them.
    pub bytes_received: u64,
    /// System calls that received them.
    pub recv_calls: u64,
    /// Errors that the system reported instead of a datagram, such as a refusal by ICMP.
    /// RFC 6951 §5.5 lets us ignore ICMP that cannot be tied to an association.
    pub recv_failed: u64,
    /// Datagrams dropped here: empty, or from UDP port 0, which cannot be answered.
    pub recv_invalid: u64,
}
