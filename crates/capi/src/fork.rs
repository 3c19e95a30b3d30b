//! What a child process has of the engine: copies of its descriptors, without its thread. They would keep
//! sockets open that nobody serves once the parent has ended, and the engine's UDP port in use.

use std::fs::read_dir;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::{Once, PoisonError, RwLock};

use rustix::fs::fstat;
use rustix::net::getsockname;
use rustix::net::sockopt::{socket_protocol, socket_type};
use rustix::net::{SocketType, ipproto};
use tresse_client as client;

/// Inodes of the sockets from which the engine of this process sends packets.
static CARRIER: RwLock<Vec<u64>> = RwLock::new(Vec::new());

/// The engine of this process has begun, at these addresses: children let go of what is its own. While it has
/// them, no other socket of these kinds can.
pub(crate) fn begin(addresses: &[SocketAddr]) {
    let inodes = open().into_iter().filter(|fd| carries(*fd, addresses)).filter_map(inode_of);
    *CARRIER.write().unwrap_or_else(PoisonError::into_inner) = inodes.collect();
    static ONCE: Once = Once::new();
    // SAFETY: a function that does not unwind.
    ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) });
}

extern "C" fn in_child() {
    for fd in open().into_iter().filter(|fd| is_of_the_engine(*fd)) {
        // SAFETY: the thread that uses it is not in this process.
        unsafe { libc::close(fd) };
    }
}

/// The descriptors of this process, where Linux lists them: the engine has many, and they come and go.
fn open() -> Vec<RawFd> {
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok()
    };
    read_dir("/proc/self/fd").map_or(Vec::new(), |list| list.filter_map(number).collect())
}

/// For questions only; should it be closed meanwhile, they are not answered.
fn borrow(fd: RawFd) -> BorrowedFd<'static> {
    // SAFETY: from the list, and so not -1.
    unsafe { BorrowedFd::borrow_raw(fd) }
}

fn inode_of(fd: RawFd) -> Option<u64> {
    fstat(borrow(fd)).ok().map(|stat| stat.st_ino)
}

/// Whether it is a socket for SCTP packets, in UDP or on IP, that has one of the addresses.
fn carries(fd: RawFd, addresses: &[SocketAddr]) -> bool {
    let fd = borrow(fd);
    let raw = match socket_type(fd) {
        Ok(SocketType::DGRAM) => false,
        Ok(SocketType::RAW) => socket_protocol(fd) == Ok(Some(ipproto::SCTP)),
        _ => return false,
    };
    let Some(mut name) = getsockname(fd).ok().and_then(|name| SocketAddr::try_from(name).ok())
    else {
        return false;
    };
    if raw {
        // There it is the number of the protocol.
        name.set_port(0);
    }
    addresses.iter().any(|address| (address.ip(), address.port()) == (name.ip(), name.port()))
}

fn is_of_the_engine(fd: RawFd) -> bool {
    // A thread that is just starting an engine may hold the lock, and is not in this process.
    let carrier = CARRIER.try_read();
    client::is_end_of_engine(fd)
        || carrier.is_ok_and(|inodes| inode_of(fd).is_some_and(|inode| inodes.contains(&inode)))
}
