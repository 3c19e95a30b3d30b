//! Cost of one SACK against the number of outstanding chunks: it should be flat.
//!
//! Each iteration is one steady-state SACK and the sends that it allows: a SACK acknowledges two
//! chunks, two new ones leave. `no-gap`: cumulatively. `gaps`: every tenth chunk of the window is
//! missing, at most 300 gap blocks, and the cumulative point moves when the window slides past a
//! hole that is then filled. `nr-gaps`: the same with NR-SACKs, whose chunks leave their payload.

use criterion::{BatchSize, BenchmarkId, Criterion, criterion_group, criterion_main};
use tresse_core::scoreboard::{AckOutcome, Eligibility, NewChunk, Scoreboard};
use tresse_core::{Bytes, LossCause, PathId, Time};
use tresse_wire::{DataFlags, Fsn, GapAckBlock, GapAckBlocks, Mid, Ppid, StreamId, Tsn};

const OUTSTANDING: [u64; 4] = [100, 1_000, 10_000, 100_000];
/// SACKs measured per batch, so that setting up a large board is not measured.
const SACKS: u64 = 50;

fn send(board: &mut Scoreboard, now: u64) {
    board.begin_packet();
    board.record_new(
        Time::from_nanos(now),
        PathId(0),
        NewChunk {
            stream: StreamId(0),
            mid: Mid(0),
            fsn: Fsn(0),
            ppid: Ppid(0),
            flags: DataFlags::UNFRAGMENTED,
            context: 0,
            key: None,
            payload: Bytes::from_static(&[0; 1000]),
        },
    );
}

/// One board, driven for ever: criterion measures a run of SACKs.
struct Steady {
    board: Scoreboard,
    outcome: AckOutcome,
    outstanding: u64,
    clock: u64,
    /// Of the runs beyond the cumulative point: first and last sequence number.
    runs: std::collections::VecDeque<(u64, u64)>,
    /// The runs as blocks of the SACK being processed.
    blocks: Vec<[u8; 4]>,
    highest: u64,
    /// The receiver keeps what it reports: NR-SACKs.
    kept: bool,
}

impl Steady {
    fn new(outstanding: u64, kept: bool) -> Steady {
        let mut board = Scoreboard::new(Tsn(1));
        for i in 0..outstanding {
            send(&mut board, i);
        }
        let highest = board.cumulative();
        Steady {
            board,
            outcome: AckOutcome::default(),
            outstanding,
            clock: outstanding,
            runs: std::collections::VecDeque::new(),
            blocks: Vec::new(),
            highest,
            kept,
        }
    }

    fn top_up(&mut self) {
        while (self.board.len() as u64) < self.outstanding {
            self.clock += 1;
            send(&mut self.board, self.clock);
        }
    }

    fn plain(&mut self) {
        let cumulative = Scoreboard::tsn(self.board.cumulative() + 2);
        let none = GapAckBlocks::default();
        self.board.on_sack(cumulative, none, &mut self.outcome, |_| {}).expect("valid");
        self.top_up();
    }

    /// The receiver has everything but every tenth chunk; holes are filled in order when the
    /// window (in TSNs, at most 3 000) is used up.
    fn gaps(&mut self, window: u64) {
        let cumulative = self.board.cumulative();
        if self.highest >= cumulative + window.min(self.outstanding) - 12 {
            // The retransmission of the first hole arrives.
            let (_, end) = self.runs.pop_front().unwrap_or((0, cumulative + 1));
            self.sack(end);
        } else {
            self.highest += 1;
            if self.highest.is_multiple_of(10) {
                self.highest += 1;
            }
            match self.runs.back_mut() {
                Some(run) if run.1 + 1 == self.highest => run.1 = self.highest,
                _ => self.runs.push_back((self.highest, self.highest)),
            }
            self.sack(cumulative);
        }
        self.retransmit();
        self.top_up();
    }

    fn sack(&mut self, cumulative: u64) {
        self.blocks.clear();
        self.blocks.extend(self.runs.iter().map(|(start, end)| {
            let (start, end) = ((start - cumulative) as u16, (end - cumulative) as u16);
            GapAckBlock { start, end }.to_bytes()
        }));
        let (tsn, none) = (Scoreboard::tsn(cumulative), GapAckBlocks::default());
        let blocks = GapAckBlocks::new(&self.blocks);
        let outcome = &mut self.outcome;
        let result = if self.kept {
            self.board.on_nr_sack(tsn, none, blocks, outcome, |_| {})
        } else {
            self.board.on_sack(tsn, blocks, outcome, |_| {})
        };
        result.expect("valid");
        if let Some(highest) = self.outcome.highest_newly_acked {
            self.board.strike(highest, Time::from_nanos(self.clock));
        }
    }

    fn retransmit(&mut self) {
        let lost = |board: &Scoreboard| board.missing().find(|r| r.misses >= 3).copied();
        while let Some(range) = lost(&self.board) {
            for seq in range.start..=range.end {
                self.board.mark_lost(seq, LossCause::FastRetransmit);
            }
        }
        while let Some(seq) = self.board.first_lost() {
            self.board.begin_packet();
            self.board.record_retransmission(
                Time::from_nanos(self.clock),
                PathId(0),
                seq,
                Eligibility::Rule5,
            );
        }
    }
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("sack");
    group.throughput(criterion::Throughput::Elements(SACKS));
    for outstanding in OUTSTANDING {
        group.bench_with_input(BenchmarkId::new("no-gap", outstanding), &outstanding, |b, n| {
            let mut steady = Steady::new(*n, false);
            b.iter(|| (0..SACKS).for_each(|_| steady.plain()));
        });
        for (window, kept, name) in [
            // The same number of gap blocks at every size, except where the window is smaller.
            (90, false, "9-gaps"),
            (3_000, false, "300-gaps"),
            (90, true, "9-nr-gaps"),
            (3_000, true, "300-nr-gaps"),
        ] {
            if window > outstanding {
                continue;
            }
            group.bench_with_input(BenchmarkId::new(name, outstanding), &outstanding, |b, n| {
                let mut steady = Steady::new(*n, kept);
                (0..10 * window).for_each(|_| steady.gaps(window));
                b.iter(|| (0..SACKS).for_each(|_| steady.gaps(window)));
            });
        }
    }
    group.finish();
    c.bench_function("timeout/10000", |b| {
        b.iter_batched(
            || Steady::new(10_000, false),
            |mut s| {
                let mut lost = Vec::new();
                s.board.for_each_in_flight(PathId(0), |seq| lost.push(seq));
                for seq in lost {
                    s.board.mark_lost(seq, LossCause::Timeout);
                }
                s
            },
            BatchSize::LargeInput,
        );
    });
}

criterion_group!(benches, bench);
criterion_main!(benches);
