//! Sorted, disjoint ranges of sequence numbers.

use std::collections::VecDeque;

/// An inclusive range of unwrapped TSNs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Range {
    pub(crate) start: u64,
    pub(crate) end: u64,
}

impl Range {
    pub(crate) fn new(start: u64, end: u64) -> Range {
        debug_assert!(start <= end);
        Range { start, end }
    }
}

/// A set of numbers kept as ranges: cheap when members come in runs, as TSNs do.
#[derive(Clone, Debug, Default)]
pub(crate) struct RangeSet {
    ranges: VecDeque<Range>,
}

impl RangeSet {
    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        self.ranges.capacity() * size_of::<Range>()
    }

    pub(crate) fn first(&self) -> Option<u64> {
        self.ranges.front().map(|r| r.start)
    }

    /// Index of the first range that ends at or after `n`.
    fn find(&self, n: u64) -> usize {
        self.ranges.partition_point(|r| r.end < n)
    }

    /// Adds `n`. Appending at the end is O(1).
    pub(crate) fn insert(&mut self, n: u64) {
        let joins_back = self.ranges.back().is_none_or(|r| r.end < n);
        let i = if joins_back { self.ranges.len() } else { self.find(n) };
        if self.ranges.get(i).is_some_and(|r| r.start <= n) {
            return;
        }
        let joins_before = i > 0 && self.ranges[i - 1].end + 1 == n;
        let joins_after = self.ranges.get(i).is_some_and(|r| r.start == n + 1);
        match (joins_before, joins_after) {
            (true, true) => {
                self.ranges[i - 1].end = self.ranges[i].end;
                self.ranges.remove(i);
            }
            (true, false) => self.ranges[i - 1].end = n,
            (false, true) => self.ranges[i].start = n,
            (false, false) => self.ranges.insert(i, Range::new(n, n)),
        }
    }

    /// Takes `n` out. Removing the first member is O(1).
    pub(crate) fn remove(&mut self, n: u64) {
        let i = if self.first() == Some(n) { 0 } else { self.find(n) };
        let Some(&Range { start, end }) = self.ranges.get(i) else { return };
        if n < start {
            return;
        }
        match (n == start, n == end) {
            (true, true) => drop(self.ranges.remove(i)),
            (true, false) => self.ranges[i].start = n + 1,
            (false, true) => self.ranges[i].end = n - 1,
            (false, false) => {
                self.ranges[i].end = n - 1;
                self.ranges.insert(i + 1, Range::new(n + 1, end));
            }
        }
    }

    /// Takes out everything up to and including `n`.
    pub(crate) fn remove_through(&mut self, n: u64) {
        while self.ranges.pop_front_if(|range| range.end <= n).is_some() {}
        if let Some(first) = self.ranges.front_mut() {
            first.start = first.start.max(n + 1);
        }
    }

    /// The first range that ends at or after `n`.
    pub(crate) fn range_from(&self, n: u64) -> Option<Range> {
        self.ranges.get(self.find(n)).copied()
    }

    /// How many ranges there are.
    pub(crate) fn range_count(&self) -> usize {
        self.ranges.len()
    }

    /// Whether `n` is a member.
    pub(crate) fn contains(&self, n: u64) -> bool {
        self.ranges.get(self.find(n)).is_some_and(|r| r.start <= n)
    }

    /// The lowest member above `n`.
    pub(crate) fn next_after(&self, n: u64) -> Option<u64> {
        self.ranges.get(self.find(n + 1)).map(|r| r.start.max(n + 1))
    }

    #[cfg(test)]
    pub(crate) fn iter(&self) -> impl Iterator<Item = u64> + '_ {
        self.ranges.iter().flat_map(|r| r.start..=r.end)
    }
}

/// Calls `piece` for every maximal run that is in `a` and not in `b`; both sorted and disjoint.
pub(crate) fn difference(a: &[Range], b: &[Range], mut piece: impl FnMut(Range)) {
    let mut others = b.iter().copied().peekable();
    for run in a {
        let mut start = run.start;
        while others.peek().is_some_and(|o| o.end < start) {
            others.next();
        }
        // A range of `b` can reach into the next run of `a`, so it is only looked at here.
        let mut ahead = others.clone();
        while start <= run.end {
            match ahead.next() {
                Some(o) if o.start <= run.end => {
                    if o.start > start {
                        piece(Range::new(start, o.start - 1));
                    }
                    start = start.max(o.end + 1);
                }
                _ => {
                    piece(Range::new(start, run.end));
                    break;
                }
            }
        }
    }
}

/// Both lists without what is the same at their two ends.
pub(crate) fn differing<'a>(mut a: &'a [Range], mut b: &'a [Range]) -> [&'a [Range]; 2] {
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    (a, b) = (&a[same..], &b[same..]);
    let same = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    [&a[..a.len() - same], &b[..b.len() - same]]
}

/// Makes `out` the union of `a` and `b`, both sorted and disjoint. Quick where they are the same.
pub(crate) fn union(a: &[Range], b: &[Range], out: &mut Vec<Range>) {
    out.clear();
    let same = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    out.extend_from_slice(&a[..same]);
    let (a, b) = (&a[same..], &b[same..]);
    if a.is_empty() || b.is_empty() {
        // What is left of one lies beyond what both have.
        out.extend_from_slice(if a.is_empty() { b } else { a });
        return;
    }
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    loop {
        let from_b = match (a.peek(), b.peek()) {
            (Some(x), Some(y)) => y.start < x.start,
            (x, _) => x.is_none(),
        };
        let Some(run) = (if from_b { b.next() } else { a.next() }) else { break };
        match out.last_mut() {
            Some(last) if run.start <= last.end + 1 => last.end = last.end.max(run.end),
            _ => out.push(*run),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn runs(members: &BTreeSet<u64>) -> Vec<Range> {
        let mut runs: Vec<Range> = Vec::new();
        for &n in members {
            match runs.last_mut() {
                Some(r) if r.end + 1 == n => r.end = n,
                _ => runs.push(Range::new(n, n)),
            }
        }
        runs
    }

    proptest! {
        #[test]
        fn behaves_like_a_set(steps in prop::collection::vec((0u8..20, 0u64..40), 0..200)) {
            let (mut set, mut model) = (RangeSet::default(), BTreeSet::new());
            for (what, n) in steps {
                match what {
                    0..10 => {
                        set.insert(n);
                        model.insert(n);
                    }
                    10..19 => {
                        set.remove(n);
                        model.remove(&n);
                    }
                    _ => {
                        set.remove_through(n / 4);
                        model.retain(|m| *m > n / 4);
                    }
                }
                let from = set.range_from(n).map(|r| r.start.max(n));
                prop_assert_eq!(from, model.range(n..).next().copied());
                prop_assert_eq!(set.first(), model.first().copied());
                prop_assert!(set.iter().eq(model.iter().copied()));
                prop_assert_eq!(set.ranges.len(), runs(&model).len());
            }
        }

        #[test]
        fn union_is_set_union(
            a in prop::collection::btree_set(0u64..60, 0..40),
            b in prop::collection::btree_set(0u64..60, 0..40),
        ) {
            let mut out = vec![Range::new(7, 7)];
            union(&runs(&a), &runs(&b), &mut out);
            prop_assert_eq!(out, runs(&a.union(&b).copied().collect()));
        }

        #[test]
        fn difference_is_set_difference(
            a in prop::collection::btree_set(0u64..60, 0..40),
            b in prop::collection::btree_set(0u64..60, 0..40),
        ) {
            let mut found = BTreeSet::new();
            difference(&runs(&a), &runs(&b), |r| found.extend(r.start..=r.end));
            prop_assert_eq!(found, a.difference(&b).copied().collect::<BTreeSet<_>>());
        }
    }
}
