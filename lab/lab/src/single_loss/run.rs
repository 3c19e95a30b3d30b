//! One run as data: everything that decides its outcome.

use std::sync::Arc;

use tresse_core::Profile;
use tresse_netem::LinkConfig;

use super::workload::ScheduledMessage;
use super::{Bursts, Cell};
use crate::common::AssociationSettings;
use crate::seed;

/// What many runs have in common: a sender under test and a network.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Label of the profile.
    pub series: String,
    /// The profile with all overrides.
    pub profile: Arc<Profile>,
    /// Bandwidth and delay.
    pub cell: Cell,
    /// Settings of both endpoints.
    pub association: AssociationSettings,
    /// Link from the data sender to the data receiver, bandwidth and delay filled in.
    pub forward: LinkConfig,
    /// Link back.
    pub backward: LinkConfig,
    /// What the application sends.
    pub bursts: Bursts,
}

/// One run: everything that decides its outcome.
#[derive(Clone, Debug)]
pub struct RunSpec {
    /// Content hash of all of it and of the source code; two runs with the same key have the
    /// same result.
    pub key: String,
    /// What it has in common with others.
    pub setup: Arc<Setup>,
    /// Seed of the experiment.
    pub seed: u64,
    /// Replication, counted from 1.
    pub replication: u32,
    /// The messages.
    pub schedule: Arc<[ScheduledMessage]>,
    /// Index of the message whose first packet is dropped.
    pub drop: Option<u32>,
}

impl RunSpec {
    /// The message whose packet is dropped.
    pub fn dropped(&self) -> Option<&ScheduledMessage> {
        self.drop.and_then(|index| self.schedule.get(index as usize))
    }

    /// From which the random decisions of the links follow.
    pub(super) fn network_seed(&self) -> u64 {
        seed::network(self.seed, self.replication)
    }

    /// A name for files and messages, unique within the experiment.
    pub fn name(&self) -> String {
        let loss = self.dropped().map_or("no-loss".into(), |m| format!("drop-{}", m.tsn));
        format!(
            "{}_{}kbps_{}ms_{loss}_replication-{}",
            self.setup.profile.name,
            self.setup.cell.bandwidth_kbps,
            self.setup.cell.delay_ms,
            self.replication
        )
    }
}
