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
    /// What the link counted; bytes are those from the IP header on.
    #[serde(flatten)]
    pub stats: LinkStats,
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
        stats: LinkStats,
        span: Duration,
        late: Lateness,
        aside: u64,
    ) -> DirectionReport {
        DirectionReport {
            path,
            direction: direction.name(),
            stats,
            mean_queue_packets: stats.mean_queue_packets(span.into()),
            aside,
            overrun: 0,
            late,
        }
    }
}

impl Report {
    /// A few lines for a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for link in &self.links {
            let stats = &link.stats;
            let _ = write!(
                text,
                "link{} {:8}  {} packets in, {} out, {} lost",
                link.path,
                link.direction,
                stats.offered,
                stats.delivered,
                stats.dropped()
            );
            for (count, what) in [
                (stats.dropped_queue, "queue"),
                (stats.dropped_red, "red"),
                (stats.dropped_codel, "codel"),
                (stats.dropped_random, "random"),
                (stats.dropped_pattern, "pattern"),
                (stats.dropped_down, "down"),
            ] {
                if count > 0 {
                    let _ = write!(text, " [{what} {count}]");
                }
            }
            for (count, what) in [
                (stats.duplicated, "duplicated"),
                (stats.corrupted, "corrupted"),
                (stats.reordered, "reordered"),
                (link.overrun, "DROPPED BEFORE THE LINK: the machine is too slow"),
            ] {
                if count > 0 {
                    let _ = write!(text, ", {count} {what}");
                }
            }
            let late = link.late;
            let _ = writeln!(
                text,
                "; late by {:.0} µs (p50), {:.0} µs (p99)",
                late.p50_us, late.p99_us
            );
        }
        text
    }
}
