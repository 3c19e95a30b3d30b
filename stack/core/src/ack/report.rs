//! What a SACK says of the TSNs beyond its Cumulative TSN Ack (RFC 9260 §3.3.4, §6.7;
//! draft-natarajan-tsvwg-sctp-nrsack).

use tresse_wire::GapAckBlock;

use super::received::ReceivedTsns;
use crate::ranges::{Range, RangeSet};

/// What the receiver will never take back (renege on) of what it holds beyond a gap: what NR-SACKs report apart.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NonRenegable<'a> {
    Nothing,
    These(&'a RangeSet),
    Everything,
}

impl NonRenegable<'_> {
    /// The first kept run that ends at or after `seq`.
    fn next(self, seq: u64) -> Option<Range> {
        match self {
            NonRenegable::Nothing => None,
            NonRenegable::These(kept) => kept.range_from(seq),
            NonRenegable::Everything => Some(Range::new(seq, u64::MAX)),
        }
    }
}

/// The blocks of one SACK or NR-SACK; reused for the next. A TSN is in one of the lists only, as in
/// FreeBSD.
#[derive(Debug, Default)]
pub(crate) struct Report {
    /// Gap Ack Blocks.
    pub(crate) gaps: Vec<GapAckBlock>,
    /// Non-Renegable Gap Ack Blocks.
    pub(crate) nr_gaps: Vec<GapAckBlock>,
}

impl Report {
    //= RFC 9260 3.3.4-2
    /// Takes up to `limit` blocks.
    ///
    /// RFC 9260 §6.7: a SACK that has no room for all MUST report them from the lowest to the
    /// highest TSNs.
    ///
    /// `window`: no TSN is reported more than this many beyond the Cumulative TSN Ack: the SACK window
    /// `swnd` of Sarnow 2017 §6.2.2, equation 6.1. 0 is no limit.
    pub(crate) fn fill(
        &mut self,
        received: &ReceivedTsns,
        kept: NonRenegable<'_>,
        window: u32,
        limit: usize,
    ) {
        self.gaps.clear();
        self.nr_gaps.clear();
        let cumulative = received.cumulative_seq();
        let last = if window == 0 { u64::MAX } else { cumulative + u64::from(window) };
        // `ReceivedTsns` keeps all of them within 16 bits of the cumulative TSN.
        let offset = |seq: u64| u16::try_from(seq - cumulative).unwrap_or(u16::MAX);
        for run in received.runs().take_while(|run| run.start <= last) {
            let end = run.end.min(last);
            let mut start = run.start;
            while start <= end {
                if self.gaps.len() + self.nr_gaps.len() >= limit {
                    return;
                }
                let next = kept.next(start).filter(|next| next.start <= end);
                let (list, piece) = match next {
                    Some(next) if next.start <= start => (&mut self.nr_gaps, next.end.min(end)),
                    Some(next) => (&mut self.gaps, next.start - 1),
                    None => (&mut self.gaps, end),
                };
                list.push(GapAckBlock { start: offset(start), end: offset(piece) });
                start = piece + 1;
            }
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        (self.gaps.capacity() + self.nr_gaps.capacity()) * size_of::<GapAckBlock>()
    }

    /// How many blocks were taken.
    pub(crate) fn len(&self) -> usize {
        self.gaps.len() + self.nr_gaps.len()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;
    use tresse_wire::Tsn;

    use super::*;

    fn received(offsets: impl IntoIterator<Item = u64>) -> ReceivedTsns {
        let mut received = ReceivedTsns::new(Tsn(0));
        let first = received.cumulative_seq() + 1;
        received.record(first);
        for offset in offsets {
            received.record(first + offset);
        }
        received
    }

    fn kept(received: &ReceivedTsns, offsets: impl IntoIterator<Item = u64>) -> RangeSet {
        let mut set = RangeSet::default();
        for offset in offsets {
            set.insert(received.cumulative_seq() + offset);
        }
        set
    }

    fn pairs(list: &[GapAckBlock]) -> Vec<(u16, u16)> {
        list.iter().map(|b| (b.start, b.end)).collect()
    }

    #[test]
    fn what_is_kept_is_told_apart() {
        let received = received([2, 3, 4, 5, 6, 9, 10]);
        let kept = kept(&received, [3, 4, 9, 10]);
        let mut report = Report::default();
        report.fill(&received, NonRenegable::These(&kept), 0, 100);
        assert_eq!(pairs(&report.gaps), [(2, 2), (5, 6)]);
        assert_eq!(pairs(&report.nr_gaps), [(3, 4), (9, 10)]);
        report.fill(&received, NonRenegable::Everything, 0, 100);
        assert_eq!((pairs(&report.gaps), pairs(&report.nr_gaps)), (vec![], vec![(2, 6), (9, 10)]));
        report.fill(&received, NonRenegable::Nothing, 0, 100);
        assert_eq!((pairs(&report.gaps), pairs(&report.nr_gaps)), (vec![(2, 6), (9, 10)], vec![]));
    }

    #[test]
    fn the_window_ends_the_report() {
        // Sarnow 2017, equation 6.1: last_reported_tsn = cumack + swnd.
        let received = received([2, 3, 4, 5, 6, 9, 10]);
        let mut report = Report::default();
        for (window, expected) in [
            (1, vec![]),
            (2, vec![(2, 2)]),
            (4, vec![(2, 4)]),
            (8, vec![(2, 6)]),
            (9, vec![(2, 6), (9, 9)]),
            (10, vec![(2, 6), (9, 10)]),
        ] {
            report.fill(&received, NonRenegable::Nothing, window, 100);
            assert_eq!(pairs(&report.gaps), expected, "{window}");
        }
    }

    proptest! {
        #[test]
        fn both_lists_together_are_what_arrived_from_the_lowest(
            arrived in prop::collection::btree_set(2u64..80, 0..40),
            settled in prop::collection::btree_set(2u64..80, 0..40),
            window in 0u32..90,
            limit in 0usize..30,
        ) {
            let received = received(arrived.iter().copied());
            let held: Vec<u64> = arrived.intersection(&settled).copied().collect();
            let set = kept(&received, held.iter().copied());
            let mut report = Report::default();
            report.fill(&received, NonRenegable::These(&set), window, limit);
            prop_assert!(report.len() <= limit);
            let members = |list: &[GapAckBlock]| -> BTreeSet<u64> {
                list.iter().flat_map(|b| u64::from(b.start)..=u64::from(b.end)).collect()
            };
            let (gaps, nr_gaps) = (members(&report.gaps), members(&report.nr_gaps));
            prop_assert!(gaps.is_disjoint(&nr_gaps));
            prop_assert!(nr_gaps.iter().all(|n| settled.contains(n)));
            prop_assert!(gaps.iter().all(|n| !settled.contains(n)));
            let all: Vec<u64> = gaps.union(&nr_gaps).copied().collect();
            let last = if window == 0 { u64::MAX } else { u64::from(window) };
            let expected: Vec<u64> = arrived.iter().copied().filter(|n| *n <= last).collect();
            prop_assert_eq!(&all[..], &expected[..all.len()]);
            prop_assert!(all.len() == expected.len() || report.len() == limit);
        }
    }
}
