//! The functions of the C library that make and name sockets, with the arguments that C gives.

use std::ffi::{c_int, c_void};
use std::os::fd::{FromRawFd, OwnedFd};

use libc::{FILE, sockaddr, socklen_t};
use tresse_socket_protocol::abi::{Fields, SCTP};

use crate::memory::{read_memory, write_memory};
use crate::names::{self, read_name, write_name};
use crate::receive::readable_bytes;
use crate::sock::Sock;
use crate::table::before_close;
use crate::{Fallible, give, give_int};

/// Whether `socket` with these arguments asks for SCTP. As in the kernel, a sequenced-packet socket
/// of the Internet families is SCTP also without being named.
#[must_use]
pub fn is_sctp(domain: c_int, kind: c_int, protocol: c_int) -> bool {
    let style = kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    let internet = matches!(domain, libc::AF_INET | libc::AF_INET6);
    let asked = protocol == SCTP && matches!(style, libc::SOCK_STREAM | libc::SOCK_SEQPACKET);
    internet && (asked || (protocol == 0 && style == libc::SOCK_SEQPACKET))
}

/// `bind`.
///
/// # Errors
/// As `bind`.
pub fn bind(sock: &Sock, address: *const sockaddr, len: socklen_t) -> Fallible<c_int> {
    names::bind(sock, &[read_name(address.cast(), len)?], 0).map(|()| 0)
}

/// `connect`.
///
/// # Errors
/// As `connect`.
pub fn connect(
    fd: c_int,
    sock: &Sock,
    address: *const sockaddr,
    len: socklen_t,
) -> Fallible<c_int> {
    if len >= 2 && Fields(&read_memory(address.cast(), 2)?).u16(0) == libc::AF_UNSPEC as u16 {
        // There is no such thing as a dissolved association.
        return Err(libc::EOPNOTSUPP);
    }
    let (_, done) = names::connect(fd, sock, &[read_name(address.cast(), len)?])?;
    if done { Ok(0) } else { Err(libc::EINPROGRESS) }
}

/// `accept4`.
///
/// # Errors
/// As `accept4`; EAGAIN if nobody waits and MSG_DONTWAIT is in `now`.
pub fn accept(
    fd: c_int,
    sock: &Sock,
    (address, len): (*mut sockaddr, *mut socklen_t),
    flags: c_int,
    now: c_int,
) -> Fallible<c_int> {
    let (new, peer) = names::accept(fd, sock, flags, now)?;
    if let Some(peer) = peer.filter(|_| !address.is_null())
        && let Err(error) = write_name(peer, address.cast(), len)
    {
        before_close(new);
        // SAFETY: nobody else knows it yet.
        drop(unsafe { OwnedFd::from_raw_fd(new) });
        return Err(error);
    }
    Ok(new)
}

/// `getsockname`, or `getpeername`.
///
/// # Errors
/// As those.
pub fn name(
    sock: &Sock,
    peer: bool,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> Fallible<c_int> {
    write_name(names::name_of(sock, peer)?, address.cast(), len).map(|()| 0)
}

/// Socket options that are those of the Unix socket: timeouts of the system calls on it.
#[must_use]
pub fn is_native_option(level: c_int, option: c_int) -> bool {
    level == libc::SOL_SOCKET && matches!(option, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO | 66 | 67)
}

/// FIONREAD: how much of the next message can be read.
///
/// # Errors
/// EFAULT.
pub fn tell_readable(fd: c_int, sock: &Sock, argument: *mut c_void) -> Fallible<c_int> {
    let bytes = readable_bytes(fd, sock)?;
    write_memory(argument, &(bytes as c_int).to_ne_bytes()).map(|()| 0)
}

/// The result of a function that moves eight bytes; EINVAL if it moved others.
pub fn whole(moved: Fallible<usize>) -> c_int {
    give_int(moved.and_then(|bytes| if bytes == 8 { Ok(0) } else { Err(libc::EINVAL) }))
}

/// The result of a function that gives a stream; null for an error, with `errno`.
pub fn stream(opened: Fallible<*mut FILE>) -> *mut FILE {
    opened.unwrap_or_else(|error| {
        give(Err::<isize, _>(error));
        std::ptr::null_mut()
    })
}
