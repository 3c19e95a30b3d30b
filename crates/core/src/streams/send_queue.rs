//! Messages accepted from the application that have not left yet.

use std::collections::VecDeque;

use bytes::{Buf as _, Bytes};
use tresse_wire::{DataFlags, Ppid, Ssn, StreamId};

use super::fragmentation::{Cut, cut};
use super::table::StreamTable;
use crate::event::{Message, SendOptions};

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
    queue: VecDeque<Queued>,
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
    options: SendOptions,
    /// The whole message, also when a part has left.
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
    /// A slice of the message, not a copy.
    pub(crate) payload: Bytes,
}

impl SendQueue {
    /// An empty queue for `streams` outbound streams.
    pub(crate) fn new(streams: u16) -> Self {
        SendQueue {
            streams,
            queue: VecDeque::new(),
            taken: 0,
            ssn: Ssn(0),
            bytes: 0,
            table: StreamTable::new(),
        }
    }

    /// Takes the number of streams that was negotiated. Messages queued before for streams that
    /// turned out not to exist are handed back: they can never be sent.
    pub(crate) fn set_streams(&mut self, n: u16) -> Vec<Message> {
        self.streams = n;
        let mut refused = Vec::new();
        // A message of which a part has left must leave entirely.
        let fixed = usize::from(self.mid_message());
        for i in fixed..self.queue.len() {
            if self.queue[i].stream.0 >= n {
                self.bytes -= self.queue[i].payload.len();
                refused.push(self.queue[i].message());
            }
        }
        if !refused.is_empty() {
            let mut index = 0;
            self.queue.retain(|queued| {
                index += 1;
                index <= fixed || queued.stream.0 < n
            });
        }
        refused
    }

    /// Outbound streams.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Appends a message. Empty messages are ignored: RFC 9260 §6.2 knows none.
    pub(crate) fn push(&mut self, stream: StreamId, payload: Bytes, options: SendOptions) {
        if payload.is_empty() {
            return;
        }
        self.bytes += payload.len();
        self.queue.push_back(Queued { stream, options, payload });
    }

    /// Whether everything has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// User bytes that have not left.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Messages that have not left entirely.
    pub(crate) fn messages(&self) -> usize {
        self.queue.len()
    }

    /// Whether a part of the head message has left, and not all.
    pub(crate) fn mid_message(&self) -> bool {
        self.taken > 0
    }

    /// Payload length of the chunk that [`next`](Self::next) would return.
    pub(crate) fn next_len(&self, max_payload: usize) -> Option<usize> {
        self.peek(max_payload).map(|cut| cut.len)
    }

    /// Takes the next chunk: the head message or its next fragment of at most `max_payload`
    /// bytes. `None` when there is nothing, no room, or the stream has as many ordered messages
    /// in flight as it may; acknowledgements lift that.
    pub(crate) fn next(&mut self, max_payload: usize) -> Option<OutChunk> {
        let Cut { len, beginning, ending } = self.peek(max_payload)?;
        let head = self.queue.front()?;
        let (stream, options) = (head.stream, head.options);
        if beginning {
            self.ssn = Ssn(0);
            // RFC 9260 §6.5: for unordered user messages, the SSN MUST NOT be changed.
            if !options.unordered {
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
            whole
        } else {
            let part = head.payload.slice(self.taken..self.taken + len);
            self.taken += len;
            part
        };
        self.bytes -= len;
        let flags = DataFlags {
            // RFC 9260 §11.1.5: sack-immediately sets the I bit on the last DATA chunk used.
            immediate: ending && options.sack_immediately,
            unordered: options.unordered,
            beginning,
            ending,
            ..DataFlags::default()
        };
        Some(OutChunk { stream, ssn: self.ssn, ppid: options.ppid, flags, payload })
    }

    /// Notes that a chunk was cumulatively acknowledged; called once for each chunk.
    pub(crate) fn on_acked(&mut self, stream: StreamId, flags: DataFlags) {
        if flags.ending && !flags.unordered {
            let state = self.table.get_mut(stream);
            state.in_flight = state.in_flight.saturating_sub(1);
        }
    }

    /// Empties the queue for SEND FAILURE. A message of which a part has left comes whole.
    pub(crate) fn drain_unsent(&mut self) -> Vec<Message> {
        self.taken = 0;
        self.bytes = 0;
        self.queue.drain(..).map(|queued| queued.message()).collect()
    }

    fn peek(&self, max_payload: usize) -> Option<Cut> {
        let head = self.queue.front()?;
        let next = cut(head.payload.len(), self.taken, max_payload)?;
        let blocked = next.beginning
            && !head.options.unordered
            && self.table.get(head.stream).in_flight >= MAX_ORDERED_IN_FLIGHT;
        (!blocked).then_some(next)
    }
}

impl Queued {
    fn message(&self) -> Message {
        Message {
            stream: self.stream,
            ppid: self.options.ppid,
            unordered: self.options.unordered,
            payload: self.payload.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
