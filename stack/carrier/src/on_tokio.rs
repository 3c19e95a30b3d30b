//! The reactor of tokio.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;

use crate::{Interest, Reactor, Readiness};

/// The tokio runtime on which it is used.
///
/// # Panics
/// [`register`](Reactor::register) outside of a tokio runtime with IO enabled.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tokio;

impl Reactor for Tokio {
    fn register(
        &self,
        socket: Arc<UdpSocket>,
        interest: Interest,
    ) -> io::Result<Box<dyn Readiness>> {
        system::register(socket, interest)
    }
}

/// For tests.
#[cfg(test)]
pub(crate) fn tokio() -> Arc<dyn Reactor> {
    Arc::new(Tokio)
}

#[cfg(target_os = "linux")]
mod system {
    use std::future::Future;
    use std::io;
    use std::net::UdpSocket;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll, ready};

    use tokio::io::unix::AsyncFd;

    use crate::{Interest, Readiness, sys};

    type Socket = AsyncFd<Arc<UdpSocket>>;

    pub(super) fn register(
        socket: Arc<UdpSocket>,
        interest: Interest,
    ) -> io::Result<Box<dyn Readiness>> {
        Ok(match interest {
            Interest::Readable => Box::new(Readable(sys::register(socket, READABLE)?)),
            Interest::Writable => Box::new(Writable(sys::register(socket, WRITABLE)?)),
            Interest::Error => Box::new(Error::new(sys::register(socket, ERROR)?)),
        })
    }

    const READABLE: tokio::io::Interest = tokio::io::Interest::READABLE;
    const WRITABLE: tokio::io::Interest = tokio::io::Interest::WRITABLE;
    const ERROR: tokio::io::Interest = tokio::io::Interest::ERROR;

    #[derive(Debug)]
    struct Readable(Socket);

    #[derive(Debug)]
    struct Writable(Socket);

    /// The runtime tells a reader and a writer of a descriptor nothing of errors.
    struct Error {
        waiting: Pin<Box<dyn Future<Output = io::Result<Socket>> + Send + Sync>>,
    }

    // What is cleared before the socket is used wakes the task again if more comes.

    impl Readiness for Readable {
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            ready!(self.0.poll_read_ready(cx))?.clear_ready();
            Poll::Ready(Ok(()))
        }
    }

    impl Readiness for Writable {
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            ready!(self.0.poll_write_ready(cx))?.clear_ready();
            Poll::Ready(Ok(()))
        }
    }

    impl Error {
        fn new(socket: Socket) -> Error {
            Error { waiting: Box::pin(error(socket)) }
        }
    }

    async fn error(socket: Socket) -> io::Result<Socket> {
        socket.ready(ERROR).await?.clear_ready();
        Ok(socket)
    }

    impl Readiness for Error {
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let result = ready!(self.waiting.as_mut().poll(cx)).map(|socket| {
                self.waiting = Box::pin(error(socket));
            });
            if result.is_err() {
                self.waiting = Box::pin(std::future::pending());
            }
            Poll::Ready(result)
        }
    }

    impl std::fmt::Debug for Error {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Error").finish_non_exhaustive()
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::io::{self, ErrorKind};
    use std::net::UdpSocket;
    use std::sync::Arc;
    use std::task::{Context, Poll, ready};

    use crate::{Interest, Readiness};

    pub(super) fn register(
        socket: Arc<UdpSocket>,
        interest: Interest,
    ) -> io::Result<Box<dyn Readiness>> {
        let socket = tokio::net::UdpSocket::from_std(socket.try_clone()?)?;
        Ok(Box::new(Registered { socket, writes: interest == Interest::Writable }))
    }

    #[derive(Debug)]
    struct Registered {
        socket: tokio::net::UdpSocket,
        writes: bool,
    }

    impl Readiness for Registered {
        fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
            let interest = if self.writes {
                ready!(self.socket.poll_send_ready(cx))?;
                tokio::io::Interest::WRITABLE
            } else {
                ready!(self.socket.poll_recv_ready(cx))?;
                tokio::io::Interest::READABLE
            };
            // Cleared before the socket is used: what comes later wakes the task again.
            let blocked = || Err::<(), io::Error>(ErrorKind::WouldBlock.into());
            let _ = self.socket.try_io(interest, blocked);
            Poll::Ready(Ok(()))
        }
    }
}
