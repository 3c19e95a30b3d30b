//! Receiving.
//!
//! A frame is looked at (MSG_PEEK) and removed once all of it has been read, so that the descriptor
//! stays readable as long as a rest is there. How much of it was read, the kernel keeps with the
//! socket, for all processes that have it.

use std::sync::MutexGuard;

use libc::iovec;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, recv};
use tresse_socket_protocol::protocol::{HEADER, MAX_RX_PAYLOAD, Op, RxHeader, flag, kind};

use crate::descriptor::{blocks, borrow, fill, inode_of};
use crate::exchange::GONE;
use crate::memory::write_memory;
use crate::message::{MAX_BUFFERS, Received, part, total};
use crate::processes::shared;
use crate::request::{call, take_end, take_error};
use crate::sock::{Sock, Stage, lock};
use crate::system;
use crate::{Fallible, errno};

/// What looking at the front of the queue showed.
pub(crate) enum Front {
    Frame(RxHeader, usize),
    Empty,
    End,
    /// An attempt to connect has failed.
    Failed,
}

/// The turn of a thread to read: nobody else removes the frame in front meanwhile, no thread of this
/// process and no process that has the socket, too.
pub(crate) struct Reading<'a> {
    fd: i32,
    shared: bool,
    offset: MutexGuard<'a, usize>,
}

impl Reading<'_> {
    pub(crate) fn begin(fd: i32, sock: &Sock) -> Reading<'_> {
        let mut offset = lock(&sock.offset);
        let shared = shared();
        if shared {
            system::lock(fd, true);
            *offset = system::shared_number(fd).min(MAX_RX_PAYLOAD);
        }
        Reading { fd, shared, offset }
    }

    /// Bytes of the frame in front that were read already.
    fn offset(&self) -> usize {
        *self.offset
    }

    fn set_offset(&mut self, offset: usize) {
        if *self.offset != offset {
            *self.offset = offset;
            system::set_shared_number(self.fd, offset);
        }
    }

    /// Looks at the frame in front.
    pub(crate) fn look(&self, skipped: &mut [u8], rest: &[iovec]) -> Fallible<Front> {
        let mut head = [0; HEADER];
        let mut iov = Vec::with_capacity(rest.len() + 2);
        iov.push(system::buffer(&mut head));
        if !skipped.is_empty() {
            iov.push(system::buffer(skipped));
        }
        // With what is before them they may be more than the kernel takes: the last are one of ours.
        let room = MAX_BUFFERS - iov.len();
        let theirs = if rest.len() > room { room - 1 } else { rest.len() };
        let (theirs, others) = rest.split_at(theirs);
        let mut last = vec![0; total(others)?.min(MAX_RX_PAYLOAD)];
        iov.extend(theirs);
        if !last.is_empty() {
            iov.push(system::buffer(&mut last));
        }
        match system::receive(self.fd, &iov, libc::MSG_PEEK | libc::MSG_DONTWAIT) {
            Ok(0) | Err(libc::ECONNRESET) => Err(GONE),
            Ok(bytes) => {
                let there = bytes.checked_sub(HEADER).ok_or(libc::EPROTO)?;
                let header = RxHeader::decode(&head).ok_or(libc::EPROTO)?;
                if header.length as usize > MAX_RX_PAYLOAD || there > header.length as usize {
                    return Err(libc::EPROTO);
                }
                let before = skipped.len() + total(theirs)?;
                last.truncate(there.saturating_sub(before));
                scatter(&last, others)?;
                Ok(match header.kind {
                    kind::END => Front::End,
                    kind::FAILED => Front::Failed,
                    _ => Front::Frame(header, there),
                })
            }
            Err(libc::EAGAIN) => Ok(Front::Empty),
            Err(error) => Err(error),
        }
    }

    /// Removes the frame in front.
    pub(crate) fn remove(&mut self) -> Fallible<()> {
        let mut nothing = [0; 1];
        system::receive(self.fd, &[system::buffer(&mut nothing)], libc::MSG_DONTWAIT)?;
        self.set_offset(0);
        Ok(())
    }

    /// Removes what tells of failed attempts to connect, if it is in front.
    pub(crate) fn remove_failure(&mut self) -> Fallible<()> {
        while matches!(self.look(&mut [], &[])?, Front::Failed) {
            self.remove()?;
        }
        Ok(())
    }
}

impl Drop for Reading<'_> {
    fn drop(&mut self) {
        if self.shared {
            system::lock(self.fd, false);
        }
    }
}

/// Waits for a frame as the descriptor does: blocking or not, with its timeout, interrupted by
/// signals. The descriptor may mean another file afterwards.
pub(crate) fn wait(fd: i32, sock: &Sock, flags: i32) -> Fallible<()> {
    if flags & libc::MSG_DONTWAIT != 0 {
        return Err(libc::EAGAIN);
    }
    let mut byte = [0; 1];
    match recv(borrow(fd), &mut byte[..], RecvFlags::PEEK) {
        // Who looks finds out why.
        Ok(_) | Err(Errno::CONNRESET) if inode_of(fd) == Some(sock.inode) => Ok(()),
        Ok(_) | Err(Errno::CONNRESET) => Err(libc::EBADF),
        Err(error) => Err(errno(error)),
    }
}

/// An attempt to connect has failed, and the program knows why: the socket is like a new one.
pub(crate) fn start_over(fd: i32, sock: &Sock) {
    let _ = Reading::begin(fd, sock).remove_failure();
    sock.set_connecting(false);
    sock.set_stage(Stage::Fresh);
    fill(fd);
}

/// Whether there is something to wait for, where a call would wait: a one-to-many socket that neither
/// listens nor has an association gets nothing any more.
#[must_use]
pub fn can_wait(fd: i32, sock: &Sock) -> bool {
    if !sock.many || sock.listens_here() || sock.is_approved() || !blocks(fd) {
        return true;
    }
    let told = call(Op::Expects, sock.inode, (0, 0), Vec::new());
    // Unless the end has come, and was told, since the caller looked.
    told.err() != Some(libc::ENOTCONN) || {
        let mut fds = [PollFd::from_borrowed_fd(borrow(fd), PollFlags::IN)];
        !matches!(poll(&mut fds, Some(&Timespec::default())), Ok(0))
    }
}

//= RFC 6458 6-1
/// Receives a message into the program's buffers; `None` at the end of the association.
///
/// # Errors
/// As `recvmsg`.
pub fn receive(fd: i32, sock: &Sock, iov: &[iovec], flags: i32) -> Fallible<Option<Received>> {
    let room = total(iov)?;
    if flags & libc::MSG_ERRQUEUE != 0 {
        // As in the kernel, there are no such messages, and nobody waits for one.
        return Err(libc::EAGAIN);
    }
    if !sock.many && sock.stage() != Stage::Busy {
        return Err(libc::ENOTCONN);
    }
    loop {
        let mut reading = Reading::begin(fd, sock);
        let mut skipped = vec![0; reading.offset()];
        let (header, there) = match reading.look(&mut skipped, iov)? {
            Front::Frame(header, there) => (header, there),
            Front::End => {
                return match take_end(sock.inode) {
                    0 => Ok(None),
                    error => Err(error),
                };
            }
            Front::Failed => {
                reading.remove_failure()?;
                drop(reading);
                match take_error(sock.inode).error {
                    0 if sock.stage() == Stage::Fresh => return Err(libc::ENOTCONN),
                    // Somebody else knows why, and there was another attempt.
                    0 => continue,
                    error => {
                        start_over(fd, sock);
                        return Err(error);
                    }
                }
            }
            Front::Empty => {
                drop(reading);
                if flags & libc::MSG_DONTWAIT == 0 && !can_wait(fd, sock) {
                    return Err(libc::ENOTCONN);
                }
                wait(fd, sock, flags)?;
                continue;
            }
        };
        let mut received = Received {
            len: there.saturating_sub(reading.offset()),
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
        let whole = reading.offset() + received.len >= header.length as usize;
        if flags & libc::MSG_PEEK != 0 {
            received.end = whole && header.flags & flag::END != 0;
            return Ok(Some(received));
        }
        if !whole {
            reading.set_offset(reading.offset() + received.len);
            return Ok(Some(received));
        }
        reading.remove()?;
        received.end = header.flags & flag::END != 0;
        if !received.end && header.flags & flag::LATER == 0 {
            go_on(&mut reading, iov, room, &mut received)?;
        }
        if received.end
            && received.flags & (flag::NXTINFO | flag::EXTRCVINFO) != 0
            && let Ok(Front::Frame(next, _)) = reading.look(&mut [], &[])
        {
            received.next = Some(next);
        }
        return Ok(Some(received));
    }
}

/// Writes bytes to the program's buffers, one after the other.
fn scatter(mut bytes: &[u8], buffers: &[iovec]) -> Fallible<()> {
    for buffer in part(buffers, 0, bytes.len()) {
        let (these, others) = bytes.split_at(buffer.iov_len);
        write_memory(buffer.iov_base, these)?;
        bytes = others;
    }
    Ok(())
}

/// Reads the following frames of a long message, as far as there is room, to what the engine does not have yet. It has
/// all of them before that, and writes as fast as they are read.
fn go_on(
    reading: &mut Reading<'_>,
    iov: &[iovec],
    room: usize,
    received: &mut Received,
) -> Fallible<()> {
    while !received.end && received.len < room {
        let mut fds = [PollFd::from_borrowed_fd(borrow(reading.fd), PollFlags::IN)];
        let timeout = Timespec { tv_sec: 1, tv_nsec: 0 };
        if !matches!(poll(&mut fds, Some(&timeout)), Ok(1)) {
            return Ok(());
        }
        let rest: Vec<iovec> = part(iov, received.len, usize::MAX).collect();
        let Front::Frame(header, there) = reading.look(&mut [], &rest)? else {
            return Ok(());
        };
        received.len += there;
        if there < header.length as usize {
            reading.set_offset(there);
            return Ok(());
        }
        reading.remove()?;
        received.end = header.flags & flag::END != 0;
        if header.flags & flag::LATER != 0 {
            return Ok(());
        }
    }
    Ok(())
}

/// Bytes of the message in front that can be read (FIONREAD).
///
/// # Errors
/// As `ioctl`.
pub fn readable_bytes(fd: i32, sock: &Sock) -> Fallible<usize> {
    let reading = Reading::begin(fd, sock);
    match reading.look(&mut [], &[])? {
        Front::Frame(header, _) if header.kind != kind::ACCEPT => {
            Ok((header.length as usize).saturating_sub(reading.offset()))
        }
        _ => Ok(0),
    }
}
