//! Two FIFO links between a saturating sender and its receiver: which chunks leave over which path,
//! and which SACKs come back. No randomness and no loss: the gaps are made by the paths alone.
//!
//! Sarnow 2017 §4.3: 1 ms each way, tail drop with 100 slots, one message of 1452 bytes in a frame
//! of 1526, buffers of 1 864 135 bytes, round robin over the paths whose window has room. A window
//! grows by a packet per round trip and is halved when the link's queue is full, as if congestion
//! were announced instead of a packet lost.

use std::collections::{BTreeSet, VecDeque};

use tresse_core::Time;
use tresse_wire::{CommonHeader, GapAckBlock, PacketWriter, Tsn, VerificationTag};

const FRAME_BITS: u64 = 1526 * 8;
const DELAY: u64 = 1_000_000;
const SLOTS: u64 = 100;
/// Chunks that the buffers hold.
const BUFFER: usize = 1_864_135 / 1452;
/// The first TSN.
pub(crate) const FIRST: u64 = 1;

/// Who learns what happens at the sender, in the order of time.
pub(crate) trait Watcher {
    /// The next chunk leaves.
    fn sent(&mut self, now: Time, path: u8);
    /// A packet with a SACK arrives that reports this many TSNs in its gap blocks.
    fn sack(&mut self, packet: &[u8], gap_acked: usize);
}

struct Link {
    nanos_per_frame: u64,
    /// When it has sent all that it was given.
    free_at: u64,
    /// Window and flight, in packets; the window grows by 1 / window for each one acknowledged.
    window: f64,
    flight: usize,
    /// TSNs on their way with the time of their arrival.
    pipe: VecDeque<(u64, u64)>,
    /// After a reduction: none before this moment, a round trip later.
    reduced_until: u64,
}

impl Link {
    fn new(mbit: u64) -> Link {
        Link {
            nanos_per_frame: FRAME_BITS * 1000 / mbit,
            free_at: 0,
            window: 10.0,
            flight: 0,
            pipe: VecDeque::new(),
            reduced_until: 0,
        }
    }

    fn send(&mut self, now: u64, tsn: u64) {
        self.free_at = self.free_at.max(now) + self.nanos_per_frame;
        let queued = (self.free_at - now) / self.nanos_per_frame;
        if queued > SLOTS && now >= self.reduced_until {
            self.window /= 2.0;
            self.reduced_until = self.free_at + 2 * DELAY;
        }
        self.flight += 1;
        self.pipe.push_back((tsn, self.free_at + DELAY));
    }
}

/// A SACK on its way: when it arrives, and what the receiver had.
struct Report {
    at: u64,
    cumulative: u64,
    blocks: Vec<GapAckBlock>,
    /// The TSNs that arrived since the last SACK, with their paths.
    arrived: Vec<usize>,
}

/// Runs two links of this many Mbit/s each for `nanos`.
pub(crate) fn run(mbit: [u64; 2], nanos: u64, watcher: &mut impl Watcher) {
    let mut links = mbit.map(Link::new);
    let (mut next, mut turn) = (FIRST, 0);
    let mut acknowledged = FIRST - 1;
    let mut receiver = Receiver { cumulative: FIRST - 1, ..Receiver::default() };
    let mut reports: VecDeque<Report> = VecDeque::new();
    let mut packet = Vec::new();
    let mut now = 0;
    while now < nanos {
        while (next - acknowledged) as usize <= BUFFER {
            let room = |i: &usize| links[*i].flight < links[*i].window as usize;
            let Some(path) = [turn, 1 - turn].into_iter().find(room) else { break };
            watcher.sent(Time::from_nanos(now), path as u8);
            links[path].send(now, next);
            (next, turn) = (next + 1, 1 - path);
        }
        let arrival = |link: &Link| link.pipe.front().map_or(u64::MAX, |(_, at)| *at);
        let path = usize::from(arrival(&links[1]) < arrival(&links[0]));
        let report_at = reports.front().map_or(u64::MAX, |r| r.at);
        if let Some((tsn, at)) = links[path].pipe.pop_front_if(|(_, at)| *at < report_at) {
            now = at;
            reports.extend(receiver.on_data(at, tsn, path));
        } else if let Some(report) = reports.pop_front() {
            now = report.at;
            acknowledged = report.cumulative;
            for path in report.arrived {
                let link = &mut links[path];
                link.flight -= 1;
                link.window += 1.0 / link.window;
            }
            let gap_acked = report.blocks.iter().map(|b| usize::from(b.end - b.start) + 1).sum();
            write_sack(&mut packet, report.cumulative, &report.blocks);
            watcher.sack(&packet, gap_acked);
        } else {
            // Only a lone packet is not acknowledged at once.
            now += 200_000_000;
            reports.push_back(receiver.report(now));
        }
    }
}

#[derive(Default)]
struct Receiver {
    cumulative: u64,
    /// First and last TSN of each run beyond it.
    runs: BTreeSet<(u64, u64)>,
    arrived: Vec<usize>,
}

impl Receiver {
    /// RFC 9260 §6.2: a SACK for every second packet; at once while there are gaps.
    fn on_data(&mut self, now: u64, tsn: u64, path: usize) -> Option<Report> {
        let below = self.runs.range(..(tsn, 0)).next_back().copied().filter(|r| r.1 + 1 == tsn);
        let above = self.runs.range((tsn, 0)..).next().copied().filter(|r| r.0 == tsn + 1);
        for run in below.iter().chain(&above) {
            self.runs.remove(run);
        }
        self.runs.insert((below.map_or(tsn, |r| r.0), above.map_or(tsn, |r| r.1)));
        let had_gaps = self.runs.len() > 1;
        if let Some(first) = self.runs.first().copied().filter(|r| r.0 == self.cumulative + 1) {
            self.runs.remove(&first);
            self.cumulative = first.1;
        }
        self.arrived.push(path);
        let at_once = had_gaps || !self.runs.is_empty() || self.arrived.len() > 1;
        at_once.then(|| self.report(now))
    }

    fn report(&mut self, now: u64) -> Report {
        let offset = |tsn: u64| (tsn - self.cumulative) as u16;
        let block = |run: &(u64, u64)| GapAckBlock { start: offset(run.0), end: offset(run.1) };
        Report {
            at: now + DELAY,
            cumulative: self.cumulative,
            blocks: self.runs.iter().map(block).collect(),
            arrived: std::mem::take(&mut self.arrived),
        }
    }
}

/// Makes `packet` one with a SACK.
pub(crate) fn write_sack(packet: &mut Vec<u8>, cumulative: u64, blocks: &[GapAckBlock]) {
    packet.clear();
    let header = CommonHeader {
        source_port: 9899,
        destination_port: 5000,
        verification_tag: VerificationTag(1),
    };
    let mut writer = PacketWriter::new(packet, header);
    writer.sack(Tsn(cumulative as u32), 1 << 20, blocks.iter().copied(), std::iter::empty());
    writer.finish();
}
