//! libtresse: the sockets API of RFC 6458 for C, under names that begin with `tresse_`. The header
//! `tresse/sctp.h`, which cbindgen makes of this crate, gives programs the standard names.
//!
//! Functions that the C library also has do what that does for every descriptor that is no SCTP
//! socket. Each has the contract of the C function of its name, which is all there is to say about
//! its safety; a pointer that is no memory of the program is the error `EFAULT`.
//!
//! What is global: which descriptors are SCTP sockets (`tresse_client`), the engine of the process
//! and its thread, once [`engine::tresse_start`] was called, and the function that ends it at exit.

#[macro_use]
mod dispatch;
mod constants;
mod engine;
mod files;
mod fork;
mod readiness;
mod sctp;
mod transfer;
mod types;

use std::ffi::{c_int, c_ulong, c_void};

use libc::{sockaddr, socklen_t};
use tresse_client as client;
use tresse_client::{calls, give_int};

pub use constants::*;
pub use engine::*;
pub use files::*;
pub use readiness::*;
pub use sctp::*;
pub use transfer::*;
pub use types::*;

/// `socket`. An SCTP socket (protocol IPPROTO_SCTP, or SOCK_SEQPACKET of AF_INET or AF_INET6)
/// needs an engine: see `tresse_start`. Without one the error is EPROTONOSUPPORT.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_socket(domain: c_int, r#type: c_int, protocol: c_int) -> c_int {
    if client::is_sctp(domain, r#type, protocol) {
        return give_int(client::socket(domain, r#type));
    }
    // SAFETY: the program's own call.
    unsafe { libc::socket(domain, r#type, protocol) }
}

/// `close`. Waits as SO_LINGER says.
#[unsafe(no_mangle)]
pub extern "C" fn tresse_close(fd: c_int) -> c_int {
    if client::look_up_anew(fd).is_some() {
        client::before_close(fd);
    }
    // SAFETY: the program's own call.
    unsafe { libc::close(fd) }
}

/// `bind`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    on_socket!(fd, |sock| give_int(calls::bind(&sock, address, len)), libc::bind(fd, address, len))
}

/// `connect`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_connect(
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(calls::connect(fd, &sock, address, len)),
        libc::connect(fd, address, len)
    )
}

/// `listen`. On a one-to-many socket a backlog of 0 ends listening (RFC 6458 §3.1.3).
#[unsafe(no_mangle)]
pub extern "C" fn tresse_listen(fd: c_int, backlog: c_int) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(client::listen(fd, &sock, backlog).map(|()| 0)),
        libc::listen(fd, backlog)
    )
}

/// `accept`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_accept(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(calls::accept(fd, &sock, (address, len), 0, 0)),
        libc::accept(fd, address, len)
    )
}

/// `accept4`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(calls::accept(fd, &sock, (address, len), flags, 0)),
        libc::accept4(fd, address, len, flags)
    )
}

/// `shutdown` (RFC 6458 §4.1.7).
#[unsafe(no_mangle)]
pub extern "C" fn tresse_shutdown(fd: c_int, how: c_int) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(client::shutdown(&sock, how).map(|()| 0)),
        libc::shutdown(fd, how)
    )
}

/// `getsockname`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_getsockname(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(calls::name(&sock, false, address, len)),
        libc::getsockname(fd, address, len)
    )
}

/// `getpeername`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_getpeername(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(calls::name(&sock, true, address, len)),
        libc::getpeername(fd, address, len)
    )
}

/// `getsockopt`, with the options of RFC 6458 §8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    match client::look_up_anew(fd).filter(|_| !client::is_native_option(level, option)) {
        Some(sock) => give_int(client::get_option(fd, &sock, (level, option), (value, len))),
        // SAFETY: the program's own call.
        None => unsafe { libc::getsockopt(fd, level, option, value, len) },
    }
}

/// `setsockopt`, with the options of RFC 6458 §8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    match client::look_up_anew(fd).filter(|_| !client::is_native_option(level, option)) {
        Some(sock) => give_int(client::set_option(fd, &sock, (level, option), (value, len))),
        // SAFETY: the program's own call.
        None => unsafe { libc::setsockopt(fd, level, option, value, len) },
    }
}

/// `ioctl`. FIONREAD tells how much of the next message can be read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_ioctl(fd: c_int, request: c_ulong, argument: *mut c_void) -> c_int {
    match client::look_up_anew(fd).filter(|_| request == libc::FIONREAD) {
        Some(sock) => give_int(
            client::readable_bytes(fd, &sock)
                .and_then(|n| client::write_memory(argument, &(n as c_int).to_ne_bytes()))
                .map(|()| 0),
        ),
        // SAFETY: the program's own call.
        None => unsafe { libc::ioctl(fd, request, argument) },
    }
}
