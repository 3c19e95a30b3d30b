//! Requests to the engine.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred, socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, Shutdown, SocketAddrUnix, SocketFlags, SocketType,
    connect, recv, send, shutdown, socket_with,
};
use rustix::process::{geteuid, getuid};
use tresse_sockets::protocol::{MAX_CONTROL, Op, Request, read_reply};

use crate::door::pass_through;
use crate::table::borrow;
use crate::{Fallible, errno};

/// What calls on a socket fail with whose engine has gone.
pub(crate) const GONE: i32 = libc::ENETDOWN;

static ENGINE: OnceLock<PathBuf> = OnceLock::new();

/// Where the engine listens: TRESSE_ENGINE in the environment, or what [`set_engine`] said; `None`
/// if there is none yet. Once known it stays the same.
pub fn engine_path() -> Option<&'static Path> {
    if ENGINE.get().is_none()
        && let Some(path) = std::env::var_os("TRESSE_ENGINE").filter(|path| !path.is_empty())
    {
        let _ = ENGINE.set(path.into());
    }
    ENGINE.get().map(PathBuf::as_path)
}

/// Names the engine, unless one is known already; says which one it is now.
pub fn set_engine(path: PathBuf) -> &'static Path {
    match engine_path() {
        Some(known) => known,
        None => ENGINE.get_or_init(|| path),
    }
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
            Ok(()) if is_trusted(&fd) => return Ok(fd),
            Ok(()) => return Err(libc::EACCES),
            Err(Errno::INTR) => {}
            // It cannot be reached from here any more.
            Err(error) => {
                let gone = matches!(error, Errno::CONNREFUSED | Errno::NOENT);
                let error = if gone { GONE } else { errno(error) };
                return pass_through(flags).ok_or(error);
            }
        }
    }
}

/// Whether who listens is root or this process's user: another one could read and forge all.
pub(crate) fn is_trusted(fd: impl AsFd) -> bool {
    let Ok(peer) = socket_peercred(fd) else { return false };
    peer.uid.is_root() || peer.uid == getuid() || peer.uid == geteuid()
}

/// An answer: value and payload.
pub(crate) type Answer = (i64, Vec<u8>);

/// Sends a request on a connection and waits for the answer.
pub(crate) fn exchange(fd: impl AsFd, request: &Request) -> Fallible<Answer> {
    ask(&fd, request)?;
    answer(&fd)
}

/// Waits for an answer.
pub(crate) fn answer(fd: impl AsFd) -> Fallible<Answer> {
    let mut buffer = vec![0; MAX_CONTROL];
    let len = retry(|| recv(&fd, &mut buffer[..], RecvFlags::empty()).map(|(n, _)| n))?;
    read_answer(&buffer[..len])
}

fn ask(fd: impl AsFd, request: &Request) -> Fallible<()> {
    let frame = request.encode();
    if frame.len() > MAX_CONTROL {
        return Err(libc::EINVAL);
    }
    retry(|| send(&fd, &frame, SendFlags::NOSIGNAL)).map(|_| ())
}

fn read_answer(frame: &[u8]) -> Fallible<Answer> {
    match read_reply(frame) {
        Some((0, value, payload)) => Ok((value, payload.to_vec())),
        Some((error, ..)) => Err(error),
        None if frame.is_empty() => Err(GONE),
        None => Err(libc::EPROTO),
    }
}

/// Repeats what a signal interrupts: the engine answers soon.
fn retry<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Fallible<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            Err(Errno::PIPE | Errno::CONNRESET) => return Err(GONE),
            result => return result.map_err(errno),
        }
    }
}

/// A request about a socket, on a connection of its own.
pub(crate) fn call(op: Op, socket: u64, (a, b): (i64, i64), payload: Vec<u8>) -> Fallible<Answer> {
    let fd = dial(SocketFlags::empty())?;
    exchange(&fd, &Request { op, socket, a, b, payload })
}

/// As [`call`], of a request whose answer takes its time: signals interrupt the wait, and it ends with
/// EAGAIN when the SO_SNDTIMEO of the program's socket has passed.
pub(crate) fn call_and_wait(
    program: i32,
    op: Op,
    socket: u64,
    (a, b): (i64, i64),
    payload: Vec<u8>,
) -> Fallible<Answer> {
    let fd = dial(SocketFlags::empty())?;
    ask(&fd, &Request { op, socket, a, b, payload })?;
    let patience = socket_timeout(borrow(program), Timeout::Send).map_err(errno)?;
    set_socket_timeout(&fd, Timeout::Recv, patience).map_err(errno)?;
    let mut buffer = vec![0; MAX_CONTROL];
    let result = recv(&fd, &mut buffer[..], RecvFlags::empty()).or_else(|error| {
        // The engine hears that nobody waits any more. It may just have answered.
        let _ = shutdown(&fd, Shutdown::Both);
        match recv(&fd, &mut buffer[..], RecvFlags::DONTWAIT) {
            Ok((len, _)) if len > 0 => Ok((len, len)),
            _ => Err(error),
        }
    });
    let (len, _) = result.map_err(errno)?;
    read_answer(&buffer[..len])
}

/// The pending error of a socket, which nobody else will hear of.
pub(crate) struct Pending {
    /// 0 if there is none. If the engine is gone, that is the error.
    pub(crate) error: i32,
    /// It is that of an attempt to connect.
    pub(crate) attempt: bool,
    /// There is no association, and the peer has not told of its end.
    unconnected: bool,
}

/// Takes the pending error of a socket.
pub(crate) fn take_error(socket: u64) -> Pending {
    let (error, state) = match call(Op::TakeError, socket, (0, 0), Vec::new()) {
        Ok((error, payload)) => (error as i32, payload.first().copied()),
        Err(_) => (GONE, None),
    };
    Pending { error, attempt: state == Some(3), unconnected: state == Some(2) }
}

/// What ends the reading of a one-to-one socket: the pending error. Where there is no association and
/// no end that the peer has told of, that is one.
pub(crate) fn take_end(socket: u64) -> i32 {
    match take_error(socket) {
        Pending { error: 0, unconnected: true, .. } => libc::ENOTCONN,
        Pending { error, .. } => error,
    }
}
