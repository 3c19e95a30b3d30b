//! DATA chunks that cannot be delivered yet, and how messages are put together from them
//! (RFC 9260 §6.9).
//!
//! All chunks up to the *edge* have arrived. A fragmented message that ends at the edge grows in
//! one buffer, the assembly. Chunks beyond the edge stay in a ring indexed by their distance to
//! it; there adjacent fragments of one message form a run whose two ends know each other, so that
//! joining runs and noticing a complete message takes constant time whatever the order of
//! arrival.

use std::collections::VecDeque;

use bytes::Bytes;
use tresse_wire::{Ppid, Ssn, StreamId, Tsn};

use super::inbound::{InChunk, InboundError};
use crate::event::{Message, ReceivedMessage};
use crate::time::Time;

/// What the smallest chunk or message counts in [`Inbound::buffered`](super::inbound::Inbound),
/// in bytes: a real one costs up to three times its count in memory, never more.
///
/// Larger ones count their user data alone, so that the advertised window shrinks by just what a
/// peer has sent, as RFC 9260 §6.2 B expects.
pub(super) const MIN_CHARGE: usize = 64;

/// The furthest a chunk may lie beyond the edge: what a Gap Ack Block can report.
const MAX_SPAN: u64 = 65_536;

/// Ring slots: an index of `chunks`, or one of these.
const MISSING: u32 = u32::MAX;
const DONE: u32 = u32::MAX - 1;

/// End of the list of free entries.
const NO_ENTRY: u32 = u32::MAX;

/// Capacities above this many entries are given back when nothing is held.
const KEEP: usize = 1024;

/// A handle of a complete message held until its turn comes.
pub(super) type EntryId = u32;

/// A message that just became complete.
pub(super) enum Completed {
    /// Up to the edge nothing is missing.
    Message(ReceivedMessage),
    /// Beyond the edge, still in the ring: [`Reassembly::take`] it or leave it there.
    Stored { entry: EntryId, stream: StreamId, ssn: Ssn, unordered: bool, beyond_edge: u64 },
}

#[derive(Debug)]
pub(super) struct Reassembly {
    /// All chunks before it have arrived; this one has not.
    edge: u64,
    /// `ring[i]` is chunk `edge + i`. Empty or beginning with `MISSING`, never ending with it.
    ring: VecDeque<u32>,
    entries: Vec<Entry>,
    free: u32,
    live: usize,
    assembly: Option<Assembly>,
    /// The buffer for the next assembly: as large as the last one, within limits.
    hint: usize,
    max_message_size: usize,
    packet_len: usize,
    /// What all entries and the assembly count.
    charge: usize,
}

/// A held chunk; or a whole message out of its turn that the edge has passed.
#[derive(Debug)]
struct Entry {
    payload: Bytes,
    seq: u64,
    head: Head,
    beginning: bool,
    ending: bool,
    /// At both ends of a run: the other end's seq.
    other_end: u64,
    /// At the first chunk of a run: user bytes of the run.
    run_bytes: usize,
    /// At the first chunk of a complete run: when it became complete.
    completed_at: Option<Time>,
}

/// What a chunk says of its message.
#[derive(Clone, Copy, Debug)]
struct Head {
    tsn: Tsn,
    stream: StreamId,
    ssn: Ssn,
    ppid: Ppid,
    unordered: bool,
}

/// The message of which all fragments up to the edge have arrived, and not the last.
#[derive(Debug)]
struct Assembly {
    head: Head,
    buffer: Vec<u8>,
}

/// What stands beside a chunk.
enum Neighbour {
    Missing,
    /// Chunks of messages that are delivered or dropped: all of them whole.
    Done,
    Chunk(Head, /* beginning */ bool, /* ending */ bool),
}

impl Head {
    fn of(chunk: &InChunk) -> Head {
        Head {
            tsn: chunk.tsn,
            stream: chunk.stream,
            ssn: chunk.ssn,
            ppid: chunk.ppid,
            unordered: chunk.flags.unordered,
        }
    }

    /// RFC 9260 §3.3.1: all fragments carry the same stream, SSN and U bit. The SSN of unordered
    /// chunks MUST be ignored.
    fn same_message(&self, other: &Head) -> bool {
        self.stream == other.stream
            && self.unordered == other.unordered
            && (self.unordered || self.ssn == other.ssn)
    }

    fn message(self, payload: Bytes, completed_at: Time) -> ReceivedMessage {
        let Head { tsn, stream, ssn, ppid, unordered } = self;
        let message = Message { stream, ppid, unordered, payload };
        ReceivedMessage { message, ssn, tsn, completed_at }
    }
}

fn charge(len: usize) -> usize {
    len.max(MIN_CHARGE)
}

fn inconsistent<T>(reason: &'static str) -> Result<T, InboundError> {
    Err(InboundError::Inconsistent(reason))
}

impl Reassembly {
    pub(super) fn new(max_message_size: usize, first_seq: u64) -> Self {
        Reassembly {
            edge: first_seq,
            ring: VecDeque::new(),
            entries: Vec::new(),
            free: NO_ENTRY,
            live: 0,
            assembly: None,
            hint: 0,
            max_message_size,
            packet_len: 1500,
            charge: 0,
        }
    }

    /// What is held counts so many bytes.
    pub(super) fn charge(&self) -> usize {
        self.charge
    }

    /// How much of it the assembly makes up.
    pub(super) fn assembly_charge(&self) -> usize {
        self.assembly.as_ref().map_or(0, |assembly| charge(assembly.buffer.len()))
    }

    /// The length of the packet that the next chunks come from.
    pub(super) fn set_packet_len(&mut self, len: usize) {
        self.packet_len = len;
    }

    /// The payload, copied if keeping it would keep much more memory alive: it is a slice of a
    /// received packet.
    pub(super) fn detach(&self, payload: Bytes) -> Bytes {
        if payload.len() * 2 < self.packet_len { Bytes::copy_from_slice(&payload) } else { payload }
    }

    /// Takes a chunk. The message it completes, if any, comes back; then
    /// [`advance`](Self::advance) may have more.
    pub(super) fn insert(
        &mut self,
        now: Time,
        chunk: InChunk,
    ) -> Result<Option<Completed>, InboundError> {
        let Some(offset) = chunk.seq.checked_sub(self.edge) else { return Ok(None) };
        if offset >= MAX_SPAN {
            return inconsistent("TSN too far ahead");
        }
        if chunk.payload.len() > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        let offset = offset as usize; // Less than MAX_SPAN.
        if self.ring.get(offset).is_some_and(|slot| *slot != MISSING) {
            return Ok(None);
        }
        self.check_neighbours(offset, &chunk)?;
        if offset == 0 { self.insert_at_edge(now, chunk) } else { self.hold(now, offset, chunk) }
    }

    /// Passes over a chunk that is acknowledged but not wanted.
    pub(super) fn skip(&mut self, seq: u64) -> Result<(), InboundError> {
        let Some(offset) = seq.checked_sub(self.edge) else { return Ok(()) };
        if offset >= MAX_SPAN {
            return inconsistent("TSN too far ahead");
        }
        let offset = offset as usize; // Less than MAX_SPAN.
        let cuts_before = match offset.checked_sub(1).map(|before| self.neighbour(before)) {
            None => self.assembly.is_some(),
            Some(before) => matches!(before, Neighbour::Chunk(_, _, false)),
        };
        if cuts_before || matches!(self.neighbour(offset + 1), Neighbour::Chunk(_, false, _)) {
            return inconsistent("stream, SSN or U bit differ in a message");
        }
        if offset == 0 {
            self.step();
        } else if self.ring.get(offset).is_none_or(|slot| *slot == MISSING) {
            self.set_slot(offset, DONE);
        }
        Ok(())
    }

    /// After a chunk at the edge: moves the edge over what had arrived before. To be called until
    /// `None`; each message that comes back is complete.
    pub(super) fn advance(&mut self, now: Time) -> Result<Option<Completed>, InboundError> {
        while let Some(&slot) = self.ring.front() {
            match slot {
                MISSING => break,
                DONE => self.step(),
                entry if self.entries[entry as usize].completed_at.is_some() => self.settle(entry),
                _ => {
                    if let Some(message) = self.absorb(now)? {
                        return Ok(Some(Completed::Message(message)));
                    }
                }
            }
        }
        if self.live == 0 && self.entries.capacity() > KEEP {
            self.entries = Vec::new();
            self.free = NO_ENTRY;
        }
        if self.ring.is_empty() && self.ring.capacity() > KEEP {
            self.ring = VecDeque::new();
        }
        Ok(None)
    }

    /// Keeps a complete message that came back from [`insert`](Self::insert) or
    /// [`advance`](Self::advance) though it is not its turn.
    pub(super) fn store(&mut self, message: ReceivedMessage) -> EntryId {
        let ReceivedMessage { message, ssn, tsn, completed_at } = message;
        let Message { stream, ppid, unordered, payload } = message;
        let run_bytes = payload.len();
        let payload = self.detach(payload);
        self.allocate(Entry {
            payload,
            // Any seq the edge has passed.
            seq: self.edge - 1,
            head: Head { tsn, stream, ssn, ppid, unordered },
            beginning: true,
            ending: true,
            other_end: self.edge - 1,
            run_bytes,
            completed_at: Some(completed_at),
        })
    }

    /// Removes the complete message `entry`.
    pub(super) fn take(&mut self, entry: EntryId) -> ReceivedMessage {
        let Entry { seq, other_end, head, completed_at, .. } = self.entries[entry as usize];
        let completed_at = completed_at.unwrap_or_default();
        let payload = if seq < self.edge {
            self.release(entry).payload
        } else {
            self.join((seq - self.edge) as usize, (other_end - self.edge) as usize)
        };
        head.message(payload, completed_at)
    }

    /// Drops the held chunk `seq`. False if it is not held. If it was a part of a complete ordered
    /// message, that message's stream, SSN and handle come second: it is complete no more.
    pub(super) fn discard(&mut self, seq: u64) -> (bool, Option<(StreamId, Ssn)>) {
        let Some(offset) = seq.checked_sub(self.edge).and_then(|o| usize::try_from(o).ok()) else {
            return (false, None);
        };
        let Some(&slot) = self.ring.get(offset).filter(|slot| **slot < DONE) else {
            return (false, None);
        };
        let first = self.run_start(offset);
        let first_entry = self.entry_at(first);
        let (head, last) = (first_entry.head, (first_entry.other_end - self.edge) as usize);
        let was_complete = first_entry.completed_at.is_some();
        let total = first_entry.run_bytes;
        let dropped = self.release(slot).payload.len();
        self.ring[offset] = MISSING;
        // The largest TSN held is the end of its run, so `after` counts nothing as a rule.
        let after: usize = (offset + 1..=last).map(|o| self.entry_at(o).payload.len()).sum();
        if offset > first {
            self.set_run(first, offset - 1, total - dropped - after, None);
        }
        if offset < last {
            self.set_run(offset + 1, last, after, None);
        }
        while self.ring.back() == Some(&MISSING) {
            self.ring.pop_back();
        }
        (true, (was_complete && !head.unordered).then_some((head.stream, head.ssn)))
    }

    /// The highest seq held beyond the edge that is above `bound`.
    pub(super) fn highest_held(&self, bound: u64) -> Option<u64> {
        let offset = self.ring.iter().rposition(|slot| *slot < DONE)?;
        let seq = self.edge + offset as u64;
        (seq > bound).then_some(seq)
    }

    /// Proves what neighbours can prove: RFC 9260 §6.9 gives the B and E bits, §3.3.1 the strictly
    /// sequential TSNs.
    fn check_neighbours(&self, offset: usize, chunk: &InChunk) -> Result<(), InboundError> {
        let (head, beginning, ending) =
            (Head::of(chunk), chunk.flags.beginning, chunk.flags.ending);
        let before = if offset > 0 {
            self.neighbour(offset - 1)
        } else if let Some(assembly) = &self.assembly {
            Neighbour::Chunk(assembly.head, false, false)
        } else {
            Neighbour::Done
        };
        match before {
            Neighbour::Missing => {}
            Neighbour::Done if beginning => {}
            Neighbour::Done => return inconsistent("a fragment without a beginning"),
            Neighbour::Chunk(_, _, true) if beginning => {}
            Neighbour::Chunk(_, _, true) => return inconsistent("a fragment after the last one"),
            Neighbour::Chunk(..) if beginning => {
                return inconsistent("a message begins within another");
            }
            Neighbour::Chunk(other, ..) if other.same_message(&head) => {}
            Neighbour::Chunk(..) => {
                return inconsistent("stream, SSN or U bit differ in a message");
            }
        }
        match self.neighbour(offset + 1) {
            Neighbour::Missing => Ok(()),
            Neighbour::Done if ending => Ok(()),
            Neighbour::Done => inconsistent("a fragment without an end"),
            Neighbour::Chunk(_, true, _) if ending => Ok(()),
            Neighbour::Chunk(_, true, _) => inconsistent("a message begins within another"),
            Neighbour::Chunk(..) if ending => inconsistent("a fragment after the last one"),
            Neighbour::Chunk(other, ..) if other.same_message(&head) => Ok(()),
            Neighbour::Chunk(..) => inconsistent("stream, SSN or U bit differ in a message"),
        }
    }

    fn neighbour(&self, offset: usize) -> Neighbour {
        match self.ring.get(offset).copied().unwrap_or(MISSING) {
            MISSING => Neighbour::Missing,
            DONE => Neighbour::Done,
            slot => {
                let Entry { head, beginning, ending, .. } = self.entries[slot as usize];
                Neighbour::Chunk(head, beginning, ending)
            }
        }
    }

    fn insert_at_edge(
        &mut self,
        now: Time,
        chunk: InChunk,
    ) -> Result<Option<Completed>, InboundError> {
        self.step();
        let head = Head::of(&chunk);
        if chunk.flags.beginning && chunk.flags.ending {
            return Ok(Some(Completed::Message(head.message(chunk.payload, now))));
        }
        let message = self.append(now, head, chunk.flags.ending, &chunk.payload)?;
        Ok(message.map(Completed::Message))
    }

    /// Appends a fragment at the edge to the assembly, which it may complete.
    fn append(
        &mut self,
        now: Time,
        head: Head,
        ending: bool,
        payload: &[u8],
    ) -> Result<Option<ReceivedMessage>, InboundError> {
        let before = self.assembly_charge();
        let hint = self.hint;
        let assembly = self
            .assembly
            .get_or_insert_with(|| Assembly { head, buffer: Vec::with_capacity(hint) });
        if assembly.buffer.len() + payload.len() > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        assembly.buffer.extend_from_slice(payload);
        self.charge = self.charge - before + self.assembly_charge();
        if !ending {
            return Ok(None);
        }
        self.charge -= self.assembly_charge();
        let Some(Assembly { head, mut buffer }) = self.assembly.take() else { return Ok(None) };
        // Streams of similar messages need no growing; 64 KiB is what an idle one may hold.
        self.hint = buffer.len().min(1 << 16);
        if buffer.capacity() - buffer.len() > buffer.len() / 4 {
            buffer.shrink_to_fit();
        }
        Ok(Some(head.message(buffer.into(), now)))
    }

    /// Moves the run of fragments at the edge into the assembly.
    fn absorb(&mut self, now: Time) -> Result<Option<ReceivedMessage>, InboundError> {
        while let Some(&slot) = self.ring.front().filter(|slot| **slot < DONE) {
            let Entry { head, ending, payload, .. } = self.release(slot);
            self.step();
            if let Some(message) = self.append(now, head, ending, &payload)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// Lets the edge pass a complete message that waits for its turn.
    fn settle(&mut self, entry: EntryId) {
        let first = &mut self.entries[entry as usize];
        let last = (first.other_end - self.edge) as usize;
        if last > 0 {
            let message = self.take(entry);
            let entry_again = self.store(message);
            // The entry just released is the first one reused.
            debug_assert_eq!(entry_again, entry);
        }
        for _ in 0..=last {
            self.step();
        }
    }

    /// Holds a chunk beyond the edge.
    fn hold(
        &mut self,
        now: Time,
        offset: usize,
        chunk: InChunk,
    ) -> Result<Option<Completed>, InboundError> {
        let (head, beginning, ending) =
            (Head::of(&chunk), chunk.flags.beginning, chunk.flags.ending);
        let (mut first, mut last, mut run_bytes) = (offset, offset, chunk.payload.len());
        if !beginning && let Neighbour::Chunk(..) = self.neighbour(offset - 1) {
            first = (self.entry_at(offset - 1).other_end - self.edge) as usize;
            run_bytes += self.entry_at(first).run_bytes;
        }
        if !ending && let Neighbour::Chunk(..) = self.neighbour(offset + 1) {
            last = (self.entry_at(offset + 1).other_end - self.edge) as usize;
            run_bytes += self.entry_at(offset + 1).run_bytes;
        }
        if run_bytes > self.max_message_size {
            return Err(InboundError::MessageTooLarge);
        }
        let payload = self.detach(chunk.payload);
        let entry = self.allocate(Entry {
            payload,
            seq: chunk.seq,
            head,
            beginning,
            ending,
            other_end: chunk.seq,
            run_bytes,
            completed_at: None,
        });
        self.set_slot(offset, entry);
        let complete = self.entry_at(first).beginning && self.entry_at(last).ending;
        self.set_run(first, last, run_bytes, complete.then_some(now));
        if !complete {
            return Ok(None);
        }
        let Head { stream, ssn, unordered, .. } = self.entry_at(first).head;
        let (entry, beyond_edge) = (self.ring[first], first as u64);
        Ok(Some(Completed::Stored { entry, stream, ssn, unordered, beyond_edge }))
    }

    /// Makes the two ends of a run know each other.
    fn set_run(&mut self, first: usize, last: usize, bytes: usize, completed_at: Option<Time>) {
        let (first_seq, last_seq) = (self.edge + first as u64, self.edge + last as u64);
        let last_entry = &mut self.entries[self.ring[last] as usize];
        last_entry.other_end = first_seq;
        let first_entry = &mut self.entries[self.ring[first] as usize];
        first_entry.other_end = last_seq;
        first_entry.run_bytes = bytes;
        first_entry.completed_at = completed_at;
    }

    /// The first chunk of the run that `offset` belongs to.
    fn run_start(&self, offset: usize) -> usize {
        let entry = self.entry_at(offset);
        let is_last =
            entry.ending || !matches!(self.neighbour(offset + 1), Neighbour::Chunk(_, false, _));
        if is_last && !entry.beginning {
            // Only the last chunk knows the first one; alone, it is both.
            return (entry.other_end - self.edge) as usize;
        }
        let mut first = offset;
        while first > 0
            && !self.entry_at(first).beginning
            && matches!(self.neighbour(first - 1), Neighbour::Chunk(..))
        {
            first -= 1;
        }
        first
    }

    /// Turns the complete message in `first..=last` of the ring into its payload.
    fn join(&mut self, first: usize, last: usize) -> Bytes {
        if first == last {
            let slot = std::mem::replace(&mut self.ring[first], DONE);
            return self.release(slot).payload;
        }
        let mut whole = Vec::with_capacity(self.entry_at(first).run_bytes);
        // The first one is released last, so that it is the first one reused.
        for offset in first..=last {
            whole.extend_from_slice(&self.entry_at(offset).payload);
        }
        for offset in (first..=last).rev() {
            let slot = std::mem::replace(&mut self.ring[offset], DONE);
            self.release(slot);
        }
        whole.into()
    }

    /// Moves the edge by one chunk.
    fn step(&mut self) {
        self.ring.pop_front();
        self.edge += 1;
    }

    fn set_slot(&mut self, offset: usize, slot: u32) {
        if self.ring.len() <= offset {
            self.ring.resize(offset + 1, MISSING);
        }
        self.ring[offset] = slot;
    }

    fn entry_at(&self, offset: usize) -> &Entry {
        &self.entries[self.ring[offset] as usize]
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
