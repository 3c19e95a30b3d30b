//! How much one SACK may take back.
//!
//! Idea: a chunk is acknowledged for the first time once, but a SACK can leave out all that the one
//! before reported, and the next report it again: both visit every outstanding chunk, for a few bytes
//! from the peer. So a SACK is heard only as far as it has taken back `256 + its blocks` chunks, lowest
//! first; beyond, all stays as it was known. Who has dropped more (RFC 9260 §6.2 lets a receiver drop
//! all that it has not acknowledged cumulatively) says so in the next SACK again, and what was taken
//! back until then keeps the sender busy and T3-rtx running.
//!
//! Runs of acknowledged chunks cannot pile up either: below the place up to which a SACK is heard
//! there are its own, and beyond it at most those of one SACK before.

use super::Scoreboard;
use crate::ranges::{Range, difference};

/// Chunks that any SACK may take back. Receivers short of memory drop as much as they need for one
/// packet, which is less; one that drops all it holds is understood after a few SACKs.
const MAX_TAKEN_BACK: u64 = 256;

impl Scoreboard {
    /// Makes of `new`, which a SACK has in place of the runs `old`, what is heard of it.
    pub(super) fn hear_in_part(&mut self, old: &[Range], new: &mut Vec<Range>, cumulative: u64) {
        let most = MAX_TAKEN_BACK + new.len() as u64;
        if old.iter().map(|run| run.end + 1 - run.start).sum::<u64>() <= most {
            return;
        }
        let (mut taken, mut limit) = (0, None);
        difference(old, new, |piece| {
            let start = piece.start.max(cumulative + 1);
            let len = (piece.end + 1).saturating_sub(start);
            if limit.is_none() && taken + len > most {
                limit = Some(start + (most - taken) - 1);
            }
            taken += len;
        });
        let Some(limit) = limit else { return };
        let below = |run: Range| Some(Range { end: run.end.min(limit), ..run });
        let beyond = |run: &Range| Range { start: run.start.max(limit + 1), ..*run };
        self.runs.spare.clear();
        self.runs.spare.extend(new.iter().filter(|r| r.start <= limit).copied().filter_map(below));
        self.runs.spare.extend(old.iter().filter(|run| run.end > limit).map(beyond));
        std::mem::swap(new, &mut self.runs.spare);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tresse_wire::{GapAckBlock, GapAckBlocks};

    use super::super::tests::flying;
    use super::*;
    use crate::scoreboard::{AckOutcome, ChunkState};

    /// A SACK with the cumulative TSN ack before the first of the `flying` chunks.
    fn sack(board: &mut Scoreboard, blocks: &[(u16, u16)], outcome: &mut AckOutcome) {
        let block = |(start, end): &(u16, u16)| GapAckBlock { start: *start, end: *end }.to_bytes();
        let list: Vec<[u8; 4]> = blocks.iter().map(block).collect();
        let cumulative = Scoreboard::tsn(board.cumulative());
        board.on_sack(cumulative, GapAckBlocks::new(&list), outcome, |_| {}).unwrap();
    }

    /// Chunks visited and lists of missing chunks written by a SACK.
    fn cost(board: &Scoreboard, outcome: &AckOutcome) -> usize {
        outcome.visited + board.missing().count()
    }

    #[test]
    fn a_flip_costs_the_same_however_much_is_outstanding() {
        for chunks in [9_200, 32_767] {
            let (mut board, mut outcome) = (flying(usize::from(chunks)), AckOutcome::default());
            sack(&mut board, &[(2, chunks)], &mut outcome);
            assert_eq!(outcome.visited, usize::from(chunks) - 1);
            for _ in 0..100 {
                sack(&mut board, &[], &mut outcome);
                assert!(cost(&board, &outcome) <= 300, "{}", cost(&board, &outcome));
                sack(&mut board, &[(2, chunks)], &mut outcome);
                assert!(cost(&board, &outcome) <= 300, "{}", cost(&board, &outcome));
                assert!(outcome.contradictions >= 256);
            }
        }
    }

    #[test]
    fn a_receiver_that_dropped_all_is_understood_at_last() {
        let (mut board, mut outcome) = (flying(9_200), AckOutcome::default());
        sack(&mut board, &[(2, 9_200)], &mut outcome);
        let mut sacks = 0;
        while board.first_gap_acked().is_some() {
            sack(&mut board, &[], &mut outcome);
            // Lowest first: that is what the receiver waits for.
            let lowest = board.cumulative() + 2;
            let expected = (lowest + 256 * sacks)..(lowest + 256 * (sacks + 1)).min(lowest + 9_199);
            assert!(outcome.reneged.iter().copied().eq(expected), "SACK {sacks}");
            sacks += 1;
        }
        assert_eq!(sacks, 36);
        // The first chunk was missing all the time, and each SACK took back one run.
        assert_eq!(board.missing().count(), 1 + 36);
        assert_eq!(board.packets_in_flight(), 9_200);
    }

    #[test]
    fn what_was_sent_again_is_acknowledged_again_without_contradiction() {
        use crate::ids::{LossCause, PathId};
        use crate::scoreboard::Eligibility;
        use crate::time::Time;

        let (mut board, mut outcome) = (flying(10), AckOutcome::default());
        sack(&mut board, &[(2, 5)], &mut outcome);
        sack(&mut board, &[(2, 4)], &mut outcome);
        let fifth = board.cumulative() + 5;
        assert_eq!(outcome.reneged, [fifth]);
        board.mark_lost(fifth, LossCause::Timeout);
        board.begin_packet();
        let now = Time::from_millis(9);
        board.record_retransmission(now, PathId(0), fifth, Eligibility::Rule5);
        sack(&mut board, &[(2, 5)], &mut outcome);
        assert_eq!(outcome.contradictions, 0);
        sack(&mut board, &[(2, 4)], &mut outcome);
        sack(&mut board, &[(2, 5)], &mut outcome);
        assert_eq!(outcome.contradictions, 1);
    }

    proptest! {
        /// Whatever the SACKs say, one costs what it acknowledges for the first time, what was taken
        /// back before, and its own size; and runs do not pile up.
        #[test]
        fn work_is_bounded_by_what_changed(
            sacks in prop::collection::vec(
                (1u16..1_900, 1u16..60, 1u16..60, 0usize..40), 1..40
            ),
        ) {
            let (mut board, mut outcome) = (flying(2_000), AckOutcome::default());
            let mut ever = vec![false; 2_000];
            let mut known = ever.clone();
            let (mut taken, mut most_blocks) = (0, 0);
            for (start, len, gap, count) in sacks {
                let mut blocks: Vec<(u16, u16)> = Vec::new();
                let mut said = vec![false; 2_000];
                let mut at = start + 1;
                while blocks.len() < count && at + len <= 2_000 {
                    blocks.push((at, at + len - 1));
                    said[usize::from(at) - 1..usize::from(at + len) - 1].fill(true);
                    at += len + gap;
                }
                most_blocks = most_blocks.max(blocks.len());
                sack(&mut board, &blocks, &mut outcome);
                let first = board.cumulative() + 1;
                let now: Vec<bool> = (first..first + 2_000).map(|seq| board.is_acked(seq)).collect();
                let back = outcome.reneged.len();
                prop_assert!(back <= 256 + blocks.len());
                let new = ever.iter().zip(&now).filter(|(ever, now)| !**ever && **now).count();
                let again = outcome.visited - back - new;
                taken += back;
                prop_assert!(again <= taken);
                taken -= again;
                prop_assert!(board.runs.known.len() <= 2 * most_blocks + 1, "{} runs", board.runs.known.len());
                // All that is heard is true, and what is not heard stays.
                if back < 256 {
                    prop_assert_eq!(&now, &said);
                }
                let kept = known.iter().zip(&said).zip(&now).all(|((known, said), now)| {
                    *now == *said || *now == *known
                });
                prop_assert!(kept);
                ever.iter_mut().zip(&now).for_each(|(ever, now)| *ever |= now);
                known = now;
            }
        }
    }

    /// What is promised beyond what is heard of a SACK is in flight still, with all that it carries.
    #[test]
    fn a_promise_beyond_what_is_heard_empties_nothing() {
        let (mut board, mut outcome) = (flying(1000), AckOutcome::default());
        sack(&mut board, &[(2, 900)], &mut outcome);
        let (first, cumulative) = (board.cumulative() + 1, Scoreboard::tsn(board.cumulative()));
        let promised = [GapAckBlock { start: 950, end: 960 }.to_bytes()];
        let promised = || GapAckBlocks::new(&promised);
        let none = GapAckBlocks::default;
        board.on_nr_sack(cumulative, none(), promised(), &mut outcome, |_| {}).unwrap();
        let chunk = board.get(first + 949).unwrap();
        assert_eq!(chunk.state, ChunkState::InFlight);
        assert!(!chunk.chunk.payload.is_empty());
        let all = Scoreboard::tsn(board.next_seq() - 1);
        board.on_nr_sack(all, none(), none(), &mut outcome, |_| {}).unwrap();
        assert_eq!((board.flight_user_bytes(), board.buffered_user_bytes()), (0, 0));
    }
}
