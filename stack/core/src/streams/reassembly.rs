//! How messages are put together from DATA chunks (RFC 9260 §6.9).
//!
//! All chunks before the *edge* have arrived. A fragmented message that reaches up to the edge
//! grows in one buffer, the assembly; chunks beyond the edge wait in the ring.

use bytes::Bytes;
use smallvec::SmallVec;

use super::chunk::{InChunk, InboundError};
use super::ring::{EntryId, Front, Head, Neighbour, Ring, Stored};
use super::{charge, detach, trimmed};
use crate::event::{MessagePart, NextMessage, ReceivedMessage};
use crate::ranges::RangeSet;
use crate::time::Time;

/// The most memory set aside for the next fragmented message before it is known how long it is.
const MAX_HINT: usize = 1 << 16;

/// Messages that the edge has reached: seldom more than one at once.
type Reached = SmallVec<[Head; 2]>;

/// A message that just became complete.
pub(super) enum Completed {
    /// It begins before the edge.
    Message(ReceivedMessage),
    /// It lies beyond the edge, still in the ring: [`Reassembly::take`] it or leave it there.
    Stored(Stored),
}

#[derive(Debug)]
pub(super) struct Reassembly {
    ring: Ring,
    assembly: Option<Assembly>,
    /// Room for the next assembly: as much as the last one needed, within limits.
    hint: usize,
    max_message_size: usize,
    packet_len: usize,
    /// What lies before the edge was passed over, or is of a message whose beginning was: no message that begins before
    /// the edge can be put together.
    torn: bool,
    /// Chunks dropped because a part of their message was passed over, ever.
    passed_over: usize,
    /// From this many bytes on, 1 at least, the assembly may be handed over in parts.
    point: usize,
    /// Ordered messages that the edge has reached, if somebody asks.
    reached: Option<Reached>,
}

/// The message of which all fragments before the edge have arrived, but not the last one.
#[derive(Debug)]
struct Assembly {
    head: Head,
    /// What was not handed over of it.
    buffer: Vec<u8>,
    /// A part of it was handed over.
    begun: bool,
    /// When the last of it came.
    at: Time,
}

impl Assembly {
    /// What is taken of it before its end has come.
    const fn part(&self) -> MessagePart {
        if self.begun { MessagePart::Middle } else { MessagePart::First }
    }
}

fn inconsistent<T>(reason: &'static str) -> Result<T, InboundError> {
    Err(InboundError::Inconsistent(reason))
}

impl Reassembly {
    pub(super) fn new(max_message_size: usize, first_seq: u64) -> Self {
        Reassembly {
            ring: Ring::new(first_seq),
            assembly: None,
            hint: 0,
            max_message_size,
            packet_len: 1500,
            torn: false,
            passed_over: 0,
            point: usize::MAX,
            reached: None,
        }
    }

    /// Tells from now on of the ordered messages that the edge reaches.
    pub(super) fn track_reached(&mut self) {
        self.reached.get_or_insert_default();
    }

    /// Those since the last call, if there are any. A chunk of each has come, and none is missing before it.
    #[inline]
    pub(super) fn take_reached(&mut self) -> Option<Reached> {
        self.reached.as_mut().filter(|reached| !reached.is_empty()).map(std::mem::take)
    }

    #[inline]
    fn note_reached(&mut self, head: Head) {
        if let Some(reached) = self.reached.as_mut().filter(|_| !head.unordered) {
            reached.push(head);
        }
    }

    /// From this many bytes on a message may be handed over in parts.
    pub(super) fn set_point(&mut self, point: usize) {
        self.point = point.max(1);
    }

    /// A part of the assembly was handed over, and not its end.
    #[inline]
    pub(super) fn is_begun(&self) -> bool {
        self.assembly.as_ref().is_some_and(|assembly| assembly.begun)
    }

    /// What the assembly is, if a part of it was handed over.
    pub(super) fn begun(&self) -> Option<Head> {
        self.assembly.as_ref().filter(|assembly| assembly.begun).map(|assembly| assembly.head)
    }

    /// What the assembly is, if it is long enough to hand over a part of it now.
    #[inline]
    pub(super) fn part(&self) -> Option<Head> {
        let assembly = self.assembly.as_ref()?;
        let least = if assembly.begun { 1 } else { self.point };
        (assembly.buffer.len() >= least).then_some(assembly.head)
    }

    /// What [`take_part`](Self::take_part) takes next.
    pub(super) fn peek_part(&self) -> Option<NextMessage> {
        let assembly = self.assembly.as_ref()?;
        let Head { stream, ppid, unordered, .. } = assembly.head;
        let (len, part) = (assembly.buffer.len(), assembly.part());
        Some(NextMessage { stream, ppid, unordered, len, part })
    }

    //= RFC 9260 6.9-15
    /// Takes what is there of the assembly.
    pub(super) fn take_part(&mut self) -> Option<ReceivedMessage> {
        let assembly = self.assembly.as_mut()?;
        let part = assembly.part();
        assembly.begun = true;
        let buffer = std::mem::take(&mut assembly.buffer);
        Some(ReceivedMessage { part, ..assembly.head.message(trimmed(buffer), assembly.at) })
    }

    /// Nothing more of the assembly comes: what to tell if a part of it was handed over. Chunks of it that come are
    /// dropped.
    pub(super) fn abort_part(&mut self) -> Option<ReceivedMessage> {
        let Assembly { head, begun, at, .. } = self.assembly.take()?;
        self.torn = true;
        let part = MessagePart::Aborted;
        begun.then(|| ReceivedMessage { part, ..head.message(Bytes::new(), at) })
    }

    /// What is held counts this many bytes.
    pub(super) fn charge(&self) -> usize {
        self.ring.charge() + self.assembly_charge()
    }

    /// How much of it the assembly makes up.
    pub(super) fn assembly_charge(&self) -> usize {
        self.assembly.as_ref().map_or(0, |assembly| charge(assembly.buffer.len()))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let assembly = self.assembly.as_ref();
        self.ring.memory() + assembly.map_or(0, |assembly| assembly.buffer.capacity())
    }

    /// The length of the packet that the next chunks come from.
    pub(super) fn set_packet_len(&mut self, len: usize) {
        self.packet_len = len;
    }

    /// The payload, a slice of the packet, copied if keeping it would keep alive more than twice
    /// its length.
    pub(super) fn detach(&self, payload: Bytes) -> Bytes {
        detach(payload, self.packet_len)
    }

    /// Takes a chunk. The message it completes, if any, comes back; then
    /// [`advance`](Self::advance) may have more.
    #[inline]
    pub(super) fn insert(
        &mut self,
        now: Time,
        mut chunk: InChunk,
    ) -> Result<Option<Completed>, InboundError> {
        let Some(offset) = self.ring.offset(chunk.seq)? else { return Ok(None) };
        if !self.ring.is_missing(offset) {
            return Ok(None);
        }
        if chunk.payload.len() > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        let (head, flags) = (Head::of(&chunk), chunk.flags);
        self.check_neighbours(offset, head, flags.beginning, flags.ending)?;
        if offset > 0 {
            chunk.payload = self.detach(chunk.payload);
            return match self.ring.hold(now, offset, chunk, self.max_message_size) {
                Some(stored) => Ok(stored.map(Completed::Stored)),
                None => Err(InboundError::MessageTooLarge),
            };
        }
        self.ring.step();
        self.note_reached(head);
        if self.is_remnant(flags.beginning, flags.ending) {
            return Ok(None);
        }
        if flags.beginning && flags.ending {
            return Ok(Some(Completed::Message(head.message(chunk.payload, now))));
        }
        let message = self.append(now, head, flags.ending, &chunk.payload)?;
        Ok(message.map(Completed::Message))
    }

    /// Passes over a chunk that is acknowledged but not wanted; no wanted message can include it.
    pub(super) fn skip(&mut self, seq: u64) -> Result<(), InboundError> {
        let Some(offset) = self.ring.offset(seq)? else { return Ok(()) };
        if !self.ring.is_missing(offset) {
            return Ok(());
        }
        let begun_before = match offset.checked_sub(1).map(|before| self.ring.neighbour(before)) {
            None => self.assembly.is_some(),
            Some(before) => matches!(before, Neighbour::Chunk { ending: false, .. }),
        };
        let after = self.ring.neighbour(offset + 1);
        if begun_before || matches!(after, Neighbour::Chunk { beginning: false, .. }) {
            return inconsistent("the stream changes within a message");
        }
        if offset == 0 {
            self.ring.step();
            self.torn = false;
        } else {
            self.ring.set_done(offset);
        }
        Ok(())
    }

    /// Moves the edge over chunks that had arrived before. To be called until `None`; each message
    /// that comes back is complete.
    pub(super) fn advance(&mut self, now: Time) -> Result<Option<ReceivedMessage>, InboundError> {
        loop {
            match self.ring.front() {
                Front::Missing => break,
                Front::Done => {
                    self.torn = false;
                    self.ring.step();
                }
                Front::Complete(entry) => {
                    self.torn = false;
                    self.note_reached(self.ring.head(entry));
                    self.ring.settle(entry);
                }
                Front::Part => {
                    let beginning = self.ring.front_begins();
                    let Some((head, ending, payload)) = self.ring.pop_part() else { break };
                    self.note_reached(head);
                    if self.is_remnant(beginning, ending) {
                        continue;
                    }
                    if let Some(message) = self.append(now, head, ending, &payload)? {
                        return Ok(Some(message));
                    }
                }
            }
        }
        self.ring.shrink_if_idle();
        Ok(None)
    }

    /// Forgets all that is held, also messages stored or left in the ring; the next chunk is `next_seq`. A part that was
    /// begun has been aborted.
    pub(super) fn jump(&mut self, next_seq: u64) {
        self.assembly = None;
        self.torn = false;
        self.ring.jump(next_seq);
    }

    /// Chunks dropped because a part of their message was passed over, ever.
    pub(super) fn passed_over(&self) -> usize {
        self.passed_over
    }

    //= RFC 3758 3.6-9 3.6-10 3.6-11
    /// What is missing up to `seq` will not come: moves the edge beyond it. RFC 3758 §3.6: drops "any partially
    /// reassembled message, which is still missing one or more TSNs earlier than or equal to the new cumulative TSN
    /// point". [`advance`](Self::advance) has the rest. What to tell of it comes back, if a part was handed over.
    pub(super) fn pass_over(&mut self, seq: u64) -> Option<ReceivedMessage> {
        // Its next fragment is the first chunk that is missing.
        self.passed_over += usize::from(self.assembly.is_some());
        let aborted = self.abort_part();
        while let Some(left) = (seq + 1).checked_sub(self.ring.edge()).filter(|left| *left > 0) {
            match self.ring.front() {
                Front::Missing => {
                    self.torn = true;
                    self.ring.step_over(left);
                }
                Front::Done => {
                    self.torn = false;
                    self.ring.step();
                }
                Front::Complete(entry) => {
                    self.torn = false;
                    self.note_reached(self.ring.head(entry));
                    self.ring.settle(entry);
                }
                // All of it up to `seq` is there: it may still become whole.
                Front::Part if self.ring.front_begins() && self.ring.front_run_end() >= seq => {
                    break;
                }
                Front::Part => {
                    let Some((head, ending, _)) = self.ring.pop_part() else { break };
                    self.note_reached(head);
                    self.passed_over += 1;
                    self.torn = !ending;
                }
            }
        }
        aborted
    }

    /// A chunk at the edge, which has just moved beyond it, belongs to a message whose beginning was passed over, and is
    /// dropped.
    fn is_remnant(&mut self, beginning: bool, ending: bool) -> bool {
        let remnant = self.torn && !beginning;
        self.torn = remnant && !ending;
        self.passed_over += usize::from(remnant);
        remnant
    }

    /// Keeps a complete message though it is not its turn.
    pub(super) fn store(&mut self, mut message: ReceivedMessage) -> EntryId {
        let payload = std::mem::take(&mut message.payload);
        message.payload = self.detach(payload);
        self.ring.store(message)
    }

    /// Removes a complete message that was left in the ring or stored.
    pub(super) fn take(&mut self, entry: EntryId) -> ReceivedMessage {
        self.ring.take(entry)
    }

    /// The ring, to drop chunks from it.
    pub(super) fn ring(&mut self) -> &mut Ring {
        &mut self.ring
    }

    /// As [`Ring::done`].
    pub(super) fn done(&self) -> Option<&RangeSet> {
        self.ring.done()
    }

    //= RFC 9260 6-11 6.9-1 6.9-14
    /// Appends a fragment at the edge to the assembly, which it may complete.
    fn append(
        &mut self,
        now: Time,
        head: Head,
        ending: bool,
        payload: &[u8],
    ) -> Result<Option<ReceivedMessage>, InboundError> {
        let mut assembly = self.assembly.take().unwrap_or_else(|| self.new_assembly(head));
        if assembly.buffer.len() + payload.len() > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        assembly.buffer.extend_from_slice(payload);
        if !ending {
            assembly.at = now;
            self.assembly = Some(assembly);
            return Ok(None);
        }
        let Assembly { head, buffer, begun, .. } = assembly;
        self.hint = buffer.len().min(MAX_HINT);
        let part = if begun { MessagePart::Last } else { MessagePart::Whole };
        Ok(Some(ReceivedMessage { part, ..head.message(trimmed(buffer), now) }))
    }

    fn new_assembly(&self, head: Head) -> Assembly {
        let buffer = Vec::with_capacity(self.hint);
        Assembly { head, buffer, begun: false, at: Time::ZERO }
    }

    /// Proves what neighbours can prove: RFC 9260 §3.3.1 has the TSNs of the fragments of a
    /// message strictly sequential, and §6.9 3) begins it with a B and ends it with an E bit.
    fn check_neighbours(
        &self,
        offset: usize,
        head: Head,
        beginning: bool,
        ending: bool,
    ) -> Result<(), InboundError> {
        let before = match (offset.checked_sub(1), &self.assembly) {
            (Some(before), _) => self.ring.neighbour(before),
            (None, None) if self.torn => Neighbour::Missing,
            (None, None) => Neighbour::Done,
            (None, Some(Assembly { head, .. })) => {
                Neighbour::Chunk { head: *head, beginning: false, ending: false }
            }
        };
        match before {
            Neighbour::Missing => {}
            Neighbour::Done | Neighbour::Chunk { ending: true, .. } => {
                if !beginning {
                    return inconsistent("a message does not begin with a first fragment");
                }
            }
            Neighbour::Chunk { .. } if beginning => {
                return inconsistent("a message begins within another");
            }
            Neighbour::Chunk { head: other, .. } => same_message(head, other)?,
        }
        match self.ring.neighbour(offset + 1) {
            Neighbour::Missing => {}
            Neighbour::Done | Neighbour::Chunk { beginning: true, .. } => {
                if !ending {
                    return inconsistent("a message begins within another");
                }
            }
            Neighbour::Chunk { .. } if ending => {
                return inconsistent("a message does not begin with a first fragment");
            }
            Neighbour::Chunk { head: other, .. } => same_message(head, other)?,
        }
        Ok(())
    }
}

fn same_message(one: Head, other: Head) -> Result<(), InboundError> {
    if one.same_message(&other) {
        Ok(())
    } else {
        inconsistent("stream, SSN or U bit change within a message")
    }
}
