//! What one finished run leaves behind.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::runner::Record;

/// The result of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowRecord {
    /// Content hash of everything that decides the run.
    pub key: String,
    /// Label of the profile.
    pub series: String,
    /// The values of the axes, in words.
    pub cell: BTreeMap<String, String>,
    /// Replication, counted from 1.
    pub replication: u32,
    /// Packets of both hosts that the simulation carried.
    pub packets: u64,
    /// The measured values by their names (see [`metric`](super::metric)); what did not occur is
    /// left out.
    pub values: BTreeMap<String, f64>,
    /// Time series and the like, of the first replication only.
    #[serde(default, skip_serializing_if = "Traces::is_empty")]
    pub traces: Traces,
}

impl Record for FlowRecord {
    fn key(&self) -> &str {
        &self.key
    }

    fn simulated(&self) -> u64 {
        self.packets
    }

    fn set_key(&mut self, key: String) {
        self.key = key;
    }
}

/// What happened over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Traces {
    /// Time series by name: seconds since the association was up, and the value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Vec<[f64; 2]>>,
    /// What became of each TSN, in the order of time.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sequence: Vec<Step>,
}

impl Traces {
    /// Whether nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty() && self.sequence.is_empty()
    }
}

/// A TSN at a moment: seconds since the association was up, TSN counted from 1, path counted from
/// 1, and what happened.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step(pub f64, pub u32, pub u8, pub StepKind);

/// What happened to a TSN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum StepKind {
    /// It was sent for the first time.
    #[serde(rename = "sent")]
    Sent,
    /// It was sent again.
    #[serde(rename = "again")]
    Again,
    /// It was acknowledged cumulatively, with all before it.
    #[serde(rename = "acked")]
    Acked,
    /// What was sent at this moment did not arrive.
    #[serde(rename = "lost")]
    Lost,
    /// The message that begins with it was delivered.
    #[serde(rename = "delivered")]
    Delivered,
}

impl StepKind {
    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            StepKind::Sent => "sent",
            StepKind::Again => "again",
            StepKind::Acked => "acked",
            StepKind::Lost => "lost",
            StepKind::Delivered => "delivered",
        }
    }
}
