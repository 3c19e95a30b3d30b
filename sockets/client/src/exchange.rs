//! Requests and answers on a connection to the engine.

use std::os::fd::AsFd;

use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use tresse_socket_protocol::protocol::{MAX_CONTROL, Request, read_reply};

use crate::{Fallible, errno};

/// What calls on a socket fail with whose engine has gone.
pub(crate) const GONE: i32 = libc::ENETDOWN;

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

pub(crate) fn ask(fd: impl AsFd, request: &Request) -> Fallible<()> {
    let frame = request.encode();
    if frame.len() > MAX_CONTROL {
        return Err(libc::EINVAL);
    }
    retry(|| send(&fd, &frame, SendFlags::NOSIGNAL)).map(|_| ())
}

pub(crate) fn read_answer(frame: &[u8]) -> Fallible<Answer> {
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
