//! From I-DATA chunks to messages (RFC 8260 §2.2.3), of many streams at a time.
//!
//! A message is named by its stream, its U bit and its MID; FSNs say where its fragments belong. TSNs say nothing of
//! that: RFC 8260 §2.2.3 has "The receiver MUST NOT make any assumption about the TSN assignments of the sender". They
//! only say what may still be dropped: a fragment beyond the *edge*, the first chunk that is missing.
//!
//! Fragments before the edge are appended to one buffer for each message, as far as they follow each other; others
//! wait, one by one. Messages are handed over whole, or in parts (`partial.rs`). Before the edge all that are incomplete may
//! hold some times what one message may have, or as much as the receive buffer; whoever opens more ends the association.
//! Beyond it, where they wait for what is missing, the window bounds them.

mod barrier;
mod expected;
mod held;
mod message;
mod numbers;
mod order;
mod partial;
mod parts;
mod reset;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use tresse_wire::StreamId;

use super::chunk::{InChunk, InboundError};
use super::delivery::Delivery;
use super::renewal::Renewal;
use super::table::StreamTable;
use super::{PIECE, detach};
use crate::event::MessagePart;
use crate::ranges::RangeSet;
use crate::time::Time;
use barrier::Barrier;
use message::{HALF, Key, OPEN_CHARGE, OpenMessage, Piece, piece_charge};
use numbers::MessageNumbers;
use parts::PartialDelivery;

/// What all messages that are open may hold before the edge, in largest messages, if the receive buffer is not larger.
const MOST_OPEN: usize = 4;

/// Reassembly and order of an association with I-DATA chunks.
#[derive(Debug)]
pub(super) struct Interleaved {
    /// Everything before it has arrived.
    edge: u64,
    max_message_size: usize,
    /// What all messages that are open may hold before it.
    most_open: usize,
    /// The peer may pass over messages, so that fragments of them may come late.
    may_skip: bool,
    packet_len: usize,
    open: BTreeMap<Key, OpenMessage>,
    pieces: BTreeMap<(Key, u64), Piece>,
    /// Fragments beyond the edge, which may still be dropped: which one each TSN is.
    beyond: BTreeMap<u64, (Key, u64)>,
    numbers: StreamTable<MessageNumbers>,
    /// While it is not known whether streams begin again (RFC 6525).
    barrier: Option<Box<Barrier>>,
    /// What is held, and what of it is beyond the edge, as it counts.
    charge: usize,
    beyond_charge: usize,
    /// Bytes of memory for user data that is in buffers.
    buffers: usize,
    extra: Extra,
}

/// What is asked for rarely.
#[derive(Debug, Default)]
struct Extra {
    /// Chunks beyond the edge that will never be dropped, if somebody asks.
    done: Option<RangeSet>,
    /// Chunks dropped because their message was passed over, ever.
    passed_over: usize,
    /// If messages are handed over in parts.
    parts: Option<Box<PartialDelivery>>,
    /// Messages of which a chunk was reached by the edge just now, if their streams have begun again.
    reached: Vec<Key>,
}

fn inconsistent<T>(reason: &'static str) -> Result<T, InboundError> {
    Err(InboundError::Inconsistent(reason))
}

impl Interleaved {
    pub(super) fn new(
        (max_message_size, receive_buffer): (usize, usize),
        first_seq: u64,
        may_skip: bool,
    ) -> Self {
        Interleaved {
            edge: first_seq,
            max_message_size,
            most_open: MOST_OPEN.saturating_mul(max_message_size).max(receive_buffer),
            may_skip,
            packet_len: 1500,
            open: BTreeMap::new(),
            pieces: BTreeMap::new(),
            beyond: BTreeMap::new(),
            numbers: StreamTable::new(),
            barrier: None,
            charge: 0,
            beyond_charge: 0,
            buffers: 0,
            extra: Extra::default(),
        }
    }

    /// Keeps a list of the chunks beyond the edge that are handed over.
    pub(super) fn track_done(&mut self) {
        self.extra.done = Some(RangeSet::default());
    }

    /// That list.
    pub(super) fn done(&self) -> Option<&RangeSet> {
        self.extra.done.as_ref()
    }

    /// The length of the packet that the next chunks come from.
    pub(super) fn set_packet_len(&mut self, len: usize) {
        self.packet_len = len;
    }

    /// What is held counts this many bytes.
    pub(super) fn charge(&self) -> usize {
        self.charge + self.barrier.as_ref().map_or(0, |barrier| barrier.charge())
    }

    /// Messages are handed over in parts.
    pub(super) const fn has_parts(&self) -> bool {
        self.extra.parts.is_some()
    }

    /// How much of it are messages that lack something, before the edge: what is there of them can only grow.
    pub(super) fn assembly_charge(&self) -> usize {
        self.charge - self.beyond_charge
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        // A node of these maps is half full at least.
        let maps = self.open.len() * size_of::<(Key, OpenMessage)>()
            + self.pieces.len() * size_of::<((Key, u64), Piece)>()
            + self.beyond.len() * size_of::<(u64, Key, u64)>();
        self.charge
            + self.buffers
            + 2 * maps
            + self.pieces.len() * PIECE
            + self.numbers.memory()
            + self.barrier.as_ref().map_or(0, |barrier| barrier.memory())
            + self.extra.parts.as_ref().map_or(0, |parts| parts.memory())
            + self.extra.done.as_ref().map_or(0, RangeSet::memory)
    }

    /// Everything up to `cumulative` has arrived, the chunk that comes next included.
    pub(super) fn advance(&mut self, cumulative: u64) {
        self.edge = self.edge.max(cumulative + 1);
        while let Some((&seq, &(key, fsn))) = self.beyond.first_key_value() {
            if seq >= self.edge {
                break;
            }
            self.beyond.remove(&seq);
            if let Some(piece) = self.pieces.get(&(key, fsn)) {
                self.beyond_charge -= piece_charge(piece.payload.len());
            }
            self.absorb(key);
            self.offer_part(key);
            let numbers = self.numbers.get(StreamId(key.stream));
            if numbers.renewal(key.unordered) != Renewal::Known {
                self.extra.reached.push(key);
            }
        }
        if let Some(done) = &mut self.extra.done {
            done.remove_through(self.edge - 1);
        }
    }

    /// Takes a chunk of a stream that there is.
    pub(super) fn receive(
        &mut self,
        now: Time,
        chunk: InChunk,
        out: &mut Delivery,
    ) -> Result<(), InboundError> {
        let packet_len = self.packet_len;
        // What goes on with a message that began before the barrier is not behind it.
        let goes_on = self.barrier.is_some() && self.lacks_something(Key::of(&chunk));
        let barrier = self.barrier.as_mut().filter(|b| b.holds(chunk.stream, chunk.tsn));
        let Some(barrier) = barrier.filter(|_| !goes_on) else {
            self.take(now, chunk, out)?;
            // A compliant peer may have a message of each stream under way, and was promised as much as the buffer has.
            let held = self.assembly_charge() - self.open.len() * OPEN_CHARGE;
            return if held > self.most_open { Err(InboundError::MessageTooLarge) } else { Ok(()) };
        };
        if chunk.payload.len() > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        let payload = detach(chunk.payload, packet_len);
        barrier.keep(now, InChunk { payload, ..chunk });
        Ok(())
    }

    //= RFC 8260 2.2.3-1 2.2.3-2
    fn take(&mut self, now: Time, chunk: InChunk, out: &mut Delivery) -> Result<(), InboundError> {
        if chunk.payload.len() > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        let key = Key::of(&chunk);
        if chunk.seq < self.edge {
            self.settle(key, out);
        }
        if self.is_behind(key) {
            if !self.may_skip {
                return inconsistent("a MID that was delivered already");
            }
            // It was passed over, and came late.
            self.extra.passed_over += 1;
            self.note_done(chunk.seq);
            return Ok(());
        }
        if key.unordered && self.may_skip && self.numbers.get(chunk.stream).lacks_unordered() {
            self.numbers.get_mut(chunk.stream).note_unordered();
        }
        let InChunk { seq, tsn, ppid, flags, .. } = chunk;
        // RFC 8260 §2.2.3: "a non-fragmented message is indicated by the fact that both the E and B bits are set."
        let passes = self.is_turn(key) && !self.is_blocked(key);
        if flags.beginning && flags.ending && passes && !self.open.contains_key(&key) {
            self.note_done(seq);
            let part = MessagePart::Whole;
            self.hand_over(key, tsn, ppid, (chunk.payload, part), now, out);
            self.deliver_held(key, out);
            return Ok(());
        }
        let fsn = self.place(key, &chunk)?;
        self.add(now, key, fsn, chunk)?;
        if self.is_complete(key) && self.is_turn(key) {
            self.deliver(key, out);
            self.deliver_held(key, out);
        } else {
            self.offer_part(key);
        }
        Ok(())
    }

    /// The number of a fragment, unwrapped; what it contradicts is none of its message.
    fn place(&self, key: Key, chunk: &InChunk) -> Result<u64, InboundError> {
        let open = self.open.get(&key);
        let next = open.map_or(0, |open| open.next);
        let fsn = match chunk.flags.beginning {
            true => 0,
            false => {
                let ahead = chunk.fsn.0.wrapping_sub(next as u32); // The low 32 bits are the FSN.
                if ahead >= HALF {
                    return inconsistent("an FSN that came before");
                }
                next + u64::from(ahead)
            }
        };
        if fsn == 0 && !chunk.flags.beginning {
            return inconsistent("a message does not begin with a first fragment");
        }
        if fsn < next || self.pieces.contains_key(&(key, fsn)) {
            return inconsistent("two fragments with one FSN");
        }
        let ending = chunk.flags.ending;
        let ended = open.and_then(|open| open.last).is_some_and(|last| ending || fsn > last);
        let behind = (key, fsn)..=(key, u64::MAX);
        if ended || (ending && self.pieces.range(behind).next().is_some()) {
            return inconsistent("a fragment behind the last one of its message");
        }
        Ok(fsn)
    }

    fn add(&mut self, now: Time, key: Key, fsn: u64, chunk: InChunk) -> Result<(), InboundError> {
        let InChunk { seq, tsn, ppid, flags, payload, .. } = chunk;
        let (len, limit) = (payload.len(), self.max_message_size);
        let held = self.open.get(&key).map_or(0, |open| open.bytes);
        if held + len > limit {
            return Err(InboundError::MessageTooLarge);
        }
        let charge = &mut self.charge;
        let open = self.open.entry(key).or_insert_with(|| {
            *charge += OPEN_CHARGE;
            OpenMessage::default()
        });
        if flags.beginning {
            (open.tsn, open.ppid) = (tsn, ppid);
        }
        if flags.ending {
            open.last = Some(fsn);
        }
        open.count += 1;
        open.bytes += len;
        open.at = now;
        if open.last.is_some_and(|last| open.count == last + 1) {
            open.completed_at = Some(now);
        }
        if seq < self.edge && fsn == open.next {
            let before = open.buffer.capacity();
            open.buffer.extend_from_slice(&payload);
            open.next += 1;
            self.buffers += open.buffer.capacity() - before;
            self.charge += len;
            self.absorb(key);
            return Ok(());
        }
        let payload = detach(payload, self.packet_len);
        self.charge += piece_charge(len);
        if seq >= self.edge {
            self.beyond.insert(seq, (key, fsn));
            self.beyond_charge += piece_charge(len);
        }
        self.pieces.insert((key, fsn), Piece { seq, payload });
        Ok(())
    }

    /// Moves what follows the buffer of a message into it, as far as nothing of it may be dropped any more.
    fn absorb(&mut self, key: Key) {
        let Some(open) = self.open.get_mut(&key) else { return };
        while let Some(piece) = self.pieces.get(&(key, open.next)) {
            let (seq, len) = (piece.seq, piece.payload.len());
            if seq >= self.edge {
                break;
            }
            if self.beyond.remove(&seq).is_some() {
                self.beyond_charge -= piece_charge(len);
            }
            let before = open.buffer.capacity();
            open.buffer.extend_from_slice(&piece.payload);
            self.buffers += open.buffer.capacity() - before;
            self.charge = self.charge - piece_charge(len) + len;
            self.pieces.remove(&(key, open.next));
            open.next += 1;
        }
    }

    fn lacks_something(&self, key: Key) -> bool {
        self.open.get(&key).is_some_and(|open| open.completed_at.is_none())
    }

    /// Drops the chunk `seq` if it is held beyond the edge. False if it is not.
    pub(super) fn discard(&mut self, seq: u64) -> bool {
        if seq < self.edge {
            return false;
        }
        if self.barrier.as_mut().is_some_and(|barrier| barrier.discard(seq)) {
            return true;
        }
        let Some((key, fsn)) = self.beyond.remove(&seq) else { return false };
        let Some(piece) = self.pieces.remove(&(key, fsn)) else { return false };
        let len = piece.payload.len();
        self.charge -= piece_charge(len);
        self.beyond_charge -= piece_charge(len);
        let Some(open) = self.open.get_mut(&key) else { return true };
        open.bytes -= len;
        open.count -= 1;
        open.completed_at = None;
        open.last = open.last.filter(|last| *last != fsn);
        if open.count == 0 {
            self.remove(key);
        }
        true
    }

    /// The highest chunk that is held beyond the edge.
    pub(super) fn highest_held(&self) -> Option<u64> {
        let kept = self.barrier.as_ref().and_then(|barrier| barrier.highest());
        let held = self.beyond.last_key_value().map(|(seq, _)| *seq);
        kept.max(held).filter(|seq| *seq >= self.edge)
    }

    /// Chunks dropped because their message was passed over, ever.
    pub(super) fn passed_over(&self) -> usize {
        self.extra.passed_over
    }
}
