//! Receiving.
//!
//! A frame is looked at (MSG_PEEK) and removed once all of it has been read, so that the descriptor
//! stays readable as long as a rest is there.

use std::io::IoSliceMut;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvFlags, recv, recvmsg};
use tresse_sockets::protocol::{HEADER, RxHeader, flag, kind};

use crate::control::{Fate, take_end};
use crate::message::{incoming, total};
use crate::table::{Sock, Stage, borrow, lock};
use crate::{Fallible, errno};

/// A message, or a part of one.
#[derive(Clone, Copy, Debug)]
pub struct Received {
    /// Bytes that were stored.
    pub len: usize,
    /// What is known of it.
    pub header: RxHeader,
    /// What to hand over with it, see [`flag`].
    pub flags: u8,
    /// The message ends here (MSG_EOR).
    pub end: bool,
    /// The message that comes next, if it is here already and was asked for.
    pub next: Option<RxHeader>,
}

impl Received {
    /// `msg_flags` of `recvmsg`.
    #[must_use]
    pub fn message_flags(&self) -> i32 {
        let end = if self.end { libc::MSG_EOR } else { 0 };
        let notification =
            if self.header.kind == kind::NOTIFICATION { MSG_NOTIFICATION } else { 0 };
        end | notification
    }
}

/// RFC 6458 §6: the message is a notification.
const MSG_NOTIFICATION: i32 = 0x8000;

/// What looking at the front of the queue showed.
enum Front {
    Frame(RxHeader, usize),
    Empty,
    End,
}

fn look(
    fd: i32,
    header: &mut [u8; HEADER],
    skipped: &mut [u8],
    rest: Vec<IoSliceMut<'_>>,
) -> Fallible<Front> {
    let mut slices = vec![IoSliceMut::new(header)];
    if !skipped.is_empty() {
        slices.push(IoSliceMut::new(skipped));
    }
    slices.extend(rest);
    let mut none = RecvAncillaryBuffer::default();
    let flags = RecvFlags::PEEK | RecvFlags::DONTWAIT;
    match recvmsg(borrow(fd), &mut slices, &mut none, flags) {
        // The engine died.
        Ok(message) if message.bytes == 0 => Err(libc::ECONNRESET),
        Ok(message) => {
            let bytes = message.bytes;
            drop(slices);
            let header = RxHeader::decode(header).ok_or(libc::EPROTO)?;
            if header.kind == kind::END {
                return Ok(Front::End);
            }
            Ok(Front::Frame(header, bytes - HEADER))
        }
        Err(Errno::AGAIN) => Ok(Front::Empty),
        Err(error) => Err(errno(error)),
    }
}

/// Waits for a frame as the descriptor does: blocking or not, with its timeout, interrupted by
/// signals.
fn wait(fd: i32, flags: i32) -> Fallible<()> {
    if flags & libc::MSG_DONTWAIT != 0 {
        return Err(libc::EAGAIN);
    }
    let mut byte = [0; 1];
    recv(borrow(fd), &mut byte[..], RecvFlags::PEEK).map_err(errno)?;
    Ok(())
}

/// Receives a message into the program's buffers; `None` at the end of the association.
///
/// # Errors
/// As `recvmsg`.
pub fn receive(
    fd: i32,
    sock: &Sock,
    iov: &[libc::iovec],
    flags: i32,
) -> Fallible<Option<Received>> {
    let room = total(iov)?;
    if !sock.many && sock.stage() != Stage::Busy {
        return Err(libc::ENOTCONN);
    }
    loop {
        let mut offset = lock(&sock.offset);
        let mut head = [0; HEADER];
        let mut skipped = vec![0; *offset];
        let (header, there) = match look(fd, &mut head, &mut skipped, incoming(iov, 0))? {
            Front::Frame(header, there) => (header, there),
            Front::End => match take_end(sock.inode) {
                // The end of an attempt to connect, after which there was another one.
                Fate { error: 0, ended: false } => {
                    drop_front(fd)?;
                    continue;
                }
                Fate { error: 0, .. } => return Ok(None),
                Fate { error, .. } => return Err(error),
            },
            Front::Empty => {
                drop(offset);
                wait(fd, flags)?;
                continue;
            }
        };
        let mut received = Received {
            len: there.saturating_sub(*offset),
            flags: sock.receive_flags(header.flags),
            end: false,
            next: None,
            header,
        };
        if received.header.kind == kind::NOTIFICATION {
            received.flags = 0;
            // Associations come and go.
            *lock(&sock.approved) = None;
        }
        if sock.many && received.header.kind == kind::DATA {
            let RxHeader { address, association, .. } = received.header;
            *lock(&sock.heard) = address.map(|address| (address, association));
        }
        let whole = *offset + received.len >= header.length as usize;
        if flags & libc::MSG_PEEK != 0 {
            received.end = whole && header.flags & flag::END != 0;
            return Ok(Some(received));
        }
        if !whole {
            *offset += received.len;
            return Ok(Some(received));
        }
        *offset = 0;
        drop_front(fd)?;
        received.end = header.flags & flag::END != 0;
        if !received.end {
            go_on(fd, iov, room, &mut received, &mut offset)?;
        }
        if received.end && received.flags & flag::NXTINFO != 0 {
            let mut head = [0; HEADER];
            if let Ok(Front::Frame(next, _)) = look(fd, &mut head, &mut [], Vec::new()) {
                received.next = Some(next);
            }
        }
        return Ok(Some(received));
    }
}

/// Removes the frame in front.
fn drop_front(fd: i32) -> Fallible<()> {
    let mut nothing = [0; 1];
    recv(borrow(fd), &mut nothing[..], RecvFlags::DONTWAIT).map_err(errno)?;
    Ok(())
}

/// Reads the following frames of a long message, as far as there is room. The engine has all of
/// them and writes as fast as they are read.
fn go_on(
    fd: i32,
    iov: &[libc::iovec],
    room: usize,
    received: &mut Received,
    offset: &mut usize,
) -> Fallible<()> {
    while !received.end && received.len < room {
        let mut fds = [PollFd::from_borrowed_fd(borrow(fd), PollFlags::IN)];
        let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
        if !matches!(poll(&mut fds, Some(&patience)), Ok(1)) {
            return Ok(());
        }
        let mut head = [0; HEADER];
        let rest = incoming(iov, received.len);
        let Front::Frame(header, there) = look(fd, &mut head, &mut [], rest)? else {
            return Ok(());
        };
        received.len += there;
        if there < header.length as usize {
            *offset = there;
            return Ok(());
        }
        drop_front(fd)?;
        received.end = header.flags & flag::END != 0;
    }
    Ok(())
}

/// Bytes of the message in front that can be read (FIONREAD).
///
/// # Errors
/// As `ioctl`.
pub fn readable_bytes(fd: i32, sock: &Sock) -> Fallible<usize> {
    let offset = lock(&sock.offset);
    let mut head = [0; HEADER];
    match look(fd, &mut head, &mut [], Vec::new())? {
        Front::Frame(header, _) if header.kind != kind::ACCEPT => {
            Ok((header.length as usize).saturating_sub(*offset))
        }
        _ => Ok(0),
    }
}
