//! Carriers move whole SCTP packets between hosts; they know nothing of what is inside.
//!
//! There are two kinds: [`UdpCarrier`], UDP encapsulation (RFC 6951), and `RawCarrier`, SCTP directly
//! on IP (Linux only). Each is one socket; [`Carriers`] are one for each local address, all of one
//! kind. All take and give the same types, [`IncomingPacket`] and [`Outgoing`], in batches: `poll_recv`
//! appends what has arrived, `queue` accepts packets to send and `poll_flush` hands them to the
//! system; `poll_icmp` tells what routers and peers said of packets sent (Linux only). On raw IP
//! `encapsulation` is empty.
//!
//! A [`Reactor`] tells when a socket is ready: `Tokio`, with the cargo feature of that name, or any other one. Whatever
//! else moves packets is a [`PacketSocket`].

#![deny(missing_docs)]

mod address;
mod alike;
mod batch;
mod carriers;
#[cfg(target_os = "linux")]
mod fragments;
mod icmp;
#[cfg(target_os = "linux")]
mod labelled;
#[cfg(feature = "tokio")]
mod on_tokio;
#[cfg(target_os = "linux")]
mod raw;
mod reactor;
mod receive;
mod shard;
mod socket;
#[cfg(target_os = "linux")]
mod sys;
mod udp;

use std::net::IpAddr;

use bytes::Bytes;
use quinn_udp::{EcnCodepoint, RecvMeta};

pub use carriers::Carriers;
pub use icmp::IcmpMessage;
#[cfg(feature = "tokio")]
pub use on_tokio::Tokio;
#[cfg(target_os = "linux")]
pub use raw::RawCarrier;
pub use reactor::{Interest, Reactor, Readiness};
pub use shard::Shard;
pub use socket::PacketSocket;
pub use tresse_wire::{Dscp, Ecn, FlowLabel, IcmpKind, IpFragments, IpLabels};
pub use udp::UdpCarrier;

/// The UDP port registered for SCTP tunnelled over UDP (RFC 6951 §5.1).
pub const DEFAULT_UDP_PORT: u16 = 9899;

/// The mark of every packet that a raw carrier sends, for packet filters: it tells them from those
/// of a kernel that has SCTP itself. `docs/carriers.md` has the rule.
#[cfg(target_os = "linux")]
pub const RAW_MARK: u32 = 0x5453_4354;

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

/// A packet that arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncomingPacket {
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
    /// The DSCP and the flow label to send with. Both have no effect but on Linux; the flow label none in UDP datagrams,
    /// where the source is left to the system, and where the system may fragment.
    pub labels: IpLabels,
    /// Whether IP may fragment the packet: it is needed for what was made for a larger path MTU (RFC 9260 §6.9), and allowed
    /// where that is below 512, or nobody is to find it out. Otherwise it leaves with DF set. Has no effect but on Linux. Over
    /// IPv4 routers fragment, over IPv6 only the sender may: on raw IP what needs it leaves in fragments of 1280 bytes, all else
    /// in those that the system makes for what it knows of the path.
    /// A [`PacketSocket`] that cannot have it fragmented loses it each time: its associations need an MTU of what always gets
    /// through.
    pub fragments: IpFragments,
}

tresse_counters::counters! {
    /// What a carrier did. Counters only grow.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    #[non_exhaustive]
    pub struct CarrierStats;
    counters {
        datagrams_sent: "Datagrams that the system accepted";
        datagrams_received: "Datagrams received";
        bytes_sent: "Bytes of SCTP packets in datagrams that were sent";
        bytes_received: "Bytes of SCTP packets in datagrams that were received";
        /// Fewer than datagrams when segmentation is offloaded.
        send_calls: "System calls that sent datagrams";
        recv_calls: "System calls that received datagrams";
        /// Nothing is lost by it.
        send_blocked: "Times that the system's send buffer was full";
        /// `EMSGSIZE`.
        send_too_large: "Datagrams dropped: larger than the route's MTU";
        /// For any other reason: unreachable network, refused by ICMP, filtered, no memory. SCTP sends what was in
        /// them again.
        send_failed: "Datagrams dropped: refused by the system";
        /// Such as a refusal by ICMP.
        recv_failed: "Errors reported instead of a datagram";
        /// From UDP port 0 they could not be answered.
        recv_invalid: "Datagrams dropped: empty, or from UDP port 0";
        /// And packets that this host itself found too large.
        icmp_received: "ICMP messages handed on";
    }
    others {}
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
