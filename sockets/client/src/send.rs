//! Sending.

use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use libc::iovec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::SocketFlags;
use rustix::net::sockopt::{
    Timeout, set_socket_send_buffer_size, socket_send_buffer_size, socket_timeout,
};
use tresse_socket_protocol::abi::{Fields, sinfo};
use tresse_socket_protocol::opening::Opening;
use tresse_socket_protocol::protocol::{
    HEADER, MAX_PIECE, Op, Request, SOCKET_BUFFER, TxHeader, flag, kind,
};

use crate::descriptor::{blocks, borrow, fill};
use crate::exchange::{Answer, GONE, answer, exchange};
use crate::memory::read_memory;
use crate::message::{MAX_BUFFERS, part, total};
use crate::request::{call_and_wait, dial, take_error};
use crate::sock::{Approval, Sock, Stage, lock};
use crate::system;
use crate::{Fallible, errno};

/// Payload bytes that fit into a frame whatever SO_SNDBUF is.
const LEAST_PIECE: usize = 4096;

/// What a Unix socket keeps of its buffer for itself.
const KEPT: usize = 32;

/// The largest message, as the engine has it.
const MAX_MESSAGE: usize = 16 << 20;

/// A message to send: `header` says what the ancillary data and the address said.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Stream, association, address, ...
    pub header: TxHeader,
    /// The program's buffers.
    pub iov: &'a [iovec],
    /// As given to `sendmsg`.
    pub flags: i32,
    /// What this says of the association, if it is to open one.
    pub opening: &'a Opening,
}

impl Outgoing<'_> {
    //= RFC 6458 7.1-1
    /// A header for a message about which nothing was said.
    #[must_use]
    pub fn plain() -> TxHeader {
        let flags = flag::DEFAULTS | flag::DEFAULT_RELIABILITY;
        TxHeader { kind: kind::DATA, flags, ..TxHeader::default() }
    }
}

/// Sends a message.
///
/// # Errors
/// As `sendmsg`; `EPIPE` raises `SIGPIPE` unless MSG_NOSIGNAL is given.
pub fn send(fd: i32, sock: &Sock, out: &Outgoing<'_>) -> Fallible<usize> {
    let result = try_send(fd, sock, out);
    if result == Err(libc::EPIPE) && out.flags & libc::MSG_NOSIGNAL == 0 {
        system::broken_pipe();
    }
    result
}

fn try_send(fd: i32, sock: &Sock, out: &Outgoing<'_>) -> Fallible<usize> {
    let len = total(out.iov)?;
    if out.flags & libc::MSG_OOB != 0 {
        return Err(libc::EOPNOTSUPP);
    }
    let mut header = out.header;
    // An answer to the address that the last message came from is for whoever sent that one.
    if let Some((address, association)) = *lock(&sock.heard)
        && header.association == 0
        && header.address == Some(address)
    {
        header.association = association;
    }
    if !sock.many {
        // RFC 6458 §5.3.4: "This field is ignored for one-to-one style sockets."
        header.association = 0;
        // As the kernel, which looks at it for one-to-many sockets only.
        header.sinfo_flags &= !sinfo::SENDALL;
    }
    // MSG_EOF means SCTP_EOF.
    if out.flags & libc::MSG_FIN != 0 {
        header.sinfo_flags |= sinfo::EOF;
    }
    //= RFC 6458 7.1-2
    if out.flags & libc::MSG_EOR == 0
        && len == 0
        && header.sinfo_flags & (sinfo::EOF | sinfo::ABORT | sinfo::EOR) == 0
    {
        return Err(libc::EINVAL);
    }
    if header.sinfo_flags & sinfo::EOF != 0 && header.sinfo_flags & sinfo::ABORT != 0 {
        return Err(libc::EINVAL);
    }
    if header.sinfo_flags & !sinfo::KNOWN != 0 {
        return Err(libc::EINVAL);
    }
    // RFC 6458 §8.1.26: here ends what was written in several calls; without SCTP_EXPLICIT_EOR it says nothing.
    if out.flags & libc::MSG_EOR != 0 {
        header.sinfo_flags |= sinfo::EOR;
    }
    // There is nothing to put in the place of the primary path.
    if header.sinfo_flags & sinfo::ADDR_OVER != 0 && header.address.is_none() {
        return Err(libc::EINVAL);
    }
    if len > MAX_MESSAGE {
        return Err(libc::EMSGSIZE);
    }
    let piece = if len <= LEAST_PIECE { LEAST_PIECE } else { largest_piece(fd) };
    // An abort waits for nobody, and the engine may read nothing else of this socket.
    let aborts = header.sinfo_flags & sinfo::ABORT != 0;
    let result = if len <= piece && !aborts {
        agree(fd, sock, &mut header, out, len)?;
        frame(fd, &header, part(out.iov, 0, len), out.flags)
    } else {
        long(fd, sock, &header, out, len)
    };
    match result {
        Ok(()) => Ok(len),
        Err(libc::EPIPE | libc::ECONNRESET) => match take_error(sock.inode).error {
            0 => Err(libc::EPIPE),
            error => Err(error),
        },
        Err(error) => Err(error),
    }
}

/// For how long the engine's word on an association of a one-to-many socket holds: the association
/// may end without a notification.
const APPROVAL: Duration = Duration::from_millis(5);

/// Asks the engine whether a message can be sent, and waits for room in the send buffer of its association if need be, which
/// keeps nobody from sending to others.
fn agree(
    fd: i32,
    sock: &Sock,
    header: &mut TxHeader,
    out: &Outgoing<'_>,
    len: usize,
) -> Fallible<()> {
    let mut limit = None;
    loop {
        match ask(fd, sock, header, out.opening, len) {
            Err(libc::EAGAIN) => {}
            result => return result,
        }
        let ends = match limit {
            Some(ends) => ends,
            None => *limit.insert(deadline(fd)?),
        };
        hold_off(fd, sock, (header, out, len), ends)?;
    }
}

/// When a send of a program is to end (SO_SNDTIMEO).
fn deadline(fd: i32) -> Fallible<Option<Instant>> {
    let timeout = socket_timeout(borrow(fd), Timeout::Send).map_err(errno)?;
    Ok(timeout.and_then(|timeout| Instant::now().checked_add(timeout)))
}

/// Waits until the engine takes the message, unless the program does not wait: EAGAIN, and `poll` says no until then. As in the
/// kernel a signal interrupts that if its handler was set without SA_RESTART, or the program waits for some time only.
fn hold_off(
    fd: i32,
    sock: &Sock,
    (header, out, len): (&TxHeader, &Outgoing<'_>, usize),
    deadline: Option<Instant>,
) -> Fallible<()> {
    if out.flags & libc::MSG_DONTWAIT != 0 || !blocks(fd) {
        fill(fd);
        return Err(libc::EAGAIN);
    }
    let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
    if left == Some(Duration::ZERO) {
        return Err(libc::EAGAIN);
    }
    let Request { op, socket, a, payload, .. } =
        question(Op::CheckSend, sock, header, out.opening, len);
    // The system knows no less than a microsecond.
    let left = left.map(|left| left.max(Duration::from_millis(1)));
    call_and_wait(left, Request { op, socket, a, b: 1, payload }).map(|_| ())
}

/// Asks the engine whether the message can be sent, unless it is like the one before. A message of a
/// one-to-many socket then names its association.
fn ask(fd: i32, sock: &Sock, header: &mut TxHeader, opening: &Opening, len: usize) -> Fallible<()> {
    let asked = (header.association, header.address);
    let ends = sinfo::EOF | sinfo::ABORT | sinfo::SENDALL | if len == 0 { sinfo::EOR } else { 0 };
    let special = header.sinfo_flags & ends != 0;
    let plain = opening.is_empty() && !special && header.flags & flag::KEY == 0;
    let known = u32::from(header.stream) < sock.streams.load(Ordering::Relaxed);
    let mut approved = lock(&sock.approved);
    if plain && known {
        if !sock.many && header.address.is_none() && !peer_is_done(fd) {
            return Ok(());
        }
        if let Some(old) = approved.as_mut()
            && (old.association, old.address) == asked
            && Instant::now() < old.ends
            && (if sock.many { old.bytes > 0 } else { !peer_is_done(fd) })
        {
            old.bytes = old.bytes.saturating_sub(len as u32);
            header.association = old.number;
            return Ok(());
        }
    }
    *approved = None;
    if header.sinfo_flags & sinfo::SENDALL != 0 {
        return Ok(());
    }
    let (streams, Allowed { number, bytes }) = check(sock, header, opening, len)?;
    sock.streams.store(streams as u32, Ordering::Relaxed);
    let (ends, bytes) = (Instant::now() + APPROVAL, bytes.saturating_sub(len as u32));
    let (association, address) = asked;
    *approved = plain.then_some(Approval { association, address, number, ends, bytes });
    header.association = number;
    Ok(())
}

/// Whether the peer of a one-to-one socket has shut down, so that nothing more can be sent.
fn peer_is_done(fd: i32) -> bool {
    let mut fds = [PollFd::from_borrowed_fd(borrow(fd), PollFlags::RDHUP)];
    matches!(poll(&mut fds, Some(&Timespec::default())), Ok(1))
}

/// What the engine lets a program write without asking again.
struct Allowed {
    /// The association's number.
    number: u32,
    /// Bytes, if it is one of several.
    bytes: u32,
}

/// Asks the engine: how many streams can be used without asking again, and the association.
fn check(
    sock: &Sock,
    header: &TxHeader,
    opening: &Opening,
    len: usize,
) -> Fallible<(i64, Allowed)> {
    let request = question(Op::CheckSend, sock, header, opening, len);
    let answer = exchange(dial(SocketFlags::empty())?, &request)?;
    Ok(heed(sock, header, answer))
}

/// A request about a message to send.
fn question(op: Op, sock: &Sock, header: &TxHeader, opening: &Opening, len: usize) -> Request {
    let payload = [&header.encode()[..], &opening.encode()].concat();
    Request { op, socket: sock.inode, a: len as i64, b: 0, payload }
}

/// What the engine's answer says of the socket.
fn heed(sock: &Sock, header: &TxHeader, (streams, answer): Answer) -> (i64, Allowed) {
    if streams > 0 {
        sock.set_connecting(false);
    }
    if !sock.many && header.address.is_some() {
        // It has an association now.
        sock.set_stage(Stage::Busy);
    }
    let fields = Fields(&answer);
    (streams, Allowed { number: fields.u32(0), bytes: fields.u32(4) })
}

/// The association that a message to these addresses is for, which is opened if there is none.
///
/// # Errors
/// As `sendmsg`.
pub fn associate(sock: &Sock, header: &TxHeader, peers: &[SocketAddr]) -> Fallible<u32> {
    let (first, more) = peers.split_first().ok_or(libc::EINVAL)?;
    let header = TxHeader { address: Some(*first), ..*header };
    let opening = Opening { more: more.to_vec(), ..Opening::default() };
    check(sock, &header, &opening, 0).map(|(_, allowed)| allowed.number)
}

fn frame(
    fd: i32,
    header: &TxHeader,
    payload: impl Iterator<Item = iovec>,
    flags: i32,
) -> Fallible<()> {
    let mut head = header.encode();
    let mut iov: Vec<iovec> = std::iter::once(system::buffer(&mut head)).chain(payload).collect();
    let mut last = Vec::new();
    if iov.len() > MAX_BUFFERS {
        // With the head it is one more than the kernel takes.
        for part in iov.drain(MAX_BUFFERS - 1..) {
            last.extend(read_memory(part.iov_base, part.iov_len)?);
        }
        iov.push(system::buffer(&mut last));
    }
    system::send(fd, &iov, flags & libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL).map(|_| ())
}

/// Payload bytes of the largest frame that the descriptor's buffer takes.
fn largest_piece(fd: i32) -> usize {
    let room = socket_send_buffer_size(borrow(fd)).unwrap_or(0);
    room.saturating_sub(KEPT + HEADER).clamp(LEAST_PIECE, MAX_PIECE)
}

/// A message that one frame cannot hold. The engine has agreed to take all of it before the first piece is
/// written, so that nobody waits in the middle for a peer that does not read.
fn long(fd: i32, sock: &Sock, header: &TxHeader, out: &Outgoing<'_>, len: usize) -> Fallible<()> {
    let ends = deadline(fd)?;
    *lock(&sock.approved) = None;
    loop {
        let conn = dial(SocketFlags::empty())?;
        match exchange(&conn, &question(Op::Long, sock, header, out.opening, len)) {
            Err(libc::EAGAIN) => {}
            result => {
                heed(sock, header, result?);
                return write_pieces(&conn, out.iov, len);
            }
        }
        hold_off(fd, sock, (header, out, len), ends)?;
    }
}

/// The engine takes them as fast as it can, and says when it has all.
fn write_pieces(conn: &OwnedFd, iov: &[iovec], len: usize) -> Fallible<()> {
    let _ = set_socket_send_buffer_size(conn, SOCKET_BUFFER);
    let (fd, mut sent) = (conn.as_raw_fd(), 0);
    let piece = largest_piece(fd);
    while sent < len {
        let iov: Vec<iovec> = part(iov, sent, piece.min(len - sent)).collect();
        match system::send(fd, &iov, libc::MSG_NOSIGNAL) {
            Ok(n) => sent += n,
            Err(libc::EINTR) => {}
            Err(libc::EPIPE | libc::ECONNRESET) => return Err(GONE),
            Err(error) => return Err(error),
        }
    }
    answer(conn).map(|_| ())
}
