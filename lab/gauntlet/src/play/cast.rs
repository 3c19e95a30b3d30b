//! Who plays a world, and what that brings.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use tresse_core::Profile;

/// Who plays.
#[derive(Clone, Debug)]
pub struct Cast {
    /// Protocol behaviour of both of our ends.
    pub profile: Arc<Profile>,
    /// Only this path is there for us, counted from 0; `None`: all of them, with concurrent transfer.
    pub alone: Option<usize>,
    /// Whether we send bulk; what is thin we send in any case.
    pub bulk: bool,
    /// Protocol behaviour of those who compete; `None`: what the world says.
    pub others: Option<Arc<Profile>>,
    /// Replication, from 0: other random numbers of the network.
    pub replication: u64,
}

/// What it brought, in the time that counts.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Played {
    /// User data delivered, Mbit/s.
    pub goodput_mbps: f64,
    /// That part of it which went through the shared bottleneck, Mbit/s.
    pub bottleneck_mbps: f64,
    /// User data delivered of each competitor, Mbit/s.
    pub others_mbps: Vec<f64>,
    /// Milliseconds from the first transmission of a message to its delivery: median, and 99th percentile.
    pub delay_ms: [f64; 2],
    /// The longest time without a delivery, milliseconds.
    pub pause_ms: f64,
    /// The longest round trip of any path that its delays and the longest queue seen allow, milliseconds.
    pub round_trip_ms: f64,
    /// 99th percentile of the time that a thin message takes from when it is due, and from its first transmission, to
    /// its delivery, milliseconds; one that does not come counts until the end.
    pub thin_ms: [f64; 2],
    /// Percent of what was sent that each path carried.
    pub shares: Vec<f64>,
    /// Chunks that were sent again, since the beginning.
    pub retransmissions: u64,
    /// Chunks that reached the receiver again, since the beginning.
    pub duplicates: u64,
    /// Expirations of T3-rtx, since the beginning.
    pub timeouts: u64,
    /// Whether our association came to its end.
    pub ended: bool,
    /// Packets that the simulation carried.
    pub packets: u64,
}

impl Played {
    /// What several replications brought: means; of pauses and round trips the longest, with the least of the latter.
    pub(crate) fn mean(all: &[Played]) -> Played {
        let n = all.len().max(1) as f64;
        let mean = |value: &dyn Fn(&Played) -> f64| all.iter().map(value).sum::<f64>() / n;
        let means = |list: &dyn Fn(&Played) -> &Vec<f64>| -> Vec<f64> {
            let len = all.first().map_or(0, |played| list(played).len());
            (0..len).map(|i| mean(&|p: &Played| list(p).get(i).copied().unwrap_or(0.0))).collect()
        };
        let worst = all.iter().max_by(|a, b| a.pause_share().total_cmp(&b.pause_share()));
        Played {
            goodput_mbps: mean(&|p| p.goodput_mbps),
            bottleneck_mbps: mean(&|p| p.bottleneck_mbps),
            others_mbps: means(&|p| &p.others_mbps),
            delay_ms: [0, 1].map(|i| mean(&|p| p.delay_ms[i])),
            pause_ms: worst.map_or(0.0, |p| p.pause_ms),
            round_trip_ms: worst.map_or(0.0, |p| p.round_trip_ms),
            thin_ms: [0, 1].map(|i| mean(&|p| p.thin_ms[i])),
            shares: means(&|p| &p.shares),
            retransmissions: all.iter().map(|p| p.retransmissions).sum(),
            duplicates: all.iter().map(|p| p.duplicates).sum(),
            timeouts: all.iter().map(|p| p.timeouts).sum(),
            ended: all.iter().any(|p| p.ended),
            packets: all.iter().map(|p| p.packets).sum(),
        }
    }

    /// The longest pause as a share of what is allowed (law 5): 3 times the longest round trip and 200 ms.
    pub fn pause_share(&self) -> f64 {
        self.pause_ms / (3.0 * self.round_trip_ms + 200.0)
    }
}
