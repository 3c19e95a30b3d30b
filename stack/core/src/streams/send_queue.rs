//! Messages accepted from the application that have not left yet.

use std::collections::{BTreeSet, VecDeque};

use bytes::{Buf as _, Bytes};
use tresse_wire::{DataFlags, Ppid, Ssn, StreamId};

use super::PIECE;
use super::fragmentation::{Cut, cut};
use super::table::StreamTable;
use crate::event::{Message, SendFailure, SendOptions};
use crate::time::Time;

/// The most ordered messages of one stream that may be in the send window.
///
/// RFC 9260 §6.1: a sender must not have more than 2^16 - 1 of them. Receivers commonly compare
/// SSNs in serial number arithmetic, which is ambiguous from 2^15 on, so we stop short of that.
const MAX_ORDERED_IN_FLIGHT: u16 = 32_767;

/// Messages to send, first come, first served.
///
/// A message leaves as one or more consecutive chunks; nothing comes between its fragments,
/// because RFC 9260 §3.3.1 wants their TSNs strictly sequential.
#[derive(Debug)]
pub(crate) struct SendQueue {
    streams: u16,
    /// The head, if any, is no gap.
    queue: VecDeque<Queued>,
    /// Number of the head message.
    first: u64,
    /// Messages in the queue that were taken out of it: gaps.
    gaps: usize,
    /// Ends of the lifetimes of messages that have not begun to leave, with their numbers.
    lifetimes: BTreeSet<(Time, u64)>,
    /// Bytes of the head message that have left.
    taken: usize,
    /// SSN of the head message once its first fragment has left.
    ssn: Ssn,
    /// User bytes that have not left.
    bytes: usize,
    table: StreamTable<OutStream>,
}

#[derive(Debug)]
struct Queued {
    stream: StreamId,
    unordered: bool,
    sack_immediately: bool,
    ppid: Ppid,
    context: u32,
    /// End of its lifetime.
    until: Time,
    /// The whole message, also when a part has left; empty in a gap.
    payload: Bytes,
}

#[derive(Clone, Copy, Debug, Default)]
struct OutStream {
    /// SSN of the next ordered message. RFC 9260 §6.5: it starts from 0.
    next: Ssn,
    /// Ordered messages begun and not yet cumulatively acknowledged to their end.
    in_flight: u16,
}

/// What a DATA chunk will carry, but for its TSN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OutChunk {
    pub(crate) stream: StreamId,
    /// 0 and without meaning when unordered.
    pub(crate) ssn: Ssn,
    pub(crate) ppid: Ppid,
    /// `immediate` only on the last fragment of a message sent with `sack_immediately`.
    pub(crate) flags: DataFlags,
    pub(crate) context: u32,
    /// A slice of the message, not a copy.
    pub(crate) payload: Bytes,
}

impl SendQueue {
    /// An empty queue for `streams` outbound streams.
    pub(crate) fn new(streams: u16) -> Self {
        SendQueue {
            streams,
            queue: VecDeque::new(),
            first: 0,
            gaps: 0,
            lifetimes: BTreeSet::new(),
            taken: 0,
            ssn: Ssn(0),
            bytes: 0,
            table: StreamTable::new(),
        }
    }

    /// Takes the number of streams that was negotiated. Messages queued before for streams that
    /// turned out not to exist are handed back: they can never be sent.
    pub(crate) fn set_streams(&mut self, n: u16) -> Vec<SendFailure> {
        self.streams = n;
        let mut refused = Vec::new();
        // A message of which a part has left must leave entirely.
        let fixed = usize::from(self.mid_message());
        for i in fixed..self.queue.len() {
            let queued = &self.queue[i];
            if queued.stream.0 >= n && !queued.payload.is_empty() {
                self.lifetimes.remove(&(queued.until, self.first + i as u64));
                refused.push(self.take_out(i));
            }
        }
        self.close_gaps();
        refused
    }

    /// Takes out the messages whose lifetime has ended, and of which nothing has left: those that end
    /// first come first.
    ///
    /// RFC 9260 §11.1.5: the user data will not be sent after the life time expires, but will be if
    /// SCTP has attempted to transmit a chunk of it before.
    pub(crate) fn expire(&mut self, now: Time) -> Vec<SendFailure> {
        let mut expired = Vec::new();
        while let Some(&(until, number)) = self.lifetimes.first().filter(|(until, _)| *until <= now)
        {
            self.lifetimes.remove(&(until, number));
            expired.push(self.take_out((number - self.first) as usize));
        }
        if !expired.is_empty() {
            self.close_gaps();
        }
        expired
    }

    /// When the next lifetime ends.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.lifetimes.first().map(|(until, _)| *until)
    }

    fn take_out(&mut self, index: usize) -> SendFailure {
        let queued = &mut self.queue[index];
        let failure = queued.failure(false);
        queued.payload = Bytes::new();
        self.bytes -= failure.message.payload.len();
        self.gaps += 1;
        failure
    }

    /// Leaves no gap at the head, and nowhere more than messages.
    fn close_gaps(&mut self) {
        while self.queue.front().is_some_and(|queued| queued.payload.is_empty()) {
            self.queue.pop_front();
            self.first += 1;
            self.gaps -= 1;
        }
        if self.gaps > self.queue.len() / 2 {
            self.queue.retain(|queued| !queued.payload.is_empty());
            self.gaps = 0;
            // The one of which a part has left has no deadline any more.
            let begun = usize::from(self.mid_message());
            let numbers = (self.first..).zip(&self.queue).skip(begun);
            self.lifetimes = numbers
                .filter(|(_, queued)| queued.until != Time::FAR_FUTURE)
                .map(|(number, queued)| (queued.until, number))
                .collect();
        }
    }

    /// Outbound streams.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Appends a message. Empty messages are ignored: RFC 9260 §6.2 knows none.
    pub(crate) fn push(
        &mut self,
        now: Time,
        stream: StreamId,
        payload: Bytes,
        options: SendOptions,
    ) {
        if payload.is_empty() {
            return;
        }
        let SendOptions { ppid, unordered, sack_immediately, lifetime, context } = options;
        let until = lifetime.map_or(Time::FAR_FUTURE, |lifetime| now + lifetime);
        if until != Time::FAR_FUTURE {
            self.lifetimes.insert((until, self.first + self.queue.len() as u64));
        }
        self.bytes += payload.len();
        self.queue.push_back(Queued {
            stream,
            unordered,
            sack_immediately,
            ppid,
            context,
            until,
            payload,
        });
    }

    /// Whether everything has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
            + self.queue.len() * PIECE
            + self.queue.capacity() * size_of::<Queued>()
            + self.lifetimes.len() * PIECE
            + self.table.memory()
    }

    /// User bytes that have not left.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Messages that have not left entirely.
    pub(crate) fn messages(&self) -> usize {
        self.queue.len() - self.gaps
    }

    /// Whether a part of the head message has left, and not all.
    pub(crate) fn mid_message(&self) -> bool {
        self.taken > 0
    }

    /// Payload length of the chunk that [`next`](Self::next) would return.
    pub(crate) fn next_len(&self, max_payload: usize) -> Option<usize> {
        self.peek(max_payload).map(|cut| cut.len)
    }

    //= RFC 9260 3.3.1-4 3.3.1-6 3.3.1-7 6.5-3 6.5-4 6.5-5 6.5-6 6.9-12
    /// Takes the next chunk: the head message or its next fragment of at most `max_payload`
    /// bytes. `None` when there is nothing, no room, or the stream has as many ordered messages
    /// in flight as it may; acknowledgements lift that.
    pub(crate) fn next(&mut self, max_payload: usize) -> Option<OutChunk> {
        let Cut { len, beginning, ending } = self.peek(max_payload)?;
        let head = self.queue.front()?;
        let Queued { stream, unordered, sack_immediately, ppid, context, until, .. } = *head;
        if beginning {
            if until != Time::FAR_FUTURE {
                self.lifetimes.remove(&(until, self.first));
            }
            self.ssn = Ssn(0);
            // RFC 9260 §6.5: for unordered user messages, the SSN MUST NOT be changed.
            if !unordered {
                let state = self.table.get_mut(stream);
                self.ssn = state.next;
                state.next = state.next.wrapping_add(1);
                state.in_flight += 1;
            }
        }
        let payload = if ending {
            let mut whole = self.queue.pop_front()?.payload;
            whole.advance(self.taken);
            self.taken = 0;
            self.first += 1;
            if self.gaps > 0 {
                self.close_gaps();
            }
            whole
        } else {
            let part = head.payload.slice(self.taken..self.taken + len);
            self.taken += len;
            part
        };
        self.bytes -= len;
        let flags = DataFlags {
            // RFC 9260 §11.1.5: sack-immediately sets the I bit on the last DATA chunk used.
            immediate: ending && sack_immediately,
            unordered,
            beginning,
            ending,
            ..DataFlags::default()
        };
        Some(OutChunk { stream, ssn: self.ssn, ppid, flags, context, payload })
    }

    //= RFC 9260 6.1-23
    /// Notes that a chunk was cumulatively acknowledged; called once for each chunk.
    pub(crate) fn on_acked(&mut self, stream: StreamId, flags: DataFlags) {
        if flags.ending && !flags.unordered {
            let state = self.table.get_mut(stream);
            state.in_flight = state.in_flight.saturating_sub(1);
        }
    }

    /// Empties the queue for SEND FAILURE. A message of which a part has left comes whole.
    pub(crate) fn drain_unsent(&mut self) -> Vec<SendFailure> {
        let begun = usize::from(self.mid_message());
        self.taken = 0;
        self.bytes = 0;
        self.lifetimes.clear();
        self.gaps = 0;
        self.first += self.queue.len() as u64;
        let queued = self.queue.drain(..).enumerate();
        let messages = queued.filter(|(_, queued)| !queued.payload.is_empty());
        messages.map(|(index, queued)| queued.failure(index < begun)).collect()
    }

    fn peek(&self, max_payload: usize) -> Option<Cut> {
        let head = self.queue.front()?;
        let next = cut(head.payload.len(), self.taken, max_payload)?;
        let blocked = next.beginning
            && !head.unordered
            && self.table.get(head.stream).in_flight >= MAX_ORDERED_IN_FLIGHT;
        (!blocked).then_some(next)
    }
}

impl Queued {
    fn failure(&self, sent: bool) -> SendFailure {
        let message = Message {
            stream: self.stream,
            ppid: self.ppid,
            unordered: self.unordered,
            payload: self.payload.clone(),
        };
        SendFailure { message, context: self.context, sent }
    }
}

#[cfg(test)]
mod tests;
