//! Functions that move data.

use std::ffi::{c_int, c_uint, c_void};

use libc::{iovec, mmsghdr, msghdr, size_t, sockaddr, socklen_t, ssize_t, timespec};
use tresse_client as client;
use tresse_client::{Fallible, Outgoing, Sock};

use crate::next::{give, next};

/// The most buffers of one call (`UIO_MAXIOV`).
const MAX_BUFFERS: usize = 1024;

/// Whether a pointer can be one to a structure.
fn pointer<T>(at: *const T) -> Fallible<()> {
    if (at as usize) < 4096 || at as usize >= 1 << 47 { Err(libc::EFAULT) } else { Ok(()) }
}

/// The buffers of a call.
///
/// # Safety
/// `iov` points to `count` structures.
unsafe fn buffers<'a>(iov: *const iovec, count: usize) -> Fallible<&'a [iovec]> {
    if count == 0 {
        return Ok(&[]);
    }
    if count > MAX_BUFFERS {
        return Err(libc::EMSGSIZE);
    }
    pointer(iov)?;
    // SAFETY: as the caller promises.
    Ok(unsafe { std::slice::from_raw_parts(iov, count) })
}

fn one(base: *const c_void, len: size_t) -> [iovec; 1] {
    [iovec { iov_base: base.cast_mut(), iov_len: len }]
}

fn send_to(
    fd: c_int,
    sock: &Sock,
    (base, len): (*const c_void, size_t),
    flags: c_int,
    (address, address_len): (*const sockaddr, socklen_t),
) -> Fallible<usize> {
    let mut header = Outgoing::plain();
    if !address.is_null() {
        header.address = Some(client::read_name(address.cast(), address_len)?);
    }
    client::send(fd, sock, &Outgoing { header, iov: &one(base, len), flags })
}

/// # Safety
/// `message` is a `struct msghdr`.
unsafe fn send_message(
    fd: c_int,
    sock: &Sock,
    message: *const msghdr,
    flags: c_int,
) -> Fallible<usize> {
    pointer(message)?;
    // SAFETY: as the caller promises.
    let message = unsafe { &*message };
    let mut header = Outgoing::plain();
    if !message.msg_name.is_null() && message.msg_namelen > 0 {
        header.address = Some(client::read_name(message.msg_name, message.msg_namelen)?);
    }
    if !message.msg_control.is_null() && message.msg_controllen > 0 {
        let control = client::read_memory(message.msg_control, message.msg_controllen)?;
        client::read_control(&control, &mut header)?;
    }
    // SAFETY: as the caller promises.
    let iov = unsafe { buffers(message.msg_iov, message.msg_iovlen)? };
    client::send(fd, sock, &Outgoing { header, iov, flags })
}

fn receive_from(
    fd: c_int,
    sock: &Sock,
    (base, len): (*mut c_void, size_t),
    flags: c_int,
    (address, address_len): (*mut sockaddr, *mut socklen_t),
) -> Fallible<usize> {
    let Some(received) = client::receive(fd, sock, &one(base, len), flags)? else { return Ok(0) };
    if let Some(name) = received.header.address.filter(|_| !address.is_null()) {
        client::write_name(name, address.cast(), address_len)?;
    }
    Ok(received.len)
}

/// # Safety
/// `message` is a `struct msghdr`.
unsafe fn receive_message(
    fd: c_int,
    sock: &Sock,
    message: *mut msghdr,
    flags: c_int,
) -> Fallible<usize> {
    pointer(message)?;
    // SAFETY: as the caller promises.
    let message = unsafe { &mut *message };
    // SAFETY: as the caller promises.
    let iov = unsafe { buffers(message.msg_iov, message.msg_iovlen)? };
    let Some(received) = client::receive(fd, sock, iov, flags)? else {
        (message.msg_controllen, message.msg_flags) = (0, 0);
        return Ok(0);
    };
    message.msg_flags = received.message_flags();
    if let Some(name) = received.header.address.filter(|_| !message.msg_name.is_null()) {
        client::write_name(name, message.msg_name, &raw mut message.msg_namelen)?;
    }
    let control = client::write_control(&received);
    let room = if message.msg_control.is_null() { 0 } else { message.msg_controllen };
    if control.len() > room {
        message.msg_flags |= libc::MSG_CTRUNC;
    }
    let fits = if control.len() > room { 0 } else { control.len() };
    client::write_memory(message.msg_control, &control[..fits])?;
    message.msg_controllen = fits;
    Ok(received.len)
}

/// `send`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(
    fd: c_int,
    base: *const c_void,
    len: size_t,
    flags: c_int,
) -> ssize_t {
    match client::lookup(fd) {
        Some(sock) => give(send_to(fd, &sock, (base, len), flags, (std::ptr::null(), 0))),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn send(c_int, *const c_void, size_t, c_int) -> ssize_t)(fd, base, len, flags)
        },
    }
}

/// `sendto`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendto(
    fd: c_int,
    base: *const c_void,
    len: size_t,
    flags: c_int,
    address: *const sockaddr,
    address_len: socklen_t,
) -> ssize_t {
    match client::lookup(fd) {
        Some(sock) => give(send_to(fd, &sock, (base, len), flags, (address, address_len))),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn sendto(c_int, *const c_void, size_t, c_int, *const sockaddr, socklen_t) -> ssize_t)(
                fd,
                base,
                len,
                flags,
                address,
                address_len,
            )
        },
    }
}

/// `sendmsg`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmsg(fd: c_int, message: *const msghdr, flags: c_int) -> ssize_t {
    match client::lookup(fd) {
        // SAFETY: the program's own call.
        Some(sock) => give(unsafe { send_message(fd, &sock, message, flags) }),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn sendmsg(c_int, *const msghdr, c_int) -> ssize_t)(fd, message, flags)
        },
    }
}

/// `sendmmsg`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn sendmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
) -> c_int {
    let Some(sock) = client::lookup(fd) else {
        let next = next!(fn sendmmsg(c_int, *mut mmsghdr, c_uint, c_int) -> c_int);
        // SAFETY: the program's own call.
        return unsafe { next(fd, list, count, flags) };
    };
    let mut done = 0;
    for n in 0..count.min(MAX_BUFFERS as c_uint) {
        let at = list.wrapping_add(n as usize);
        // SAFETY: the program's own call.
        let sent = unsafe { send_message(fd, &sock, at.cast(), flags) };
        match sent {
            // SAFETY: its header was readable a moment ago.
            Ok(len) => unsafe { (*at).msg_len = len as c_uint },
            Err(_) if done > 0 => break,
            Err(error) => return give(Err::<isize, i32>(error)) as c_int,
        }
        done += 1;
    }
    done
}

/// `recv`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(fd: c_int, base: *mut c_void, len: size_t, flags: c_int) -> ssize_t {
    let none = (std::ptr::null_mut(), std::ptr::null_mut());
    match client::lookup(fd) {
        Some(sock) => give(receive_from(fd, &sock, (base, len), flags, none)),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn recv(c_int, *mut c_void, size_t, c_int) -> ssize_t)(fd, base, len, flags)
        },
    }
}

/// `recvfrom`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvfrom(
    fd: c_int,
    base: *mut c_void,
    len: size_t,
    flags: c_int,
    address: *mut sockaddr,
    address_len: *mut socklen_t,
) -> ssize_t {
    match client::lookup(fd) {
        Some(sock) => give(receive_from(fd, &sock, (base, len), flags, (address, address_len))),
        // SAFETY: the program's own call.
        None => unsafe {
            next!(fn recvfrom(c_int, *mut c_void, size_t, c_int, *mut sockaddr, *mut socklen_t) -> ssize_t)(
                fd,
                base,
                len,
                flags,
                address,
                address_len,
            )
        },
    }
}

/// `recvmsg`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmsg(fd: c_int, message: *mut msghdr, flags: c_int) -> ssize_t {
    match client::lookup(fd) {
        // SAFETY: the program's own call.
        Some(sock) => give(unsafe { receive_message(fd, &sock, message, flags) }),
        None => {
            let next = next!(fn recvmsg(c_int, *mut msghdr, c_int) -> ssize_t);
            // SAFETY: the program's own call.
            let result = unsafe { next(fd, message, flags) };
            if result >= 0 {
                // SAFETY: the C library has just filled it in.
                unsafe { forget_passed(message) };
            }
            result
        }
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

/// `recvmmsg`. On an SCTP socket, further messages are taken only if they are there.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn recvmmsg(
    fd: c_int,
    list: *mut mmsghdr,
    count: c_uint,
    flags: c_int,
    timeout: *mut timespec,
) -> c_int {
    let Some(sock) = client::lookup(fd) else {
        let next = next!(fn recvmmsg(c_int, *mut mmsghdr, c_uint, c_int, *mut timespec) -> c_int);
        // SAFETY: the program's own call.
        return unsafe { next(fd, list, count, flags, timeout) };
    };
    let mut done = 0;
    for n in 0..count.min(MAX_BUFFERS as c_uint) {
        let at = list.wrapping_add(n as usize);
        let flags = if done > 0 { flags | libc::MSG_DONTWAIT } else { flags };
        // SAFETY: the program's own call.
        let received = unsafe { receive_message(fd, &sock, at.cast(), flags) };
        match received {
            // SAFETY: its header was written a moment ago.
            Ok(len) => unsafe { (*at).msg_len = len as c_uint },
            Err(_) if done > 0 => break,
            Err(error) => return give(Err::<isize, i32>(error)) as c_int,
        }
        done += 1;
    }
    done
}

/// `read`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn read(fd: c_int, base: *mut c_void, len: size_t) -> ssize_t {
    let none = (std::ptr::null_mut(), std::ptr::null_mut());
    match client::lookup(fd) {
        Some(sock) => give(receive_from(fd, &sock, (base, len), 0, none)),
        // SAFETY: the program's own call.
        None => unsafe { next!(fn read(c_int, *mut c_void, size_t) -> ssize_t)(fd, base, len) },
    }
}

/// `write`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn write(fd: c_int, base: *const c_void, len: size_t) -> ssize_t {
    match client::lookup(fd) {
        Some(sock) => give(send_to(fd, &sock, (base, len), 0, (std::ptr::null(), 0))),
        // SAFETY: the program's own call.
        None => unsafe { next!(fn write(c_int, *const c_void, size_t) -> ssize_t)(fd, base, len) },
    }
}

/// `readv`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn readv(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
    let Some(sock) = client::lookup(fd) else {
        // SAFETY: the program's own call.
        return unsafe { next!(fn readv(c_int, *const iovec, c_int) -> ssize_t)(fd, iov, count) };
    };
    // SAFETY: the program's own call.
    let result = unsafe { buffers(iov, count.max(0) as usize) }
        .and_then(|iov| client::receive(fd, &sock, iov, 0))
        .map(|received| received.map_or(0, |received| received.len));
    give(result)
}

/// `writev`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn writev(fd: c_int, iov: *const iovec, count: c_int) -> ssize_t {
    let Some(sock) = client::lookup(fd) else {
        // SAFETY: the program's own call.
        return unsafe { next!(fn writev(c_int, *const iovec, c_int) -> ssize_t)(fd, iov, count) };
    };
    // SAFETY: the program's own call.
    let result = unsafe { buffers(iov, count.max(0) as usize) }.and_then(|iov| {
        client::send(fd, &sock, &Outgoing { header: Outgoing::plain(), iov, flags: 0 })
    });
    give(result)
}

/// What `read` is in a program compiled with `_FORTIFY_SOURCE`.
///
/// # Safety
/// As the C function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __read_chk(
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
pub unsafe extern "C" fn __recv_chk(
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
pub unsafe extern "C" fn __recvfrom_chk(
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
