//! Which TSNs arrived (RFC 9260 §3.3.4, §6.7).

use std::collections::VecDeque;

use tresse_wire::Tsn;

use crate::ranges::Range;

/// The most duplicate TSNs kept for the next SACK; more are forgotten. A packet that repeats
/// nothing but known TSNs is answered at once (RFC 9260 §6.2), so few ever gather; the limit
/// leaves room for Gap Ack Blocks in the packet, and is a packet full of the smallest chunks.
pub(crate) const MAX_DUPLICATES: usize = 75;

/// The furthest a Gap Ack Block reaches beyond the Cumulative TSN Ack: its fields have 16 bits.
const MAX_AHEAD: i32 = 65_535;

/// What a TSN is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// Not received so far.
    New {
        /// The TSN, unwrapped.
        seq: u64,
    },
    /// Received before (or so old that it must have been).
    Duplicate,
    /// So far from the cumulative TSN that no SACK could report it.
    OutOfRange,
}

/// What a New Cumulative TSN is to us (RFC 3758 §3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advance {
    /// Everything up to it, unwrapped, counts as received from now on.
    To(u64),
    /// So it did before.
    Stale,
    /// Further from the cumulative TSN than any that could be reported.
    OutOfRange,
}

/// The TSNs received: everything up to the cumulative one, and runs beyond it.
#[derive(Debug)]
pub(crate) struct ReceivedTsns {
    cumulative: u64,
    /// In order, disjoint and isolated: no two touch, none touches `cumulative`.
    runs: VecDeque<Range>,
    duplicates: Vec<Tsn>,
}

impl ReceivedTsns {
    /// Nothing received: the first TSN will be `initial_tsn`.
    ///
    /// Its seq is 2^32 + `initial_tsn`, so that the one before it needs no negative number.
    pub(crate) fn new(initial_tsn: Tsn) -> Self {
        ReceivedTsns::from_seq((1 << 32) | u64::from(initial_tsn.0))
    }

    /// Nothing received: the first TSN will be this one, unwrapped.
    pub(crate) fn from_seq(first: u64) -> Self {
        ReceivedTsns { cumulative: first - 1, runs: VecDeque::new(), duplicates: Vec::new() }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.runs.capacity() * size_of::<Range>() + self.duplicates.capacity() * size_of::<Tsn>()
    }

    /// Tells whether `tsn` is new.
    #[inline]
    pub(crate) fn classify(&self, tsn: Tsn) -> Arrival {
        let ahead = tsn.distance(self.cumulative());
        if ahead == i32::MIN || ahead > MAX_AHEAD {
            return Arrival::OutOfRange;
        }
        if ahead <= 0 {
            return Arrival::Duplicate;
        }
        let seq = self.cumulative + u64::from(ahead.unsigned_abs());
        let known = seq <= self.highest_seq() && {
            let after = self.runs.partition_point(|run| run.start <= seq);
            after > 0 && seq <= self.runs[after - 1].end
        };
        if known { Arrival::Duplicate } else { Arrival::New { seq } }
    }

    /// Records a TSN that [`classify`](Self::classify) called new.
    #[inline]
    pub(crate) fn record(&mut self, seq: u64) {
        if seq <= self.cumulative {
            return;
        }
        if seq == self.cumulative + 1 {
            self.cumulative = seq;
            if let Some(run) = self.runs.pop_front_if(|run| run.start == seq + 1) {
                self.cumulative = run.end;
            }
            return;
        }
        match self.runs.back_mut() {
            Some(last) if last.end + 1 == seq => last.end = seq,
            Some(last) if seq <= last.end => self.insert(seq),
            _ => self.runs.push_back(Range { start: seq, end: seq }),
        }
    }

    //= RFC 3758 3.2-2 3.6-2 3.6-3 3.6-4
    /// Takes everything up to `tsn` for received, and what follows it without a gap.
    pub(crate) fn advance(&mut self, tsn: Tsn) -> Advance {
        let ahead = tsn.distance(self.cumulative());
        if ahead == i32::MIN || ahead > MAX_AHEAD {
            return Advance::OutOfRange;
        }
        if ahead <= 0 {
            return Advance::Stale;
        }
        let seq = self.cumulative + u64::from(ahead.unsigned_abs());
        self.cumulative = seq;
        while let Some(run) = self.runs.pop_front_if(|run| run.start <= seq + 1) {
            self.cumulative = self.cumulative.max(run.end);
        }
        Advance::To(seq)
    }

    /// Records a seq that lies before the end of the last run.
    fn insert(&mut self, seq: u64) {
        let after = self.runs.partition_point(|run| run.start <= seq);
        let joins_after = self.runs.get(after).is_some_and(|run| run.start == seq + 1);
        let before = after.checked_sub(1).map(|index| self.runs[index]);
        if before.is_some_and(|run| seq <= run.end) {
            return;
        }
        let joins_before = before.is_some_and(|run| run.end + 1 == seq);
        match (joins_before, joins_after) {
            (true, true) => {
                self.runs[after - 1].end = self.runs[after].end;
                self.runs.remove(after);
            }
            (true, false) => self.runs[after - 1].end = seq,
            (false, true) => self.runs[after].start = seq,
            (false, false) => self.runs.insert(after, Range { start: seq, end: seq }),
        }
    }

    /// Notes that `tsn` came again, for the next SACK.
    ///
    /// RFC 9260 §6.2: duplicate TSNs SHOULD be reported. §3.3.4: each time one is received before
    /// the SACK is sent, it is added to the list.
    pub(crate) fn note_duplicate(&mut self, tsn: Tsn) {
        if self.duplicates.len() < MAX_DUPLICATES {
            self.duplicates.push(tsn);
        }
    }

    /// The Cumulative TSN Ack: the last TSN before the first missing one.
    pub(crate) fn cumulative(&self) -> Tsn {
        Tsn(self.cumulative as u32) // The low 32 bits are the TSN.
    }

    /// The Cumulative TSN Ack, unwrapped.
    pub(crate) fn cumulative_seq(&self) -> u64 {
        self.cumulative
    }

    /// The highest TSN received, unwrapped.
    pub(crate) fn highest_seq(&self) -> u64 {
        self.runs.back().map_or(self.cumulative, |run| run.end)
    }

    /// Whether a TSN is missing below the highest one.
    pub(crate) fn has_gaps(&self) -> bool {
        !self.runs.is_empty()
    }

    /// How many Gap Ack Blocks there are.
    pub(crate) fn gap_count(&self) -> usize {
        self.runs.len()
    }

    /// The runs of seqs beyond the cumulative one, lowest first; isolated, as RFC 9260 §3.3.4 asks
    /// of Gap Ack Blocks.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Range> + '_ {
        self.runs.iter().copied()
    }

    /// The first `limit` duplicate TSNs, in order of arrival.
    pub(crate) fn duplicates(&self, limit: usize) -> impl ExactSizeIterator<Item = Tsn> + '_ {
        self.duplicates.iter().take(limit).copied()
    }

    /// Forgets the duplicate TSNs: a SACK reported them.
    pub(crate) fn clear_duplicates(&mut self) {
        self.duplicates.clear();
    }

    //= RFC 9260 6.2-26 6.2-29 6.2-30
    /// Reneges on `seq`. False if it is not recorded beyond the cumulative one: what is
    /// acknowledged cumulatively is never taken back.
    ///
    /// RFC 9260 §6.2: dropped chunks MUST NOT be in Gap Ack Blocks until they are received again.
    pub(crate) fn forget(&mut self, seq: u64) -> bool {
        let Some(index) = self.runs.partition_point(|run| run.start <= seq).checked_sub(1) else {
            return false;
        };
        let Range { start, end } = self.runs[index];
        if seq > end {
            return false;
        }
        match (seq == start, seq == end) {
            (true, true) => {
                self.runs.remove(index);
            }
            (true, false) => self.runs[index].start += 1,
            (false, true) => self.runs[index].end -= 1,
            (false, false) => {
                self.runs[index].end = seq - 1;
                self.runs.insert(index + 1, Range { start: seq + 1, end });
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
