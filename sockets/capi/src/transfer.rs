//! Functions of the C library that move data.

use std::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};
use tresse_client as client;
use tresse_client::{give, give_int};

/// `send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_send(
    fd: c_int,
    base: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::send_to(fd, &sock, (base, len), flags, (std::ptr::null(), 0))),
        libc::send(fd, base, len, flags)
    )
}

/// `sendto`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sendto(
    fd: c_int,
    base: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::send_to(fd, &sock, (base, len), flags, (address, address_len))),
        libc::sendto(fd, base, len, flags, address, address_len)
    )
}

/// `sendmsg`, with the ancillary data of RFC 6458 §5.3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sendmsg(
    fd: c_int,
    message: *const msghdr,
    flags: c_int,
) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::send_message(fd, &sock, message, flags)),
        libc::sendmsg(fd, message, flags)
    )
}

/// `sendmmsg`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_sendmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(client::send_messages(fd, &sock, (list, count), flags)),
        libc::sendmmsg(fd, list, count, flags)
    )
}

/// `recv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_recv(
    fd: c_int,
    base: *mut c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    let none = (std::ptr::null_mut(), std::ptr::null_mut());
    on_socket!(
        fd,
        |sock| give(client::receive_from(fd, &sock, (base, len), flags, none)),
        libc::recv(fd, base, len, flags)
    )
}

/// `recvfrom`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_recvfrom(
    fd: c_int,
    base: *mut c_void,
    len: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::receive_from(fd, &sock, (base, len), flags, (address, address_len))),
        libc::recvfrom(fd, base, len, flags, address, address_len)
    )
}

/// `recvmsg`, with the ancillary data of RFC 6458 §5.3.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::receive_message(fd, &sock, message, flags)),
        libc::recvmsg(fd, message, flags)
    )
}

/// `recvmmsg`. On an SCTP socket, further messages are taken only if they are there.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_recvmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    on_socket!(
        fd,
        |sock| give_int(client::receive_messages(fd, &sock, (list, count), flags)),
        libc::recvmmsg(fd, list, count, flags, timeout)
    )
}

/// `read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_read(fd: c_int, base: *mut c_void, len: size_t) -> ssize_t {
    let none = (std::ptr::null_mut(), std::ptr::null_mut());
    on_socket!(
        fd,
        |sock| give(client::receive_from(fd, &sock, (base, len), 0, none)),
        libc::read(fd, base, len)
    )
}

/// `write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_write(fd: c_int, base: *const c_void, len: size_t) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::send_to(fd, &sock, (base, len), 0, (std::ptr::null(), 0))),
        libc::write(fd, base, len)
    )
}

/// `readv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_readv(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::read_vector(fd, &sock, (iov, count), 0)),
        libc::readv(fd, iov, count)
    )
}

/// `writev`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tresse_writev(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
    on_socket!(
        fd,
        |sock| give(client::write_vector(fd, &sock, iov, count)),
        libc::writev(fd, iov, count)
    )
}
