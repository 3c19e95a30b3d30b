//! Carriers move whole SCTP packets between hosts; they know nothing of what is inside.
//!
//! There are two kinds: [`UdpCarrier`], UDP encapsulation (RFC 6951), and `RawCarrier`, SCTP directly
//! on IP (Linux only). Each is one socket; a [`Carrier`] has one for each local address, all of one
//! kind. All take and give the same types, [`Incoming`] and [`Outgoing`], in batches: `poll_recv`
//! appends what has arrived, `queue` accepts packets to send and `poll_flush` hands them to the
//! system; `poll_icmp` tells what routers and peers said of packets sent (Linux only). On raw IP
//! `encapsulation` is empty.

#![deny(missing_docs)]

mod address;
mod batch;
mod carrier;
mod icmp;
#[cfg(target_os = "linux")]
mod raw;
mod receive;
mod shard;
#[cfg(target_os = "linux")]
mod sys;
mod udp;

use std::net::IpAddr;

use bytes::Bytes;
use quinn_udp::{EcnCodepoint, RecvMeta};

pub use carrier::Carrier;
pub use icmp::{IcmpKind, IcmpMessage};
#[cfg(target_os = "linux")]
pub use raw::{RAW_MARK, RawCarrier};
pub use shard::Shard;
pub use udp::UdpCarrier;

/// The UDP port registered for SCTP tunnelled over UDP (RFC 6951 §5.1).
pub const DEFAULT_UDP_PORT: u16 = 9899;

/// Settings of a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SocketOptions {
    /// Bytes to ask for as the system's receive buffer. Default 4 MiB. Best effort: the system
    /// may cap it (`net.core.rmem_max` on Linux). A buffer smaller than the peer's window loses
    /// packets whenever this process is not scheduled in time.
    pub receive_buffer: usize,
    /// Bytes to ask for as the system's send buffer. Default 4 MiB, best effort.
    pub send_buffer: usize,
    /// Share the local addresses with other carriers. Default none.
    pub shard: Option<Shard>,
}

impl Default for SocketOptions {
    fn default() -> Self {
        SocketOptions { receive_buffer: 4 << 20, send_buffer: 4 << 20, shard: None }
    }
}

//= RFC 6951 5.8-1
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
    /// IP may fragment the packet, for what it carries was made for a larger path MTU
    /// (RFC 9260 §6.9), or that is below 512. Otherwise it leaves with DF set. Has no effect but on Linux.
    pub fragment: bool,
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
    pub recv_failed: u64,
    /// ICMP messages handed on, and packets that this host itself found too large.
    pub icmp_received: u64,
    /// Datagrams dropped here: empty, or from UDP port 0, which cannot be answered.
    pub recv_invalid: u64,
}

impl CarrierStats {
    /// Adds those of another socket.
    fn add(&mut self, other: &CarrierStats) {
        self.datagrams_sent += other.datagrams_sent;
        self.bytes_sent += other.bytes_sent;
        self.send_calls += other.send_calls;
        self.send_blocked += other.send_blocked;
        self.send_too_large += other.send_too_large;
        self.send_failed += other.send_failed;
        self.datagrams_received += other.datagrams_received;
        self.bytes_received += other.bytes_received;
        self.recv_calls += other.recv_calls;
        self.recv_failed += other.recv_failed;
        self.icmp_received += other.icmp_received;
        self.recv_invalid += other.recv_invalid;
    }
}

/// The ECN field of a received datagram.
fn ecn_of(meta: &RecvMeta) -> Ecn {
    match meta.ecn {
        None => Ecn::NotEct,
        Some(EcnCodepoint::Ect0) => Ecn::Ect0,
        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
        Some(EcnCodepoint::Ce) => Ecn::Ce,
    }
}

/// Whether a failed call may have told of an earlier packet's ICMP message instead of its own.
#[cfg(target_os = "linux")]
fn may_be_icmp(code: i32) -> bool {
    use nix::libc::{EAGAIN, EINVAL, ENOBUFS, EPERM};
    ![EAGAIN, EINVAL, ENOBUFS, EPERM].contains(&code)
}
