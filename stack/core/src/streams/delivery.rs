//! Which complete message may go to the application (RFC 9260 §6.6).

use std::collections::VecDeque;

use tresse_wire::{Ssn, StreamId};

use super::chunk::InboundError;
use super::renewal::Renewal;
use super::ring::EntryId;
use super::stream_set::StreamSet;
use super::table::StreamTable;
use super::{PIECE, charge};
use crate::event::{MessagePart, NextMessage, ReceivedMessage};

/// Larger lists are given back when they run empty.
const KEEP: usize = 16;

/// Orders messages within their streams, and queues those whose turn has come.
#[derive(Debug)]
pub(super) struct Delivery {
    streams: StreamTable<InStream>,
    /// Lists of held messages, by SSN, of the streams that have any.
    lists: Vec<VecDeque<Held>>,
    /// Lists not in use.
    spare: Vec<u32>,
    ready: VecDeque<ReceivedMessage>,
    charge: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct InStream {
    /// SSN of the next message to deliver. RFC 9260 §6.5: it starts from 0.
    next: Ssn,
    /// Index of its list of held messages plus 1; 0 if it has none.
    list: u32,
    renewal: Renewal,
}

impl InStream {
    /// It was not used, or has not been since it began again.
    fn is_fresh(self) -> bool {
        self.next == Ssn(0) && self.list == 0
    }

    /// It begins again.
    fn renewed(self) -> InStream {
        let renewal = if self.is_fresh() { self.renewal } else { Renewal::Fresh };
        InStream { renewal, ..InStream::default() }
    }
}

#[derive(Clone, Copy, Debug)]
struct Held {
    ssn: Ssn,
    entry: EntryId,
}

/// What becomes of a complete message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    Now,
    Later,
}

/// How far `ssn` lies ahead of `next`.
fn ahead(ssn: Ssn, next: Ssn) -> u16 {
    ssn.0.wrapping_sub(next.0)
}

impl Delivery {
    pub(super) fn new() -> Self {
        Delivery {
            streams: StreamTable::new(),
            lists: Vec::new(),
            spare: Vec::new(),
            ready: VecDeque::new(),
            charge: 0,
        }
    }

    /// What the waiting messages count, in bytes.
    pub(super) fn charge(&self) -> usize {
        self.charge
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.charge
            + self.ready.len() * PIECE
            + self.ready.capacity() * size_of::<ReceivedMessage>()
            + self.lists.capacity() * size_of::<VecDeque<Held>>()
            + self.lists.len() * KEEP * size_of::<Held>()
            + self.streams.memory()
    }

    /// Messages waiting for the application.
    pub(super) fn ready(&self) -> usize {
        self.ready.len()
    }

    /// Whether it is the turn of an ordered message whose first fragment lies `beyond_edge` chunks
    /// beyond the first missing one (0 if before it).
    ///
    /// RFC 9260 §6.1 lets a sender have 2^16 - 1 messages of a stream in flight, so serial number
    /// arithmetic is not enough to tell an SSN ahead from one behind. But each message ahead of
    /// this one is a missing or held chunk at least: with fewer of them than SSNs between, the
    /// SSN is behind.
    pub(super) fn turn(
        &self,
        stream: StreamId,
        ssn: Ssn,
        beyond_edge: u64,
    ) -> Result<Turn, InboundError> {
        let ahead = ahead(ssn, self.streams.get(stream).next);
        if ahead == 0 {
            Ok(Turn::Now)
        } else if ahead < 0x8000 || beyond_edge >= u64::from(ahead) {
            Ok(Turn::Later)
        } else {
            Err(InboundError::Inconsistent("an SSN that was delivered already"))
        }
    }

    /// Remembers a message whose turn has not come.
    pub(super) fn hold(
        &mut self,
        stream: StreamId,
        ssn: Ssn,
        entry: EntryId,
    ) -> Result<(), InboundError> {
        let state = self.streams.get_mut(stream);
        if state.list == 0 {
            state.list = match self.spare.pop() {
                Some(list) => list,
                None => {
                    self.lists.push(VecDeque::new());
                    self.lists.len() as u32
                }
            };
        }
        let list = &mut self.lists[state.list as usize - 1];
        let distance = ahead(ssn, state.next);
        // Messages of a stream usually complete in order.
        let index = match list.back() {
            Some(last) if ahead(last.ssn, state.next) >= distance => {
                list.partition_point(|held| ahead(held.ssn, state.next) < distance)
            }
            _ => list.len(),
        };
        if list.get(index).is_some_and(|held| held.ssn == ssn) {
            return Err(InboundError::Inconsistent("two messages with one SSN"));
        }
        list.insert(index, Held { ssn, entry });
        Ok(())
    }

    /// Forgets a held message, because a part of it was dropped.
    pub(super) fn unhold(&mut self, stream: StreamId, ssn: Ssn) {
        let InStream { next, list: id, .. } = self.streams.get(stream);
        if id == 0 {
            return;
        }
        let list = &mut self.lists[id as usize - 1];
        let index = list.partition_point(|held| ahead(held.ssn, next) < ahead(ssn, next));
        if list.get(index).is_some_and(|held| held.ssn == ssn) {
            list.remove(index);
        }
        self.give_back_if_empty(stream);
    }

    /// The held message whose turn it is now.
    pub(super) fn next_held(&mut self, stream: StreamId) -> Option<EntryId> {
        let InStream { next, list: id, .. } = self.streams.get(stream);
        let list = self.lists.get_mut((id as usize).checked_sub(1)?)?;
        let entry = list.pop_front_if(|held| held.ssn == next)?.entry;
        self.give_back_if_empty(stream);
        Some(entry)
    }

    /// These streams begin again with SSN 0 (RFC 6525 §5.2.2 E3). Returns the messages that waited for their turn, each
    /// stream's in order: it never comes.
    pub(super) fn begin_again(&mut self, streams: &StreamSet) -> Vec<EntryId> {
        let mut waited = Vec::new();
        match streams {
            StreamSet::All => {
                self.streams.change_all(|state| *state = state.renewed());
                waited.extend(self.lists.drain(..).flatten().map(|held| held.entry));
                self.spare.clear();
            }
            StreamSet::These(list) => {
                for stream in list {
                    // A stream that was never used costs nothing.
                    if self.streams.get(*stream).is_fresh() {
                        continue;
                    }
                    let list = self.streams.get(*stream).list;
                    if let Some(index) = (list as usize).checked_sub(1) {
                        waited.extend(self.lists[index].drain(..).map(|held| held.entry));
                        self.give_back_if_empty(*stream);
                    }
                    let state = self.streams.get_mut(*stream);
                    state.next = Ssn(0);
                    state.renewal = Renewal::Fresh;
                }
            }
        }
        waited
    }

    /// This stream has begun again, and was used before.
    pub(super) fn renew(&mut self, stream: StreamId) {
        self.streams.get_mut(stream).renewal = Renewal::Fresh;
    }

    /// A FORWARD TSN lists a stream: whether that is passed by.
    pub(super) fn doubts(&mut self, stream: StreamId) -> bool {
        self.streams.get(stream).renewal != Renewal::Known
            && self.streams.get_mut(stream).renewal.doubts()
    }

    /// A message comes before which no chunk is missing: up to which SSN its stream is passed over by that.
    pub(super) fn settle(&mut self, stream: StreamId, ssn: Ssn) -> Option<Ssn> {
        let state = self.streams.get(stream);
        if state.renewal == Renewal::Known || !self.streams.get_mut(stream).renewal.settle() {
            return None;
        }
        (ssn != state.next).then(|| ssn.wrapping_sub(1))
    }

    /// The first held message of a stream up to this SSN, which will not be waited for.
    pub(super) fn next_held_until(&mut self, stream: StreamId, ssn: Ssn) -> Option<EntryId> {
        let InStream { next, list: id, .. } = self.streams.get(stream);
        let last = ahead(ssn, next);
        if last >= 0x8000 {
            return None; // It is behind.
        }
        let list = self.lists.get_mut((id as usize).checked_sub(1)?)?;
        let entry = list.pop_front_if(|held| ahead(held.ssn, next) <= last)?.entry;
        self.give_back_if_empty(stream);
        Some(entry)
    }

    /// The messages of a stream up to this SSN that have not come will not.
    pub(super) fn pass_over(&mut self, stream: StreamId, ssn: Ssn) {
        if ahead(ssn, self.streams.get(stream).next) < 0x8000 {
            self.streams.get_mut(stream).next = ssn.wrapping_add(1);
        }
    }

    /// Queues a message for the application: its turn has come.
    #[inline]
    pub(super) fn deliver(&mut self, message: ReceivedMessage) {
        if !message.unordered {
            let state = self.streams.get_mut(message.stream);
            state.next = message.ssn.wrapping_add(1);
        }
        self.queue(message);
    }

    /// The end of a message that was handed over in parts comes before all that waited for it.
    pub(super) fn end_parts(&mut self, last: ReceivedMessage) {
        if !last.unordered && last.part == MessagePart::Last {
            self.streams.get_mut(last.stream).next = last.ssn.wrapping_add(1);
        }
        self.charge += charge(last.payload.len());
        self.ready.push_front(last);
    }

    /// Queues a message for the application, whatever its SSN.
    pub(super) fn queue(&mut self, message: ReceivedMessage) {
        self.charge += charge(message.payload.len());
        self.ready.push_back(message);
    }

    /// What [`pop`](Self::pop) takes next.
    pub(super) fn peek(&self) -> Option<NextMessage> {
        self.ready.front().map(NextMessage::from)
    }

    /// The next message for the application.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<ReceivedMessage> {
        let message = self.ready.pop_front();
        if let Some(message) = &message {
            self.charge -= charge(message.payload.len());
            if self.ready.is_empty() && self.ready.capacity() > 1024 {
                self.give_back_all();
            }
        }
        message
    }

    #[cold]
    #[inline(never)]
    fn give_back_all(&mut self) {
        self.ready = VecDeque::new();
    }

    fn give_back_if_empty(&mut self, stream: StreamId) {
        let state = self.streams.get_mut(stream);
        let Some(index) = (state.list as usize).checked_sub(1) else { return };
        let list = &mut self.lists[index];
        if list.is_empty() {
            if list.capacity() > KEEP {
                *list = VecDeque::new();
            }
            self.spare.push(state.list);
            state.list = 0;
        }
    }
}
