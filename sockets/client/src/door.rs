//! How a process goes on reaching its engine after it has given up privileges.
//!
//! The engine's folder is its user's alone. Who becomes another user, or another root directory,
//! cannot enter it any more. So a connection to the engine is made before that, the *door*, through
//! which one end of each later connection is passed.

use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, IntoRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::fcntl_dupfd_cloexec;
use rustix::net::{
    AddressFamily, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType, bind, sendmsg, socketpair,
};
use tresse_socket_protocol::protocol::{Op, Request};

use crate::descriptor::{borrow, inode_of};
use crate::engine::{Reached, engine_path, reach};
use crate::exchange::exchange;
use crate::processes::is_own;

/// The descriptor of the door, and its inode: the program may have closed it. Where its engine has
/// ended, it is left to the program's end.
static DOOR: AtomicI32 = AtomicI32::new(-1);
static INODE: AtomicU64 = AtomicU64::new(0);

/// Descriptors from here on: programs count on those of their own to be small and without gaps.
const LEAST: i32 = 900;

fn door() -> Option<i32> {
    let fd = DOOR.load(Ordering::Acquire);
    if fd < 0 || inode_of(fd) != Some(INODE.load(Ordering::Relaxed)) {
        return None;
    }
    let mut fds = [PollFd::from_borrowed_fd(borrow(fd), PollFlags::empty())];
    let gone = poll(&mut fds, Some(&Timespec::default())) != Ok(0);
    (!gone).then_some(fd)
}

/// To be called before the process becomes another user or gets another root directory: its sockets
/// go on, and it can make others. What it runs by `exec` after that has none.
pub fn keep_reaching() {
    // A child of `vfork` has its parent's memory, but descriptors of its own.
    if engine_path().is_none() || !is_own() || door().is_some() {
        return;
    }
    let request = Request { op: Op::Door, socket: 0, a: 0, b: 0, payload: Vec::new() };
    let Ok(Reached::Engine(fd)) = reach(SocketFlags::empty()) else { return };
    if exchange(&fd, &request).is_err() {
        return;
    }
    // As far as the process may have this many.
    let fd = fcntl_dupfd_cloexec(&fd, LEAST).unwrap_or(fd).into_raw_fd();
    INODE.store(inode_of(fd).unwrap_or(0), Ordering::Relaxed);
    DOOR.store(fd, Ordering::Release);
}

/// The name of the engine's end of a connection: its path, as an abstract name, and a number. By that the
/// connection is known, also to processes that come to it later.
fn name(number: u64) -> Option<Vec<u8>> {
    let path = engine_path()?.as_os_str().as_bytes();
    Some([path, b"\0", number.to_string().as_bytes()].concat())
}

/// Whether a name is such a one.
pub(crate) fn is_passed(name: &[u8]) -> bool {
    let Some(engine) = engine_path() else { return false };
    name.strip_prefix(engine.as_os_str().as_bytes()).is_some_and(|rest| rest.starts_with(b"\0"))
}

/// A new connection to the engine through the door; `None` if there is none.
pub(crate) fn pass_through(flags: SocketFlags) -> Option<OwnedFd> {
    let door = door()?;
    let flags = flags | SocketFlags::CLOEXEC;
    let (here, there) = socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).ok()?;
    let unique = inode_of(there.as_raw_fd())?;
    bind(&there, &SocketAddrUnix::new_abstract_name(&name(unique)?).ok()?).ok()?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let passed = [there.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&passed)).then_some(())?;
    sendmsg(borrow(door), &[IoSlice::new(&[0])], &mut ancillary, SendFlags::NOSIGNAL).ok()?;
    Some(here)
}
