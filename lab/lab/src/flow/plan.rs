//! From an experiment to its independent runs.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::record::FlowRecord;
use super::run::{FlowRun, Setup};
use super::{Flow, Observe, Processor, Workload, scenario};
use crate::error::LabError;
use crate::fingerprint::{self, part};
use crate::mistake::Mistake;
use crate::runner::Run;
use crate::schema::Experiment;

impl Run for FlowRun {
    type Record = FlowRecord;

    fn key(&self) -> &str {
        &self.key
    }

    fn seed(&self) -> u64 {
        self.seed
    }

    fn name(&self) -> String {
        FlowRun::name(self)
    }

    fn execute(&self, capture: Option<&Path>) -> Result<FlowRecord, String> {
        Ok(record(self, scenario::run(self, capture)?))
    }

    fn playable(&self) -> Result<(), String> {
        let Experiment { common, kind: flow } = self.setup.experiment.as_ref();
        let Observe { series, sequence, transfer, alone, age, .. } = flow.observe;
        let plain = flow.changes.is_empty() && flow.topology.shared.is_none();
        if let Err(text) = self.setup.sender.profile() {
            Err(format!("in real time the stack itself is played: {text}"))
        } else if self.setup.processor.is_some() {
            Err("in real time the hosts' processors are what they are".into())
        } else if flow.topology.path_count() > 1 || common.association.concurrent_transfer || !plain
        {
            Err("in real time there is one path, without other flows and changes".into())
        } else if !matches!(&flow.workload, Workload::Periodic(p) if p.service.is_default() && p.beside.is_none())
        {
            Err("in real time the workload must be periodic, ordered, reliable and alone".into())
        } else if series || sequence || transfer || alone || age {
            Err("in real time only `observe.retransmissions` is measured".into())
        } else {
            Ok(())
        }
    }

    #[cfg(real_time)]
    fn play(&self) -> Result<FlowRecord, String> {
        Ok(record(self, scenario::real_time::run(self)?))
    }
}

/// What a run leaves behind.
fn record(run: &FlowRun, measured: scenario::Measured) -> FlowRecord {
    FlowRecord {
        key: run.key.clone(),
        series: run.setup.series.clone(),
        cell: run.setup.cell_text.iter().cloned().collect::<BTreeMap<_, _>>(),
        replication: run.replication,
        packets: measured.packets,
        values: measured.values.into_iter().map(|(name, v)| (name, rounded(v))).collect(),
        traces: measured.traces,
    }
}

/// Twelve significant digits: more than anything measured has, and few enough to be the same
/// number again after it was written and read, so that a resumed experiment repeats itself.
fn rounded(value: f64) -> f64 {
    format!("{value:.11e}").parse().unwrap_or(value)
}

/// All runs of `experiment`: replication by replication, in each of them cell by cell and profile
/// by profile, so that an interrupted experiment has something of everything.
///
/// # Errors
/// [`LabError::Profile`] or [`LabError::Experiment`] for values that do not fit together.
pub fn plan(experiment: &Experiment<Flow>) -> Result<Vec<FlowRun>, LabError> {
    let seed = experiment.common.replications.seed;
    let mut setups = Vec::new();
    let fault = |mistake: Mistake| LabError::Experiment {
        origin: experiment.common.id.clone(),
        line: None,
        key: mistake.key,
        message: mistake.message,
    };
    for cell in experiment.kind.cells() {
        let here = Arc::new(experiment.in_cell(&cell).map_err(fault)?);
        for entry in &experiment.common.profiles {
            let offered = entry.association(&here.common.association);
            let here = match offered == here.common.association {
                true => Arc::clone(&here),
                false => {
                    let mut with = Experiment::clone(&here);
                    with.common.association = offered;
                    Arc::new(with)
                }
            };
            let setup = Setup {
                series: entry.label.clone(),
                sender: entry.resolve(&here.common.parameters)?,
                processor: Processor::of(here.kind.processor.as_ref(), entry).map_err(fault)?,
                cell: cell.clone(),
                cell_text: experiment.kind.describe(&cell),
                experiment: here,
            };
            setups.push((fingerprint(&setup), Arc::new(setup)));
        }
    }
    let mut runs = Vec::new();
    for replication in 1..=experiment.common.replications.count {
        for (base, setup) in &setups {
            let key = fingerprint::of_run(base, seed, replication, &[]);
            runs.push(FlowRun { key, setup: Arc::clone(setup), seed, replication });
        }
    }
    Ok(runs)
}

fn fingerprint(setup: &Setup) -> String {
    let Experiment { common, kind: flow } = setup.experiment.as_ref();
    let others = [
        part(&setup.cell_text),
        part(&setup.processor),
        part(&flow.topology),
        part(&common.association),
        part(&flow.changes),
        part(&flow.workload),
        part(&flow.observe),
    ];
    fingerprint::of_setup(&setup.series, &setup.sender.to_toml(), &others)
}
