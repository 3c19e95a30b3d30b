//! Chunks held beyond a missing one.
//!
//! They stand in a ring indexed by their distance to the *edge*, the first missing chunk. Adjacent
//! fragments of one message form a run whose two ends know each other, so that joining runs and
//! noticing a complete message takes constant time whatever the order of arrival.

use bytes::Bytes;
use tresse_wire::{Ppid, Ssn, StreamId, Tsn};

use super::chunk::{InChunk, InboundError};
use super::slots::{DONE, MISSING, Slots};
use super::{PIECE, charge};
use crate::event::{MessagePart, ReceivedMessage};
use crate::ranges::RangeSet;
use crate::time::Time;

/// The furthest a chunk may lie beyond the edge: what a Gap Ack Block can report.
const MAX_SPAN: u64 = 65_536;

/// End of the list of free entries.
const NO_ENTRY: u32 = u32::MAX;

/// Capacities above this many are given back when nothing is held.
const KEEP: usize = 1024;

/// A handle of a complete message that waits for its turn.
pub(super) type EntryId = u32;

/// The ring, and the entries its slots point to.
#[derive(Debug)]
pub(super) struct Ring {
    /// All chunks before it have arrived; this one has not.
    edge: u64,
    /// Place `i` is chunk `edge + i`: an index of `entries`, `MISSING` or `DONE`. The first one is
    /// `MISSING`, but for a moment, while the edge moves.
    slots: Slots,
    entries: Vec<Entry>,
    free: u32,
    live: usize,
    charge: usize,
    /// Chunks beyond the edge that are delivered or passed over, if somebody asks.
    done: Option<RangeSet>,
}

/// A held chunk; or a whole message out of its turn that the edge has passed.
#[derive(Debug)]
struct Entry {
    payload: Bytes,
    /// Below the edge if it is a whole message that the edge has passed.
    seq: u64,
    head: Head,
    beginning: bool,
    ending: bool,
    /// At both ends of a run: the seq of the other end. In a free entry: the next free one.
    other_end: u64,
    /// At the first chunk of a run: user bytes of the run.
    run_bytes: usize,
    /// At the first chunk of a run, if it is a complete message: since when.
    completed_at: Option<Time>,
}

/// What a chunk says of its message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub(super) tsn: Tsn,
    pub(super) stream: StreamId,
    pub(super) ssn: Ssn,
    pub(super) ppid: Ppid,
    pub(super) unordered: bool,
}

impl Head {
    pub(super) fn of(chunk: &InChunk) -> Head {
        Head {
            tsn: chunk.tsn,
            stream: chunk.stream,
            ssn: Ssn(chunk.mid.0 as u16), // Of a DATA chunk, which has no more bits.
            ppid: chunk.ppid,
            unordered: chunk.flags.unordered,
        }
    }

    /// RFC 9260 §3.3.1: all fragments carry the same stream, SSN and U bit. The SSN of unordered
    /// chunks MUST be ignored.
    pub(super) fn same_message(&self, other: &Head) -> bool {
        self.stream == other.stream
            && self.unordered == other.unordered
            && (self.unordered || self.ssn == other.ssn)
    }

    pub(super) fn message(self, payload: Bytes, completed_at: Time) -> ReceivedMessage {
        let Head { tsn, stream, ssn, ppid, unordered } = self;
        let part = MessagePart::Whole;
        ReceivedMessage { stream, ppid, unordered, payload, ssn, tsn, completed_at, part }
    }
}

/// What stands in a slot, as far as the chunk beside it is concerned.
pub(super) enum Neighbour {
    Missing,
    /// The end of a message, or the beginning of one.
    Done,
    Chunk {
        head: Head,
        beginning: bool,
        ending: bool,
    },
}

/// What stands at the edge while it moves.
pub(super) enum Front {
    /// Nothing: the edge stays.
    Missing,
    Done,
    /// A complete message that waits for its turn.
    Complete(EntryId),
    /// A chunk of a message of which something before is missing no more.
    Part,
}

/// A message that became complete in the ring.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stored {
    pub(super) entry: EntryId,
    /// TSN of its first fragment.
    pub(super) tsn: Tsn,
    pub(super) stream: StreamId,
    pub(super) ssn: Ssn,
    pub(super) unordered: bool,
    /// How many chunks after the first missing one it begins.
    pub(super) beyond_edge: u64,
}

impl Ring {
    pub(super) fn new(first_seq: u64) -> Self {
        Ring {
            edge: first_seq,
            slots: Slots::default(),
            entries: Vec::new(),
            free: NO_ENTRY,
            live: 0,
            charge: 0,
            done: None,
        }
    }

    /// Keeps a list of the chunks beyond the edge that will never be discarded.
    pub(super) fn track_done(&mut self) {
        self.done = Some(RangeSet::default());
    }

    /// That list.
    pub(super) fn done(&self) -> Option<&RangeSet> {
        self.done.as_ref()
    }

    fn note_done(&mut self, first: usize, last: usize) {
        if let Some(done) = &mut self.done {
            for offset in first..=last {
                done.insert(self.edge + offset as u64);
            }
        }
    }

    /// What the entries count, in bytes.
    pub(super) fn charge(&self) -> usize {
        self.charge
    }

    /// Bytes of memory; a piece that shares its packet may keep twice its length alive.
    pub(super) fn memory(&self) -> usize {
        self.charge
            + self.live * PIECE
            + self.entries.capacity() * size_of::<Entry>()
            + self.slots.memory()
            + self.done.as_ref().map_or(0, RangeSet::memory)
    }

    /// The distance of `seq` to the edge; `None` if it is behind.
    pub(super) fn offset(&self, seq: u64) -> Result<Option<usize>, InboundError> {
        match seq.checked_sub(self.edge) {
            None => Ok(None),
            Some(offset) if offset < MAX_SPAN => Ok(Some(offset as usize)),
            Some(_) => Err(InboundError::Inconsistent("a TSN too far ahead")),
        }
    }

    pub(super) fn is_missing(&self, offset: usize) -> bool {
        self.slots.get(offset) == MISSING
    }

    pub(super) fn neighbour(&self, offset: usize) -> Neighbour {
        match self.slots.get(offset) {
            MISSING => Neighbour::Missing,
            DONE => Neighbour::Done,
            slot => {
                let Entry { head, beginning, ending, .. } = self.entries[slot as usize];
                Neighbour::Chunk { head, beginning, ending }
            }
        }
    }

    /// Moves the edge by one chunk.
    #[inline]
    pub(super) fn step(&mut self) {
        self.slots.pop_front();
        if let Some(done) = &mut self.done {
            done.remove_through(self.edge);
        }
        self.edge += 1;
    }

    /// The first chunk that is missing.
    pub(super) fn edge(&self) -> u64 {
        self.edge
    }

    /// Moves the edge over chunks that are missing: over one, or over as many as that if nothing is held.
    pub(super) fn step_over(&mut self, most: u64) {
        if self.slots.is_empty() {
            self.edge += most;
            if let Some(done) = &mut self.done {
                done.remove_through(self.edge - 1);
            }
        } else {
            self.step();
        }
    }

    /// The chunk at the front has the B bit.
    pub(super) fn front_begins(&self) -> bool {
        self.at(0).beginning
    }

    /// The last chunk of the run that the one at the front begins.
    pub(super) fn front_run_end(&self) -> u64 {
        self.at(0).other_end
    }

    /// Marks a missing chunk beyond the edge as done.
    pub(super) fn set_done(&mut self, offset: usize) {
        self.slots.set(offset, DONE);
        self.note_done(offset, offset);
    }

    /// Holds a chunk beyond the edge. `None` if its run would have more than `max` bytes, else
    /// the message that it completes, if any.
    pub(super) fn hold(
        &mut self,
        now: Time,
        offset: usize,
        chunk: InChunk,
        max: usize,
    ) -> Option<Option<Stored>> {
        let InChunk { seq, flags, .. } = chunk;
        let (mut first, mut last, mut run_bytes) = (offset, offset, chunk.payload.len());
        if !flags.beginning && matches!(self.neighbour(offset - 1), Neighbour::Chunk { .. }) {
            first = self.offset_of(self.at(offset - 1).other_end);
            run_bytes += self.at(first).run_bytes;
        }
        if !flags.ending && matches!(self.neighbour(offset + 1), Neighbour::Chunk { .. }) {
            last = self.offset_of(self.at(offset + 1).other_end);
            run_bytes += self.at(offset + 1).run_bytes;
        }
        if run_bytes > max {
            return None;
        }
        let slot = self.allocate(Entry {
            seq,
            head: Head::of(&chunk),
            payload: chunk.payload,
            beginning: flags.beginning,
            ending: flags.ending,
            other_end: seq,
            run_bytes,
            completed_at: None,
        });
        self.slots.set(offset, slot);
        let complete = self.at(first).beginning && self.at(last).ending;
        self.set_run(first, last, run_bytes, complete.then_some(now));
        let Head { tsn, stream, ssn, unordered, .. } = self.at(first).head;
        let (entry, beyond_edge) = (self.slots.get(first), first as u64);
        Some(complete.then_some(Stored { entry, tsn, stream, ssn, unordered, beyond_edge }))
    }

    #[inline]
    pub(super) fn front(&self) -> Front {
        match self.slots.get(0) {
            MISSING => Front::Missing,
            DONE => Front::Done,
            slot if self.entries[slot as usize].completed_at.is_some() => Front::Complete(slot),
            _ => Front::Part,
        }
    }

    /// Takes the chunk at the front, with its E bit, and moves the edge past it.
    pub(super) fn pop_part(&mut self) -> Option<(Head, bool, Bytes)> {
        let slot = self.slots.get(0);
        if slot >= DONE {
            return None;
        }
        let Entry { head, ending, payload, .. } = self.release(slot);
        self.step();
        Some((head, ending, payload))
    }

    /// Lets the edge pass the complete message at the front, which waits for its turn. Its handle
    /// stays valid.
    pub(super) fn settle(&mut self, entry: EntryId) {
        let last = self.offset_of(self.entries[entry as usize].other_end);
        if last > 0 {
            let whole = self.join(0, last);
            let first = &mut self.entries[entry as usize];
            let piece = std::mem::replace(&mut first.payload, whole);
            self.charge = self.charge - charge(piece.len()) + charge(first.payload.len());
        }
        for _ in 0..=last {
            self.step();
        }
    }

    /// Keeps a complete message that begins before the edge.
    pub(super) fn store(&mut self, message: ReceivedMessage) -> EntryId {
        let ReceivedMessage { stream, ppid, unordered, payload, ssn, tsn, completed_at, .. } =
            message;
        let seq = self.edge.saturating_sub(1);
        self.allocate(Entry {
            run_bytes: payload.len(),
            payload,
            seq,
            head: Head { tsn, stream, ssn, ppid, unordered },
            beginning: true,
            ending: true,
            other_end: seq,
            completed_at: Some(completed_at),
        })
    }

    /// Removes a complete message.
    pub(super) fn take(&mut self, entry: EntryId) -> ReceivedMessage {
        let Entry { seq, other_end, head, completed_at, .. } = self.entries[entry as usize];
        let mut payload = Bytes::new();
        if seq >= self.edge {
            let (first, last) = (self.offset_of(seq), self.offset_of(other_end));
            if first < last {
                payload = self.join(first, last);
            }
            self.slots.set(first, DONE);
            self.note_done(first, last);
        }
        let piece = self.release(entry).payload;
        let payload = if payload.is_empty() { piece } else { payload };
        head.message(payload, completed_at.unwrap_or_default())
    }

    /// What the first chunk of a complete message says of it.
    pub(super) fn head(&self, entry: EntryId) -> Head {
        self.entries[entry as usize].head
    }

    /// Drops the chunk `seq`. False if it is not held. If it was a part of a complete message, which is
    /// complete no more, what its first chunk says of it comes second.
    pub(super) fn discard(&mut self, seq: u64) -> (bool, Option<Head>) {
        let Ok(Some(offset)) = self.offset(seq) else { return (false, None) };
        let slot = self.slots.get(offset);
        if slot >= DONE {
            return (false, None);
        }
        let first = self.run_start(offset);
        let Entry { head, other_end, run_bytes, completed_at, .. } = *self.at(first);
        let last = self.offset_of(other_end);
        let dropped = self.release(slot).payload.len();
        self.slots.set(offset, MISSING);
        // The largest TSN held is the last of its run, so that this sum is empty as a rule.
        let after: usize = (offset + 1..=last).map(|o| self.at(o).payload.len()).sum();
        if offset > first {
            self.set_run(first, offset - 1, run_bytes - dropped - after, None);
        }
        if offset < last {
            self.set_run(offset + 1, last, after, None);
        }
        (true, completed_at.map(|_| head))
    }

    /// Forgets all that is held; the edge is at `edge` from now on.
    pub(super) fn jump(&mut self, edge: u64) {
        let done = self.done.take().map(|_| RangeSet::default());
        *self = Ring { done, ..Ring::new(edge) };
    }

    /// The highest seq held beyond the edge.
    pub(super) fn highest_held(&self) -> Option<u64> {
        Some(self.edge + self.slots.last_held()? as u64)
    }

    /// Gives memory back if nothing is held.
    #[inline]
    pub(super) fn shrink_if_idle(&mut self) {
        if self.live == 0 && self.entries.capacity() > KEEP {
            self.entries = Vec::new();
            self.free = NO_ENTRY;
        }
    }

    /// Makes the two ends of a run know each other.
    fn set_run(&mut self, first: usize, last: usize, bytes: usize, completed_at: Option<Time>) {
        let (first_seq, last_seq) = (self.edge + first as u64, self.edge + last as u64);
        self.entries[self.slots.get(last) as usize].other_end = first_seq;
        let first = &mut self.entries[self.slots.get(first) as usize];
        first.other_end = last_seq;
        first.run_bytes = bytes;
        first.completed_at = completed_at;
    }

    /// The first chunk of the run that `offset` belongs to.
    fn run_start(&self, offset: usize) -> usize {
        let continues = |beside| matches!(beside, Neighbour::Chunk { .. });
        let entry = self.at(offset);
        let is_last = entry.ending || !continues(self.neighbour(offset + 1));
        if is_last && !entry.beginning {
            return self.offset_of(entry.other_end);
        }
        let mut first = offset;
        while first > 0 && !self.at(first).beginning && continues(self.neighbour(first - 1)) {
            first -= 1;
        }
        first
    }

    /// The payload of the complete message `first..=last`, of which only the first entry stays.
    fn join(&mut self, first: usize, last: usize) -> Bytes {
        let mut whole = Vec::with_capacity(self.at(first).run_bytes);
        whole.extend_from_slice(&self.at(first).payload);
        for offset in first + 1..=last {
            let slot = self.slots.get(offset);
            self.slots.set(offset, DONE);
            whole.extend_from_slice(&self.release(slot).payload);
        }
        whole.into()
    }

    fn offset_of(&self, seq: u64) -> usize {
        (seq - self.edge) as usize
    }

    fn at(&self, offset: usize) -> &Entry {
        &self.entries[self.slots.get(offset) as usize]
    }

    fn allocate(&mut self, entry: Entry) -> EntryId {
        self.charge += charge(entry.payload.len());
        self.live += 1;
        if self.free == NO_ENTRY {
            self.entries.push(entry);
            return (self.entries.len() - 1) as u32;
        }
        let id = self.free;
        let slot = &mut self.entries[id as usize];
        self.free = slot.other_end as u32;
        *slot = entry;
        id
    }

    fn release(&mut self, id: EntryId) -> Entry {
        let slot = &mut self.entries[id as usize];
        let entry = Entry { payload: std::mem::take(&mut slot.payload), ..*slot };
        slot.other_end = u64::from(self.free);
        self.free = id;
        self.live -= 1;
        self.charge -= charge(entry.payload.len());
        entry
    }
}
