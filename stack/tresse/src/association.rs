//! The handle of one association.

mod addresses;
mod halves;
mod idle;
mod keys;
mod open_message;
mod settings;

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use tresse_core::{
    AbandonPolicy, AbandonedMessages, AssociationError, AssociationId, AssociationStats, Event,
    Message, NextMessage, PathId, PathStats, ReceivedMessage, ReconfigurationError, ResetDirection,
    SendOptions, Time,
};
use tresse_wire::StreamId;

use crate::error::{Closed, SendError};
use crate::figures::AssociationMetrics;
use crate::peer::Peer;
use crate::shared::{Phase, Shared, Signals, State, wait};

pub use halves::{RecvHalf, SendHalf};
pub use open_message::OpenMessage;

/// An association: whole messages on many streams to and from one peer.
///
/// Clones are cheap and mean the same association; all methods can be called from several tasks
/// at once. Every future here can be dropped at any time: a message is then either accepted or
/// not, taken or not. See the [crate documentation](crate#endings) for what dropping the last
/// clone does.
#[derive(Clone)]
pub struct Association {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    id: AssociationId,
    signals: Arc<Signals>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.shared.act(|state, now| state.release(self.id, now));
    }
}

impl std::fmt::Debug for Association {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Association").field(&self.inner.id).finish()
    }
}

impl Association {
    /// The one handle from which all others are cloned.
    pub(crate) fn new(
        shared: &Arc<Shared>,
        id: AssociationId,
        signals: Arc<Signals>,
    ) -> Association {
        Association { inner: Arc::new(Inner { shared: Arc::clone(shared), id, signals }) }
    }

    /// Waits for the end of the handshake.
    pub(crate) async fn established(&self) -> Result<(), Closed> {
        wait(&self.inner.signals.changed, || {
            let state = self.inner.shared.lock();
            let Some(slot) = state.slots.get(self.inner.id) else {
                return Some(Err(Closed::unknown()));
            };
            match &slot.phase {
                Phase::Connecting => None,
                // The peer may have sent messages, and have ended it by now.
                Phase::Closed(closed) if !slot.was_open() => Some(Err(closed.clone())),
                Phase::Open | Phase::Closed(_) => Some(Ok(())),
            }
        })
        .await
    }

    /// Its number in trace events and observers.
    #[must_use]
    pub fn id(&self) -> AssociationId {
        self.inner.id
    }

    /// Sends a message, waiting for room in the send buffer. Returning means accepted, not
    /// delivered: [`shutdown`](Self::shutdown) tells whether everything arrived.
    ///
    /// # Errors
    /// [`SendError::Closed`] when the association has ended, another one when the message cannot be sent: no such
    /// stream, empty, too large, or shutting down.
    pub async fn send(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
    ) -> Result<(), SendError> {
        self.send_with(stream, data, SendOptions::default()).await
    }

    /// As [`send`](Self::send), with a payload protocol identifier, unordered, for a limited time, and so on.
    ///
    /// # Errors
    /// As `send`.
    pub async fn send_with(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), SendError> {
        // A sender that never waits would keep the driver from running on the same thread.
        yield_if_long().await;
        let (stream, mut data) = (stream.into(), data.into());
        wait(&self.inner.signals.writable, || match self.offer(stream, &mut data, options) {
            Err(SendError::WouldBlock) => None,
            result => Some(result),
        })
        .await
    }

    /// Sends a message if there is room now.
    ///
    /// # Errors
    /// As [`send`](Self::send), and [`SendError::WouldBlock`] when the send buffer is full, or the association is just
    /// ending.
    pub fn try_send(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
    ) -> Result<(), SendError> {
        self.try_send_with(stream, data, SendOptions::default())
    }

    /// As [`try_send`](Self::try_send), with options.
    ///
    /// # Errors
    /// As `try_send`.
    pub fn try_send_with(
        &self,
        stream: impl Into<StreamId>,
        data: impl Into<Bytes>,
        options: SendOptions,
    ) -> Result<(), SendError> {
        self.offer(stream.into(), &mut data.into(), options)
    }

    /// Offers the message to the core; takes `payload` unless there is no room.
    fn offer(
        &self,
        stream: StreamId,
        payload: &mut Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| {
            if let Some(closed) = state.closed(id) {
                return Err(SendError::Closed(closed));
            }
            // The copy is needed only when the message might be refused and offered again.
            let offered = if state.core.send_space(id) >= payload.len() {
                std::mem::take(payload)
            } else {
                payload.clone()
            };
            state.core.send(now, id, stream, offered, options).map_err(|error| match error {
                // It has ended, and how is told in a moment, which wakes who waits for room.
                tresse_core::SendError::Closed(_) => SendError::WouldBlock,
                error => error.map_closed(|_| Closed::unknown()),
            })
        })
    }

    /// Waits for the next message of any stream. Messages come in parts if
    /// [`AssociationConfig::partial_delivery_point`](crate::AssociationConfig::partial_delivery_point) says so.
    ///
    /// # Errors
    /// How the association ended, when it has and all messages have been read; after a shutdown it
    /// [`is_graceful`](Closed::is_graceful).
    pub async fn recv(&self) -> Result<ReceivedMessage, Closed> {
        yield_if_long().await;
        wait(&self.inner.signals.readable, || self.take().transpose()).await
    }

    /// The next message if there is one now.
    ///
    /// # Errors
    /// How the association ended, when it has and all messages have been read.
    pub fn try_recv(&self) -> Result<Option<ReceivedMessage>, Closed> {
        self.take()
    }

    /// What [`try_recv`](Self::try_recv) would give, which stays where it is and goes on filling the receive window; `None` where
    /// that has no message (SCTP_NXTINFO and SCTP_USE_EXT_RCVINFO, RFC 6458 §5.3.6, §5.3.3). Another task may take it first;
    /// and of a message that comes in parts more may be there by then.
    #[must_use]
    pub fn next_message(&self) -> Option<NextMessage> {
        let (id, state) = (self.inner.id, self.inner.shared.lock());
        if state.tells_of_reset(id) { None } else { state.core.next_message(id) }
    }

    fn take(&self) -> Result<Option<ReceivedMessage>, Closed> {
        let id = self.inner.id;
        let now = self.inner.shared.clock.now();
        let mut state = self.inner.shared.lock();
        // What comes behind a reset of streams, or a restart, is read once its event is there.
        let next = if state.tells_of_reset(id) { None } else { state.core.recv(now, id) };
        let Some(message) = next else {
            return state.closed(id).map_or(Ok(None), Err);
        };
        // The window has grown: the driver may have to tell the peer.
        let driver = state.driver.take();
        drop(state);
        if let Some(driver) = driver {
            driver.wake();
        }
        Ok(Some(message))
    }

    /// Shuts down gracefully (RFC 9260 §9.2): all messages sent are delivered first. Waits for
    /// the end. The peer may still have messages under way: go on reading in another task, or
    /// drop all handles instead, if it might have more than the receive buffer holds.
    ///
    /// # Errors
    /// How the association ended, if not gracefully.
    pub async fn shutdown(&self) -> Result<(), Closed> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| {
            if state.closed(id).is_none() {
                // It can only fail for an association that is gone, which `closed` reports.
                let _ = state.core.shutdown(now, id);
            }
        });
        match self.closed().await {
            closed if closed.is_graceful() => Ok(()),
            closed => Err(closed),
        }
    }

    /// Ends the association at once (RFC 9260 §9.1); `reason` is shown to the peer. The ABORT
    /// has been sent when [`closed`](Self::closed) returns.
    pub fn abort(&self, reason: impl AsRef<[u8]>) {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| {
            if state.closed(id).is_none() {
                let _ = state.core.abort(now, id, reason.as_ref());
            }
        });
    }

    /// Waits for the end of the association.
    pub async fn closed(&self) -> Closed {
        wait(&self.inner.signals.changed, || self.inner.shared.lock().closed(self.inner.id)).await
    }

    /// How the association ended, if it has.
    #[must_use]
    pub fn close_reason(&self) -> Option<Closed> {
        self.inner.shared.lock().closed(self.inner.id)
    }

    /// Waits for the next notification, which is any [`Event`] of those that no other call tells: of paths, addresses and keys, of
    /// messages that were given up, of streams, of the peer, and `Closed` as the last one; then `None`. The newest 64 are kept for a reader that is late; [`events_missed`](Self::events_missed)
    /// counts the others.
    ///
    /// The end is no error here: it is the last event, and [`close_reason`](Self::close_reason) tells it for good.
    pub async fn next_event(&self) -> Option<Event> {
        wait(&self.inner.signals.changed, || {
            let mut state = self.inner.shared.lock();
            let Some(slot) = state.slots.get_mut(self.inner.id) else { return Some(None) };
            match slot.events.pop_front() {
                Some(event) => Some(Some(event)),
                None => slot.closed().is_some().then_some(None),
            }
        })
        .await
    }

    /// Notifications that were dropped because nobody took them.
    #[must_use]
    pub fn events_missed(&self) -> u64 {
        self.inner.shared.lock().slots.get(self.inner.id).map_or(0, |slot| slot.events_missed)
    }

    /// Takes the messages that the peer had not acknowledged when the association ended or
    /// restarted (SEND FAILURE, RFC 9260 §11.2.2). The peer may have received some of them.
    #[must_use]
    pub fn take_unacknowledged(&self) -> Vec<Message> {
        let mut state = self.inner.shared.lock();
        let Some(slot) = state.slots.get_mut(self.inner.id) else { return Vec::new() };
        slot.unacknowledged_bytes = 0;
        std::mem::take(&mut slot.unacknowledged).into()
    }

    /// How many streams we may send on: stream numbers lie below it.
    #[must_use]
    pub fn outbound_streams(&self) -> u16 {
        self.inner.shared.lock().slots.get(self.inner.id).map_or(0, |slot| slot.streams.0)
    }

    /// How many streams the peer may send on.
    #[must_use]
    pub fn inbound_streams(&self) -> u16 {
        self.inner.shared.lock().slots.get(self.inner.id).map_or(0, |slot| slot.streams.1)
    }

    /// Free bytes in the send buffer, 0 when the association has ended.
    #[must_use]
    pub fn send_space(&self) -> usize {
        let state = self.inner.shared.lock();
        if state.closed(self.inner.id).is_some() { 0 } else { state.core.send_space(self.inner.id) }
    }

    /// Counters; those of its last moment when it has ended.
    #[must_use]
    pub fn stats(&self) -> AssociationStats {
        let state = self.inner.shared.lock();
        match state.last(self.inner.id) {
            Some(last) => last.stats.clone(),
            None => state.core.stats(self.inner.id).unwrap_or_default(),
        }
    }

    /// Every path, in the order of path numbers; as of its last moment when it has ended.
    #[must_use]
    pub fn path_stats(&self) -> Vec<PathStats> {
        let state = self.inner.shared.lock();
        match state.last(self.inner.id) {
            Some(last) => last.paths.clone(),
            None => state.core.path_stats(self.inner.id),
        }
    }

    /// All figures at one moment; those of its last moment when it has ended.
    #[must_use]
    pub fn metrics(&self) -> AssociationMetrics {
        let state = self.inner.shared.lock();
        let last = state.last(self.inner.id).cloned();
        last.or_else(|| AssociationMetrics::of(&state.core, self.inner.id)).expect(
            "the core has it until its last figures are kept, and they are for as long as a handle",
        )
    }

    /// Who the other end is: all its addresses, its UDP port (`None` on raw IP) and its SCTP port; as of its last moment when it has ended.
    #[must_use]
    pub fn peer(&self) -> Peer {
        let AssociationMetrics { info, paths, .. } = self.metrics();
        let mut peer = Peer::multihomed(paths.iter().map(|path| path.remote), info.remote_port);
        peer.udp_port = info.encapsulation;
        peer
    }

    /// How many messages of an outbound stream were given up by a policy; of all streams without `stream`, by any policy
    /// without `policy` (RFC 7496 §4.3, §4.4).
    ///
    /// # Errors
    /// [`AssociationError::NoAssociation`] when it has ended, [`AssociationError::NoStream`].
    pub fn abandoned(
        &self,
        stream: Option<StreamId>,
        policy: Option<AbandonPolicy>,
    ) -> Result<AbandonedMessages, AssociationError> {
        self.inner.shared.lock().core.abandoned(self.inner.id, stream, policy)
    }

    /// Sends new data to `path` by default from now on (RFC 9260 §11.1.6).
    ///
    /// # Errors
    /// See [`AssociationError`]; the path must be confirmed.
    pub fn set_primary(&self, path: PathId) -> Result<(), AssociationError> {
        self.inner.shared.act(|state, now| state.core.set_primary(now, self.inner.id, path))
    }

    /// Tells the stream scheduler of the priority or the weight of an outbound stream (RFC 8260 §4.3.3): the profile's
    /// [`StreamScheduler`](tresse_core::profile::StreamScheduler) says what it means. Default 0.
    ///
    /// # Errors
    /// See [`AssociationError`].
    pub fn set_stream_value(
        &self,
        stream: impl Into<StreamId>,
        value: u16,
    ) -> Result<(), AssociationError> {
        let (id, stream) = (self.inner.id, stream.into());
        self.inner.shared.act(|state, now| state.core.set_stream_value(now, id, stream, value))
    }

    /// What was set for an outbound stream, 0 if nothing; `None` if there is no such stream, or no association any more.
    #[must_use]
    pub fn stream_value(&self, stream: impl Into<StreamId>) -> Option<u16> {
        self.inner.shared.lock().core.stream_value(self.inner.id, stream.into())
    }

    /// Resets streams (RFC 6525): they begin again with SSN 0. An empty list means all. What was sent before on our outgoing ones
    /// is delivered before, and what is sent after this call waits until the reset is over; incoming ones are reset by the peer,
    /// if it wants to. [`Event::StreamsReset`] tells what became of it, for each direction. A data channel is closed with it
    /// (RFC 8831 §6.7).
    ///
    /// # Errors
    /// See [`ReconfigurationError`]; one request at a time may be under way.
    pub fn reset_streams(
        &self,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigurationError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.reset_streams(now, id, direction, streams))
    }

    /// Resets all streams of both directions, and the TSNs (RFC 6525 §5.1.4). [`Event::AssociationReset`] tells what became of
    /// it.
    ///
    /// # Errors
    /// See [`ReconfigurationError`]: [`TooSoon`](ReconfigurationError::TooSoon) if less than 30 seconds have passed since the
    /// last such request, whatever the answer was (RFC 6525 §5.1.4).
    pub fn reset_association(&self) -> Result<(), ReconfigurationError> {
        self.inner.shared.act(|state, now| state.core.reset_association(now, self.inner.id))
    }

    /// Asks for this many more streams, outgoing and incoming ones (RFC 6525 §5.1.5). [`Event::StreamsAdded`] tells what became
    /// of it; they may be used from then on. Who asks for both is told of each, as the peer answers them.
    ///
    /// # Errors
    /// See [`ReconfigurationError`].
    pub fn add_streams(&self, outgoing: u16, incoming: u16) -> Result<(), ReconfigurationError> {
        let id = self.inner.id;
        self.inner.shared.act(|state, now| state.core.add_streams(now, id, outgoing, incoming))
    }

    /// Sends a heartbeat to `path` now (RFC 9260 §11.1.10).
    ///
    /// # Errors
    /// See [`AssociationError`].
    pub fn request_heartbeat(&self, path: PathId) -> Result<(), AssociationError> {
        self.inner.shared.act(|state, now| state.core.request_heartbeat(now, self.inner.id, path))
    }

    /// The instant of a core time, such as
    /// [`completed_at`](ReceivedMessage::completed_at) of a message.
    #[must_use]
    pub fn instant(&self, time: Time) -> Instant {
        self.inner.shared.clock.instant(time)
    }
}

impl State {
    /// How an association ended, if it has.
    fn closed(&self, id: AssociationId) -> Option<Closed> {
        match self.slots.get(id) {
            Some(slot) => slot.closed().cloned(),
            None => Some(Closed::unknown()),
        }
    }

    fn last(&self, id: AssociationId) -> Option<&AssociationMetrics> {
        self.slots.get(id)?.last.as_deref()
    }
}

/// Lets other tasks of the thread run if this one has had its turn for long. Other runtimes than tokio have no such
/// account.
async fn yield_if_long() {
    #[cfg(feature = "tokio")]
    tokio::task::coop::consume_budget().await;
}
