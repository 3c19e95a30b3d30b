//! System calls on descriptors that need nothing else to be known.

use std::os::fd::BorrowedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::net::sockopt::socket_send_buffer_size;
use rustix::net::{SendFlags, send};
use tresse_socket_protocol::protocol::{HEADER, TxHeader, kind};

/// The descriptor for system calls.
pub(crate) fn borrow(fd: i32) -> BorrowedFd<'static> {
    // SAFETY: not -1, which `lookup` has made sure of. Should the program close it meanwhile, the
    // system calls fail; they are all that is done with it.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

/// The inode of a socket.
pub(crate) fn inode_of(fd: i32) -> Option<u64> {
    let stat = fstat(borrow(fd)).ok()?;
    (FileType::from_raw_mode(stat.st_mode) == FileType::Socket).then_some(stat.st_ino)
}

/// Whether calls on a descriptor wait.
pub(crate) fn blocks(fd: i32) -> bool {
    fcntl_getfl(borrow(fd)).is_ok_and(|flags| !flags.contains(OFlags::NONBLOCK))
}

/// Keeps a socket from being writable: its send buffer is filled so far that `poll` says no.
pub(crate) fn fill(fd: i32) {
    let fd = borrow(fd);
    let mut fds = [PollFd::from_borrowed_fd(fd, PollFlags::OUT)];
    if matches!(poll(&mut fds, Some(&Timespec::default())), Ok(0)) {
        return;
    }
    let Ok(size) = socket_send_buffer_size(fd) else { return };
    // The kernel calls a Unix socket writable while at most a quarter of its buffer is in use.
    let mut frame = vec![0; size / 4 + 1];
    frame[..HEADER]
        .copy_from_slice(&TxHeader { kind: kind::FILLER, ..TxHeader::default() }.encode());
    let _ = send(fd, &frame, SendFlags::DONTWAIT | SendFlags::NOSIGNAL);
}
