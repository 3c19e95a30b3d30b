//! Requests to the engine.

use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{RecvFlags, Shutdown, SocketFlags, recv, shutdown};
use tresse_socket_protocol::protocol::{MAX_CONTROL, Op, Request};

use crate::door::pass_through;
use crate::engine::{Reached, reach};
use crate::exchange::{Answer, GONE, ask, exchange, read_answer};
use crate::{Fallible, errno};

/// A new connection to the engine, through the door where its path does not lead there any more.
pub(crate) fn dial(flags: SocketFlags) -> Fallible<OwnedFd> {
    match reach(flags)? {
        Reached::Engine(fd) => Ok(fd),
        Reached::Stranger => Err(libc::EACCES),
        Reached::Nobody(error) => {
            let gone = matches!(error, Errno::CONNREFUSED | Errno::NOENT);
            let error = if gone { GONE } else { errno(error) };
            pass_through(flags).ok_or(error)
        }
    }
}

/// A request about a socket, on a connection of its own.
pub(crate) fn call(op: Op, socket: u64, (a, b): (i64, i64), payload: Vec<u8>) -> Fallible<Answer> {
    let fd = dial(SocketFlags::empty())?;
    exchange(&fd, &Request { op, socket, a, b, payload })
}

/// As [`call`], of a request whose answer takes its time: signals interrupt the wait as they do that of a program, and it ends with
/// EAGAIN after `timeout`.
pub(crate) fn call_and_wait(timeout: Option<Duration>, request: Request) -> Fallible<Answer> {
    let fd = dial(SocketFlags::empty())?;
    ask(&fd, &request)?;
    set_socket_timeout(&fd, Timeout::Recv, timeout).map_err(errno)?;
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
