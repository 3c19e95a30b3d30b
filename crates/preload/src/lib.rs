//! The library that `tresse run` preloads: the functions of the C library that have to do with
//! sockets. For SCTP sockets they go to the engine, for all other files to the C library.
//!
//! What is not here needs nothing: an SCTP socket is a Unix socket to the kernel, so `poll`,
//! `select`, `epoll`, `fcntl(F_SETFL)` and the like do what they should.
//!
//! Every function here has the contract of the C function of its name, which is all there is to
//! say about its safety.

mod aliases;
mod descriptors;
mod files;
mod next;
mod processes;
mod standard;
mod transfer;
mod wait;

use std::ffi::{c_int, c_void};

use libc::{sockaddr, socklen_t};
use next::next;
use tresse_client as client;
use tresse_client::give_int;
use wait::wait;

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

/// `bind`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn bind(fd: c_int, address: *const sockaddr, len: socklen_t) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::calls::bind(&sock, address, len)),
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
pub unsafe extern "C-unwind" fn connect(
    fd: c_int,
    address: *const sockaddr,
    len: socklen_t,
) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::calls::connect(fd, &sock, address, len)),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn connect(c_int, *const sockaddr, socklen_t) -> c_int)(fd, address, len)
        },
    }
}

/// `listen`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn listen(fd: c_int, backlog: c_int) -> c_int {
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
pub unsafe extern "C-unwind" fn accept(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    if client::is_listening(fd) && !wait(fd) {
        return -1;
    }
    match client::lookup(fd) {
        Some(sock) => give_int(client::calls::accept(fd, &sock, (address, len), 0)),
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
pub unsafe extern "C-unwind" fn accept4(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
    flags: c_int,
) -> c_int {
    // Whoever asks for what there is not hears it at once.
    if flags & !client::TYPE_FLAGS == 0 && client::is_listening(fd) && !wait(fd) {
        return -1;
    }
    match client::lookup(fd) {
        Some(sock) => give_int(client::calls::accept(fd, &sock, (address, len), flags)),
        None => {
            let next = next!(fn accept4(c_int, *mut sockaddr, *mut socklen_t, c_int) -> c_int);
            // SAFETY: the program's own call.
            let new = unsafe { next(fd, address, len, flags) };
            client::forget(new);
            new
        }
    }
}

/// `shutdown`.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn shutdown(fd: c_int, how: c_int) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::shutdown(&sock, how).map(|()| 0)),
        // SAFETY: the program's own call.
        None => unsafe { next!(fn shutdown(c_int, c_int) -> c_int)(fd, how) },
    }
}

/// `getsockname`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockname(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::calls::name(&sock, false, address, len)),
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
pub unsafe extern "C-unwind" fn getpeername(
    fd: c_int,
    address: *mut sockaddr,
    len: *mut socklen_t,
) -> c_int {
    match client::lookup(fd) {
        Some(sock) => give_int(client::calls::name(&sock, true, address, len)),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn getpeername(c_int, *mut sockaddr, *mut socklen_t) -> c_int)(fd, address, len)
        },
    }
}

/// `getsockopt`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn getsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *mut c_void,
    len: *mut socklen_t,
) -> c_int {
    match client::lookup(fd).filter(|_| !client::is_native_option(level, option)) {
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
pub unsafe extern "C-unwind" fn setsockopt(
    fd: c_int,
    level: c_int,
    option: c_int,
    value: *const c_void,
    len: socklen_t,
) -> c_int {
    match client::lookup(fd).filter(|_| !client::is_native_option(level, option)) {
        Some(sock) => give_int(client::set_option(fd, &sock, (level, option), (value, len))),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn setsockopt(c_int, c_int, c_int, *const c_void, socklen_t) -> c_int)(
                fd, level, option, value, len,
            )
        },
    }
}
