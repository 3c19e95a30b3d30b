//! Requests to the engine.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, connect, recv,
    send, socket_with,
};
use tresse_sockets::protocol::{MAX_CONTROL, Op, Request, read_reply};

use crate::table::borrow;
use crate::{Fallible, errno};

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
    ask(&fd, request)?;
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
    let (len, _) = recv(&fd, &mut buffer[..], RecvFlags::empty()).map_err(errno)?;
    read_answer(&buffer[..len])
}

/// What became of a socket.
pub(crate) struct Fate {
    /// The pending error, 0 if none. If the engine is gone, that is the error.
    pub(crate) error: i32,
    /// Nothing more comes from the peer.
    pub(crate) ended: bool,
}

/// What ends the reading of a one-to-one socket: as [`take_error`], but where there is no association
/// and no end that the peer has told of, that is the error.
pub(crate) fn take_end(socket: u64) -> Fate {
    match call(Op::TakeError, socket, (0, 0), Vec::new()) {
        Ok((0, payload)) if payload == [2] => Fate { error: libc::ENOTCONN, ended: true },
        Ok((error, payload)) => Fate { error: error as i32, ended: payload != [0] },
        Err(_) => Fate { error: libc::ECONNRESET, ended: true },
    }
}

/// Takes the pending error of a socket.
pub(crate) fn take_error(socket: u64) -> Fate {
    match call(Op::TakeError, socket, (0, 0), Vec::new()) {
        Ok((error, payload)) => Fate { error: error as i32, ended: payload != [0] },
        Err(_) => Fate { error: libc::ECONNRESET, ended: true },
    }
}
