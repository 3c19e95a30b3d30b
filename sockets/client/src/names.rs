//! Sockets, their addresses, and how associations begin and end.

use std::ffi::{c_int, c_void};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::net::SocketFlags;
use rustix::net::sockopt::{Timeout, set_socket_send_buffer_size, socket_timeout};
use tresse_socket_protocol::abi::{
    AF_INET6, Fields, SOCK_SEQPACKET, read_sockaddr, sockaddr, sockaddr_len,
};
use tresse_socket_protocol::protocol::{
    Op, Request, SOCKET_BUFFER, decode_addresses, encode_addresses, kind,
};

use crate::descriptor::{blocks, borrow, fill, inode_of};
use crate::exchange::exchange;
use crate::memory::{read_memory, write_memory};
use crate::receive::{Front, Reading, wait};
use crate::request::{call, call_and_wait, dial};
use crate::sock::{Sock, Stage, lock};
use crate::table::enter;
use crate::{Fallible, errno};

/// What `accept4` takes, and `socket` with the type: `SOCK_NONBLOCK | SOCK_CLOEXEC`.
pub const TYPE_FLAGS: i32 = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;

/// Room for the heads of some frames.
const HEADS: usize = 512;

/// Opens a data connection.
fn open(op: Op, (a, b): (i64, i64), flags: i32) -> Fallible<(OwnedFd, u64, (i64, Vec<u8>))> {
    let fd = dial(SocketFlags::empty())?;
    let _ = set_socket_send_buffer_size(&fd, SOCKET_BUFFER);
    let inode = inode_of(fd.as_raw_fd()).ok_or(libc::ENFILE)?;
    let answer = exchange(&fd, &Request { op, socket: inode, a, b, payload: Vec::new() })?;
    if flags & libc::SOCK_NONBLOCK != 0 {
        let now = fcntl_getfl(&fd).map_err(errno)?;
        fcntl_setfl(&fd, now | OFlags::NONBLOCK).map_err(errno)?;
    }
    if flags & libc::SOCK_CLOEXEC == 0 {
        fcntl_setfd(&fd, FdFlags::empty()).map_err(errno)?;
    }
    Ok((fd, inode, answer))
}

/// `socket(domain, type, IPPROTO_SCTP)`.
///
/// # Errors
/// As `socket`; `EPROTONOSUPPORT` without an engine.
pub fn socket(domain: i32, kind: i32) -> Fallible<i32> {
    let style = kind & !TYPE_FLAGS;
    let (fd, inode, _) = open(Op::Socket, (domain.into(), style.into()), kind)?;
    let sock = Sock::new(inode, domain == AF_INET6, style == SOCK_SEQPACKET, Stage::Fresh);
    let fd = fd.into_raw_fd();
    if !sock.many {
        // `poll` says that it is writable once it has an association.
        fill(fd);
    }
    enter(fd, sock);
    Ok(fd)
}

/// Takes an association's number into a socket of its own.
pub(crate) fn take(sock: &Sock, number: i64, flags: i32) -> Fallible<(i32, Option<SocketAddr>)> {
    let (fd, inode, (streams, payload)) = open(Op::Accept, (number, 0), flags)?;
    let mut new = Sock::new(inode, sock.v6, false, Stage::Busy);
    new.peeled = sock.many;
    new.streams.store(streams as u32, Ordering::Relaxed);
    new.flags.store(sock.flags.load(Ordering::Relaxed), Ordering::Relaxed);
    new.linger.store(sock.linger.load(Ordering::Relaxed), Ordering::Relaxed);
    match sock.send_buffer.load(Ordering::Relaxed) {
        0 => {}
        bytes => limit_unsent(fd.as_raw_fd(), &new, bytes),
    }
    let fd = fd.into_raw_fd();
    enter(fd, new);
    Ok((fd, decode_addresses(&payload).and_then(|list| list.first().copied())))
}

/// `accept4`: the new descriptor, and the peer.
///
/// # Errors
/// As `accept4`; EAGAIN if nobody waits and MSG_DONTWAIT is in `now`.
pub(crate) fn accept(
    fd: i32,
    sock: &Sock,
    flags: i32,
    now: i32,
) -> Fallible<(i32, Option<SocketAddr>)> {
    //= RFC 6458 3.1.3-1
    if sock.many || sock.peeled {
        return Err(libc::EOPNOTSUPP);
    }
    if flags & !TYPE_FLAGS != 0 || sock.stage() != Stage::Listening {
        return Err(libc::EINVAL);
    }
    loop {
        let mut reading = Reading::begin(fd, sock);
        let number = match reading.look(&mut [], &[])? {
            Front::Frame(header, _) if header.kind == kind::ACCEPT => header.association,
            Front::Empty => {
                drop(reading);
                wait(fd, sock, now)?;
                continue;
            }
            // It does not listen any more.
            _ => return Err(libc::EINVAL),
        };
        reading.remove()?;
        drop(reading);
        match take(sock, number.into(), flags) {
            // It has ended and was forgotten before anyone took it.
            Err(libc::ECONNABORTED) => {}
            result => return result,
        }
    }
}

/// Has the descriptor hold no more than SO_SNDBUF says of what the engine has not taken yet, beside the
/// heads of frames: the longest message that a kernel would take fits into one.
pub(crate) fn limit_unsent(fd: i32, sock: &Sock, bytes: u32) {
    sock.send_buffer.store(bytes, Ordering::Relaxed);
    let size = (bytes as usize).saturating_add(HEADS).min(SOCKET_BUFFER);
    // The kernel doubles it, and has a least one itself.
    let _ = set_socket_send_buffer_size(borrow(fd), size);
}

/// `bind`; with `how` 1 and 2 `sctp_bindx`.
///
/// # Errors
/// As `bind`.
pub fn bind(sock: &Sock, addresses: &[SocketAddr], how: i64) -> Fallible<()> {
    call(Op::Bind, sock.inode, (how, 0), encode_addresses(addresses)).map(|_| ())
}

/// `listen`.
///
/// # Errors
/// As `listen`.
pub fn listen(fd: i32, sock: &Sock, backlog: i32) -> Fallible<()> {
    call(Op::Listen, sock.inode, (backlog.into(), 0), Vec::new())?;
    let ended = sock.many && backlog == 0;
    sock.set_stage(if ended { Stage::Fresh } else { Stage::Listening });
    if !sock.many {
        // `poll` on a listening socket never says that it is writable.
        fill(fd);
    }
    Ok(())
}

/// `connect`, `sctp_connectx`: the association's number, and whether it is established.
///
/// # Errors
/// As `connect`; but `EINPROGRESS` is `Ok((number, false))`.
pub fn connect(fd: i32, sock: &Sock, peers: &[SocketAddr]) -> Fallible<(i64, bool)> {
    *lock(&sock.approved) = None;
    if !sock.many {
        // Of an attempt whose error somebody else has taken.
        Reading::begin(fd, sock).remove_failure()?;
    }
    let addresses = encode_addresses(peers);
    if !blocks(fd) {
        let (number, _) = call(Op::Connect, sock.inode, (0, 0), addresses)?;
        goes_on(fd, sock);
        return Ok((number, false));
    }
    let timeout = socket_timeout(borrow(fd), Timeout::Send).map_err(errno)?;
    let (op, socket) = (Op::Connect, sock.inode);
    match call_and_wait(timeout, Request { op, socket, a: 1, b: 0, payload: addresses }) {
        Ok((number, _)) => {
            if !sock.many {
                sock.set_stage(Stage::Busy);
            }
            Ok((number, true))
        }
        // SO_SNDTIMEO has passed, or a signal has come.
        Err(error @ (libc::EAGAIN | libc::EINTR)) => {
            goes_on(fd, sock);
            // As the kernel.
            Err(if error == libc::EAGAIN { libc::EINPROGRESS } else { error })
        }
        Err(error) => Err(error),
    }
}

/// Nobody waits for the end of an attempt to connect: the descriptor tells of it.
fn goes_on(fd: i32, sock: &Sock) {
    if !sock.many {
        sock.set_stage(Stage::Busy);
        sock.set_connecting(true);
        fill(fd);
    }
}

/// `shutdown`.
///
/// # Errors
/// As `shutdown`.
pub fn shutdown(sock: &Sock, how: i32) -> Fallible<()> {
    if !(0..=2).contains(&how) {
        return Err(libc::EINVAL);
    }
    call(Op::Shutdown, sock.inode, (how.into(), 0), Vec::new()).map(|_| ())
}

/// `getsockname`, or `getpeername`.
///
/// # Errors
/// As those.
pub(crate) fn name_of(sock: &Sock, peer: bool) -> Fallible<SocketAddr> {
    let (_, payload) = call(Op::Name, sock.inode, (peer.into(), 0), Vec::new())?;
    decode_addresses(&payload).and_then(|list| list.first().copied()).ok_or(libc::ENOTCONN)
}

/// Reads a `struct sockaddr` of the program.
///
/// # Errors
/// `EFAULT`, or `EINVAL` if it is none.
pub fn read_name(at: *const c_void, len: libc::socklen_t) -> Fallible<SocketAddr> {
    let bytes = read_memory(at, (len as usize).min(128))?;
    read_sockaddr(&bytes).map(|(address, _)| address).ok_or(libc::EINVAL)
}

/// Reads `count` addresses of the program that stand packed one behind the other.
///
/// # Errors
/// `EFAULT`, or `EINVAL` if there are none or one is of another family.
pub fn read_list(at: *const c_void, count: c_int) -> Fallible<Vec<SocketAddr>> {
    // More than a host can have.
    let count = usize::try_from(count).ok().filter(|n| (1..=1024).contains(n));
    let (mut at, mut list) = (at, Vec::new());
    for _ in 0..count.ok_or(libc::EINVAL)? {
        let family = read_memory(at, 2)?;
        let len = sockaddr_len(i32::from(Fields(&family).u16(0))).ok_or(libc::EINVAL)?;
        list.push(read_name(at, len as libc::socklen_t)?);
        at = at.wrapping_byte_add(len);
    }
    Ok(list)
}

/// Writes a `struct sockaddr` as far as it has room, and its length.
///
/// # Errors
/// `EFAULT`, or `EINVAL` for a negative length.
pub fn write_name(address: SocketAddr, at: *mut c_void, len: *mut libc::socklen_t) -> Fallible<()> {
    let given = read_memory(len.cast(), 4)?;
    let room = i32::from_ne_bytes(given.try_into().map_err(|_| libc::EFAULT)?);
    let room = usize::try_from(room).map_err(|_| libc::EINVAL)?;
    let bytes = sockaddr(address);
    write_memory(at, &bytes[..bytes.len().min(room)])?;
    write_memory(len.cast(), &(bytes.len() as u32).to_ne_bytes())
}
