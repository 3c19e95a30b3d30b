//! RFC 9260 §3.3.4 and §6.7, sentence by sentence, and a comparison with a plain set.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::super::report::{NonRenegable, Report};
use super::*;

fn receive(tsns: &mut ReceivedTsns, tsn: u32) -> Arrival {
    let arrival = tsns.classify(Tsn(tsn));
    match arrival {
        Arrival::New { seq } => tsns.record(seq),
        Arrival::Duplicate => tsns.note_duplicate(Tsn(tsn)),
        Arrival::OutOfRange => {}
    }
    arrival
}

fn blocks(tsns: &ReceivedTsns) -> Vec<(u16, u16)> {
    let mut report = Report::default();
    report.fill(tsns, NonRenegable::Nothing, 0, usize::MAX);
    report.gaps.iter().map(|block| (block.start, block.end)).collect()
}

#[test]
fn before_any_data_the_cumulative_tsn_is_the_initial_tsn_minus_one() {
    // RFC 9260 §3.3.4: set to the peer's Initial TSN minus one.
    assert_eq!(ReceivedTsns::new(Tsn(10)).cumulative(), Tsn(9));
    let wrapped = ReceivedTsns::new(Tsn(0));
    assert_eq!(wrapped.cumulative(), Tsn(u32::MAX));
    assert_eq!(wrapped.classify(Tsn(0)), Arrival::New { seq: 1 << 32 });
    assert!(!wrapped.has_gaps());
    assert_eq!(wrapped.highest_seq(), wrapped.cumulative_seq());
}

//= RFC 9260 3.3.4-3
#[test]
fn the_example_of_the_rfc() {
    // RFC 9260 §3.3.4: 10, 11, 12, 14, 15, 17 give Cumulative TSN Ack 12 and blocks 2-3 and 5-5.
    let mut tsns = ReceivedTsns::new(Tsn(10));
    for tsn in [10, 11, 12, 14, 15, 17] {
        assert!(matches!(receive(&mut tsns, tsn), Arrival::New { .. }));
    }
    assert_eq!(tsns.cumulative(), Tsn(12));
    assert_eq!(blocks(&tsns), [(2, 3), (5, 5)]);
    assert_eq!((tsns.gap_count(), tsns.has_gaps()), (2, true));
    receive(&mut tsns, 13);
    assert_eq!((tsns.cumulative(), blocks(&tsns)), (Tsn(15), vec![(2, 2)]));
    receive(&mut tsns, 16);
    assert_eq!((tsns.cumulative(), blocks(&tsns)), (Tsn(17), vec![]));
    assert!(!tsns.has_gaps());
}

//= RFC 9260 3.3.4-2
#[test]
fn runs_join_whatever_the_order() {
    let mut tsns = ReceivedTsns::new(Tsn(1));
    for tsn in [10, 4, 6, 8] {
        receive(&mut tsns, tsn);
    }
    assert_eq!(blocks(&tsns), [(4, 4), (6, 6), (8, 8), (10, 10)]);
    receive(&mut tsns, 5); // joins two
    receive(&mut tsns, 9); // joins two
    assert_eq!(blocks(&tsns), [(4, 6), (8, 10)]);
    receive(&mut tsns, 3); // extends downwards
    receive(&mut tsns, 11); // extends upwards, last run
    receive(&mut tsns, 7);
    assert_eq!(blocks(&tsns), [(3, 11)]);
}

#[test]
fn limits_of_the_range() {
    let mut tsns = ReceivedTsns::new(Tsn(1));
    assert!(matches!(tsns.classify(Tsn(65_535)), Arrival::New { .. }));
    // RFC 9260 §3.3.4: a Gap Ack Block has 16-bit offsets.
    assert_eq!(tsns.classify(Tsn(65_536)), Arrival::OutOfRange);
    assert_eq!(tsns.classify(Tsn(1 << 31)), Arrival::OutOfRange);
    assert_eq!(tsns.classify(Tsn((1 << 31) + 1)), Arrival::Duplicate);
    assert_eq!(tsns.classify(Tsn(0)), Arrival::Duplicate);
    receive(&mut tsns, 65_535);
    assert_eq!(blocks(&tsns), [(65_535, 65_535)]);
    receive(&mut tsns, 1);
    assert_eq!(blocks(&tsns), [(65_534, 65_534)]);
}

#[test]
fn duplicates_are_listed_each_time_until_reported() {
    // RFC 9260 §3.3.4: a TSN received three times before the SACK is listed twice.
    let mut tsns = ReceivedTsns::new(Tsn(7));
    for tsn in [7, 7, 9, 7, 9] {
        receive(&mut tsns, tsn);
    }
    assert_eq!(tsns.duplicates(10).collect::<Vec<_>>(), [Tsn(7), Tsn(7), Tsn(9)]);
    assert_eq!(tsns.duplicates(2).len(), 2);
    tsns.clear_duplicates();
    assert_eq!(tsns.duplicates(10).len(), 0);
    for _ in 0..1000 {
        receive(&mut tsns, 7);
    }
    assert_eq!(tsns.duplicates(usize::MAX).len(), MAX_DUPLICATES);
}

//= RFC 9260 6.2-26 6.2-29 6.2-30
#[test]
fn reneging_takes_from_the_top_and_never_what_is_cumulative() {
    let mut tsns = ReceivedTsns::new(Tsn(1));
    for tsn in [1, 2, 4, 6, 7] {
        receive(&mut tsns, tsn);
    }
    let base = 1 << 32;
    assert!(tsns.forget(base + 7));
    assert_eq!(tsns.classify(Tsn(7)), Arrival::New { seq: base + 7 });
    assert!(tsns.forget(base + 6) && tsns.forget(base + 4) && !tsns.forget(base + 2));
    assert_eq!((tsns.cumulative(), tsns.highest_seq()), (Tsn(2), base + 2));

    for tsn in [4, 5, 6, 7, 8] {
        receive(&mut tsns, tsn);
    }
    assert!(!tsns.forget(base + 2) && !tsns.forget(base + 3) && !tsns.forget(base + 9));
    assert!(tsns.forget(base + 6));
    assert_eq!(blocks(&tsns), [(2, 3), (5, 6)]);
    assert!(tsns.forget(base + 4) && tsns.forget(base + 8));
    assert_eq!(blocks(&tsns), [(3, 3), (5, 5)]);
    assert!(tsns.forget(base + 5) && !tsns.forget(base + 5));
    assert_eq!(blocks(&tsns), [(5, 5)]);
}

#[test]
fn recording_twice_changes_nothing() {
    let mut tsns = ReceivedTsns::new(Tsn(1));
    let base = 1 << 32;
    for seq in [1, 1, 3, 3, 6, 3, 5, 5, 7, 6] {
        tsns.record(base + seq);
    }
    assert_eq!(blocks(&tsns), [(2, 2), (4, 6)]);
}

#[derive(Clone, Debug)]
enum Step {
    Receive(i64),
    Forget(u64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (-5i64..40).prop_map(Step::Receive),
        2 => (65_530i64..65_540).prop_map(Step::Receive),
        1 => prop_oneof![Just(i64::from(i32::MIN)), Just(i64::from(i32::MAX))]
            .prop_map(Step::Receive),
        2 => (0u64..40).prop_map(Step::Forget),
    ]
}

/// The runs of a set beyond `cumulative`, the slow way.
fn model_blocks(set: &BTreeSet<u64>, cumulative: u64) -> Vec<(u16, u16)> {
    let mut blocks: Vec<(u16, u16)> = Vec::new();
    for seq in set.range(cumulative + 1..) {
        let offset = u16::try_from(seq - cumulative).unwrap();
        match blocks.last_mut() {
            Some((_, end)) if *end + 1 == offset => *end = offset,
            _ => blocks.push((offset, offset)),
        }
    }
    blocks
}

proptest! {
    //= RFC 9260 3.3.4-2
    #[test]
    fn agrees_with_a_set(
        initial in prop_oneof![any::<u32>(), Just(0), Just(u32::MAX - 20), Just(1 << 31)],
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let mut tsns = ReceivedTsns::new(Tsn(initial));
        let first = (1u64 << 32) + u64::from(initial);
        let mut set = BTreeSet::new();
        let mut cumulative = first - 1;
        for step in steps {
            match step {
                Step::Receive(ahead) => {
                    let seq = cumulative.checked_add_signed(ahead).unwrap();
                    let expected = match ahead {
                        65_536.. => Arrival::OutOfRange,
                        _ if ahead == i64::from(i32::MIN) => Arrival::OutOfRange,
                        _ if ahead <= 0 || set.contains(&seq) => Arrival::Duplicate,
                        _ => Arrival::New { seq },
                    };
                    prop_assert_eq!(receive(&mut tsns, seq as u32), expected);
                    if let Arrival::New { seq } = expected {
                        set.insert(seq);
                        while set.contains(&(cumulative + 1)) {
                            cumulative += 1;
                        }
                    }
                }
                Step::Forget(ahead) => {
                    let seq = cumulative + ahead;
                    let held = ahead > 0 && set.contains(&seq);
                    prop_assert_eq!(tsns.forget(seq), held);
                    if held {
                        set.remove(&seq);
                    }
                }
            }
            prop_assert_eq!(tsns.cumulative_seq(), cumulative);
            prop_assert_eq!(tsns.cumulative(), Tsn(cumulative as u32));
            prop_assert_eq!(tsns.highest_seq(), set.last().copied().unwrap_or(cumulative).max(cumulative));
            let blocks = blocks(&tsns);
            prop_assert_eq!(tsns.gap_count(), blocks.len());
            prop_assert_eq!(tsns.has_gaps(), !blocks.is_empty());
            prop_assert_eq!(blocks, model_blocks(&set, cumulative));
        }
    }
}

#[test]
fn half_a_window_of_gaps_is_cheap() {
    // 32 767 runs, filled from both ends and in the middle: no quadratic rescans.
    let mut tsns = ReceivedTsns::new(Tsn(u32::MAX - 1000));
    let base = tsns.cumulative_seq();
    let mut order: Vec<u64> = (1..=32_767).map(|i| 2 * i).collect();
    order.rotate_left(16_000);
    for ahead in &order {
        tsns.record(base + ahead);
    }
    assert_eq!(tsns.gap_count(), 32_767);
    for ahead in &order {
        tsns.record(base + ahead + 1);
    }
    assert_eq!(tsns.gap_count(), 1);
    tsns.record(base + 1);
    assert_eq!(tsns.cumulative_seq(), base + 65_535);
    assert_eq!(tsns.gap_count(), 0);
}
