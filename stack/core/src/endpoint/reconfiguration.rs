//! Stream reconfiguration, as an application asks for it (RFC 6525 §6.3).

use tresse_wire::StreamId;

use super::Endpoint;
use crate::association::Association;
use crate::error::ReconfigurationError;
use crate::event::ResetDirection;
use crate::ids::AssociationId;
use crate::time::Time;

impl Endpoint {
    /// Resets streams: they begin again with SSN 0 (SCTP_RESET_STREAMS, RFC 6525 §6.3.2). An empty list means all.
    ///
    /// For outgoing streams, what was sent before this call is delivered before the reset, and what is sent after it waits
    /// until the reset is over. Incoming ones are reset by the peer, if it wants to.
    /// [`Event::StreamsReset`](crate::Event::StreamsReset) tells, for each direction, what became of it.
    ///
    /// # Errors
    /// See [`ReconfigurationError`]; one request at a time may be under way.
    pub fn reset_streams(
        &mut self,
        now: Time,
        id: AssociationId,
        direction: ResetDirection,
        streams: &[StreamId],
    ) -> Result<(), ReconfigurationError> {
        self.ask(now, id, |a| a.reset_streams(now, direction, streams))
    }

    /// Resets all streams of both directions and the TSNs (SCTP_RESET_ASSOC, RFC 6525 §6.3.3). What was sent before is
    /// delivered before. [`Event::AssociationReset`](crate::Event::AssociationReset) tells what became of it.
    ///
    /// # Errors
    /// See [`ReconfigurationError`]: [`TooSoon`](ReconfigurationError::TooSoon) if less than 30 seconds have passed since the
    /// last such request, whatever the answer was (RFC 6525 §5.1.4).
    pub fn reset_association(
        &mut self,
        now: Time,
        id: AssociationId,
    ) -> Result<(), ReconfigurationError> {
        self.ask(now, id, |a| a.reset_association(now))
    }

    /// Adds streams (SCTP_ADD_STREAMS, RFC 6525 §6.3.4): this many outgoing ones, and this many incoming ones, for which the peer is
    /// asked. [`Event::StreamsAdded`](crate::Event::StreamsAdded) tells what became of it; outgoing ones may be used from then on.
    ///
    /// # Errors
    /// See [`ReconfigurationError`].
    pub fn add_streams(
        &mut self,
        now: Time,
        id: AssociationId,
        outgoing: u16,
        incoming: u16,
    ) -> Result<(), ReconfigurationError> {
        self.ask(now, id, |a| a.add_streams(now, outgoing, incoming))
    }

    /// Whether an event that was not polled yet tells that incoming streams begin again, by a reset or since the peer restarted:
    /// what [`recv`](Endpoint::recv) gives now may have come behind that.
    pub fn tells_of_reset(&self, id: AssociationId) -> bool {
        self.roll.get(id).is_some_and(|a| a.journal.tells_of_reset())
    }

    /// How many messages, or parts of one, wait to be read that the peer sent before it restarted: [`recv`](Endpoint::recv) gives
    /// them first ([`Event::Restarted`](crate::Event::Restarted)).
    pub fn unread_of_first_life(&self, id: AssociationId) -> usize {
        self.roll.get(id).map_or(0, Association::unread_of_first_life)
    }

    fn ask(
        &mut self,
        now: Time,
        id: AssociationId,
        operation: impl FnOnce(&mut Association) -> Result<(), ReconfigurationError>,
    ) -> Result<(), ReconfigurationError> {
        self.roll.with(now, &self.ports, (id, ReconfigurationError::NoAssociation), operation)
    }
}
