//! Datagrams with a DSCP, which `quinn-udp` cannot send, and packets with a flow label.

use std::io::{self, IoSlice};
use std::net::{IpAddr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

use nix::libc;
use nix::sys::socket::{ControlMessage, MsgFlags, SockaddrStorage, sendmsg};
use quinn_udp::Transmit;
use tresse_wire::IpHeaders;

use crate::batch::Target;

/// Sends the datagrams of one batch with the DSCP of its target, as `quinn-udp` sends others: with the ECN field, segmented by
/// the system if there are several, and from the source that is asked for.
///
/// # Errors
/// Those of the system; it may not be able to segment.
pub(crate) fn send(io: &UdpSocket, transmit: &Transmit<'_>, target: &Target) -> io::Result<()> {
    let class = target.labels.class(target.ecn);
    let wide = i32::from(class);
    let (v4, v6) = packet_info(target.source, 0);
    let segment = transmit.segment_size.map(|len| len as u16);
    // A socket for both families sends to IPv4-mapped addresses with what belongs to IPv4.
    let mut control = vec![match transmit.destination.ip().to_canonical() {
        IpAddr::V4(_) => ControlMessage::Ipv4Tos(&class),
        IpAddr::V6(_) => ControlMessage::Ipv6TClass(&wide),
    }];
    control.extend(segment.as_ref().map(ControlMessage::UdpGsoSegments));
    control.extend(target.source.map(|source| match source {
        IpAddr::V4(_) => ControlMessage::Ipv4PacketInfo(&v4),
        IpAddr::V6(_) => ControlMessage::Ipv6PacketInfo(&v6),
    }));
    let to = SockaddrStorage::from(transmit.destination);
    let iov = [IoSlice::new(transmit.contents)];
    sendmsg(io.as_raw_fd(), &iov, &control, MsgFlags::empty(), Some(&to))?;
    Ok(())
}

/// Packet information that asks for a source address, and for an interface for that of IPv6; the unspecified
/// address and 0 leave it to the system.
pub(crate) fn packet_info(
    source: Option<IpAddr>,
    interface: u32,
) -> (libc::in_pktinfo, libc::in6_pktinfo) {
    let v4 = match source {
        Some(IpAddr::V4(v4)) => v4.octets(),
        _ => [0; 4],
    };
    let v6 = match source {
        Some(IpAddr::V6(v6)) => v6.octets(),
        _ => [0; 16],
    };
    (
        libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: libc::in_addr { s_addr: u32::from_ne_bytes(v4) },
            ipi_addr: libc::in_addr { s_addr: 0 },
        },
        libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: v6 }, ipi6_ifindex: interface },
    )
}

/// Bytes of a header of IPv6.
pub(crate) const HEADER: usize = 40;

/// The header of a packet with a flow label, which a kernel takes from nobody who has not leased the label, unless the header
/// is there already: `None` if the system chooses the source, or may fragment the packet, or there is no label.
pub(crate) fn labelled_header(target: &Target, len: usize) -> Option<[u8; HEADER]> {
    let Some(IpAddr::V6(from)) = target.source.filter(|from| !from.is_unspecified()) else {
        return None;
    };
    if target.labels.flow.number() == 0 || target.fragments.are_allowed() {
        return None;
    }
    header(target, from, IpHeaders::SCTP, u16::try_from(len).ok()?)
}

/// The header of an IPv6 packet with `len` bytes behind it; `None` if it goes to an address of IPv4.
pub(crate) fn header(target: &Target, from: Ipv6Addr, next: u8, len: u16) -> Option<[u8; HEADER]> {
    const HOP_LIMIT: u8 = 64;
    let IpAddr::V6(to) = target.destination.ip() else { return None };
    let mut header = [0; HEADER];
    header[..4].copy_from_slice(&target.labels.first_word(target.ecn));
    header[4..6].copy_from_slice(&len.to_be_bytes());
    header[6..8].copy_from_slice(&[next, HOP_LIMIT]);
    header[8..24].copy_from_slice(&from.octets());
    header[24..].copy_from_slice(&to.octets());
    Some(header)
}
