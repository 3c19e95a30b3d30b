//! Whose turn it is of the messages that are complete (RFC 9260 §6.6).

use tresse_wire::{Ssn, StreamId};

use super::{BACKLOG, Inbound, InboundError, MessagePart, ReceivedMessage, SkippedStream, Stored};
use crate::streams::delivery::Turn;
use crate::streams::ring::Head;

impl Inbound {
    //= RFC 9260 3.3.1-2 3.3.1-3 6.6-1 6.6-2 6.6-3
    /// A message is complete, and all chunks before it are there.
    #[inline]
    pub(super) fn route(&mut self, message: ReceivedMessage) -> Result<(), InboundError> {
        if message.part == MessagePart::Last {
            return self.end_parts(message);
        }
        let (stream, ssn, tsn) = (message.stream, message.ssn, message.tsn);
        if let Some(barrier) = self.barrier.as_mut().filter(|b| b.holds(stream, tsn)) {
            let unordered = message.unordered;
            let entry = self.reassembly.store(message);
            let stored =
                Stored { entry, tsn, stream, ssn, unordered, beyond_edge: u16::MAX.into() };
            barrier.keep(tsn, stored);
            return Ok(());
        }
        if !message.unordered && self.delivery.turn(stream, ssn, 0)? == Turn::Later {
            // No chunk is missing, but an SSN is: the peer numbers TSNs and SSNs in
            // different order. RFC 9260 §6.6 holds the message all the same.
            let entry = self.reassembly.store(message);
            return self.delivery.hold(stream, ssn, entry);
        }
        self.pass(message);
        Ok(())
    }

    /// A message is complete, chunks before it are missing.
    pub(super) fn route_ahead(&mut self, stored: Stored) -> Result<(), InboundError> {
        let (stream, tsn) = (stored.stream, stored.tsn);
        match self.barrier.as_mut().filter(|barrier| barrier.holds(stream, tsn)) {
            // How far it is from the edge is not known when its time comes: far enough.
            Some(barrier) => {
                barrier.keep(tsn, Stored { beyond_edge: u64::from(u16::MAX), ..stored });
                Ok(())
            }
            None => self.route_stored(stored),
        }
    }

    /// A complete message that is held.
    pub(super) fn route_stored(&mut self, stored: Stored) -> Result<(), InboundError> {
        let Stored { entry, stream, ssn, unordered, beyond_edge, .. } = stored;
        // RFC 9260 §6.6: unordered messages bypass the ordering mechanism.
        if !unordered && self.delivery.turn(stream, ssn, beyond_edge)? == Turn::Later {
            return self.delivery.hold(stream, ssn, entry);
        }
        if self.reassembly.is_begun() {
            self.blocked.push(stored);
            return Ok(());
        }
        let message = self.reassembly.take(entry);
        self.pass(message);
        Ok(())
    }

    /// It is the turn of a message, and then of those that waited for it.
    #[inline]
    fn pass(&mut self, message: ReceivedMessage) {
        let (stream, unordered) = (message.stream, message.unordered);
        self.deliver(message);
        if !unordered {
            self.deliver_held(stream);
        }
    }

    /// Delivers the held messages of a stream whose turn it is.
    #[inline]
    pub(super) fn deliver_held(&mut self, stream: StreamId) {
        while let Some(entry) = self.delivery.next_held(stream) {
            let message = self.reassembly.take(entry);
            self.deliver(message);
        }
    }

    #[inline]
    fn deliver(&mut self, mut message: ReceivedMessage) {
        if self.delivery.ready() >= BACKLOG {
            let payload = std::mem::take(&mut message.payload);
            message.payload = self.reassembly.detach(payload);
        }
        self.delivery.deliver(message);
    }

    /// Of the ordered messages that the edge has reached it is known which of their streams are passed over before them
    /// (`renewal.rs`). What is kept is of no known time.
    #[inline]
    pub(super) fn settle_reached(&mut self) {
        if let Some(reached) = self.reassembly.take_reached() {
            self.settle_all(reached.into_iter());
        }
    }

    fn settle_all(&mut self, reached: impl Iterator<Item = Head>) {
        for Head { stream, ssn, tsn, .. } in reached {
            if !self.barrier.as_ref().is_some_and(|barrier| barrier.holds(stream, tsn)) {
                self.settle(stream, ssn);
            }
        }
    }

    /// The same for one of them.
    pub(super) fn settle(&mut self, stream: StreamId, ssn: Ssn) {
        if let Some(ssn) = self.delivery.settle(stream, ssn) {
            self.skip(SkippedStream { stream, ssn });
        }
    }

    /// Ordered messages of a stream will not come up to some SSN.
    pub(super) fn skip(&mut self, SkippedStream { stream, ssn }: SkippedStream) {
        while let Some(entry) = self.delivery.next_held_until(stream, ssn) {
            let message = self.reassembly.take(entry);
            self.deliver(message);
        }
        self.delivery.pass_over(stream, ssn);
        self.deliver_held(stream);
    }

    /// A message ends that was handed over in parts, or is aborted: it is the turn of those that waited for that.
    pub(super) fn end_parts(&mut self, last: ReceivedMessage) -> Result<(), InboundError> {
        let (stream, unordered) = (last.stream, last.unordered);
        self.delivery.end_parts(last);
        if !unordered {
            self.deliver_held(stream);
        }
        let blocked = std::mem::take(&mut self.blocked);
        blocked.into_iter().try_for_each(|stored| self.route_stored(stored))
    }
}
