//! The SACK window in its piecewise form (Sarnow 2017 §6.3.2).
//!
//! Idea: of every SACK the sender looks at the first `swnd` TSNs beyond the Cumulative TSN Ack, and at
//! one of `n` pieces of what lies beyond them, each in its turn; so that a SACK costs a bounded part
//! of a long report, and flight is still corrected once in `n` SACKs. What it does not look at stays
//! as it was known before.
//!
//! ```text
//! always:  cumack + 1 ..= cumack + swnd
//! SACK i:  piece i mod n of cumack + swnd + 1 ..= highest TSN sent, cut into n equal pieces
//! ```
//! Chunks count as missing within the window only: elsewhere the others may have arrived unseen.
//! The paper's pieces have a fixed length, so that their number grows with what is outstanding; here
//! their number is fixed. What an NR-SACK acknowledged for good is not forgotten outside either.

use smallvec::{SmallVec, smallvec};

use crate::profile::MultipathParameters;
use crate::ranges::Range;

/// Beyond every sequence number; one more does not overflow.
const EVER: u64 = u64::MAX - 1;

/// How many TSNs beyond the Cumulative TSN Ack a receiver reports on, 0 for all.
pub(crate) const fn reported_tsns(multipath: &MultipathParameters) -> u32 {
    if multipath.sack_window_pieces == 0 { multipath.sack_window } else { 0 }
}

/// How much of a SACK is looked at.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SackScope {
    /// TSNs always looked at; 0 is all.
    size: u64,
    pieces: u64,
    /// SACKs so far.
    turn: u64,
}

/// What is looked at of one SACK, and what is not: together every sequence number.
#[derive(Debug)]
pub(super) struct SackView {
    pub(super) shown: SmallVec<[Range; 2]>,
    pub(super) hidden: SmallVec<[Range; 2]>,
}

impl SackScope {
    /// As much of every SACK as a profile says.
    pub(super) fn of(multipath: &MultipathParameters) -> SackScope {
        SackScope::new(multipath.sack_window, multipath.sack_window_pieces)
    }

    /// The first `size` TSNs of every SACK, and one of this many `pieces` of the rest; 0 for either means everything.
    fn new(size: u32, pieces: u32) -> SackScope {
        let size = if pieces == 0 { 0 } else { u64::from(size) };
        SackScope { size, pieces: u64::from(pieces), turn: 0 }
    }

    /// All of every SACK is looked at.
    pub(super) fn is_everything(&self) -> bool {
        self.size == 0
    }

    /// The last sequence number that is always looked at.
    pub(super) fn end(&self, cumulative: u64) -> u64 {
        if self.size == 0 { EVER } else { cumulative + self.size }
    }

    /// The view of the next SACK; `None` if that is all.
    pub(super) fn next(&mut self, cumulative: u64, highest: u64) -> Option<SackView> {
        let end = self.end(cumulative);
        if end >= highest {
            return None;
        }
        let piece = (highest - end).div_ceil(self.pieces);
        let start = end + 1 + (self.turn % self.pieces) * piece;
        let stop = start + piece - 1;
        self.turn += 1;
        let mut view = SackView { shown: smallvec![Range::new(0, end)], hidden: SmallVec::new() };
        if start > end + 1 {
            view.hidden.push(Range::new(end + 1, start - 1));
        }
        view.shown.push(Range::new(start, stop));
        view.hidden.push(Range::new(stop + 1, EVER));
        Some(view)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tresse_wire::{GapAckBlock, GapAckBlocks, Tsn};

    use super::super::tests::{bytes, flying};
    use super::*;
    use crate::ids::PathId;
    use crate::scoreboard::{AckOutcome, Scoreboard};

    /// The first chunk not cumulatively acknowledged.
    fn base(board: &Scoreboard) -> u64 {
        board.cumulative() + 1
    }

    fn window(size: u64, pieces: u64) -> SackScope {
        SackScope { size, pieces, turn: 0 }
    }

    #[test]
    fn each_piece_has_its_turn() {
        // Figure 6.7: swnd, and a rest in four pieces.
        let mut window = window(10, 4);
        let mut seen = Vec::new();
        for _ in 0..5 {
            let view = window.next(100, 150).unwrap();
            assert_eq!(view.shown[0], Range::new(0, 110));
            seen.push((view.shown[1].start, view.shown[1].end));
        }
        assert_eq!(seen, [(111, 120), (121, 130), (131, 140), (141, 150), (111, 120)]);
    }

    #[test]
    fn a_short_rest_is_seen_whole() {
        assert!(window(10, 4).next(100, 110).is_none());
        assert!(window(0, 4).next(100, 9000).is_none());
        let view = window(10, 4).next(100, 112).unwrap();
        assert_eq!(view.shown[1], Range::new(111, 111));
        assert_eq!(&view.hidden[..], [Range::new(112, EVER)]);
    }

    /// Chunks acknowledged of 200, as offsets from the first.
    fn acked(board: &Scoreboard) -> Vec<u64> {
        (0..200).filter(|n| board.is_acked(base(board) + n)).collect()
    }

    #[test]
    fn what_is_hidden_stays_as_it_was() {
        let mut board = flying(200);
        board.window = SackScope::new(20, 3);
        let mut outcome = AckOutcome::default();
        let cumulative = Scoreboard::tsn(base(&board) - 1);
        let mut sack = |blocks: &[(u16, u16)]| {
            let block =
                |(start, end): &(u16, u16)| GapAckBlock { start: *start, end: *end }.to_bytes();
            let blocks: Vec<[u8; 4]> = blocks.iter().map(block).collect();
            board.on_sack(cumulative, GapAckBlocks::new(&blocks), &mut outcome, |_| {}).unwrap();
            (acked(&board), board.flight(PathId(0)), outcome.reneged.len())
        };
        // The rest is 21 to 200 in pieces of 60.
        let all: Vec<u64> = (9..200).collect();
        assert_eq!(sack(&[(10, 200)]).0, all[..71], "the window and the first piece");
        assert_eq!(sack(&[(10, 200)]).0, all[..131]);
        assert_eq!(sack(&[(10, 200)]), (all.clone(), 9 * 20, 0));
        // Taken back, and noticed where it is looked at.
        let (left, _, reneged) = sack(&[]);
        assert_eq!((left, reneged), (all[71..].to_vec(), 71));
    }

    proptest! {
        #[test]
        fn after_all_turns_nothing_was_missed(
            blocks in prop::collection::vec((1u16..200, 0u16..30), 0..10),
            size in 1u32..250,
            pieces in 1u32..8,
        ) {
            let blocks: Vec<GapAckBlock> = blocks
                .into_iter()
                .map(|(start, len)| GapAckBlock { start, end: (start + len).min(200) })
                .collect();
            let mut outcome = AckOutcome::default();
            let mut whole = flying(200);
            let cumulative = Scoreboard::tsn(base(&whole) - 1);
            let blocks = bytes(&blocks);
            whole.on_sack(cumulative, GapAckBlocks::new(&blocks), &mut outcome, |_| {}).unwrap();
            let mut piecewise = flying(200);
            piecewise.window = SackScope::new(size, pieces);
            for _ in 0..pieces {
                piecewise.on_sack(cumulative, GapAckBlocks::new(&blocks), &mut outcome, |_| {}).unwrap();
                prop_assert!(outcome.reneged.is_empty());
            }
            prop_assert_eq!(acked(&piecewise), acked(&whole));
            prop_assert_eq!(piecewise.total_flight(), whole.total_flight());
            let missing = |board: &Scoreboard| -> Vec<u64> {
                board.missing().flat_map(|r| r.start..=r.end).collect()
            };
            let end = base(&whole) - 1 + u64::from(size);
            let expected: Vec<u64> = missing(&whole).into_iter().filter(|n| *n <= end).collect();
            prop_assert_eq!(missing(&piecewise), expected);
        }

        #[test]
        fn nr_sacks_behind_a_window_keep_their_promise(
            nr in prop::collection::vec((1u16..200, 0u16..30), 1..10),
            pieces in 1u32..8,
        ) {
            let nr: Vec<GapAckBlock> = nr
                .into_iter()
                .map(|(start, len)| GapAckBlock { start, end: (start + len).min(200) })
                .collect();
            let mut outcome = AckOutcome::default();
            let mut board = flying(200);
            board.window = SackScope::new(15, pieces);
            let none = GapAckBlocks::default;
            let nr_bytes = bytes(&nr);
            let cumulative: Tsn = Scoreboard::tsn(base(&board) - 1);
            for _ in 0..pieces {
                let nr_blocks = GapAckBlocks::new(&nr_bytes);
                board.on_nr_sack(cumulative, none(), nr_blocks, &mut outcome, |_| {}).unwrap();
                let open: usize = (0..200)
                    .filter(|n| !board.is_acked(base(&board) + n))
                    .map(|n| board.get(base(&board) + n).unwrap().chunk.payload.len())
                    .sum();
                prop_assert_eq!(board.buffered_user_bytes(), open);
            }
            let kept = (1..=200).filter(|n| nr.iter().any(|b| (b.start..=b.end).contains(n)));
            prop_assert_eq!(acked(&board), kept.map(|n| u64::from(n - 1)).collect::<Vec<_>>());
            for _ in 0..pieces {
                board.on_sack(cumulative, none(), &mut outcome, |_| {}).unwrap();
                prop_assert!(outcome.reneged.is_empty());
            }
        }
    }
}
