//! Time to handle a SACK, as Sarnow 2017 §5.1.2, §5.1.3 and §5.3 measured it in FreeBSD (Figures
//! 5.2, 5.4 and 5.8): similar paths (50 and 50 Mbit/s) and dissimilar ones (10 and 100 or 140), the
//! scoreboard beside the reference's three walks over the queue and the thesis' own walk with an
//! array (`walk.rs`), all with the same SACKs (`links.rs`). Then how the scoreboard's time depends on what is outstanding and reported.
//!
//! `cargo bench -p tresse-core --bench sack_handling` prints tables; `cargo test` runs this file
//! without `--bench`: it compares what they make of every SACK and measures nothing. A time is that
//! from the parsed chunk to what it changed and which chunks it struck, and includes reading the
//! clock once.

mod links;
mod steady;
mod walk;

use std::time::{Duration, Instant};

use links::{FIRST, Watcher};
use tresse_core::scoreboard::{AckOutcome, NewChunk, Scoreboard};
use tresse_core::{Bytes, PathId, Time};
use tresse_wire::{Chunk, DataFlags, Fsn, Mid, Packet, Ppid, Sack, StreamId, Tsn, data_chunk_len};
use walk::Walk;

const MESSAGE: usize = 1452;
const SCENARIOS: [(&str, [u64; 2]); 3] =
    [("similar", [50, 50]), ("dissimilar", [10, 100]), ("dissimilar", [10, 140])];

/// Gives `handle` the SACK of a packet that must have one.
fn with_sack<T>(packet: &[u8], handle: impl FnOnce(&Sack<'_>) -> T) -> T {
    let packet = Packet::parse(packet).expect("well-formed");
    let raw = packet.chunks().next().expect("a chunk").expect("well-formed");
    let Ok(Chunk::Sack(sack)) = Chunk::parse(raw) else { panic!("a SACK") };
    handle(&sack)
}

/// The scoreboard with what the association does of every SACK.
struct Board {
    board: Scoreboard,
    outcome: AckOutcome,
}

impl Board {
    fn new() -> Board {
        Board { board: Scoreboard::new(Tsn(FIRST as u32)), outcome: AckOutcome::default() }
    }

    fn send(&mut self, now: Time, path: u8) {
        let chunk = NewChunk {
            stream: StreamId(0),
            mid: Mid(0),
            fsn: Fsn(0),
            ppid: Ppid(0),
            flags: DataFlags::UNFRAGMENTED,
            context: 0,
            key: None,
            payload: Bytes::from_static(&[0; MESSAGE]),
        };
        self.board.begin_packet();
        self.board.record_new(now, PathId(path), chunk);
    }

    fn on_sack(&mut self, sack: &Sack<'_>) {
        let (tsn, outcome) = (sack.cumulative_tsn_ack, &mut self.outcome);
        self.board.on_sack(tsn, sack.gap_blocks(), outcome, |_| {}).expect("valid");
        for (path, ack) in (0..).zip(&self.outcome.paths) {
            if let Some(highest) = ack.highest_newly_acked {
                self.board.strike_on(PathId(path), highest, self.outcome.latest_sent);
            }
        }
    }
}

/// Nanoseconds per SACK, and TSNs in its gap blocks.
#[derive(Default)]
struct Samples {
    nanos: Vec<u64>,
    gap_acked: Vec<usize>,
}

impl Samples {
    fn total(&self) -> f64 {
        self.nanos.iter().sum::<u64>() as f64
    }

    fn percentile(&self, percent: usize) -> f64 {
        let mut sorted = self.nanos.clone();
        sorted.sort_unstable();
        sorted[(sorted.len() - 1) * percent / 100] as f64 / 1000.0
    }

    /// How many percent of the SACKs report TSNs of this number.
    fn share(&self, of: std::ops::Range<usize>) -> f64 {
        let within = self.gap_acked.iter().filter(|n| of.contains(n)).count();
        100.0 * within as f64 / self.gap_acked.len() as f64
    }
}

/// One of the two, measured.
struct Measured<H> {
    handler: H,
    samples: Samples,
}

trait Handler {
    fn sent(&mut self, now: Time, path: u8);
    fn handle(&mut self, sack: &Sack<'_>);
}

impl Handler for Board {
    fn sent(&mut self, now: Time, path: u8) {
        self.send(now, path);
    }

    fn handle(&mut self, sack: &Sack<'_>) {
        self.on_sack(sack);
    }
}

impl Handler for Walk {
    fn sent(&mut self, _: Time, path: u8) {
        self.send(path, data_chunk_len(MESSAGE));
    }

    fn handle(&mut self, sack: &Sack<'_>) {
        self.on_sack(sack);
    }
}

impl<H: Handler> Watcher for Measured<H> {
    fn sent(&mut self, now: Time, path: u8) {
        self.handler.sent(now, path);
    }

    fn sack(&mut self, packet: &[u8], gap_acked: usize) {
        let nanos = with_sack(packet, |sack| {
            let before = Instant::now();
            self.handler.handle(sack);
            before.elapsed().as_nanos() as u64
        });
        self.samples.nanos.push(nanos);
        self.samples.gap_acked.push(gap_acked);
    }
}

fn measure<H: Handler>(handler: H, mbit: [u64; 2], length: Duration) -> Samples {
    let mut measured = Measured { handler, samples: Samples::default() };
    links::run(mbit, length.as_nanos() as u64, &mut measured);
    measured.samples
}

fn histogram(columns: &[(&str, Samples); 3]) {
    // The classes of the paper's Figure 5.4: powers of two of a nanosecond.
    let class = |nanos: u64| nanos.max(1).ilog2();
    let all = columns.iter().flat_map(|(_, samples)| &samples.nanos);
    let (low, high) = all.fold((u32::MAX, 0), |(l, h), n| (l.min(class(*n)), h.max(class(*n))));
    let [ours, walk, array] = columns.each_ref().map(|(name, _)| name);
    println!("  {:>19} {ours:>11} {walk:>11} {array:>14}", "time");
    for k in low..=high {
        let share = |samples: &Samples| {
            let within = samples.nanos.iter().filter(|n| class(**n) == k).count();
            100.0 * within as f64 / samples.nanos.len() as f64
        };
        let (from, to) = ((1u64 << k) as f64 / 1000.0, (2u64 << k) as f64 / 1000.0);
        let [ours, walk, array] = columns.each_ref().map(|(_, samples)| share(samples));
        if ours + walk + array >= 0.01 {
            println!("  {from:>7.2} to {to:>6.2} µs {ours:>9.2} % {walk:>9.2} % {array:>12.2} %");
        }
    }
}

fn compare_times() {
    let length = Duration::from_secs(20);
    for (name, mbit) in SCENARIOS {
        let columns = [
            ("scoreboard", measure(Board::new(), mbit, length)),
            ("three walks", measure(Walk::new(FIRST), mbit, length)),
            ("walk and array", measure(Walk::with_array(FIRST), mbit, length)),
        ];
        let (_, ours) = &columns[0];
        println!(
            "{name} paths, {} and {} Mbit/s, {length:?}: {} SACKs",
            mbit[0],
            mbit[1],
            ours.nanos.len()
        );
        let shares = [0..101, 101..251, 251..501, 501..751, 751..usize::MAX].map(|r| ours.share(r));
        println!(
            "  TSNs in gap blocks: to 100 {:.1} %, to 250 {:.1} %, to 500 {:.1} %, to 750 {:.1} %, more {:.1} %",
            shares[0], shares[1], shares[2], shares[3], shares[4],
        );
        histogram(&columns);
        for (name, samples) in &columns {
            let mean = samples.total() / samples.nanos.len() as f64 / 1000.0;
            let [p50, p90, p99] = [50, 90, 99].map(|p| samples.percentile(p));
            let share = 100.0 * samples.total() / length.as_nanos() as f64;
            println!(
                "  {name:<14} mean {mean:.2} µs, median {p50:.2}, 90 % {p90:.2}, 99 % {p99:.2}; \
                 {share:.2} % of the time"
            );
        }
        for (name, walk) in &columns[1..] {
            println!(
                "  {name} / scoreboard: mean {:.1}, median {:.1}",
                walk.total() / ours.total(),
                walk.percentile(50) / ours.percentile(50),
            );
        }
        println!();
    }
}

/// All at once, and whether they agree.
struct Agreement {
    board: Board,
    walks: [Walk; 2],
    sent: u64,
    gap_acked: Vec<usize>,
}

impl Watcher for Agreement {
    fn sent(&mut self, now: Time, path: u8) {
        self.board.send(now, path);
        self.walks.iter_mut().for_each(|walk| walk.sent(now, path));
        self.sent += 1;
    }

    fn sack(&mut self, packet: &[u8], gap_acked: usize) {
        with_sack(packet, |sack| {
            self.board.on_sack(sack);
            self.walks.iter_mut().for_each(|walk| walk.on_sack(sack));
        });
        let board = &self.board.board;
        for walk in &self.walks {
            assert_eq!([0, 1].map(|path| board.flight(PathId(path))), walk.flight);
        }
        let first = board.unwrap(Tsn(FIRST as u32));
        let mut beyond = 0;
        for seq in board.cumulative() + 1..board.next_seq() {
            let acked = board.is_acked(seq);
            let tsn = seq - first + FIRST;
            for walk in &self.walks {
                assert_eq!(acked, walk.is_acked(tsn), "TSN {tsn}");
            }
            beyond += usize::from(acked);
        }
        assert_eq!(beyond, gap_acked);
        assert_eq!(board.next_seq() - first, self.sent);
        self.gap_acked.push(gap_acked);
    }
}

/// All acknowledge the same, and the paths make such gaps as the paper saw (§5.1.2: with similar
/// paths 90 % of the SACKs report less than 100 TSNs, with dissimilar ones 1.5 %).
fn check() {
    for (name, mbit) in SCENARIOS {
        let (board, walks) = (Board::new(), [Walk::new(FIRST), Walk::with_array(FIRST)]);
        let mut agreement = Agreement { board, walks, sent: 0, gap_acked: Vec::new() };
        links::run(mbit, 2_000_000_000, &mut agreement);
        let samples = Samples { nanos: Vec::new(), gap_acked: agreement.gap_acked };
        assert!(samples.gap_acked.len() > 1000, "{name}: {} SACKs", samples.gap_acked.len());
        let few = samples.share(0..101);
        let plausible = if mbit[0] == mbit[1] { few >= 90.0 } else { few <= 10.0 };
        assert!(plausible, "{name} {mbit:?}: {few} % of the SACKs report at most 100 TSNs");
        println!("{name} {mbit:?}: {} SACKs, the same to all", samples.gap_acked.len());
    }
    steady::check();
}

fn main() {
    if std::env::args().any(|arg| arg == "--bench") {
        compare_times();
        steady::measure();
    } else {
        check();
    }
}
