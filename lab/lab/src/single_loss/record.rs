//! What one finished run leaves behind: a line of `runs.jsonl`.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Cell;

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// Content hash of everything that decides the run: parameters, seed, and the source code of
    /// the simulator and the protocol.
    pub key: String,
    /// Label of the profile.
    pub series: String,
    /// Bandwidth and delay.
    #[serde(flatten)]
    pub cell: Cell,
    /// Replication, counted from 1.
    pub replication: u32,
    /// Number of the message whose packet was dropped, in the paper's counting; `None` for the
    /// run without loss.
    pub dropped: Option<u32>,
    /// The measured values.
    pub samples: Vec<Sample>,
    /// What made the sender send the dropped message again: the name of a
    /// [`tresse_core::LossCause`].
    pub recovered_by: Option<String>,
    /// What the sender did.
    pub counters: Counters,
}

impl crate::runner::Record for RunRecord {
    fn key(&self) -> &str {
        &self.key
    }

    fn simulated(&self) -> u64 {
        self.counters.simulated
    }

    fn set_key(&mut self, key: String) {
        self.key = key;
    }
}

/// The transfer of one message.
///
/// Stored as a list of four numbers: there are half a million of them in some experiments.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "(u32, u32, u32, f64)", into = "(u32, u32, u32, f64)")]
pub struct Sample {
    /// Number of the message in the paper's counting.
    pub tsn: u32,
    /// Its burst, counted from 1.
    pub burst: u32,
    /// Its place in the burst, counted from 1.
    pub position: u32,
    /// Message transfer time, milliseconds.
    pub mtt_ms: f64,
}

impl From<(u32, u32, u32, f64)> for Sample {
    fn from((tsn, burst, position, mtt_ms): (u32, u32, u32, f64)) -> Self {
        Sample { tsn, burst, position, mtt_ms }
    }
}

impl From<Sample> for (u32, u32, u32, f64) {
    fn from(s: Sample) -> Self {
        (s.tsn, s.burst, s.position, s.mtt_ms)
    }
}

/// Counters of the data sender over a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Packets sent.
    pub packets: u64,
    /// Packets of both hosts that the simulation carried.
    pub simulated: u64,
    /// DATA chunks sent again, by cause; causes that did not occur are left out.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub retransmitted: BTreeMap<String, u64>,
    /// T3-rtx expirations.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub timeouts: u64,
    /// Chunks that the receiver had already: unnecessary retransmissions.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duplicates: u64,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}
