//! What a child process has of the engine: copies of its descriptors, without its thread. They would keep
//! sockets open that nobody serves once the parent has ended, and the engine's UDP port in use.

use std::fs::read_dir;
use std::net::SocketAddr;
use std::os::fd::{BorrowedFd, RawFd};
use std::sync::Once;
use std::sync::atomic::{AtomicU16, Ordering};

use rustix::net::sockopt::socket_type;
use rustix::net::{SocketType, getsockname};
use tresse_client as client;

/// UDP port of the engine of this process; 0 if there is none, or none of UDP.
static UDP_PORT: AtomicU16 = AtomicU16::new(0);

/// The engine of this process has begun: children let go of what is its own.
pub(crate) fn begin(udp: SocketAddr) {
    UDP_PORT.store(udp.port(), Ordering::Relaxed);
    static ONCE: Once = Once::new();
    // SAFETY: a function that does not unwind.
    ONCE.call_once(|| _ = unsafe { libc::pthread_atfork(None, None, Some(in_child)) });
}

/// Descriptors are found where Linux lists them: the engine has many, and they come and go.
extern "C" fn in_child() {
    let Ok(list) = read_dir("/proc/self/fd") else { return };
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<RawFd>().ok()
    };
    let open: Vec<RawFd> = list.filter_map(number).collect();
    for fd in open.into_iter().filter(|fd| is_of_the_engine(*fd)) {
        // SAFETY: the thread that uses it is not in this process.
        unsafe { libc::close(fd) };
    }
}

fn is_of_the_engine(fd: RawFd) -> bool {
    if client::is_end_of_engine(fd) {
        return true;
    }
    let ours = UDP_PORT.load(Ordering::Relaxed);
    // SAFETY: only questions; should it be closed, they are not answered.
    let fd = unsafe { BorrowedFd::borrow_raw(fd) };
    let name = getsockname(fd).ok().and_then(|name| SocketAddr::try_from(name).ok());
    let port = name.map_or(0, |name| name.port());
    ours != 0 && port == ours && socket_type(fd) == Ok(SocketType::DGRAM)
}
