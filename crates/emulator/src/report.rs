//! What an emulation did.

use std::fmt::Write;
use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;
use tresse_netem::LinkStats;

use crate::Direction;

/// What an emulation did since its links began.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How long that is, in seconds.
    pub seconds: f64,
    /// Whether the system runs the emulator before all ordinary processes (SCHED_FIFO).
    pub realtime: bool,
    /// Whether all captures that were asked for are complete.
    pub captures_complete: bool,
    /// Every link: by path, forward before backward.
    pub links: Vec<DirectionReport>,
}

/// What one link did.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// The path, from 0.
    pub path: usize,
    /// `forward` or `backward`.
    pub direction: &'static str,
    /// Packets offered to the link.
    pub offered: u64,
    /// Those of them that carry user data.
    pub offered_data: u64,
    /// Those of them that carry an acknowledgment.
    pub offered_acks: u64,
    /// Bytes offered, from the IP header on.
    pub offered_bytes: u64,
    /// Packets delivered, copies and corrupted ones included.
    pub delivered: u64,
    /// Bytes delivered, from the IP header on.
    pub delivered_bytes: u64,
    /// Packets lost because the queue was full.
    pub dropped_queue: u64,
    /// Packets dropped by random early detection.
    pub dropped_red: u64,
    /// Packets lost at random.
    pub dropped_random: u64,
    /// Packets lost because a list named them.
    pub dropped_pattern: u64,
    /// Packets lost because the link was or went down.
    pub dropped_down: u64,
    /// Copies made.
    pub duplicated: u64,
    /// Corrupted packets delivered.
    pub corrupted: u64,
    /// Packets delivered after one that was offered later.
    pub reordered: u64,
    /// Packets that were in the link at the end.
    pub in_transit: u64,
    /// The most packets that ever waited in the queue.
    pub max_queue_packets: u64,
    /// The most bytes that ever waited in the queue.
    pub max_queue_bytes: u64,
    /// Packets that the queue held on average.
    pub mean_queue_packets: f64,
    /// Frames of address resolution, which passed beside the link.
    pub aside: u64,
    /// Frames that the system dropped before the emulator could take them. Not 0: the machine was too
    /// slow for this traffic, and loss was not what the link says.
    pub overrun: u64,
    /// How much later than the link said packets were delivered.
    pub late: Lateness,
}

/// How late packets were delivered, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Lateness {
    /// Half of all packets were not later.
    pub p50_us: f64,
    /// 99 % of all packets were not later.
    pub p99_us: f64,
    /// The latest packet.
    pub max_us: f64,
}

impl Lateness {
    /// From a histogram of nanoseconds.
    pub(crate) fn of(nanos: &Histogram<u64>) -> Lateness {
        let at = |quantile| nanos.value_at_quantile(quantile) as f64 / 1e3;
        Lateness { p50_us: at(0.5), p99_us: at(0.99), max_us: nanos.max() as f64 / 1e3 }
    }
}

impl DirectionReport {
    pub(crate) fn new(
        (path, direction): (usize, Direction),
        stats: &LinkStats,
        span: Duration,
        late: Lateness,
        aside: u64,
    ) -> DirectionReport {
        DirectionReport {
            path,
            direction: direction.name(),
            offered: stats.offered,
            offered_data: stats.offered_data,
            offered_acks: stats.offered_acks,
            offered_bytes: stats.offered_bytes,
            delivered: stats.delivered,
            delivered_bytes: stats.delivered_bytes,
            dropped_queue: stats.dropped_queue,
            dropped_red: stats.dropped_red,
            dropped_random: stats.dropped_random,
            dropped_pattern: stats.dropped_pattern,
            dropped_down: stats.dropped_down,
            duplicated: stats.duplicated,
            corrupted: stats.corrupted,
            reordered: stats.reordered,
            in_transit: stats.in_transit,
            max_queue_packets: stats.max_queue_packets,
            max_queue_bytes: stats.max_queue_bytes,
            mean_queue_packets: stats.mean_queue_packets(span.into()),
            aside,
            overrun: 0,
            late,
        }
    }

    /// Packets lost for any cause.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped_queue
            + self.dropped_red
            + self.dropped_random
            + self.dropped_pattern
            + self.dropped_down
    }
}

impl Report {
    /// A few lines for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for link in &self.links {
            let _ = write!(
                text,
                "link{} {:8}  {} packets in, {} out, {} lost",
                link.path,
                link.direction,
                link.offered,
                link.delivered,
                link.dropped()
            );
            for (count, what) in [
                (link.dropped_queue, "queue"),
                (link.dropped_red, "red"),
                (link.dropped_random, "random"),
                (link.dropped_pattern, "pattern"),
                (link.dropped_down, "down"),
            ] {
                if count > 0 {
                    let _ = write!(text, " [{what} {count}]");
                }
            }
            for (count, what) in [
                (link.duplicated, "duplicated"),
                (link.corrupted, "corrupted"),
                (link.reordered, "reordered"),
                (link.overrun, "DROPPED BEFORE THE LINK: the machine is too slow"),
            ] {
                if count > 0 {
                    let _ = write!(text, ", {count} {what}");
                }
            }
            let late = link.late;
            let _ =
                writeln!(text, "; late by {:.0} µs (p50), {:.0} (p99)", late.p50_us, late.p99_us);
        }
        text
    }
}
