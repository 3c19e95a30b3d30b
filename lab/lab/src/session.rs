//! One experiment from its name to its results.

mod campaign;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::experiment::{self, AnyExperiment, Common, Experiment, Kind};
use crate::flow::Flow;
use crate::flow::run::FlowRun;
use crate::overrides::Overrides;
use crate::report::{self, Made, Report, Told};
use crate::runner::{self, Brought, Collection, Execution, Failure, Folder, Run};
use crate::schema::Schema;
use crate::single_loss::SingleLoss;
use crate::single_loss::run::RunSpec;

pub use campaign::Campaign;

/// An experiment that is ready to run: everything that can be wrong with the request has been
/// checked, and nothing has been written.
#[derive(Clone, Debug)]
pub struct Session {
    planned: Planned,
    changes: Vec<String>,
    command: String,
}

/// An experiment and its runs.
#[derive(Clone, Debug)]
enum Planned {
    SingleLoss(Box<Experiment<SingleLoss>>, Vec<RunSpec>),
    Flow(Box<Experiment<Flow>>, Vec<FlowRun>),
}

/// What [`Session::run`] brought.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The report.
    pub report: Report,
    /// The page.
    pub page: PathBuf,
    /// Runs executed now.
    pub executed: usize,
    /// Runs taken from an earlier, identical execution.
    pub reused: usize,
    /// Packets that the runs executed now have simulated.
    pub packets: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// What [`Session::replay`] brought.
#[derive(Clone, Debug)]
pub struct Replayed {
    /// Results.
    pub records: Vec<serde_json::Value>,
    /// Runs that went wrong.
    pub failures: Vec<Failure>,
}

impl Session {
    /// The experiment that a user means by `name` (an id or a path), with `overrides` applied.
    ///
    /// # Errors
    /// Whatever is wrong with the request.
    pub fn new(name: &str, overrides: &Overrides) -> Result<Session, LabError> {
        Session::of(name, experiment::find(name)?, overrides)
    }

    /// The same for an experiment that is there already. `name` is what the command that repeats it calls it.
    ///
    /// # Errors
    /// What is wrong with the overrides, or with the experiment once it has them.
    pub fn of(
        name: &str,
        mut experiment: AnyExperiment,
        overrides: &Overrides,
    ) -> Result<Session, LabError> {
        overrides.apply(&mut experiment)?;
        let common = experiment.common;
        let planned = match experiment.kind {
            Kind::SingleLoss(kind) => {
                let experiment = Experiment { common, kind: *kind };
                let plan = Schema::plan(&experiment)?;
                Planned::SingleLoss(Box::new(experiment), plan)
            }
            Kind::Flow(kind) => {
                let experiment = Experiment { common, kind: *kind };
                let plan = Schema::plan(&experiment)?;
                Planned::Flow(Box::new(experiment), plan)
            }
        };
        Ok(Session {
            planned,
            changes: overrides.arguments(),
            command: report::command_line(name, overrides),
        })
    }

    /// What the experiment, with the overrides, has in common with others.
    pub fn common(&self) -> &Common {
        match &self.planned {
            Planned::SingleLoss(experiment, _) => &experiment.common,
            Planned::Flow(experiment, _) => &experiment.common,
        }
    }

    /// How many runs there are.
    pub fn runs(&self) -> usize {
        match &self.planned {
            Planned::SingleLoss(_, plan) => plan.len(),
            Planned::Flow(_, plan) => plan.len(),
        }
    }

    /// Makes the runs that are not stored under `out` and writes the report.
    ///
    /// # Errors
    /// [`LabError::Write`], [`LabError::Busy`] and the like. Failed runs are no error: they stand
    /// in the report.
    pub fn run(&self, out: &Path, execution: Execution) -> Result<Finished, LabError> {
        match &self.planned {
            Planned::SingleLoss(experiment, plan) => {
                self.run_plan(experiment, plan, out, execution)
            }
            Planned::Flow(experiment, plan) => self.run_plan(experiment, plan, out, execution),
        }
    }

    fn run_plan<K: Told>(
        &self,
        experiment: &Experiment<K>,
        plan: &[K::Run],
        out: &Path,
        execution: Execution,
    ) -> Result<Finished, LabError> {
        let start = Instant::now();
        let mut execution = self.prepare(execution)?;
        if execution.real_time {
            execution.command.push_str(" --real-time");
            for run in plan {
                run.playable().map_err(LabError::Option)?;
            }
        }
        let id = &experiment.common.id;
        let folder = Folder::open(out, id)?;
        let executed = runner::execute(plan, id, &folder, &execution)?;
        let made = Made {
            runs: plan.len(),
            failures: executed.failures,
            changes: self.changes.clone(),
            command: execution.command.clone(),
        };
        let outcome = K::outcome(experiment, &executed.records)?;
        let (report, page) = report::write(experiment, outcome, made, &folder)?;
        Ok(Finished {
            report,
            page,
            executed: plan.len() - executed.reused,
            reused: executed.reused,
            packets: executed.packets,
            elapsed: start.elapsed(),
        })
    }

    /// Opens the folder of results under `out` to those that other processes make, each of which has this session, too:
    /// [`make`](Self::make) there, [`Collection::store`] here. Drop it, then [`run`](Self::run): with all results
    /// stored that only writes the report, which is the same as if they had been made here.
    ///
    /// # Errors
    /// [`LabError::Busy`] if another process has the folder open; [`LabError::Read`], [`LabError::Write`].
    pub fn collect(&self, out: &Path) -> Result<Collection, LabError> {
        let folder = Folder::open(out, &self.common().id)?;
        match &self.planned {
            Planned::SingleLoss(_, plan) => Collection::open(plan, folder),
            Planned::Flow(_, plan) => Collection::open(plan, folder),
        }
    }

    /// Makes the runs with these keys, on one thread, and stores nothing. Their order is not that of the keys. A run that
    /// went wrong is no error.
    ///
    /// # Errors
    /// [`LabError::Option`] if there is no run with one of the keys: they are of another experiment, or of another
    /// version of the source code.
    pub fn make(&self, keys: &[String]) -> Result<Vec<Brought>, LabError> {
        match &self.planned {
            Planned::SingleLoss(_, plan) => runner::make(plan, keys),
            Planned::Flow(_, plan) => runner::make(plan, keys),
        }
    }

    /// Makes only the runs whose content hash begins with `prefix`, and stores nothing.
    ///
    /// # Errors
    /// [`LabError::Option`] if there is no such run.
    pub fn replay(&self, prefix: &str, execution: Execution) -> Result<Replayed, LabError> {
        match &self.planned {
            Planned::SingleLoss(_, plan) => self.replay_plan(plan, prefix, execution),
            Planned::Flow(_, plan) => self.replay_plan(plan, prefix, execution),
        }
    }

    fn replay_plan<R: Run + Clone>(
        &self,
        plan: &[R],
        prefix: &str,
        execution: Execution,
    ) -> Result<Replayed, LabError> {
        let chosen: Vec<R> =
            plan.iter().filter(|run| run.key().starts_with(prefix)).cloned().collect();
        if chosen.is_empty() || prefix.is_empty() {
            return Err(LabError::Option(format!(
                "no run of {} has a key that begins with \"{prefix}\" (keys change with the \
                 parameters and with the source code)",
                self.common().id
            )));
        }
        let executed = runner::execute_only(&chosen, &self.prepare(execution)?)?;
        let json = |record| serde_json::to_value(record).unwrap_or_default();
        Ok(Replayed {
            records: executed.records.iter().map(json).collect(),
            failures: executed.failures,
        })
    }

    fn prepare(&self, mut execution: Execution) -> Result<Execution, LabError> {
        execution.command.clone_from(&self.command);
        if let Some(capture) = &execution.capture {
            std::fs::create_dir_all(capture).map_err(|e| LabError::write(capture, e))?;
        }
        Ok(execution)
    }
}
