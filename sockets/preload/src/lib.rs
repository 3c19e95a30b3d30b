//! The library that `tresse run` preloads: the functions of the C library that have to do with
//! sockets. For SCTP sockets they go to the engine, for all other files to the C library.
//!
//! What is not here needs nothing: an SCTP socket is a Unix socket to the kernel, so `select`,
//! `fcntl(F_SETFL)` and the like do what they should; `poll` and `epoll` nearly so.
//!
//! Every function here has the contract of the C function of its name, which is all there is to
//! say about its safety.

mod aliases;
mod descriptors;
mod files;
mod next;
mod privileges;
mod processes;
mod readiness;
mod standard;
mod transfer;
mod wait;

use std::ffi::{c_int, c_void};

use libc::{sockaddr, socklen_t};
use next::{interpose, next};
use tresse_client as client;
use tresse_client::give_int;
use wait::receive;

/// `socket`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int {
    if client::is_sctp(domain, kind, protocol) && client::engine_path().is_some() {
        return give_int(client::socket(domain, kind));
    }
    let next = next!(fn socket(c_int, c_int, c_int) -> c_int);
    // SAFETY: the program's own call.
    let fd = unsafe { next(domain, kind, protocol) };
    client::forget(fd);
    fd
}

interpose! {
    /// `bind`.
    fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::calls::bind(&sock, address, len));
        }
    }

    /// `connect`.
    fn connect(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::calls::connect(fd, &sock, address, len));
        }
    }

    /// `listen`.
    fn listen(fd: c_int, backlog: c_int) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::listen(fd, &sock, backlog).map(|()| 0));
        }
    }
}

/// `accept`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    receive!(fd, 0, sock, now => {
        give_int(client::calls::accept(fd, &sock, (address, len), 0, now))
    });
    let next = next!(fn accept(c_int, *mut sockaddr, *mut socklen_t) -> c_int);
    // SAFETY: the program's own call.
    let new = unsafe { next(fd, address, len) };
    client::forget(new);
    new
}

/// `accept4`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    receive!(fd, 0, sock, now => {
        give_int(client::calls::accept(fd, &sock, (address, len), flags, now))
    });
    let next = next!(fn accept4(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
    // SAFETY: the program's own call.
    let new = unsafe { next(fd, address, len, flags) };
    client::forget(new);
    new
}

interpose! {
    /// `shutdown`.
    fn shutdown(fd: c_int, how: c_int) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::shutdown(&sock, how).map(|()| 0));
        }
    }

    /// `getsockname`.
    fn getsockname(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::calls::name(&sock, false, address, len));
        }
    }

    /// `getpeername`.
    fn getpeername(fd: c_int, address: *mut sockaddr, len: *mut socklen_t) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::calls::name(&sock, true, address, len));
        }
    }

    /// `getsockopt`.
    fn getsockopt(
        fd: c_int,
        level: c_int,
        option: c_int,
        value: *mut c_void,
        len: *mut socklen_t,
    ) -> c_int {
        let ours = !client::is_native_option(level, option);
        if let Some(sock) = client::lookup(fd).filter(|_| ours) {
            return give_int(client::get_option(fd, &sock, (level, option), (value, len)));
        }
    }

    /// `setsockopt`.
    fn setsockopt(
        fd: c_int,
        level: c_int,
        option: c_int,
        value: *const c_void,
        len: socklen_t,
    ) -> c_int {
        let ours = !client::is_native_option(level, option);
        if let Some(sock) = client::lookup(fd).filter(|_| ours) {
            return give_int(client::set_option(fd, &sock, (level, option), (value, len)));
        }
    }
}
