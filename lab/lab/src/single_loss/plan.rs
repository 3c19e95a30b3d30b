//! From an experiment to its independent runs.

use std::path::Path;
use std::sync::Arc;

use super::record::RunRecord;
use super::run::{RunSpec, Setup};
use super::workload::{ScheduledMessage, schedule};
use super::{Drop, SingleLoss, scenario};
use crate::error::LabError;
use crate::fingerprint::{self, part};
use crate::runner::Run;
use crate::schema::Experiment;

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

    fn name(&self) -> String {
        RunSpec::name(self)
    }

    fn playable(&self) -> Result<(), String> {
        Ok(())
    }

    #[cfg(real_time)]
    fn play(&self) -> Result<RunRecord, String> {
        scenario::real_time::run(self)
    }
}

/// All runs of `experiment`: cell by cell, profile by profile, replication by replication, the
/// run without loss first.
///
/// # Errors
/// [`LabError::Profile`] or [`LabError::Experiment`] for values that do not fit together.
pub fn plan(experiment: &Experiment<SingleLoss>) -> Result<Vec<RunSpec>, LabError> {
    let bursts = experiment.kind.bursts();
    let seed = experiment.common.replications.seed;
    let schedules: Vec<Arc<[ScheduledMessage]>> = (1..=experiment.common.replications.count)
        .map(|replication| schedule(bursts, seed, replication).into())
        .collect();
    let mut runs = Vec::new();
    for setup in setups(experiment)? {
        let setup = Arc::new(setup);
        let base = fingerprint(&setup);
        for (replication, schedule) in (1u32..).zip(&schedules) {
            let no_loss = experiment.kind.loss.no_loss_run.then_some(None);
            let losses = schedule
                .iter()
                .filter(|m| m.measured && experiment.kind.loss.drop == Drop::EachDataPacket)
                .map(|m| Some(m.index));
            for drop in no_loss.into_iter().chain(losses) {
                let dropped = drop.map_or(u64::MAX, u64::from).to_be_bytes();
                let key = fingerprint::of_run(&base, seed, replication, &[&dropped]);
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

fn setups(experiment: &Experiment<SingleLoss>) -> Result<Vec<Setup>, LabError> {
    let topology = &experiment.kind.topology;
    let mut setups = Vec::new();
    for cell in experiment.kind.cells() {
        for entry in &experiment.common.profiles {
            setups.push(Setup {
                series: entry.label.clone(),
                profile: Arc::clone(
                    entry
                        .resolve(&experiment.common.parameters)?
                        .profile()
                        .map_err(LabError::Option)?,
                ),
                cell,
                association: entry.association(&experiment.common.association),
                forward: topology.link(&topology.forward, cell),
                backward: topology.link(&topology.backward, cell),
                bursts: experiment.kind.bursts().clone(),
            });
        }
    }
    Ok(setups)
}

fn fingerprint(setup: &Setup) -> String {
    let others = [
        part(&setup.cell),
        part(&setup.association),
        part(&setup.forward),
        part(&setup.backward),
        part(&setup.bursts),
    ];
    fingerprint::of_setup(&setup.series, &setup.profile.to_toml(), &others)
}
