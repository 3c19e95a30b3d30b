//! Messages that may be given up, and of which a part was sent and is not acknowledged cumulatively.
//!
//! A message is a run of TSNs, and with I-DATA chunks (RFC 8260), which let others come in between, several; it goes
//! by its first one. Nobody outside of this file knows.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use smallvec::SmallVec;
use tresse_wire::StreamId;

use crate::streams::send_queue::Policy;
use crate::time::Time;

/// The first and the last of consecutive chunks of a message.
type Run = (u64, u64);

/// One message.
#[derive(Clone, Debug)]
struct Entry {
    /// What is not acknowledged cumulatively of what was sent, in order.
    runs: SmallVec<[Run; 1]>,
    /// No more are to be sent.
    whole: bool,
    stream: StreamId,
    policy: Policy,
    /// End of its lifetime.
    until: Time,
    given_up: bool,
}

/// A message of the ledger, as others see it.
#[derive(Clone, Debug)]
pub(super) struct Partly {
    first: u64,
    stream: StreamId,
    policy: Policy,
    runs: SmallVec<[Run; 1]>,
    is_leaving: bool,
}

impl Partly {
    pub(super) const fn stream(&self) -> StreamId {
        self.stream
    }

    pub(super) const fn policy(&self) -> Policy {
        self.policy
    }

    /// Its first chunk.
    pub(super) const fn first(&self) -> u64 {
        self.first
    }

    /// The last one that was sent.
    pub(super) fn last(&self) -> u64 {
        self.runs.last().map_or(self.first, |(_, last)| *last)
    }

    /// Its chunks; the first ones may be acknowledged cumulatively, or left out.
    pub(super) fn seqs(&self) -> impl Iterator<Item = u64> + '_ {
        self.runs.iter().flat_map(|(first, last)| *first..=*last)
    }

    pub(super) fn contains(&self, seq: u64) -> bool {
        self.runs.iter().any(|(first, last)| (*first..=*last).contains(&seq))
    }

    /// A part of it has not left yet.
    pub(super) const fn is_leaving(&self) -> bool {
        self.is_leaving
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// By their first chunk.
    entries: BTreeMap<u64, Entry>,
    /// Runs of all of them, in the order of their TSNs, with the first chunk of the message.
    runs: VecDeque<(Run, u64)>,
    /// Messages of which a part has not left, by stream.
    leaving: BTreeMap<u16, u64>,
    /// Ends of lifetimes that are to come, with the first TSN.
    deadlines: BTreeSet<(Time, u64)>,
    /// Those with a priority: the least important first, of equal ones the oldest.
    priorities: BTreeSet<(Reverse<u32>, u64)>,
}

impl Ledger {
    /// The chunk `seq` has left: of the message of its stream that is leaving, or the first one of another.
    pub(super) fn on_sent(
        &mut self,
        seq: u64,
        stream: StreamId,
        (policy, until): (Policy, Time),
        (beginning, ending): (bool, bool),
    ) {
        let first = if beginning {
            let runs = SmallVec::new();
            let entry = Entry { runs, whole: ending, stream, policy, until, given_up: false };
            self.entries.insert(seq, entry);
            self.leaving.insert(stream.0, seq);
            match policy {
                Policy::Timed => {
                    self.deadlines.insert((until, seq));
                }
                Policy::Priority(value) => {
                    self.priorities.insert((Reverse(value), seq));
                }
                Policy::Full | Policy::Retransmissions(_) => {}
            }
            seq
        } else {
            match self.leaving.get(&stream.0) {
                Some(first) => *first,
                None => return,
            }
        };
        self.extend(first, seq);
        if ending {
            self.leaving.remove(&stream.0);
            if let Some(entry) = self.entries.get_mut(&first) {
                entry.whole = true;
            }
        }
    }

    /// The first chunk of the message of the chunk `seq`.
    fn find(&self, seq: u64) -> Option<u64> {
        if self.entries.contains_key(&seq) {
            return Some(seq);
        }
        let i = self.runs.partition_point(|((_, last), _)| *last < seq);
        self.runs.get(i).filter(|((first, _), _)| *first <= seq).map(|(_, first)| *first)
    }

    fn entry(&self, seq: u64) -> Option<&Entry> {
        self.entries.get(&self.find(seq)?)
    }

    /// Whether the chunk `seq`, sent `transmissions` times by now, is to be given up with its message, not sent again.
    pub(super) fn is_over(&self, now: Time, seq: u64, transmissions: u32) -> bool {
        let entry = self.entry(seq).filter(|entry| !entry.given_up);
        entry.is_some_and(|entry| match entry.policy {
            //= RFC 3758 4.1-2 4.1-5 4.1-6
            Policy::Timed => entry.until <= now,
            //= RFC 7496 3.1-1
            Policy::Retransmissions(most) => transmissions > most,
            Policy::Full | Policy::Priority(_) => false,
        })
    }

    /// Whether the chunk `seq`, which was sent so often, may not be sent again.
    pub(super) fn is_last_try(&self, seq: u64, transmissions: u32) -> bool {
        self.entry(seq).is_some_and(
            |entry| matches!(entry.policy, Policy::Retransmissions(most) if transmissions > most),
        )
    }

    /// The message of the chunk `seq`.
    pub(super) fn get(&self, seq: u64) -> Option<Partly> {
        let first = self.find(seq)?;
        let Entry { runs, whole, stream, policy, .. } = self.entries.get(&first)?.clone();
        Some(Partly { first, stream, policy, runs, is_leaving: !whole })
    }

    /// The message of the chunk `seq` is given up from now on, and none of it leaves any more. `None` if it was
    /// before.
    pub(super) fn give_up(&mut self, seq: u64) -> Option<Partly> {
        let partly = self.get(seq)?;
        let entry = self.entries.get_mut(&partly.first)?;
        if std::mem::replace(&mut entry.given_up, true) {
            return None;
        }
        if !std::mem::replace(&mut entry.whole, true) {
            self.leaving.remove(&partly.stream.0);
        }
        let entry = entry.clone();
        self.forget(partly.first, &entry);
        Some(partly)
    }

    /// A chunk was added to the end of the message that begins with `first`: one that has left, or that tells the peer
    /// where it ends.
    pub(super) fn extend(&mut self, first: u64, seq: u64) {
        let Some(entry) = self.entries.get_mut(&first) else { return };
        match (self.runs.back_mut(), entry.runs.last_mut()) {
            (Some(((_, end), message)), Some((_, last)))
                if *message == first && *end + 1 == seq =>
            {
                (*end, *last) = (seq, seq);
            }
            _ => {
                self.runs.push_back(((seq, seq), first));
                entry.runs.push((seq, seq));
            }
        }
    }

    fn forget(&mut self, first: u64, entry: &Entry) {
        match entry.policy {
            Policy::Timed => {
                self.deadlines.remove(&(entry.until, first));
            }
            Policy::Priority(value) => {
                self.priorities.remove(&(Reverse(value), first));
            }
            Policy::Full | Policy::Retransmissions(_) => {}
        }
    }

    /// Everything up to `cumulative` is acknowledged.
    pub(super) fn release(&mut self, cumulative: u64) {
        let is_over = |run: &mut (Run, u64)| run.0.1 <= cumulative;
        while let Some((_, first)) = self.runs.pop_front_if(is_over) {
            let Some(entry) = self.entries.get_mut(&first) else { continue };
            entry.runs.retain(|(_, last)| *last > cumulative);
            if entry.whole
                && entry.runs.is_empty()
                && let Some(entry) = self.entries.remove(&first)
            {
                self.forget(first, &entry);
            }
        }
    }

    /// When the next lifetime ends.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadlines.first().map(|(until, _)| *until)
    }

    /// A message whose lifetime has ended by `now`, by its first chunk. Each is told once.
    pub(super) fn take_expired(&mut self, now: Time) -> Option<u64> {
        self.deadlines.first().filter(|(until, _)| *until <= now)?;
        self.deadlines.pop_first().map(|(_, first)| first)
    }

    /// Those with a priority, the least important first: their numbers and their first chunks.
    pub(super) fn by_priority(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        self.priorities.iter().map(|(Reverse(value), first)| (*value, *first))
    }

    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        let sets = self.deadlines.len() + self.priorities.len() + self.leaving.len();
        self.entries.len() * 2 * size_of::<(u64, Entry)>()
            + self.runs.capacity() * (size_of::<(Run, u64)>() + size_of::<Run>())
            + sets * 2 * size_of::<(Time, u64)>()
    }
}
