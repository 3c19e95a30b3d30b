//! The runtime that an endpoint lives on: tokio, or any other one.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

#[cfg(feature = "tokio")]
pub use tresse_carrier::Tokio;
pub use tresse_carrier::{
    IcmpKind, IcmpMessage, IncomingPacket, Interest, IpFragments, Outgoing, PacketSocket, Reactor,
    Readiness,
};

/// What an endpoint needs of the program around it: somebody who waits for sockets, and for the time. `Tokio` is one,
/// which [`Endpoint::bind`](crate::Endpoint::bind) and [`Endpoint::open`](crate::Endpoint::open) use; another one is
/// given to [`Endpoint::open_with`](crate::Endpoint::open_with).
///
/// Nothing else of an endpoint depends on a runtime: its [`Driver`](crate::Driver) and the futures of its handles can be
/// polled by any executor, or by a thread that parks.
///
/// # With async-io, which smol is made of
///
/// ```
/// use std::net::UdpSocket;
/// use std::pin::Pin;
/// use std::sync::Arc;
/// use std::task::{Context, Poll};
/// use std::time::Instant;
///
/// use async_io::{Async, Timer};
/// use tresse::runtime::{self, Interest, Reactor, Readiness, Runtime};
///
/// #[derive(Debug)]
/// struct AsyncIo;
///
/// #[derive(Debug)]
/// struct Socket(Async<Arc<UdpSocket>>, Interest);
///
/// impl Reactor for AsyncIo {
///     fn register(
///         &self,
///         socket: Arc<UdpSocket>,
///         interest: Interest,
///     ) -> std::io::Result<Box<dyn Readiness>> {
///         Ok(Box::new(Socket(Async::new_nonblocking(socket)?, interest)))
///     }
/// }
///
/// impl Readiness for Socket {
///     fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
///         match self.1 {
///             Interest::Writable => self.0.poll_writable(cx),
///             // What has an error is readable, too.
///             Interest::Readable | Interest::Error => self.0.poll_readable(cx),
///         }
///     }
/// }
///
/// impl Runtime for AsyncIo {
///     fn timer(&self) -> Pin<Box<dyn runtime::Timer>> {
///         Box::pin(Alarm(Timer::never()))
///     }
/// }
///
/// struct Alarm(Timer);
///
/// impl runtime::Timer for Alarm {
///     fn reset(mut self: Pin<&mut Self>, at: Instant) {
///         self.0.set_at(at);
///     }
///
///     fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
///         Future::poll(Pin::new(&mut self.0), cx).map(drop)
///     }
/// }
/// ```
pub trait Runtime: Reactor {
    /// A timer that is not set.
    fn timer(&self) -> Pin<Box<dyn Timer>>;
}

/// Wakes the driver when its next timer expires.
pub trait Timer: Send {
    /// Sets it again.
    fn reset(self: Pin<&mut Self>, at: Instant);

    /// Ready at that time and later. Before, and while it was never set, the task is woken then.
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>;
}

#[cfg(feature = "tokio")]
pub(crate) use on_tokio::current;

#[cfg(feature = "tokio")]
mod on_tokio {
    use std::future::Future;
    use std::io;
    use std::pin::Pin;
    use std::sync::Arc;
    use std::task::{Context, Poll};
    use std::time::{Duration, Instant};

    use tokio::runtime::Handle;
    use tokio::time::{Sleep, sleep};
    use tresse_carrier::Tokio;

    use super::{Runtime, Timer};

    /// The runtime that the caller is in.
    pub(crate) fn current() -> io::Result<Arc<dyn Runtime>> {
        Handle::try_current().map_err(io::Error::other)?;
        Ok(Arc::new(Tokio))
    }

    /// How far away a timer is that was never set.
    const NEVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

    impl Runtime for Tokio {
        /// # Panics
        /// Outside of a tokio runtime with time enabled.
        fn timer(&self) -> Pin<Box<dyn Timer>> {
            Box::pin(sleep(NEVER))
        }
    }

    impl Timer for Sleep {
        fn reset(self: Pin<&mut Self>, at: Instant) {
            Sleep::reset(self, at.into());
        }

        fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            Future::poll(self, cx)
        }
    }
}
