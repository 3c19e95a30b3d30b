//! Messages that may be given up, and of which a part was sent and is not acknowledged cumulatively.
//!
//! A message is a run of TSNs here. With I-DATA chunks (RFC 8260), whose messages are interleaved, it will be
//! several; nobody outside of this file knows.

use std::cmp::Reverse;
use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

use tresse_wire::StreamId;

use crate::streams::send_queue::Policy;
use crate::time::Time;

/// One message.
#[derive(Clone, Copy, Debug)]
struct Entry {
    first: u64,
    /// The last chunk that was sent.
    last: u64,
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
    stream: StreamId,
    policy: Policy,
    seqs: RangeInclusive<u64>,
    is_leaving: bool,
}

impl Partly {
    pub(super) const fn stream(&self) -> StreamId {
        self.stream
    }

    pub(super) const fn policy(&self) -> Policy {
        self.policy
    }

    /// Its chunks; the first ones may be acknowledged cumulatively.
    pub(super) fn seqs(&self) -> RangeInclusive<u64> {
        self.seqs.clone()
    }

    /// A part of it has not left yet.
    pub(super) const fn is_leaving(&self) -> bool {
        self.is_leaving
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// In the order of their TSNs.
    entries: VecDeque<Entry>,
    /// Ends of lifetimes that are to come, with the first TSN.
    deadlines: BTreeSet<(Time, u64)>,
    /// Those with a priority: the least important first, of equal ones the oldest.
    priorities: BTreeSet<(Reverse<u32>, u64)>,
}

impl Ledger {
    /// The chunk `seq` has left: of the message that is leaving, or the first one of another.
    pub(super) fn on_sent(
        &mut self,
        seq: u64,
        stream: StreamId,
        (policy, until): (Policy, Time),
        (beginning, ending): (bool, bool),
    ) {
        if !beginning {
            if let Some(entry) = self.entries.back_mut().filter(|entry| !entry.whole) {
                entry.last = seq;
                entry.whole = ending;
            }
            return;
        }
        let (first, last, whole) = (seq, seq, ending);
        let given_up = false;
        self.entries.push_back(Entry { first, last, whole, stream, policy, until, given_up });
        match policy {
            Policy::Timed => {
                self.deadlines.insert((until, seq));
            }
            Policy::Priority(value) => {
                self.priorities.insert((Reverse(value), seq));
            }
            Policy::Full | Policy::Retransmissions(_) => {}
        }
    }

    fn find(&self, seq: u64) -> Option<usize> {
        let i = self.entries.partition_point(|entry| entry.last < seq);
        self.entries.get(i).is_some_and(|entry| entry.first <= seq).then_some(i)
    }

    /// Whether the chunk `seq`, which was sent so often and would have to be sent again, has its message given up.
    pub(super) fn is_over(&self, now: Time, seq: u64, transmissions: u32) -> bool {
        let entry = self.find(seq).map(|i| self.entries[i]).filter(|entry| !entry.given_up);
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
        let entry = self.find(seq).map(|i| self.entries[i]);
        entry.is_some_and(
            |entry| matches!(entry.policy, Policy::Retransmissions(most) if transmissions > most),
        )
    }

    /// The message of the chunk `seq`.
    pub(super) fn get(&self, seq: u64) -> Option<Partly> {
        let Entry { first, last, whole, stream, policy, .. } = self.entries[self.find(seq)?];
        Some(Partly { stream, policy, seqs: first..=last, is_leaving: !whole })
    }

    /// The message of the chunk `seq` is given up from now on, and none of it leaves any more. `None` if it was
    /// before.
    pub(super) fn give_up(&mut self, seq: u64) -> Option<Partly> {
        let i = self.find(seq)?;
        let partly = self.get(seq);
        let entry = &mut self.entries[i];
        if std::mem::replace(&mut entry.given_up, true) {
            return None;
        }
        entry.whole = true;
        let entry = *entry;
        self.forget(&entry);
        partly
    }

    /// A chunk was added to the end of the message that was given up last, for its peer to know where it ends.
    pub(super) fn extend(&mut self, last: u64) {
        if let Some(entry) = self.entries.back_mut() {
            entry.last = last;
        }
    }

    fn forget(&mut self, entry: &Entry) {
        match entry.policy {
            Policy::Timed => {
                self.deadlines.remove(&(entry.until, entry.first));
            }
            Policy::Priority(value) => {
                self.priorities.remove(&(Reverse(value), entry.first));
            }
            Policy::Full | Policy::Retransmissions(_) => {}
        }
    }

    /// Everything up to `cumulative` is acknowledged.
    pub(super) fn release(&mut self, cumulative: u64) {
        let is_over = |entry: &mut Entry| entry.whole && entry.last <= cumulative;
        while let Some(entry) = self.entries.pop_front_if(is_over) {
            self.forget(&entry);
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
        let sets = self.deadlines.len() + self.priorities.len();
        self.entries.capacity() * size_of::<Entry>() + sets * 2 * size_of::<(Time, u64)>()
    }
}
