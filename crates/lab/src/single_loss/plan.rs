//! From an experiment to its independent runs.

use std::path::Path;
use std::sync::Arc;

use tresse_core::Profile;
use tresse_netem::LinkConfig;

use super::record::RunRecord;
use super::workload::{ScheduledMessage, schedule};
use super::{Bursts, Cell, Drop, SingleLoss, scenario};
use crate::error::LabError;
use crate::experiment::AssociationSettings;
use crate::runner::Run;
use crate::seed;
use crate::version;

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
}

impl Run for RunSpec {
    type Record = RunRecord;

    fn key(&self) -> &str {
        &self.key
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn execute(&self, capture: Option<&Path>) -> Result<RunRecord, String> {
        scenario::run(self, capture)
    }

    fn playable(&self) -> Result<(), String> {
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn play(&self) -> Result<RunRecord, String> {
        scenario::real_time::run(self)
    }

    fn name(&self) -> String {
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

/// All runs of `experiment`: cell by cell, profile by profile, replication by replication, the
/// run without loss first.
///
/// # Errors
/// [`LabError::Profile`] or [`LabError::Experiment`] for values that do not fit together.
pub fn plan(experiment: &SingleLoss) -> Result<Vec<RunSpec>, LabError> {
    let bursts = experiment.bursts();
    let seed = experiment.replications.seed;
    let schedules: Vec<Arc<[ScheduledMessage]>> = (1..=experiment.replications.count)
        .map(|replication| schedule(bursts, seed, replication).into())
        .collect();
    let mut runs = Vec::new();
    for setup in setups(experiment)? {
        let setup = Arc::new(setup);
        let base = fingerprint(&setup);
        for (replication, schedule) in (1u32..).zip(&schedules) {
            let no_loss = experiment.loss.no_loss_run.then_some(None);
            let losses = schedule
                .iter()
                .filter(|m| m.measured && experiment.loss.drop == Drop::EachDataPacket)
                .map(|m| Some(m.index));
            for drop in no_loss.into_iter().chain(losses) {
                let drop_bytes = drop.map_or(u64::MAX, u64::from).to_be_bytes();
                let key = seed::content_hash(&[
                    base.as_bytes(),
                    &seed.to_be_bytes(),
                    &replication.to_be_bytes(),
                    &drop_bytes,
                ]);
                runs.push(RunSpec {
                    key,
                    setup: Arc::clone(&setup),
                    seed,
                    replication,
                    schedule: Arc::clone(schedule),
                    drop,
                });
            }
        }
    }
    Ok(runs)
}

fn setups(experiment: &SingleLoss) -> Result<Vec<Setup>, LabError> {
    let topology = &experiment.topology;
    let mut setups = Vec::new();
    for cell in experiment.cells() {
        for entry in &experiment.profiles {
            setups.push(Setup {
                series: entry.label.clone(),
                profile: Arc::new(entry.resolve(&experiment.parameters)?),
                cell,
                association: experiment.association.clone(),
                forward: topology.link(&topology.forward, cell),
                backward: topology.link(&topology.backward, cell),
                bursts: experiment.bursts().clone(),
            });
        }
    }
    Ok(setups)
}

/// Hash of everything in a setup that decides the outcome, and of the code.
fn fingerprint(setup: &Setup) -> String {
    let json = |value: serde_json::Result<Vec<u8>>| value.unwrap_or_default();
    seed::content_hash(&[
        version::SOURCE.as_bytes(),
        setup.series.as_bytes(),
        setup.profile.to_toml().as_bytes(),
        &json(serde_json::to_vec(&setup.cell)),
        &json(serde_json::to_vec(&setup.association)),
        &json(serde_json::to_vec(&setup.forward)),
        &json(serde_json::to_vec(&setup.backward)),
        &json(serde_json::to_vec(&setup.bursts)),
    ])
}
