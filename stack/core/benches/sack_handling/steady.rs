//! How the scoreboard's time per SACK depends on what is outstanding and on the number of gap
//! blocks, everything else the same: each SACK reports one more TSN, every tenth is missing, and
//! when the blocks are as many as wanted, the first hole is filled.

use std::collections::VecDeque;
use std::time::Instant;

use tresse_core::scoreboard::Eligibility;
use tresse_core::{LossCause, PathId, Time};
use tresse_wire::GapAckBlock;

use crate::links::write_sack;
use crate::{Board, with_sack};

const OUTSTANDING: [u64; 3] = [100, 1_000, 10_000];
const BLOCKS: [u64; 5] = [0, 1, 8, 90, 300];

struct Steady {
    board: Board,
    outstanding: u64,
    blocks: u64,
    /// First and last sequence number of the runs beyond the cumulative point.
    runs: VecDeque<(u64, u64)>,
    highest: u64,
    clock: u64,
    packet: Vec<u8>,
}

impl Steady {
    /// `None` if this many blocks do not fit.
    fn new(outstanding: u64, blocks: u64) -> Option<Steady> {
        let board = Board::new();
        let highest = board.board.cumulative();
        let (runs, packet) = (VecDeque::new(), Vec::new());
        let mut steady = Steady { board, outstanding, blocks, runs, highest, clock: 0, packet };
        steady.top_up();
        (blocks * 10 + 20 <= outstanding).then_some(steady)
    }

    fn top_up(&mut self) {
        while (self.board.board.len() as u64) < self.outstanding {
            self.clock += 1;
            self.board.send(Time::from_nanos(self.clock), 0);
        }
    }

    /// Makes `packet` the next SACK.
    fn next(&mut self) {
        let mut cumulative = self.board.board.cumulative();
        let hole = (self.highest + 1).is_multiple_of(10);
        if self.blocks == 0 {
            cumulative += 1;
            self.highest = cumulative;
        } else if hole && self.runs.len() as u64 == self.blocks {
            cumulative = self.runs.pop_front().map_or(cumulative, |run| run.1);
        } else {
            self.highest += if hole { 2 } else { 1 };
            match self.runs.back_mut() {
                Some(run) if !hole => run.1 = self.highest,
                None if !hole => cumulative = self.highest,
                _ => self.runs.push_back((self.highest, self.highest)),
            }
        }
        let offset = |seq: u64| (seq - cumulative) as u16;
        let block = |run: &(u64, u64)| GapAckBlock { start: offset(run.0), end: offset(run.1) };
        let blocks: Vec<GapAckBlock> = self.runs.iter().map(block).collect();
        write_sack(&mut self.packet, cumulative, &blocks);
    }

    /// What the SACK struck three times leaves again; new chunks follow.
    fn send(&mut self) {
        let board = &mut self.board.board;
        let lost: Vec<_> = board.missing().filter(|range| range.misses >= 3).copied().collect();
        for range in lost {
            for seq in range.start..=range.end {
                board.mark_lost(seq, LossCause::FastRetransmit);
            }
        }
        while let Some(seq) = board.first_lost() {
            board.begin_packet();
            let now = Time::from_nanos(self.clock);
            board.record_retransmission(now, PathId(0), seq, Eligibility::Rule5);
        }
        self.top_up();
    }

    fn warm_up(&mut self) {
        for _ in 0..self.blocks * 20 + 100 {
            self.next();
            with_sack(&self.packet, |sack| self.board.on_sack(sack));
            self.send();
        }
    }
}

fn median(mut nanos: Vec<u64>) -> f64 {
    nanos.sort_unstable();
    nanos[nanos.len() / 2] as f64 / 1000.0
}

/// Prints the median time from the chunk, and from the packet's bytes with their checksum.
pub(crate) fn measure() {
    println!("µs per SACK, median: from the parsed chunk; from the packet with its checksum");
    println!("  {:>11} {:>6} {:>10} {:>10}", "outstanding", "blocks", "chunk", "packet");
    for outstanding in OUTSTANDING {
        for mut steady in BLOCKS.into_iter().filter_map(|n| Steady::new(outstanding, n)) {
            steady.warm_up();
            let mut times = [Vec::new(), Vec::new()];
            for _ in 0..100_000 {
                steady.next();
                let packet_at = Instant::now();
                let chunk_at = with_sack(&steady.packet, |sack| {
                    let chunk_at = Instant::now();
                    steady.board.on_sack(sack);
                    chunk_at
                });
                let end = Instant::now();
                times[0].push((end - chunk_at).as_nanos() as u64);
                times[1].push((end - packet_at).as_nanos() as u64);
                steady.send();
            }
            let [chunk, packet] = times.map(median);
            println!("  {outstanding:>11} {:>6} {chunk:>10.2} {packet:>10.2}", steady.blocks);
        }
    }
}

/// The board has what the SACKs say, and they have as many blocks as wanted.
pub(crate) fn check() {
    for mut steady in BLOCKS.into_iter().filter_map(|n| Steady::new(1_000, n)) {
        steady.warm_up();
        for _ in 0..100 {
            steady.next();
            let blocks = with_sack(&steady.packet, |sack| {
                steady.board.on_sack(sack);
                sack.gap_blocks().len() as u64
            });
            assert!(blocks == steady.blocks || blocks + 1 == steady.blocks, "{blocks} blocks");
            let board = &steady.board.board;
            for seq in board.cumulative() + 1..board.next_seq() {
                let reported = steady.runs.iter().any(|run| (run.0..=run.1).contains(&seq));
                assert_eq!(board.is_acked(seq), reported, "{seq}");
            }
            steady.send();
        }
    }
}
