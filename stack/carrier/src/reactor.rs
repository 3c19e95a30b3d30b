//! Who tells that a socket is ready: that of tokio, or of any other runtime.

use std::fmt::Debug;
use std::io::{self, ErrorKind};
use std::net::UdpSocket;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

/// What a socket is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Interest {
    /// Something can be read.
    Readable,
    /// Something can be sent.
    Writable,
    /// Something stands in its error queue (`EPOLLERR`), where ICMP messages are. Asked for on Linux only. Whoever
    /// cannot wait for that alone may wait for [`Readable`](Self::Readable): that costs a system call each time that
    /// packets arrive.
    Error,
}

/// The part of a runtime that waits for sockets. `Tokio` is one; the documentation of `tresse::Runtime` has another.
pub trait Reactor: Debug + Send + Sync {
    /// Waits for `socket` from now on. It is non-blocking; on Linux it may be one for raw IP.
    ///
    /// A socket is registered once for each interest, as one object or as duplicates of it.
    ///
    /// # Errors
    /// Those of the system.
    fn register(
        &self,
        socket: Arc<UdpSocket>,
        interest: Interest,
    ) -> io::Result<Box<dyn Readiness>>;
}

/// Tells when a socket is ready for what it was registered for.
pub trait Readiness: Debug + Send + Sync {
    /// Ready if the socket has become ready since this was ready for the last time, and the first time if it is ready
    /// then; if that is not known, also if it may have become so. Otherwise the task is woken once it is.
    ///
    /// Whoever has learned that it is ready must use the socket until it would block before asking again.
    ///
    /// # Errors
    /// The runtime is going away.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>>;
}

/// A socket that is read when there is something to read.
#[derive(Debug)]
pub(crate) struct Readable {
    ready: Box<dyn Readiness>,
    /// The last attempt would have blocked.
    is_drained: bool,
}

impl Readable {
    pub(crate) fn new(reactor: &dyn Reactor, socket: &Arc<UdpSocket>) -> io::Result<Readable> {
        let ready = reactor.register(Arc::clone(socket), Interest::Readable)?;
        Ok(Readable { ready, is_drained: true })
    }

    /// Calls `read` if the socket may be ready; what it gives may be `WouldBlock`.
    pub(crate) fn poll<T>(
        &mut self,
        cx: &mut Context<'_>,
        read: impl FnOnce() -> io::Result<T>,
    ) -> Poll<io::Result<T>> {
        if self.is_drained {
            ready!(self.ready.poll_ready(cx))?;
        }
        let result = read();
        self.is_drained = result.as_ref().is_err_and(|e| e.kind() == ErrorKind::WouldBlock);
        Poll::Ready(result)
    }
}

/// Waits until a socket has room for another packet. A duplicate is registered each time, for an error leaves the
/// registration of a socket writable for ever.
#[derive(Debug)]
pub(crate) struct Writable {
    reactor: Arc<dyn Reactor>,
    waiting: Option<Box<dyn Readiness>>,
}

impl Writable {
    pub(crate) fn new(reactor: Arc<dyn Reactor>) -> Writable {
        Writable { reactor, waiting: None }
    }

    /// Ready when the caller should try again.
    pub(crate) fn poll(
        &mut self,
        cx: &mut Context<'_>,
        socket: &UdpSocket,
    ) -> Poll<io::Result<()>> {
        let waiting = match &mut self.waiting {
            Some(waiting) => waiting,
            none => {
                let duplicate = Arc::new(socket.try_clone()?);
                none.insert(self.reactor.register(duplicate, Interest::Writable)?)
            }
        };
        let ready = waiting.poll_ready(cx);
        if ready.is_ready() {
            self.waiting = None;
        }
        ready
    }
}
