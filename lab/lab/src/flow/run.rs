//! One run as data: everything that decides its outcome.

use std::sync::Arc;

use super::{Cell, Flow, Processor};
use crate::schema::Experiment;
use crate::sender::Sender;

/// What many runs have in common: a sender under test and a network.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Label of the profile.
    pub series: String,
    /// The sender with all overrides.
    pub sender: Sender,
    /// What packets cost the hosts.
    pub processor: Option<Processor>,
    /// The values of the axes.
    pub cell: Cell,
    /// The same in words.
    pub cell_text: Vec<(String, String)>,
    /// The experiment in this cell.
    pub experiment: Arc<Experiment<Flow>>,
}

/// One run: everything that decides its outcome.
#[derive(Clone, Debug)]
pub struct FlowRun {
    /// Content hash of all of it and of the source code.
    pub key: String,
    /// What it has in common with others.
    pub setup: Arc<Setup>,
    /// Seed of the experiment.
    pub seed: u64,
    /// Replication, counted from 1.
    pub replication: u32,
}

impl FlowRun {
    /// A name for files and messages, unique within the experiment.
    pub fn name(&self) -> String {
        let mut name = self.setup.sender.name();
        for (axis, value) in &self.setup.cell_text {
            name.push_str(&format!("_{axis}-{value}"));
        }
        // Values of axes may be anything; file names may not.
        let plain = |c: char| if c.is_ascii_alphanumeric() || "+-._".contains(c) { c } else { '-' };
        format!("{}_replication-{}", name.chars().map(plain).collect::<String>(), self.replication)
    }
}
