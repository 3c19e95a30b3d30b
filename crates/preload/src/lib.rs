//! The library that `tresse run` preloads: the functions of the C library that have to do with
//! sockets. For SCTP sockets they go to the engine, for all other files to the C library.
//!
//! What is not here needs nothing: an SCTP socket is a Unix socket to the kernel, so `poll`,
//! `select`, `epoll`, `fcntl(F_SETFL)` and the like do what they should.
//!
//! Every function here has the contract of the C function of its name, which is all there is to
//! say about its safety.

mod descriptors;
mod next;
mod transfer;

use std::ffi::{c_int, c_void};

use libc::{sockaddr, socklen_t};
use next::{give_int, next};
use tresse_client as client;

const IPPROTO_SCTP: c_int = 132;

/// Whether `socket` with these arguments asks for SCTP. As in the kernel, a sequenced-packet socket
/// of the Internet families is SCTP also without being named.
fn is_sctp(domain: c_int, kind: c_int, protocol: c_int) -> bool {
    let style = kind & !(libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC);
    let internet = matches!(domain, libc::AF_INET | libc::AF_INET6);
    let asked =
        protocol == IPPROTO_SCTP && matches!(style, libc::SOCK_STREAM | libc::SOCK_SEQPACKET);
    internet && (asked || (protocol == 0 && style == libc::SOCK_SEQPACKET))
}

/// `socket`.
#[unsafe(no_mangle)]
pub extern "C" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if is_sctp(domain, kind, protocol) && client::engine_path().is_some() {
        return give_int(client::socket(domain, kind));
    }
    let next = next!(fn socket(c_int, c_int, c_int) -> c_int);
    // SAFETY: the program's own call.
    let fd = unsafe { next(domain, kind, protocol) };
    client::forget(fd);
    fd
}

/// `bind`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(
            client::read_name(address.cast(), len)
                .and_then(|address| client::bind(&sock, &[address], 0))
                .map(|()| 0),
        ),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn bind(c_int, *const sockaddr, socklen_t) -> c_int)(fd, address, len)
        },
    }
}

/// `connect`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    let Some(sock) = client::lookup(fd) else {
        let next = next!(fn connect(c_int, *const sockaddr, socklen_t) -> c_int);
        // SAFETY: the program's own call.
        return unsafe { next(fd, address, len) };
    };
    let result = client::read_name(address.cast(), len)
        .and_then(|address| client::connect(fd, &sock, &[address]))
        .and_then(|(_, done)| if done { Ok(0) } else { Err(libc::EINPROGRESS) });
    give_int(result)
}

/// `listen`.
#[unsafe(no_mangle)]
pub extern "C" fn listen(fd: c_int, backlog: c_int) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::listen(fd, &sock, backlog).map(|()| 0)),
        // SAFETY: the program's own call.
        None => unsafe { next!(fn listen(c_int, c_int) -> c_int)(fd, backlog) },
    }
}

/// `accept`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    match client::lookup(fd) {
        Some(sock) => accept_ours(fd, &sock, (address, len), 0),
        None => {
            let next = next!(fn accept(c_int, *mut sockaddr, *mut socklen_t) -> c_int);
            // SAFETY: the program's own call.
            let new = unsafe { next(fd, address, len) };
            client::forget(new);
            new
        }
    }
}

/// `accept4`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    match client::lookup(fd) {
        Some(sock) => accept_ours(fd, &sock, (address, len), flags),
        None => {
            let next = next!(fn accept4(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
            // SAFETY: the program's own call.
            let new = unsafe { next(fd, address, len, flags) };
            client::forget(new);
            new
        }
    }
}

fn accept_ours(
    fd: c_int,
    sock: &client::Sock,
    (address, len): (*mut sockaddr, *mut socklen_t),
    flags: c_int,
) -> c_int {
    let result = client::accept(fd, sock, flags).and_then(|(new, peer)| {
        if let Some(peer) = peer.filter(|_| !address.is_null())
            && let Err(error) = client::write_name(peer, address.cast(), len)
        {
            // SAFETY: nobody else knows it yet.
            unsafe { descriptors::close(new) };
            return Err(error);
        }
        Ok(new)
    });
    give_int(result)
}

/// `shutdown`.
#[unsafe(no_mangle)]
pub extern "C" fn shutdown(fd: c_int, how: c_int) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::shutdown(&sock, how).map(|()| 0)),
        // SAFETY: the program's own call.
        None => unsafe { next!(fn shutdown(c_int, c_int) -> c_int)(fd, how) },
    }
}

fn name(sock: &client::Sock, peer: bool, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
    let result = client::name_of(sock, peer)
        .and_then(|name| client::write_name(name, address.cast(), len))
        .map(|()| 0);
    give_int(result)
}

/// `getsockname`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    match client::lookup(fd) {
        Some(sock) => name(&sock, false, address, len),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn getsockname(c_int, *mut sockaddr, *mut socklen_t) -> c_int)(fd, address, len)
        },
    }
}

/// `getpeername`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    match client::lookup(fd) {
        Some(sock) => name(&sock, true, address, len),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn getpeername(c_int, *mut sockaddr, *mut socklen_t) -> c_int)(fd, address, len)
        },
    }
}

/// Socket options that are those of the Unix socket: timeouts of the system calls on it.
fn is_native(level: c_int, option: c_int) -> bool {
    level == libc::SOL_SOCKET && matches!(option, libc::SO_RCVTIMEO | libc::SO_SNDTIMEO | 66 | 67)
}

/// `getsockopt`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    match client::lookup(fd).filter(|_| !is_native(level, option)) {
        Some(sock) => give_int(client::get_option(fd, &sock, (level, option), (value, len))),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn getsockopt(c_int, c_int, c_int, *mut c_void, *mut socklen_t) -> c_int)(
                fd, level, option, value, len,
            )
        },
    }
}

/// `setsockopt`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    match client::lookup(fd).filter(|_| !is_native(level, option)) {
        Some(sock) => give_int(client::set_option(fd, &sock, (level, option), (value, len))),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn setsockopt(c_int, c_int, c_int, *const c_void, socklen_t) -> c_int)(
                fd, level, option, value, len,
            )
        },
    }
}
