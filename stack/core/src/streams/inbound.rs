//! From DATA chunks to messages for the application.

mod barrier;
mod order;
mod parts;
mod reset;

use tresse_wire::{SkippedMessages, SkippedStream, Tsn};

use barrier::Barrier;

use super::BACKLOG;
use super::chunk::{InChunk, InboundError};
use super::delivery::Delivery;
use super::interleaved::Interleaved;
use super::reassembly::{Completed, Reassembly};
use super::ring::Stored;
use crate::event::{MessagePart, NextMessage, ReceivedMessage};
use crate::ranges::RangeSet;
use crate::time::Time;

/// Reassembly, ordering and the queue of messages for the application.
#[derive(Debug)]
pub(crate) struct Inbound {
    streams: u16,
    reassembly: Reassembly,
    delivery: Delivery,
    /// While it is not known whether streams begin again (RFC 6525).
    barrier: Option<Box<Barrier>>,
    /// Complete messages beyond the first missing chunk whose turn it is, but for a message that is handed over in parts.
    blocked: Vec<Stored>,
    /// Instead of these, if I-DATA chunks were agreed on.
    interleaved: Option<Box<Interleaved>>,
}

impl Inbound {
    /// Nothing received yet: the first chunk will be `first_seq`.
    pub(crate) fn new(streams: u16, max_message_size: usize, first_seq: u64) -> Self {
        Inbound {
            streams,
            reassembly: Reassembly::new(max_message_size, first_seq),
            delivery: Delivery::new(),
            barrier: None,
            blocked: Vec::new(),
            interleaved: None,
        }
    }

    /// I-DATA chunks come, and no DATA; the peer may pass over messages if it `may_skip`. The first chunk will be `first_seq`.
    /// The limits are those of a message, and of the receive buffer.
    pub(crate) fn interleave(&mut self, limits: (usize, usize), first_seq: u64, may_skip: bool) {
        self.interleaved = Some(Box::new(Interleaved::new(limits, first_seq, may_skip)));
    }

    /// Keeps a list of the chunks beyond the first missing one that are delivered.
    pub(crate) fn track_delivered(&mut self) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.track_done();
            return;
        }
        self.reassembly.ring().track_done();
    }

    /// That list: [`discard`](Self::discard) never drops any of them.
    pub(crate) fn delivered(&self) -> Option<&RangeSet> {
        match &self.interleaved {
            Some(interleaved) => interleaved.done(),
            None => self.reassembly.done(),
        }
    }

    /// Tells the length of the packet that the following chunks are slices of, so that a small
    /// slice that must be kept is copied instead of keeping all the packet alive. 1500 until told.
    pub(crate) fn begin_packet(&mut self, len: usize) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.set_packet_len(len);
        }
        self.reassembly.set_packet_len(len);
    }

    /// Everything up to `cumulative` has arrived, the chunk that comes next included.
    #[inline]
    pub(crate) fn advance_to(&mut self, cumulative: u64) {
        if let Some(interleaved) = &mut self.interleaved {
            interleaved.advance(cumulative);
        }
    }

    /// Takes a chunk that was recorded as new. Every recorded chunk must come here.
    ///
    /// A chunk of a stream that does not exist is passed over: RFC 9260 §6.5 has it acknowledged
    /// and discarded.
    ///
    /// # Errors
    /// After an error the association must be aborted; this object then stays safe to use, but
    /// the chunk is lost.
    pub(crate) fn receive(&mut self, now: Time, chunk: InChunk) -> Result<(), InboundError> {
        if let Some(interleaved) = &mut self.interleaved {
            if chunk.stream.0 < self.streams {
                interleaved.receive(now, chunk, &mut self.delivery)?;
            } else {
                interleaved.note_done(chunk.seq);
            }
            interleaved.settle_reached(&mut self.delivery);
            return Ok(());
        }
        if chunk.stream.0 >= self.streams {
            self.reassembly.skip(chunk.seq)?;
        } else {
            let completed = self.reassembly.insert(now, chunk)?;
            self.settle_reached();
            match completed {
                Some(Completed::Message(message)) => self.route(message)?,
                Some(Completed::Stored(stored)) => self.route_ahead(stored)?,
                None => {}
            }
        }
        self.advance(now)
    }

    //= RFC 3758 3.6-7 3.6-8
    /// What is missing up to `seq` will not come, nor will ordered messages of the streams `skipped` that are not there.
    /// Returns how many chunks were dropped, for something of their messages is missing there.
    ///
    /// # Errors
    /// As [`receive`](Self::receive).
    pub(crate) fn pass_over(
        &mut self,
        now: Time,
        seq: u64,
        skipped: impl Iterator<Item = SkippedStream>,
    ) -> (usize, Result<(), InboundError>) {
        let before = self.reassembly.passed_over();
        let aborted = self.reassembly.pass_over(seq);
        let result = aborted.map_or(Ok(()), |aborted| self.end_parts(aborted));
        let result = result.and_then(|()| self.advance(now));
        let dropped = self.reassembly.passed_over() - before;
        if result.is_ok() {
            let streams = self.streams;
            let tsn = Tsn(seq as u32); // Truncation is the wrap-around.
            for skipped in skipped.filter(|skipped| skipped.stream.0 < streams) {
                match &mut self.barrier {
                    Some(barrier) if barrier.holds(skipped.stream, tsn) => {
                        barrier.pass_over(tsn, skipped);
                    }
                    _ if self.delivery.doubts(skipped.stream) => {}
                    _ => self.skip(skipped),
                }
            }
        }
        (dropped, result)
    }

    /// Passes over these messages of I-DATA chunks, after [`advance_to`](Self::advance_to).
    pub(crate) fn pass_over_messages(
        &mut self,
        seq: u64,
        skipped: impl Iterator<Item = SkippedMessages>,
    ) -> usize {
        let Some(interleaved) = &mut self.interleaved else { return 0 };
        let before = interleaved.passed_over();
        interleaved.settle_reached(&mut self.delivery);
        let tsn = Tsn(seq as u32); // Truncation is the wrap-around.
        for skipped in skipped.filter(|skipped| skipped.stream.0 < self.streams) {
            interleaved.pass_over(tsn, skipped, &mut self.delivery);
        }
        interleaved.passed_over() - before
    }

    /// Moves on over what had arrived before.
    fn advance(&mut self, now: Time) -> Result<(), InboundError> {
        loop {
            let message = self.reassembly.advance(now)?;
            self.settle_reached();
            let Some(message) = message else { return Ok(()) };
            self.route(message)?;
        }
    }

    /// What [`pop`](Self::pop) takes next.
    pub(crate) fn peek(&self) -> Option<NextMessage> {
        if self.reassembly.is_begun() {
            return self.peek_part();
        }
        self.delivery.peek().or_else(|| self.peek_part())
    }

    /// The next message for the application, or part of one.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<ReceivedMessage> {
        if self.reassembly.is_begun() {
            return self.take_part();
        }
        self.delivery.pop().or_else(|| self.take_part())
    }

    /// Messages and parts of messages waiting for the application.
    #[inline]
    pub(crate) fn ready(&self) -> usize {
        let whole = if self.reassembly.is_begun() { 0 } else { self.delivery.ready() };
        whole + self.parts()
    }

    /// Bytes held: fragments, messages waiting for their turn and messages waiting for the
    /// application. Each chunk or message counts 64 bytes at least, so that memory stays bounded
    /// by the receive window (three times of it, and 256 KiB) however small the chunks are.
    pub(crate) fn buffered(&self) -> usize {
        let held = match &self.interleaved {
            Some(interleaved) => interleaved.charge(),
            None => self.reassembly.charge(),
        };
        held + self.delivery.charge()
    }

    /// Bytes of memory, whatever they are for.
    pub(crate) fn memory(&self) -> usize {
        let barrier = self.barrier.as_ref().map_or(0, |barrier| barrier.memory());
        let interleaved = self.interleaved.as_ref().map_or(0, |i| i.memory());
        let blocked = self.blocked.capacity() * size_of::<Stored>();
        self.reassembly.memory() + self.delivery.memory() + barrier + interleaved + blocked
    }

    /// Whether messages that others overtake (I-DATA) are read once all of them is there, and not in parts.
    #[inline]
    pub(crate) fn waits_for_whole(&self) -> bool {
        self.interleaved.as_ref().is_some_and(|interleaved| !interleaved.has_parts())
    }

    /// Bytes to count against a receive buffer of `buffer` bytes, where the application waits for the rest of a message:
    /// [`buffered`](Self::buffered), but that never closes the window by more than half.
    ///
    /// RFC 9260 §6.9: a receiver that runs out of buffer space in the middle of a message should
    /// deliver it partially, or it would wait forever for a message larger than the buffer.
    /// Where messages are handed over whole such a one may exceed the buffer instead, up to
    /// `max_message_size`.
    #[inline]
    pub(crate) fn occupied(&self, buffer: usize) -> usize {
        let buffered = self.buffered();
        let assembly = match &self.interleaved {
            Some(interleaved) => interleaved.assembly_charge(),
            None => self.reassembly.assembly_charge(),
        };
        let others = buffered - assembly;
        buffered.min(others.max(buffer / 2))
    }

    /// Drops the chunk `seq` if it is still held for reassembly or ordering and lies beyond a
    /// missing chunk. False if it is not held: delivered already, or never received.
    pub(crate) fn discard(&mut self, seq: u64) -> bool {
        if let Some(interleaved) = &mut self.interleaved {
            return interleaved.discard(seq);
        }
        let (dropped, incomplete) = self.reassembly.ring().discard(seq);
        if let Some(head) = incomplete {
            let kept = self.barrier.as_mut().is_some_and(|barrier| barrier.forget(head.tsn));
            if !(kept || self.unblock(head.tsn) || head.unordered) {
                self.delivery.unhold(head.stream, head.ssn);
            }
        }
        dropped
    }

    /// Drops the highest chunk above `seq` that is held beyond a missing chunk, and returns its
    /// seq, which must then no longer be acknowledged.
    ///
    /// RFC 9260 §6.2: out of window, a receiver should drop the largest TSN held for reordering to
    /// accept a smaller one. Chunks delivered already are not held: their TSNs stay acknowledged.
    pub(crate) fn discard_highest(&mut self, seq: u64) -> Option<u64> {
        let highest = match &self.interleaved {
            Some(interleaved) => interleaved.highest_held(),
            None => self.reassembly.ring().highest_held(),
        };
        let highest = highest.filter(|highest| *highest > seq)?;
        self.discard(highest).then_some(highest)
    }
}

#[cfg(test)]
impl Inbound {
    pub(super) fn interleaved_mut(&mut self) -> &mut Interleaved {
        self.interleaved.as_mut().expect("I-DATA was agreed on")
    }
}

#[cfg(test)]
mod tests;
