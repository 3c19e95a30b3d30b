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

/// What no two files have in common: their device and inode.
type File = (u64, u64);

/// The sockets from which the engine of this process sends packets.
static ENGINE_SOCKETS: RwLock<Vec<File>> = RwLock::new(Vec::new());

/// The files that this process has open.
pub(crate) fn files() -> Vec<File> {
    open().into_iter().filter_map(file_of).collect()
}

/// The engine of this process has begun, at these addresses: children let go of what is its own. The program
/// may have had sockets with the same addresses `before`.
pub(crate) fn begin(addresses: &[SocketAddr], before: &[File]) {
    let sockets = packet_sockets(addresses, before);
    *ENGINE_SOCKETS.write().unwrap_or_else(PoisonError::into_inner) = sockets;
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

fn file_of(fd: RawFd) -> Option<File> {
    fstat(borrow(fd)).ok().map(|stat| (stat.st_dev, stat.st_ino))
}

/// The sockets for SCTP packets with these addresses that were not there before.
fn packet_sockets(addresses: &[SocketAddr], before: &[File]) -> Vec<File> {
    let all = open().into_iter().filter(|fd| carries(*fd, addresses)).filter_map(file_of);
    all.filter(|file| !before.contains(file)).collect()
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
    let engine = ENGINE_SOCKETS.try_read();
    client::is_end_of_engine(fd)
        || engine.is_ok_and(|sockets| file_of(fd).is_some_and(|file| sockets.contains(&file)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use rustix::net::sockopt::set_socket_reuseaddr;
    use rustix::net::{AddressFamily, bind, socket};

    use super::*;

    /// As raw sockets are, of which any number may have the same address.
    #[test]
    fn what_the_program_had_before_is_its_own() {
        let open_at = |address: SocketAddr| {
            let socket = socket(AddressFamily::INET, SocketType::DGRAM, None).unwrap();
            set_socket_reuseaddr(&socket, true).unwrap();
            bind(&socket, &address).unwrap();
            let name = SocketAddr::try_from(getsockname(&socket).unwrap()).unwrap();
            (socket, name)
        };
        let (_own, address) = open_at("127.0.0.1:0".parse().unwrap());
        let before = files();
        let (engines, _) = open_at(address);
        assert_eq!(packet_sockets(&[address], &before), [file_of(engines.as_raw_fd()).unwrap()]);
        assert_eq!(packet_sockets(&[address], &[]).len(), 2);
    }

    #[test]
    fn files_of_two_devices_are_not_taken_for_each_other() {
        let null = std::fs::File::open("/dev/null").unwrap();
        let (socket, _) = std::os::unix::net::UnixStream::pair().unwrap();
        let (null, socket) = (file_of(null.as_raw_fd()), file_of(socket.as_raw_fd()));
        assert_ne!(null.unwrap().0, socket.unwrap().0);
    }
}
