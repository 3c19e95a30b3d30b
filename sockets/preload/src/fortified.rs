//! What a program compiled with `_FORTIFY_SOURCE` calls instead.

use std::ffi::{c_char, c_int, c_void};

use libc::{nfds_t, pollfd, sigset_t, size_t, sockaddr, socklen_t, ssize_t, timespec};
use tresse_client as client;
use tresse_client::give;

use crate::functions::{read, recv, recvfrom};
use crate::next::{interpose, next};

/// What `read` is in a program compiled with `_FORTIFY_SOURCE`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __read_chk(
    fd: c_int,
    base: *mut c_void,
    len: size_t,
    room: size_t,
) -> ssize_t {
    fortify(len, room);
    // SAFETY: the program's own call.
    unsafe { read(fd, base, len) }
}

/// What `recv` is in a program compiled with `_FORTIFY_SOURCE`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __recv_chk(
    fd: c_int,
    base: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
) -> ssize_t {
    fortify(len, room);
    // SAFETY: the program's own call.
    unsafe { recv(fd, base, len, flags) }
}

/// What `recvfrom` is in a program compiled with `_FORTIFY_SOURCE`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __recvfrom_chk(
    fd: c_int,
    base: *mut c_void,
    len: size_t,
    room: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    fortify(len, room);
    // SAFETY: the program's own call.
    unsafe { recvfrom(fd, base, len, flags, address, address_len) }
}

/// As the C library does when a buffer is smaller than the program says.
fn fortify(len: size_t, room: size_t) {
    if len > room {
        std::process::abort();
    }
}

/// What `_FORTIFY_SOURCE` makes of `poll`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __poll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: c_int,
    size: size_t,
) -> c_int {
    let next = next!(fn __poll_chk(*mut pollfd, nfds_t, c_int, size_t) -> c_int);
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, next(fds, count, timeout, size)) }
}

/// What `_FORTIFY_SOURCE` makes of `ppoll`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn __ppoll_chk(
    fds: *mut pollfd,
    count: nfds_t,
    timeout: *const timespec,
    mask: *const sigset_t,
    size: size_t,
) -> c_int {
    let next = next!(
        fn __ppoll_chk(*mut pollfd, nfds_t, *const timespec, *const sigset_t, size_t) -> c_int
    );
    // SAFETY: the program's own call.
    unsafe { client::correct_poll(fds, count, next(fds, count, timeout, mask, size)) }
}

interpose! {
    /// What `vdprintf` is in a program compiled with `_FORTIFY_SOURCE`.
    fn __vdprintf_chk(
        fd: c_int,
        flag: c_int,
        format: *const c_char,
        arguments: *mut c_void,
    ) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            // SAFETY: as the caller promises.
            return give(unsafe { client::print((fd, &sock), format, arguments) }) as c_int;
        }
    }
}

#[cfg(target_arch = "x86_64")]
client::printf_like! {
    /// What `dprintf` is in a program compiled with `_FORTIFY_SOURCE`.
    __dprintf_chk, 3, __vdprintf_chk
}
