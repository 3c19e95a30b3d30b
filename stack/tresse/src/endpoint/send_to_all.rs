//! One message to all associations (SCTP_SENDALL).

use std::collections::BTreeSet;

use bytes::Bytes;
use tresse_core::{AssociationId, SendOptions, Time};
use tresse_wire::StreamId;

use super::Endpoint;
use crate::error::{Closed, SendError};
use crate::shared::{Phase, State};

impl Endpoint {
    /// Sends a message to every open association of the endpoint, without waiting for room (SCTP_SENDALL, RFC 6458 §5.3.4).
    /// Its bytes are not copied for each. The endpoint stands still meanwhile, as for one
    /// [`try_send`](crate::Association::try_send) each.
    ///
    /// Open is an association that is established and has a handle: whoever waits for [`accept`](Self::accept) gets nothing yet,
    /// and what a dropped handle has left to shut down gets nothing more.
    ///
    /// Returns the associations that it did not go to, each with the reason: [`SendError::WouldBlock`] where the send
    /// buffer is full, another one where the message cannot be sent (no such stream, empty, too large), or nothing any more
    /// (shutting down). All others have accepted it.
    ///
    /// ```
    /// use tresse::{Config, Endpoint, SendOptions};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let server = Endpoint::bind(Config::server("127.0.0.1:0".parse()?, 5001))?;
    /// let mut guests = Vec::new();
    /// for _ in 0..2 {
    ///     let to = (server.local_addr(), 5001);
    ///     let guest = Endpoint::bind(Config::client("127.0.0.1:0".parse()?))?;
    ///     guests.push((guest.connect(to).await?, server.accept().await?));
    /// }
    /// let missed = server.send_to_all(0, "closing soon", SendOptions::default());
    /// assert!(missed.is_empty());
    /// for (guest, _) in &guests {
    ///     assert_eq!(guest.recv().await?.payload, "closing soon");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub fn send_to_all(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Vec<(AssociationId, SendError)> {
        let (stream, payload) = (stream.into(), data.into());
        self.inner.shared.act(|state, now| state.send_to_all(now, stream, &payload, options))
    }
}

impl State {
    fn send_to_all(
        &mut self,
        now: Time,
        stream: StreamId,
        payload: &Bytes,
        options: SendOptions,
    ) -> Vec<(AssociationId, SendError)> {
        let State { core, slots, backlog, .. } = self;
        let waiting: BTreeSet<AssociationId> = backlog.iter().copied().collect();
        let open = slots.iter().filter(|(id, slot)| {
            slot.phase == Phase::Open && !slot.orphan && !waiting.contains(id)
        });
        open.filter_map(|(id, _)| match core.send(now, id, stream, payload.clone(), options) {
            // It has ended, and how is told in a moment.
            Ok(()) | Err(tresse_core::SendError::Closed(_)) => None,
            Err(error) => Some((id, error.map_closed(|_| Closed::unknown()))),
        })
        .collect()
    }
}
