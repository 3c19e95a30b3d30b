//! An association that nobody uses (SCTP_AUTOCLOSE).

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;
use std::time::Duration;

use tresse_core::Time;

use super::Association;
use crate::error::Closed;
use crate::runtime::Timer;

impl Association {
    /// Waits until no user data was sent or received for as long as `limit`, then shuts the association down and returns as
    /// [`shutdown`](Self::shutdown) does; also at once when the association ends before (SCTP_AUTOCLOSE, RFC 6458 §8.1.8).
    ///
    /// Idle is an association from its last packet with user data on, or from when it was established or the peer restarted: so a call may be
    /// dropped and made again, such as in a loop that selects, and one that has been idle for that long is shut down at once.
    /// What is sent again counts as sent; heartbeats and acknowledgements do not, nor does a message that waits in the send
    /// buffer. A short limit, below some RTOs, may thus end an association whose path has failed for a moment; as in any
    /// shutdown, what was accepted is still delivered.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tresse::{Config, Endpoint};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Endpoint::bind(Config::server("127.0.0.1:0".parse()?, 5001))?;
    /// let client = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
    /// let (ours, theirs) = tokio::join!(client.connect((server.local_addr(), 5001)), server.accept());
    /// let ours = ours?;
    /// let watched = theirs?;
    /// tokio::spawn(async move { watched.close_when_idle(Duration::from_millis(50)).await });
    /// assert!(ours.closed().await.is_graceful());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// How the association ended, if not gracefully.
    ///
    /// # Panics
    /// If the endpoint is on tokio: when polled outside of a tokio runtime with time enabled.
    pub async fn close_when_idle(&self, limit: Duration) -> Result<(), Closed> {
        let shared = &self.inner.shared;
        let mut ended = pin!(self.closed());
        let mut armed: Option<Pin<Box<dyn Timer>>> = None;
        poll_fn(|cx| {
            if ended.as_mut().poll(cx).is_ready() {
                return Poll::Ready(());
            }
            // Traffic moves the time that it is due at, and nobody looks at that before the timer expires.
            loop {
                if armed.as_mut().is_some_and(|timer| timer.as_mut().poll(cx).is_pending()) {
                    return Poll::Pending;
                }
                let due = self.idle_since() + limit;
                if shared.clock.now() >= due {
                    return Poll::Ready(());
                }
                let timer = armed.get_or_insert_with(|| shared.runtime.timer());
                timer.as_mut().reset(shared.clock.instant(due));
            }
        })
        .await;
        self.shutdown().await
    }

    /// When user data was sent or received last, or could be for the first time.
    fn idle_since(&self) -> Time {
        let (id, state) = (self.inner.id, self.inner.shared.lock());
        let opened = state.slots.get(id).map_or(Time::ZERO, |slot| slot.opened);
        state.core.last_data(id).map_or(opened, |at| at.max(opened))
    }
}
