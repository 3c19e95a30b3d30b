//! The functions of the C library that move data, with the arguments that C gives. Every pointer is
//! checked before it is followed; those to user data are followed by the kernel only.

use std::ffi::{c_int, c_uint, c_void};
use std::mem::offset_of;

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t};
use tresse_socket_protocol::abi::Struct;
use tresse_socket_protocol::opening::Opening;

use crate::Fallible;
use crate::memory::{read_memory, read_structs, write_memory};
use crate::message::{MAX_BUFFERS, read_ancillary, write_ancillary};
use crate::names::{read_name, write_name};
use crate::receive::receive;
use crate::send::{Outgoing, send};
use crate::sock::Sock;

/// The buffers of a call.
///
/// # Errors
/// `EMSGSIZE` for more than 1024, `EFAULT`.
pub fn buffers(iov: *const iovec, count: usize) -> Fallible<Vec<iovec>> {
    if count > MAX_BUFFERS { Err(libc::EMSGSIZE) } else { read_structs(iov, count) }
}

/// The buffers of `readv` and `writev`, which have other errors.
fn counted(iov: *const iovec, count: c_int) -> Fallible<Vec<iovec>> {
    let count = usize::try_from(count).ok().filter(|n| *n <= MAX_BUFFERS).ok_or(libc::EINVAL)?;
    read_structs(iov, count)
}

/// A buffer as a list of one.
#[must_use]
pub fn one(base: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: base.cast_mut(), iov_len: len }]
}

/// `sendto`; with a null address `send` or `write`.
///
/// # Errors
/// As `sendto`.
pub fn send_to(
    fd: c_int,
    sock: &Sock,
    (base, len): (*const c_void, size_t),
    flags: c_int,
    (address, address_len): (*const sockaddr, socklen_t),
) -> Fallible<usize> {
    let mut header = Outgoing::plain();
    if !address.is_null() {
        header.address = Some(read_name(address.cast(), address_len)?);
    }
    let opening = &Opening::default();
    send(fd, sock, &Outgoing { header, iov: &one(base, len), flags, opening })
}

/// `writev`.
///
/// # Errors
/// As `writev`.
pub fn write_vector(fd: c_int, sock: &Sock, iov: *const iovec, count: c_int) -> Fallible<usize> {
    write_vector_flags(fd, sock, (iov, count), 0)
}

/// `writev`, with the flags of `send`.
pub(crate) fn write_vector_flags(
    fd: c_int,
    sock: &Sock,
    (iov, count): (*const iovec, c_int),
    flags: c_int,
) -> Fallible<usize> {
    let iov = counted(iov, count)?;
    let (header, opening) = (Outgoing::plain(), &Opening::default());
    send(fd, sock, &Outgoing { header, iov: &iov, flags, opening })
}

/// `sendmsg`.
///
/// # Errors
/// As `sendmsg`.
pub fn send_message(
    fd: c_int,
    sock: &Sock,
    message: *const msghdr,
    flags: c_int,
) -> Fallible<usize> {
    let message = read_structs(message, 1)?[0];
    let mut header = Outgoing::plain();
    if !message.msg_name.is_null() && message.msg_namelen > 0 {
        header.address = Some(read_name(message.msg_name, message.msg_namelen)?);
    }
    let mut opening = Opening::default();
    if !message.msg_control.is_null() && message.msg_controllen > 0 {
        // The largest that is allowed by default (net.core.optmem_max).
        if message.msg_controllen > 128 * 1024 {
            return Err(libc::ENOBUFS);
        }
        let ancillary = read_memory(message.msg_control, message.msg_controllen)?;
        read_ancillary(&ancillary, &mut header, &mut opening)?;
    }
    let iov = buffers(message.msg_iov, message.msg_iovlen)?;
    send(fd, sock, &Outgoing { header, iov: &iov, flags, opening: &opening })
}

/// `recvfrom`; with a null address `recv` or `read`.
///
/// # Errors
/// As `recvfrom`.
pub fn receive_from(
    fd: c_int,
    sock: &Sock,
    (base, len): (*mut c_void, size_t),
    flags: c_int,
    (address, address_len): (*mut sockaddr, *mut socklen_t),
) -> Fallible<usize> {
    let Some(received) = receive(fd, sock, &one(base, len), flags)? else { return Ok(0) };
    if let Some(name) = received.header.address.filter(|_| !address.is_null()) {
        write_name(name, address.cast(), address_len)?;
    }
    Ok(received.len)
}

/// `readv`, with the flags of `recv`.
///
/// # Errors
/// As `readv`.
pub fn read_vector(
    fd: c_int,
    sock: &Sock,
    (iov, count): (*const iovec, c_int),
    flags: c_int,
) -> Fallible<usize> {
    let received = receive(fd, sock, &counted(iov, count)?, flags)?;
    Ok(received.map_or(0, |received| received.len))
}

/// `recvmsg`.
///
/// # Errors
/// As `recvmsg`.
pub fn receive_message(fd: c_int, sock: &Sock, at: *mut msghdr, flags: c_int) -> Fallible<usize> {
    let message = read_structs(at, 1)?[0];
    let iov = buffers(message.msg_iov, message.msg_iovlen)?;
    // The last members of the structure: length of the ancillary data, flags.
    let finish = |ancillary: usize, flags: c_int| {
        let mut s = Struct::default();
        s.bytes(&ancillary.to_ne_bytes()).bytes(&flags.to_ne_bytes());
        write_memory(
            at.cast::<c_void>().wrapping_byte_add(offset_of!(msghdr, msg_controllen)),
            &s.0,
        )
    };
    const {
        assert!(offset_of!(msghdr, msg_flags) == offset_of!(msghdr, msg_controllen) + 8);
    }
    let Some(received) = receive(fd, sock, &iov, flags)? else {
        return finish(0, 0).map(|()| 0);
    };
    //= RFC 6458 3.1.4-1
    if let Some(name) = received.header.address.filter(|_| !message.msg_name.is_null()) {
        let len = at.cast::<c_void>().wrapping_byte_add(offset_of!(msghdr, msg_namelen));
        write_name(name, message.msg_name, len.cast())?;
    }
    let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
    let (ancillary, cut) = write_ancillary(&received, room);
    write_memory(message.msg_control, &ancillary)?;
    let cut = if cut { libc::MSG_CTRUNC } else { 0 };
    finish(ancillary.len(), received.message_flags() | cut)?;
    Ok(received.len)
}

/// Does for each of the messages of `sendmmsg` and `recvmmsg` what `transfer` does, until one
/// fails: how many were done.
fn each(
    list: *mut mmsghdr,
    count: c_uint,
    mut transfer: impl FnMut(*mut msghdr, bool) -> Fallible<usize>,
) -> Fallible<c_int> {
    let mut done = 0;
    for n in 0..count.min(MAX_BUFFERS as c_uint) {
        let at = list.wrapping_add(n as usize);
        let stored = transfer(at.cast(), done == 0).and_then(|len| {
            let place = at.cast::<c_void>().wrapping_byte_add(offset_of!(mmsghdr, msg_len));
            write_memory(place, &(len as c_uint).to_ne_bytes())
        });
        match stored {
            Ok(()) => done += 1,
            Err(error) if done == 0 => return Err(error),
            Err(_) => break,
        }
    }
    Ok(done)
}

/// `sendmmsg`.
///
/// # Errors
/// As `sendmmsg`.
pub fn send_messages(
    fd: c_int,
    sock: &Sock,
    (list, count): (*mut mmsghdr, c_uint),
    flags: c_int,
) -> Fallible<c_int> {
    each(list, count, |at, _| send_message(fd, sock, at, flags))
}

/// `recvmmsg`. Other than in the kernel, further messages are taken only if they are there.
///
/// # Errors
/// As `recvmmsg`.
pub fn receive_messages(
    fd: c_int,
    sock: &Sock,
    (list, count): (*mut mmsghdr, c_uint),
    flags: c_int,
) -> Fallible<c_int> {
    each(list, count, |at, first| {
        let wait = if first { 0 } else { libc::MSG_DONTWAIT };
        receive_message(fd, sock, at, flags | wait)
    })
}
