//! Flows as NetPerfMeter has them: several at once, in both directions, with rates, sizes and times
//! drawn from distributions. Every message is verified as elsewhere ([`super::payload`]).

mod check;
mod distribution;
mod run;
mod source;
mod spec;

use std::fmt::Write as _;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::figures::{Percentiles, Volume};
pub(crate) use run::run;
pub(crate) use spec::{Flow, number};
use tresse_console::units::{Si, Time};

/// What one side has sent of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Amount {
    pub(crate) frames: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// What one side has received of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FlowReport {
    #[serde(flatten)]
    pub(crate) volume: Volume,
    pub(crate) frames: u64,
    /// Every message arrived once, complete, in order where order was asked for, and with every
    /// byte as sent.
    pub(crate) verified: bool,
    pub(crate) out_of_order: u64,
    /// Messages on another stream than that of their flow.
    pub(crate) misplaced: u64,
    /// One-way delays of messages, if both sides share a clock.
    pub(crate) delay: Option<Percentiles>,
    /// Round trips of messages, by the receiver's echoes, if they do not.
    pub(crate) round_trip: Option<Percentiles>,
    /// Interarrival jitter of messages (RFC 3550 §6.4.1), microseconds.
    pub(crate) jitter_us: f64,
}

/// One direction of a flow, as printed at the end.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct FlowResult {
    pub(crate) flow: u16,
    pub(crate) description: Option<String>,
    /// `outgoing`: from the client to the server.
    pub(crate) direction: &'static str,
    pub(crate) stream: u16,
    /// What the sender counted.
    pub(crate) sent: Amount,
    pub(crate) received: FlowReport,
}

impl FlowResult {
    /// A line of text.
    pub(crate) fn line(&self) -> String {
        let name = self.description.as_ref().map(|text| format!(" \"{text}\"")).unwrap_or_default();
        let v = &self.received.volume;
        let mut line = format!(
            "flow {}{name} {}: {} in {:.2} s, {} frames, {} messages: {}",
            self.flow,
            self.direction,
            Si(v.bytes as f64, "B"),
            v.seconds,
            self.received.frames,
            v.messages,
            Si(v.goodput_bit_s, "bit/s"),
        );
        let time = |us: f64| Time(Duration::from_secs_f64(us / 1e6));
        let delays = [("delay", &self.received.delay), ("round trip", &self.received.round_trip)];
        for (what, delay) in delays {
            if let Some(d) = delay {
                let (mean, p99, max) = (time(d.mean_us), time(d.p99_us), time(d.max_us));
                let _ = write!(line, "; {what}: mean {mean}, 99 % {p99}, max {max}");
            }
        }
        let _ = write!(line, "; jitter {}", time(self.received.jitter_us));
        line + if self.received.verified { ", every byte verified" } else { ", NOT VERIFIED" }
    }
}

/// A random seed.
pub(crate) fn any_seed() -> u64 {
    // The system's random keys of a hash map.
    use std::hash::{BuildHasher, RandomState};
    // JSON readers keep 53 bits.
    RandomState::new().hash_one(0) >> 11
}
