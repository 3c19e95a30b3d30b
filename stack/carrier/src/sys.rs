//! The few things that no well-kept crate does without `unsafe`.

use std::io;
#[cfg(feature = "tokio")]
use std::net::UdpSocket;
use std::os::fd::{AsFd, AsRawFd};
#[cfg(feature = "tokio")]
use std::sync::Arc;

use nix::libc;
#[cfg(feature = "tokio")]
use tokio::io::Interest;
#[cfg(feature = "tokio")]
use tokio::io::unix::AsyncFd;

/// Registers a descriptor with the current runtime.
///
/// # Errors
/// Those of the system.
///
/// # Panics
/// Outside of a tokio runtime with IO enabled.
#[cfg(feature = "tokio")]
#[allow(unsafe_code)]
pub(crate) fn register(
    socket: Arc<UdpSocket>,
    interest: Interest,
) -> io::Result<AsyncFd<Arc<UdpSocket>>> {
    // SAFETY: a socket is open and remains the same descriptor until it is dropped, and the
    // `AsyncFd` owns a share of it.
    Ok(unsafe { AsyncFd::register_with_interest(socket, interest) }?)
}

/// Lets IP fragment what the socket sends from now on, without DF (RFC 9260 §6.9), or forbids it.
///
/// # Errors
/// Those of the system.
pub(crate) fn allow_fragmentation(socket: &impl AsFd, ipv6: bool, allowed: bool) -> io::Result<()> {
    //= RFC 8899 4.5-1
    // What the system thinks of the path stops no packet (IP_PMTUDISC_PROBE).
    let discover = if allowed { libc::IP_PMTUDISC_DONT } else { libc::IP_PMTUDISC_PROBE };
    // Also for IPv6: sockets for UDP may send to IPv4-mapped addresses, those for raw IP refuse it.
    let v4 = set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, discover);
    if ipv6 {
        let discover = if allowed { libc::IPV6_PMTUDISC_DONT } else { libc::IPV6_PMTUDISC_PROBE };
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, discover)?;
        set(socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, i32::from(!allowed))
    } else {
        v4
    }
}

/// Has what an IPv6 socket sends from now on leave by that interface; 0 leaves it to the system.
///
/// # Errors
/// Those of the system.
pub(crate) fn leave_by(socket: &impl AsFd, interface: u32) -> io::Result<()> {
    let ipi6_addr = libc::in6_addr { s6_addr: [0; 16] };
    let info = libc::in6_pktinfo { ipi6_addr, ipi6_ifindex: interface };
    set(socket, libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info)
}

/// Says whether what a raw IPv6 socket sends from now on begins with its IP header.
///
/// # Errors
/// Those of the system.
pub(crate) fn headers_are_there(socket: &impl AsFd, there: bool) -> io::Result<()> {
    const IPV6_HDRINCL: i32 = 36;
    set(socket, libc::IPPROTO_IPV6, IPV6_HDRINCL, i32::from(there))
}

/// Has the system leave out when packets arrived: beside that, the length of segments and the destination, there is no
/// room for the ECN field of what was coalesced in the control buffer of `quinn-udp`.
///
/// # Errors
/// Those of the system.
pub(crate) fn without_arrival_times(socket: &impl AsFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 0)
}

#[allow(unsafe_code)]
fn set<T: Copy>(socket: &impl AsFd, level: i32, name: i32, value: T) -> io::Result<()> {
    // SAFETY: the descriptor is open, and the value outlives the call and has the length that is given.
    let result = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of_val(&value) as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
