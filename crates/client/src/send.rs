//! Sending.

use std::io::IoSlice;
use std::sync::atomic::Ordering;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{SendAncillaryBuffer, SendFlags, sendmsg};
use rustix::process::{Signal, getpid, kill_process};
use tresse_sockets::abi::sinfo;
use tresse_sockets::protocol::{Op, TxHeader, flag, kind};

use crate::control::{call, take_error};
use crate::message::{outgoing, total};
use crate::table::{Sock, borrow, lock};
use crate::{Fallible, errno};

/// Payload bytes of one frame. A longer message takes several.
const MAX_PIECE: usize = 192 * 1024;

/// The largest message, as the engine has it.
const MAX_MESSAGE: usize = 16 << 20;

/// A message to send: `header` says what the ancillary data and the address said.
#[derive(Clone, Copy, Debug)]
pub struct Outgoing<'a> {
    /// Stream, association, address, ...
    pub header: TxHeader,
    /// The program's buffers.
    pub iov: &'a [libc::iovec],
    /// As given to `sendmsg`.
    pub flags: i32,
}

impl Outgoing<'_> {
    /// A header for a message about which nothing was said.
    #[must_use]
    pub fn plain() -> TxHeader {
        TxHeader { kind: kind::DATA, flags: flag::END | flag::DEFAULTS, ..TxHeader::default() }
    }
}

/// Sends a message.
///
/// # Errors
/// As `sendmsg`; `EPIPE` raises `SIGPIPE` unless MSG_NOSIGNAL is given.
pub fn send(fd: i32, sock: &Sock, out: &Outgoing<'_>) -> Fallible<usize> {
    let result = try_send(fd, sock, out);
    if result == Err(libc::EPIPE) && out.flags & libc::MSG_NOSIGNAL == 0 {
        let _ = kill_process(getpid(), Signal::PIPE);
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
    // MSG_EOF means SCTP_EOF.
    if out.flags & libc::MSG_FIN != 0 {
        header.sinfo_flags |= sinfo::EOF;
    }
    if out.flags & libc::MSG_EOR == 0
        && len == 0
        && header.sinfo_flags & (sinfo::EOF | sinfo::ABORT) == 0
    {
        return Err(libc::EINVAL);
    }
    if header.sinfo_flags & sinfo::EOF != 0 && header.sinfo_flags & sinfo::ABORT != 0 {
        return Err(libc::EINVAL);
    }
    if len > MAX_MESSAGE {
        return Err(libc::EMSGSIZE);
    }
    ask(sock, &header)?;
    let result = if len <= MAX_PIECE {
        frame(fd, &header, outgoing(out.iov, 0, len), out.flags)
    } else {
        pieces(fd, sock, &header, out, len)
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

/// Asks the engine whether the message can be sent, unless it is like the one before.
fn ask(sock: &Sock, header: &TxHeader) -> Fallible<()> {
    let plain = header.sinfo_flags & (sinfo::EOF | sinfo::ABORT | sinfo::SENDALL) == 0;
    let known = u32::from(header.stream) < sock.streams.load(Ordering::Relaxed);
    let mut approved = lock(&sock.approved);
    let same = approved
        .is_some_and(|old| old.association == header.association && old.address == header.address);
    if plain && known && (same || !sock.many) {
        return Ok(());
    }
    if header.sinfo_flags & sinfo::SENDALL != 0 {
        return Ok(());
    }
    let (streams, _) = call(Op::CheckSend, sock.inode, (0, 0), header.encode().to_vec())?;
    sock.streams.store(streams as u32, Ordering::Relaxed);
    *approved = plain.then_some(*header);
    Ok(())
}

fn frame(fd: i32, header: &TxHeader, payload: Vec<IoSlice<'_>>, flags: i32) -> Fallible<()> {
    let head = header.encode();
    let mut slices = vec![IoSlice::new(&head)];
    slices.extend(payload);
    let wait =
        if flags & libc::MSG_DONTWAIT != 0 { SendFlags::DONTWAIT } else { SendFlags::empty() };
    let mut none = SendAncillaryBuffer::default();
    sendmsg(borrow(fd), &slices, &mut none, wait | SendFlags::NOSIGNAL).map_err(errno)?;
    Ok(())
}

/// A long message. Once its first piece is written, the others follow, even if that takes a wait.
fn pieces(fd: i32, sock: &Sock, header: &TxHeader, out: &Outgoing<'_>, len: usize) -> Fallible<()> {
    let _order = lock(&sock.sending);
    let mut sent = 0;
    while sent < len {
        let n = MAX_PIECE.min(len - sent);
        let last = sent + n == len;
        let flags = if last { header.flags | flag::END } else { header.flags & !flag::END };
        let header = TxHeader { flags, ..*header };
        match frame(fd, &header, outgoing(out.iov, sent, n), out.flags) {
            Ok(()) => sent += n,
            Err(libc::EAGAIN | libc::EINTR) if sent > 0 => {
                let mut fds = [PollFd::from_borrowed_fd(borrow(fd), PollFlags::OUT)];
                match poll(&mut fds, None) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(error) => return Err(errno(error)),
                }
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
