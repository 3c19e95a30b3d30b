//! Requests to the engine.

use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use tresse_sockets::protocol::{MAX_CONTROL, Op, Request, read_reply};

use crate::{Fallible, errno};

/// Starts an engine and gives its path.
type Starter = fn() -> Option<PathBuf>;

static STARTER: OnceLock<Starter> = OnceLock::new();
static ENGINE: OnceLock<Option<PathBuf>> = OnceLock::new();

/// What to do when there is no TRESSE_ENGINE in the environment.
pub fn set_starter(starter: Starter) {
    let _ = STARTER.set(starter);
}

/// Where the engine listens: TRESSE_ENGINE, or what the starter says; `None` if there is none.
pub fn engine_path() -> Option<&'static Path> {
    let find = || {
        let given: Option<OsString> = std::env::var_os("TRESSE_ENGINE").filter(|p| !p.is_empty());
        given.map(PathBuf::from).or_else(|| STARTER.get().and_then(|start| start()))
    };
    ENGINE.get_or_init(find).as_deref()
}

/// Whether a path is the engine's.
pub(crate) fn is_engine(path: &[u8]) -> bool {
    engine_path().is_some_and(|engine| engine.as_os_str().as_bytes() == path)
}

/// A new connection to the engine.
pub(crate) fn dial(flags: SocketFlags) -> Fallible<OwnedFd> {
    let path = engine_path().ok_or(libc::EPROTONOSUPPORT)?;
    let address = SocketAddrUnix::new(path).map_err(errno)?;
    let flags = flags | SocketFlags::CLOEXEC;
    let fd = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).map_err(errno)?;
    loop {
        match connect(&fd, &address) {
            Ok(()) => return Ok(fd),
            Err(Errno::INTR) => {}
            // There is no engine any more.
            Err(Errno::CONNREFUSED | Errno::NOENT) => return Err(libc::ENETDOWN),
            Err(error) => return Err(errno(error)),
        }
    }
}

/// An answer: value and payload.
pub(crate) type Answer = (i64, Vec<u8>);

/// Sends a request on a connection and waits for the answer.
pub(crate) fn exchange(fd: impl AsFd, request: &Request) -> Fallible<Answer> {
    let frame = request.encode();
    if frame.len() > MAX_CONTROL {
        return Err(libc::EINVAL);
    }
    retry(|| send(&fd, &frame, SendFlags::NOSIGNAL))?;
    let mut buffer = vec![0; MAX_CONTROL];
    let len = retry(|| recv(&fd, &mut buffer[..], RecvFlags::empty()).map(|(n, _)| n))?;
    match read_reply(&buffer[..len]) {
        Some((0, value, payload)) => Ok((value, payload.to_vec())),
        Some((error, ..)) => Err(error),
        None => Err(libc::ECONNRESET),
    }
}

/// Repeats what a signal interrupts: the engine answers soon.
fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Fallible<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            // The engine died.
            Err(Errno::PIPE) => return Err(libc::ECONNRESET),
            result => return result.map_err(errno),
        }
    }
}

/// A request about a socket, on a connection of its own.
pub(crate) fn call(op: Op, socket: u64, (a, b): (i64, i64), payload: Vec<u8>) -> Fallible<Answer> {
    let fd = dial(SocketFlags::empty())?;
    exchange(&fd, &Request { op, socket, a, b, payload })
}

/// The pending error of a socket, 0 if none. If the engine is gone, that is the error.
pub(crate) fn take_error(socket: u64) -> i32 {
    match call(Op::TakeError, socket, (0, 0), Vec::new()) {
        Ok((error, _)) => error as i32,
        Err(_) => libc::ECONNRESET,
    }
}
