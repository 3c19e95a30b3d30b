//! Messages accepted from the application that have not left yet.

mod abandon;
mod leaving;
mod message;
mod open;
mod parked;
mod policy;
mod reset;
mod stream;
mod waiting;

use std::collections::BTreeSet;
use std::net::IpAddr;

use bytes::{Buf as _, Bytes};
use message::{Begun, Queued};
use open::Open;
use parked::Parked;
use stream::OutStream;
use tresse_wire::{DataFlags, Fsn, Mid, StreamId};

use super::PIECE;
use super::fragmentation::{Fragment, cut};
use super::lines::{Lines, Place};
use super::stream_scheduler::Turns;
use super::table::StreamTable;
use crate::chunk::NewChunk;
use crate::event::{SendFailure, SendOptions};
use crate::profile::StreamScheduler;
use crate::time::Time;
pub(crate) use policy::Policy;
use policy::Priorities;

/// Messages to send; a stream scheduler says which goes next.
///
/// A message leaves as one or more consecutive chunks; nothing comes between its fragments,
/// because RFC 9260 §3.3.1 wants their TSNs strictly sequential, unless I-DATA chunks were agreed on (`open.rs`).
#[derive(Debug)]
pub(crate) struct SendQueue {
    streams: u16,
    /// Messages that have not begun to leave.
    lines: Lines<Queued>,
    /// Lines wait for their turn that have a message which may leave; not that of the message that is leaving.
    turns: Turns,
    which: StreamScheduler,
    /// Ends of the lifetimes of messages that have not begun to leave, with their numbers, and where they wait.
    lifetimes: BTreeSet<(Time, u64, Place)>,
    /// Where messages wait that may be given up for others.
    priorities: Priorities,
    /// The message of which a part has left, and which goes on at once.
    begun: Option<Begun>,
    /// Those that wait for their turn again, if messages are interleaved.
    open: Option<Box<Open>>,
    /// User bytes that have not left.
    bytes: usize,
    table: StreamTable<OutStream>,
    /// What waits for the end of a reset of streams (RFC 6525), if one is under way.
    parked: Option<Box<Parked>>,
    /// A message has named its shared key, an address, or a policy.
    names: Named,
}

/// What some message has named: as long as none has, nobody asks.
#[derive(Clone, Copy, Debug, Default)]
struct Named {
    keys: bool,
    addresses: bool,
    policies: bool,
}

impl SendQueue {
    /// An empty queue for `streams` outbound streams.
    pub(crate) fn new(streams: u16, scheduler: StreamScheduler) -> Self {
        SendQueue {
            streams,
            lines: Lines::new(),
            turns: Turns::new(scheduler),
            which: scheduler,
            lifetimes: BTreeSet::new(),
            priorities: Priorities::default(),
            begun: None,
            open: None,
            bytes: 0,
            table: StreamTable::new(),
            parked: None,
            names: Named::default(),
        }
    }

    /// An empty one after the peer has restarted: what the application set for streams holds on.
    pub(crate) fn restarted(mut self, streams: u16, scheduler: StreamScheduler) -> Self {
        self.table.change_all(|state| {
            *state = OutStream { value: state.value, ..OutStream::default() };
        });
        SendQueue { table: self.table, ..SendQueue::new(streams, scheduler) }
    }

    /// Takes the number of streams that was negotiated. Messages queued before for streams that
    /// turned out not to exist are handed back: they can never be sent.
    pub(crate) fn set_streams(&mut self, n: u16) -> Vec<SendFailure> {
        self.streams = n;
        // A message of which a part has left must leave entirely.
        let refused = self.lines.find(|queued| queued.stream.0 >= n);
        refused.into_iter().filter_map(|place| self.take_out(place)).map(|(_, f)| f).collect()
    }

    /// Another scheduler chooses from now on. The message that is leaving leaves entirely.
    pub(crate) fn set_scheduler(&mut self, scheduler: StreamScheduler) {
        if scheduler == self.which {
            return;
        }
        self.which = scheduler;
        self.turns = Turns::new(scheduler);
        let going_on = self.reopen();
        let (turns, lifetimes) = (&self.turns, &mut self.lifetimes);
        let priorities = &mut self.priorities;
        lifetimes.clear();
        priorities.clear();
        let mut lines: Vec<StreamId> =
            going_on.into_iter().map(|stream| turns.line_of(stream)).collect();
        self.lines.rearrange(
            |queued| turns.line_of(queued.stream),
            |number, line, place, queued| {
                lines.push(line);
                if queued.until != Time::FAR_FUTURE {
                    lifetimes.insert((queued.until, number, place));
                }
                priorities.insert(queued.policy, number, place, queued.payload.len());
            },
        );
        for line in lines {
            self.settle(line);
        }
    }

    /// What the stream scheduler shall know of a stream: its priority or its weight (RFC 8260 §4.3.3).
    pub(crate) fn set_value(&mut self, stream: StreamId, value: u16) {
        if self.value(stream) == value {
            return; // It keeps its turn.
        }
        self.table.get_mut(stream).value = value;
        let line = self.turns.line_of(stream);
        self.turns.leave(line);
        self.settle(line);
    }

    /// What was set for it; 0 if nothing.
    pub(crate) fn value(&self, stream: StreamId) -> u16 {
        self.table.find(stream).map_or(0, |state| state.value)
    }

    /// Bytes of a stream that wait, or are not cumulatively acknowledged.
    pub(crate) fn held(&self, stream: StreamId) -> usize {
        let parked = self.parked.as_ref().map_or(0, |parked| parked.bytes_of(stream));
        self.table.get(stream).held as usize + parked
    }

    /// Takes out the messages whose lifetime has ended, and of which nothing has left: those that end
    /// first come first.
    ///
    /// RFC 9260 §11.1.5: the user data will not be sent after the life time expires, but will be if
    /// SCTP has attempted to transmit a chunk of it before.
    pub(crate) fn expire(&mut self, now: Time) -> Vec<(Policy, SendFailure)> {
        let mut expired = Vec::new();
        while let Some(&(_, _, place)) = self.lifetimes.first().filter(|(until, ..)| *until <= now)
        {
            expired.extend(self.take_out(place));
        }
        if let Some(parked) = &mut self.parked {
            expired.extend(parked.expire(now));
        }
        expired
    }

    /// When the next lifetime ends.
    pub(crate) fn deadline(&self) -> Option<Time> {
        let parked = self.parked.as_ref().and_then(|parked| parked.deadline());
        let first = self.lifetimes.first().map(|(until, ..)| *until);
        first.into_iter().chain(parked).min()
    }

    fn take_out(&mut self, place: Place) -> Option<(Policy, SendFailure)> {
        let (number, line, queued) = self.lines.take(place)?;
        self.lifetimes.remove(&(queued.until, number, place));
        self.priorities.remove(queued.policy, number);
        self.take_bytes(queued.payload.len());
        self.release(queued.stream, queued.payload.len());
        self.settle(line);
        Some((queued.policy, queued.failure(false)))
    }

    /// A message is done with.
    fn release(&mut self, stream: StreamId, bytes: usize) {
        self.table.get_mut(stream).release(bytes);
    }

    /// Outbound streams.
    pub(crate) fn streams(&self) -> u16 {
        self.streams
    }

    /// Appends a message. Empty messages are ignored: RFC 9260 §6.2 knows none.
    #[inline]
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
        let SendOptions { ppid, unordered, sack_immediately, lifetime, .. } = options;
        let SendOptions { reliability, context, key, destination, .. } = options;
        self.names.keys |= key.is_some();
        self.names.addresses |= destination.is_some();
        let (policy, time) = Policy::of(reliability.unwrap_or_default());
        self.names.policies |= policy != Policy::Full;
        let lifetime = match (lifetime, time) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        let until = lifetime.map_or(Time::FAR_FUTURE, |lifetime| now + lifetime);
        let message = Queued {
            stream,
            unordered,
            sack_immediately,
            ppid,
            context,
            key,
            destination,
            policy,
            until,
            payload,
        };
        if let Some(message) = self.park_message(message) {
            self.enqueue(message);
        }
    }

    /// Whether everything has left.
    pub(crate) fn is_empty(&self) -> bool {
        self.messages() == 0
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
            + (self.lines.len() + self.count_leaving()) * PIECE
            + self.open.as_ref().map_or(0, |open| open.memory())
            + self.lines.memory()
            + self.turns.memory()
            + (self.lifetimes.len() + self.priorities.len()) * PIECE
            + self.table.memory()
            + self.parked.as_ref().map_or(0, |parked| parked.memory())
    }

    /// User bytes that have not left.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes + self.parked.as_ref().map_or(0, |parked| parked.bytes())
    }

    /// Messages that have not left entirely.
    pub(crate) fn messages(&self) -> usize {
        let parked = self.parked.as_ref().map_or(0, |parked| parked.messages());
        self.lines.len() + self.count_leaving() + parked
    }

    /// Payload length of the chunk that [`next`](Self::next) would return.
    pub(crate) fn next_len(&self, max_payload: usize) -> Option<usize> {
        let (message, taken) = self.next_message()?;
        cut(message.payload.len(), taken, max_payload).map(|cut| cut.len)
    }

    /// The shared key that it names.
    #[inline]
    pub(crate) fn next_key(&self) -> Option<u16> {
        if self.names.keys { self.next_message()?.0.key } else { None }
    }

    /// The address that it is to go to.
    #[inline]
    pub(crate) fn next_destination(&self) -> Option<IpAddr> {
        if self.names.addresses { self.next_message()?.0.destination } else { None }
    }

    /// The policy of its message, and the end of the lifetime of that; `None` if it is to arrive in any case.
    #[inline]
    pub(crate) fn next_policy(&self) -> Option<(Policy, Time)> {
        if !self.names.policies {
            return None;
        }
        let (message, _) = self.next_message()?;
        (message.policy != Policy::Full).then_some((message.policy, message.until))
    }

    /// The message that it belongs to, and how many bytes of that have left.
    #[inline]
    fn next_message(&self) -> Option<(&Queued, usize)> {
        if let Some(begun) = &self.begun {
            return Some((&begun.message, begun.taken));
        }
        let line = self.turns.first()?;
        match self.goes_on(line) {
            Some(begun) => Some((&begun.message, begun.taken)),
            None => Some((self.lines.first(line)?, 0)),
        }
    }

    //= RFC 9260 3.3.1-4 3.3.1-6 3.3.1-7 6.5-3 6.5-4 6.5-5 6.5-6 6.9-12
    /// Takes the next chunk: a message or its next fragment of at most `max_payload`
    /// bytes. `None` when there is nothing, no room, or streams have as many ordered messages
    /// in flight as they may; acknowledgements lift that.
    pub(crate) fn next(&mut self, max_payload: usize) -> Option<NewChunk> {
        if max_payload == 0 {
            return None;
        }
        let begun = if self.begun.is_some() {
            self.begun.take()?
        } else {
            let line = self.turns.first()?;
            if self.is_interleaving() && self.goes_on(line).is_some() {
                self.go_on(line, max_payload)?
            } else {
                self.begin(line, max_payload)?
            }
        };
        self.turns.on_chunk();
        let Begun { message, number, mid, fsn, taken } = begun;
        let Queued { stream, unordered, sack_immediately, ppid, context, key, .. } = message;
        let Fragment { len, beginning, ending } = cut(message.payload.len(), taken, max_payload)?;
        let payload = if ending {
            let mut whole = message.payload;
            whole.advance(taken);
            self.settle(self.turns.line_of(stream));
            whole
        } else {
            // The last chunk takes the place of its message.
            self.table.get_mut(stream).pieces += 1;
            let part = message.payload.slice(taken..taken + len);
            let (taken, fsn) = (taken + len, fsn.wrapping_add(1));
            self.put_back(Begun { message, number, mid, fsn, taken });
            part
        };
        self.take_bytes(len);
        let flags = DataFlags {
            // RFC 9260 §11.1.5: sack-immediately sets the I bit on the last DATA chunk used.
            immediate: ending && sack_immediately,
            unordered,
            beginning,
            ending,
            ..DataFlags::default()
        };
        Some(NewChunk { stream, mid, fsn, ppid, flags, context, key, payload })
    }

    //= RFC 3758 4.1-7
    /// The first message of a line, whose turn it is, begins to leave.
    #[inline]
    fn begin(&mut self, line: StreamId, max_payload: usize) -> Option<Begun> {
        let (number, place, message) = self.lines.take_first(line)?;
        if message.until != Time::FAR_FUTURE {
            self.lifetimes.remove(&(message.until, number, place));
        }
        self.priorities.remove(message.policy, number);
        let state = self.table.get_mut(message.stream);
        let mut mid = Mid(0);
        // RFC 9260 §6.5: for unordered user messages, the SSN MUST NOT be changed.
        if !message.unordered {
            mid = state.next;
            state.next = state.next.wrapping_add(1);
            state.in_flight += 1;
        }
        let (value, mut cost) = (state.value, message.payload.len());
        if let Some(open) = &mut self.open {
            // Where others may come in between, it is its first chunk that leaves.
            cost = cost.min(max_payload);
            if message.unordered {
                mid = open.next_unordered(message.stream);
            }
        }
        self.turns.begin(value, cost);
        Some(Begun { message, number, mid, fsn: Fsn(0), taken: 0 })
    }

    /// No new chunk is added to the packet.
    pub(crate) fn end_packet(&mut self) {
        if let Some(line) = self.turns.end_packet() {
            self.settle(line);
        }
    }

    //= RFC 9260 6.1-23
    /// Notes that a chunk with this many bytes was cumulatively acknowledged; called once for each chunk.
    #[inline]
    pub(crate) fn on_acked(&mut self, stream: StreamId, flags: DataFlags, bytes: usize) {
        let state = self.table.get_mut(stream);
        state.release(bytes);
        if flags.ending && !flags.unordered {
            let was_blocked = state.is_blocked();
            state.in_flight = state.in_flight.saturating_sub(1);
            if was_blocked {
                self.settle(self.turns.line_of(stream));
            }
        }
    }

    /// Empties the queue for SEND FAILURE. Messages of which a part has left come whole, and first.
    pub(crate) fn drain_unsent(&mut self) -> Vec<SendFailure> {
        let mut begun = Vec::new();
        for Begun { message, taken, .. } in self.take_all_leaving() {
            self.take_bytes(message.payload.len() - taken);
            begun.push(message.failure(true));
        }
        let places = self.lines.find(|_| true);
        let rest: Vec<SendFailure> =
            places.into_iter().filter_map(|place| self.take_out(place)).map(|(_, f)| f).collect();
        let parked = self.parked.take().map(|mut parked| parked.take_where(|_| true));
        let parked = parked.into_iter().flatten().map(|message| message.failure(false));
        begun.into_iter().chain(rest).chain(parked).collect()
    }
}

#[cfg(test)]
mod tests;
