//! Functions that move data.

use std::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};
use tresse_client as client;

use crate::next::{interpose, next};
use crate::wait::receive;
use client::{give, give_int};

interpose! {
    /// `send`.
    fn send(fd: c_int, base: *const c_void, len: size_t, flags: c_int) -> ssize_t {
        if let Some(sock) = client::lookup(fd) {
            return give(client::send_to(fd, &sock, (base, len), flags, (std::ptr::null(), 0)));
        }
    }

    /// `sendto`.
    fn sendto(
        fd: c_int,
        base: *const c_void,
        len: size_t,
        flags: c_int,
        address: *const sockaddr,
        address_len: socklen_t,
    ) -> ssize_t {
        if let Some(sock) = client::lookup(fd) {
            return give(client::send_to(fd, &sock, (base, len), flags, (address, address_len)));
        }
    }
}

/// `sendmsg`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    match client::lookup(fd) {
        Some(sock) => give(client::send_message(fd, &sock, message, flags)),
        None => {
            // SAFETY: as the caller promises.
            unsafe { share_passed(message) };
            let next = next!(fn sendmsg(c_int, *const msghdr, c_int) -> ssize_t);
            // SAFETY: the program's own call.
            unsafe { next(fd, message, flags) }
        }
    }
}

interpose! {
    /// `sendmmsg`.
    fn sendmmsg(fd: c_int, list: *mut mmsghdr, count: c_uint, flags: c_int) -> c_int {
        if let Some(sock) = client::lookup(fd) {
            return give_int(client::send_messages(fd, &sock, (list, count), flags));
        }
    }

    /// `recv`.
    fn recv(fd: c_int, base: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
        let none = (std::ptr::null_mut(), std::ptr::null_mut());
        receive!(fd, flags, sock, flags => {
            give(client::receive_from(fd, &sock, (base, len), flags, none))
        });
    }

    /// `recvfrom`.
    fn recvfrom(
        fd: c_int,
        base: *mut c_void,
        len: size_t,
        flags: c_int,
        address: *mut sockaddr,
        address_len: *mut socklen_t,
    ) -> ssize_t {
        let name = (address, address_len);
        receive!(fd, flags, sock, flags => {
            give(client::receive_from(fd, &sock, (base, len), flags, name))
        });
    }
}

/// `recvmsg`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    receive!(fd, flags, sock, flags => give(client::receive_message(fd, &sock, message, flags)));
    let next = next!(fn recvmsg(c_int, *mut msghdr, c_int) -> ssize_t);
    // SAFETY: the program's own call.
    let result = unsafe { next(fd, message, flags) };
    if result >= 0 {
        // SAFETY: the C library has just filled it in.
        unsafe { forget_passed(message) };
    }
    result
}

/// Descriptors that are passed on may be SCTP sockets.
///
/// # Safety
/// As `sendmsg`.
unsafe fn share_passed(message: *const msghdr) {
    // SAFETY: the C library's function is about to look at it, too.
    if !message.is_null() && unsafe { (*message).msg_controllen } > 0 {
        client::share();
    }
}

/// Descriptors that came with a message may be SCTP sockets.
///
/// # Safety
/// `message` was filled in by `recvmsg`.
unsafe fn forget_passed(message: *const msghdr) {
    // SAFETY: the walk over the ancillary data is that of the C library's own macros.
    unsafe {
        let mut at = libc::CMSG_FIRSTHDR(message);
        while !at.is_null() {
            if (*at).cmsg_level == libc::SOL_SOCKET && (*at).cmsg_type == libc::SCM_RIGHTS {
                let len = (*at).cmsg_len - libc::CMSG_LEN(0) as usize;
                let list = libc::CMSG_DATA(at).cast::<c_int>();
                for n in 0..len / size_of::<c_int>() {
                    client::forget(list.add(n).read_unaligned());
                }
            }
            at = libc::CMSG_NXTHDR(message, at);
        }
    }
}

interpose! {
    /// `recvmmsg`. On an SCTP socket, further messages are taken only if they are there.
    fn recvmmsg(
        fd: c_int,
        list: *mut mmsghdr,
        count: c_uint,
        flags: c_int,
        timeout: *mut timespec,
    ) -> c_int {
        receive!(fd, flags, sock, flags => {
            give_int(client::receive_messages(fd, &sock, (list, count), flags))
        });
    }

    /// `read`.
    fn read(fd: c_int, base: *mut c_void, len: size_t) -> ssize_t {
        let none = (std::ptr::null_mut(), std::ptr::null_mut());
        receive!(fd, 0, sock, flags => {
            give(client::receive_from(fd, &sock, (base, len), flags, none))
        });
    }

    /// `write`.
    fn write(fd: c_int, base: *const c_void, len: size_t) -> ssize_t {
        if let Some(sock) = client::lookup(fd) {
            return give(client::send_to(fd, &sock, (base, len), 0, (std::ptr::null(), 0)));
        }
    }

    /// `readv`.
    fn readv(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
        receive!(fd, 0, sock, flags => give(client::read_vector(fd, &sock, (iov, count), flags)));
    }

    /// `writev`.
    fn writev(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
        if let Some(sock) = client::lookup(fd) {
            return give(client::write_vector(fd, &sock, iov, count));
        }
    }
}

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
