//! What of a SACK's Gap Ack Blocks differs from the SACK before.
//!
//! Most of a long report repeats the one before it. The blocks are compared with the known runs as
//! they stand in the chunk, many at a time, and only what lies between equal heads and tails is
//! read. Both sides are compared modulo 2^16, in which a block's offset plus the Cumulative TSN Ack
//! is its TSN whatever the Cumulative TSN Ack of the SACK before.

use thiserror::Error;
use tresse_wire::{GapAckBlock, GapAckBlocks};

use super::Scoreboard;
use crate::ranges::Range;

/// Why a SACK was not applied.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Error)]
#[non_exhaustive]
pub enum SackFault {
    /// Its Cumulative TSN Ack is behind the Cumulative TSN Ack Point: it came late.
    #[error("out of order")]
    Stale,
    /// Its Cumulative TSN Ack, or what a Gap Ack Block covers, was never sent.
    #[error("acknowledges TSNs that were not sent")]
    Unsent,
    /// A Gap Ack Block is reversed or begins at the Cumulative TSN Ack.
    #[error("malformed gap ack block")]
    MalformedGap,
}

/// Which of the known runs the `new` ones of a SACK replace.
#[derive(Clone, Copy, Debug)]
pub(super) struct Changed {
    /// Runs before this one are cumulatively acknowledged.
    pub(super) head: usize,
    /// The first run that is replaced.
    pub(super) from: usize,
    /// The first run after it that is not.
    pub(super) until: usize,
}

/// First and last TSN of a run modulo 2^16.
pub(super) fn edges(run: Range) -> [u16; 2] {
    [run.start as u16, run.end as u16] // Truncation is the modulus.
}

/// First and last TSN, modulo 2^16, of a block that was sent with this Cumulative TSN Ack.
fn block_edges(block: [u8; 4], cumulative: u16) -> [u16; 2] {
    let GapAckBlock { start, end } = GapAckBlock::from_bytes(block);
    [start, end].map(|offset| offset.wrapping_add(cumulative))
}

/// Blocks compared at a time.
const STEP: usize = 16;

/// Without branches, so that the compiler makes several comparisons at once.
fn same(blocks: &[[u8; 4]; STEP], known: &[[u16; 2]; STEP], cumulative: u16) -> bool {
    let offsets = blocks.as_flattened().as_chunks::<2>().0;
    let differ = |(o, k): (&[u8; 2], &u16)| u16::from_be_bytes(*o).wrapping_add(cumulative) ^ k;
    offsets.iter().zip(known.as_flattened()).map(differ).fold(0, |all, one| all | one) == 0
}

fn same_head(blocks: &[[u8; 4]], known: &[[u16; 2]], cumulative: u16) -> usize {
    let steps = blocks.as_chunks::<STEP>().0.iter().zip(known.as_chunks::<STEP>().0);
    let whole = STEP * steps.take_while(|(b, k)| same(b, k, cumulative)).count();
    let rest = blocks[whole..].iter().zip(&known[whole..]);
    whole + rest.take_while(|(b, k)| block_edges(**b, cumulative) == **k).count()
}

fn same_tail(blocks: &[[u8; 4]], known: &[[u16; 2]], cumulative: u16) -> usize {
    let steps = blocks.as_rchunks::<STEP>().1.iter().rev();
    let steps = steps.zip(known.as_rchunks::<STEP>().1.iter().rev());
    let whole = STEP * steps.take_while(|(b, k)| same(b, k, cumulative)).count();
    let rest = blocks[..blocks.len() - whole].iter().rev();
    let rest = rest.zip(known[..known.len() - whole].iter().rev());
    whole + rest.take_while(|(b, k)| block_edges(**b, cumulative) == **k).count()
}

impl Scoreboard {
    /// Turns blocks into sorted, disjoint, absolute runs in `new`.
    pub(super) fn load_runs(
        &mut self,
        cumulative: u64,
        blocks: GapAckBlocks<'_>,
    ) -> Result<(), SackFault> {
        self.runs.new.clear();
        let next = self.next_seq();
        let mut sorted = true;
        for block in blocks {
            // RFC 9260 §3.3.4: blocks are offsets from the Cumulative TSN Ack.
            if block.start == 0 || block.start > block.end {
                return Err(SackFault::MalformedGap);
            }
            let run =
                Range::new(cumulative + u64::from(block.start), cumulative + u64::from(block.end));
            if run.end >= next {
                return Err(SackFault::Unsent);
            }
            match self.runs.new.last_mut() {
                Some(last) if run.start == last.end + 1 => last.end = run.end,
                Some(last) => {
                    sorted &= last.end < run.start;
                    self.runs.new.push(run);
                }
                None => self.runs.new.push(run),
            }
        }
        if !sorted {
            // Blocks in any order, even overlapping, say the same thing.
            self.runs.new.sort_unstable_by_key(|r| r.start);
            self.runs.new.dedup_by(|b, a| {
                let joined = b.start <= a.end + 1;
                if joined {
                    a.end = a.end.max(b.end);
                }
                joined
            });
        }
        Ok(())
    }

    /// All runs beyond `cumulative` are replaced.
    pub(super) fn all_changed(&self, cumulative: u64) -> Changed {
        let head = self.runs.known.partition_point(|run| run.end <= cumulative);
        Changed { head, from: head, until: self.runs.known.len() }
    }

    /// Reads those blocks that are not runs known before.
    pub(super) fn load_changes(
        &mut self,
        cumulative: u64,
        blocks: &GapAckBlocks<'_>,
    ) -> Result<Changed, SackFault> {
        let all = self.all_changed(cumulative);
        let (bytes, known) = (blocks.as_bytes(), &self.runs.edges[all.head..]);
        // A run on both sides of the Cumulative TSN Ack is no sensible block.
        let comparable = self.runs.known.get(all.head).is_none_or(|run| run.start > cumulative);
        if comparable {
            let low = cumulative as u16;
            let head = same_head(bytes, known, low);
            let tail = same_tail(&bytes[head..], &known[head..], low);
            let (from, until) = (all.head + head, all.until - tail);
            self.load_runs(cumulative, GapAckBlocks::new(&bytes[head..bytes.len() - tail]))?;
            // The new runs fit between the others, unless the blocks are out of order.
            let below = if head > 0 { self.runs.known[from - 1].end + 1 } else { cumulative };
            let above = self.runs.known.get(until).map_or(u64::MAX, |run| run.start);
            let fits = match self.runs.new[..] {
                [] => true,
                [first, .., last] => below < first.start && last.end + 1 < above,
                [only] => below < only.start && only.end + 1 < above,
            };
            if fits {
                return Ok(Changed { head: all.head, from, until });
            }
        }
        self.load_runs(cumulative, blocks.clone())?;
        Ok(all)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::flying;
    use super::*;
    use crate::scoreboard::AckOutcome;

    /// The blocks that say which of `acked` lie beyond the first `cumulative`.
    fn blocks(acked: &[bool], cumulative: usize) -> Vec<[u8; 4]> {
        let mut blocks: Vec<GapAckBlock> = Vec::new();
        for (offset, _) in (1u16..).zip(&acked[cumulative..]).filter(|(_, acked)| **acked) {
            match blocks.last_mut().filter(|block| block.end + 1 == offset) {
                Some(block) => block.end = offset,
                None => blocks.push(GapAckBlock { start: offset, end: offset }),
            }
        }
        blocks.into_iter().map(GapAckBlock::to_bytes).collect()
    }

    proptest! {
        #[test]
        fn long_reports_mean_what_they_say(
            density in 2usize..12,
            steps in prop::collection::vec(
                // TSNs that arrive, those taken back, how far the cumulative ack goes, the order.
                (prop::collection::vec(0usize..400, 0..4), prop::option::of(0usize..400), 0usize..8, 0u8..6),
                1..30,
            ),
        ) {
            let mut board = flying(400);
            let first = board.cumulative() + 1;
            let mut outcome = AckOutcome::default();
            let mut acked: Vec<bool> = (0..400).map(|n| n > 2 && n % density != 0).collect();
            let mut cumulative = 0;
            for (arrived, taken_back, advance, order) in steps {
                let before = acked.clone();
                arrived.iter().for_each(|n| acked[*n] = true);
                if let Some(n) = taken_back.filter(|n| *n >= cumulative + advance) {
                    acked[n] = false;
                }
                cumulative = (cumulative + advance).min(390);
                acked[..cumulative].fill(true);
                let mut list = blocks(&acked, cumulative);
                match order {
                    0 => list.reverse(),
                    1 if list.len() > 2 => list.swap(0, 1),
                    2 => list.extend_from_within(..list.len().min(1)),
                    _ => {}
                }
                let tsn = Scoreboard::tsn(first + cumulative as u64 - 1);
                let sack = GapAckBlocks::new(&list);
                board.on_sack(tsn, sack, &mut outcome, |_| {}).unwrap();
                let found: Vec<bool> = (first..first + 400).map(|seq| board.is_acked(seq)).collect();
                prop_assert_eq!(&found, &acked);
                // What was known already is not acknowledged again, and what is gone is noticed.
                let gone = |seq: &u64| board.get(*seq).is_some() && !board.is_acked(*seq);
                prop_assert!(outcome.reneged.iter().all(gone));
                let lost = before.iter().zip(&acked).filter(|(before, now)| **before && !**now).count();
                prop_assert!(outcome.reneged.len() == lost || outcome.reneged.is_empty());
                let edges: Vec<[u16; 2]> = board.runs.known.iter().map(|run| edges(*run)).collect();
                prop_assert_eq!(&board.runs.edges, &edges);
            }
        }

        #[test]
        fn edges_are_those_of_the_block(start: u16, end: u16, cumulative in 0u64..1 << 40) {
            let block = GapAckBlock { start, end }.to_bytes();
            let (first, last) = (cumulative + u64::from(start), cumulative + u64::from(end));
            let run = Range { start: first, end: last };
            prop_assert_eq!(block_edges(block, cumulative as u16), edges(run));
        }

        #[test]
        fn heads_and_tails_are_the_same_one_by_one(
            known in prop::collection::vec(0u16..2, 0..80),
            changes in prop::collection::vec((0usize..80, 0u16..2), 0..4),
            cut in 0usize..40,
        ) {
            let mut list = known.clone();
            for (at, n) in changes {
                if let Some(entry) = list.get_mut(at) {
                    *entry = n;
                }
            }
            list.drain(..cut.min(list.len()) / 2);
            // A cumulative ack of zero: the edges are the offsets.
            let block = |n: &u16| GapAckBlock { start: *n, end: 0 }.to_bytes();
            let blocks: Vec<[u8; 4]> = list.iter().map(block).collect();
            let head = list.iter().zip(&known).take_while(|(a, b)| a == b).count();
            let tail = list.iter().rev().zip(known.iter().rev()).take_while(|(a, b)| a == b).count();
            let known: Vec<[u16; 2]> = known.iter().map(|n| [*n, 0]).collect();
            prop_assert_eq!(same_head(&blocks, &known, 0), head);
            prop_assert_eq!(same_tail(&blocks, &known, 0), tail);
        }
    }
}
