//! Chunks that SACKs reported missing, with their miss indications.

use crate::time::Time;

/// A run of chunks in flight below the highest acknowledged one, all struck equally often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MissingRange {
    /// First sequence number.
    pub start: u64,
    /// Last sequence number.
    pub end: u64,
    /// Miss indications (RFC 9260 §7.2.4).
    pub misses: u32,
    /// The SACK being processed added one.
    pub struck: bool,
    /// For retransmitted chunks: when. Acks of data sent before say nothing about them. Zero for
    /// chunks sent once.
    pub sent: Time,
}

/// Sorted, disjoint missing ranges. Chunks leave when acknowledged or declared lost, so the list
/// holds only what the last few SACKs brought.
#[derive(Debug, Default)]
pub(super) struct MissingList {
    ranges: Vec<MissingRange>,
    /// Some range has its mark of this SACK.
    struck: bool,
}

impl MissingList {
    /// Bytes of memory.
    pub(super) fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<MissingRange>()
    }

    pub(super) fn ranges(&self) -> &[MissingRange] {
        &self.ranges
    }

    fn find(&self, seq: u64) -> usize {
        self.ranges.partition_point(|r| r.end < seq)
    }

    pub(super) fn misses(&self, seq: u64) -> u32 {
        let range = self.ranges.get(self.find(seq)).filter(|r| r.start <= seq);
        range.map_or(0, |r| r.misses)
    }

    /// Adds `seq`; joins the range below if it has the same history.
    pub(super) fn insert(&mut self, seq: u64, misses: u32, sent: Time) {
        self.put(seq, MissingRange { start: seq, end: seq, misses, struck: false, sent });
    }

    fn put(&mut self, seq: u64, alone: MissingRange) {
        let i = self.find(seq);
        if self.ranges.get(i).is_some_and(|r| r.start <= seq) {
            return;
        }
        if let Some(below) = i.checked_sub(1).map(|i| &mut self.ranges[i])
            && below.end + 1 == seq
            && (below.misses, below.struck, below.sent) == (alone.misses, alone.struck, alone.sent)
        {
            below.end = seq;
            return;
        }
        self.ranges.insert(i, alone);
    }

    pub(super) fn remove(&mut self, seq: u64) {
        let i = self.find(seq);
        let Some(range) = self.ranges.get_mut(i).filter(|r| r.start <= seq) else { return };
        let upper = MissingRange { start: seq + 1, ..*range };
        match (range.start == seq, range.end == seq) {
            (true, true) => drop(self.ranges.remove(i)),
            (true, false) => range.start += 1,
            (false, true) => range.end -= 1,
            (false, false) => {
                range.end = seq - 1;
                self.ranges.insert(i + 1, upper);
            }
        }
    }

    /// Drops everything up to and including `seq`.
    pub(super) fn remove_through(&mut self, seq: u64) {
        let gone = self.find(seq + 1);
        self.ranges.drain(..gone);
        if let Some(first) = self.ranges.first_mut() {
            first.start = first.start.max(seq + 1);
        }
    }

    pub(super) fn begin_sack(&mut self) {
        if std::mem::take(&mut self.struck) {
            for range in &mut self.ranges {
                range.struck = false;
            }
        }
    }

    /// Strikes every range below `limit` whose chunks were sent before `sent`.
    pub(super) fn strike(&mut self, limit: u64, sent: Time) -> bool {
        let mut any = false;
        for range in self.ranges.iter_mut().take_while(|r| r.end < limit) {
            if range.sent == Time::ZERO || range.sent < sent {
                range.misses = range.misses.saturating_add(1);
                range.struck = true;
                any = true;
            }
        }
        self.struck |= any;
        any
    }

    /// The receiver reneged on `seq`: it is missing, with one miss indication.
    pub(super) fn strike_one(&mut self, seq: u64, sent: Time) {
        self.put(seq, MissingRange { start: seq, end: seq, misses: 1, struck: true, sent });
        self.struck = true;
    }
}
