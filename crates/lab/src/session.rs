//! One experiment from its name to its results.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::error::LabError;
use crate::experiment::{self, Experiment};
use crate::overrides::Overrides;
use crate::plan::{RunSpec, plan};
use crate::report::{self, Report};
use crate::runner::{self, Executed, Execution, Folder};

/// An experiment that is ready to run: everything that can be wrong with the request has been
/// checked, and nothing has been written.
#[derive(Clone, Debug)]
pub struct Session {
    experiment: Experiment,
    plan: Vec<RunSpec>,
    changes: Vec<String>,
    command: String,
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
    /// How long it took.
    pub elapsed: Duration,
}

impl Session {
    /// The experiment that a user means by `name` (an id or a path), with `overrides` applied.
    ///
    /// # Errors
    /// Whatever is wrong with the request.
    pub fn new(name: &str, overrides: &Overrides) -> Result<Session, LabError> {
        let mut experiment = experiment::find(name)?;
        overrides.apply(&mut experiment)?;
        Ok(Session {
            plan: plan(&experiment)?,
            changes: overrides.arguments(),
            command: report::command_line(name, overrides),
            experiment,
        })
    }

    /// The experiment with the overrides.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// The runs.
    pub fn plan(&self) -> &[RunSpec] {
        &self.plan
    }

    /// Makes the runs that are not stored under `out` and writes the report.
    ///
    /// # Errors
    /// [`LabError::Write`], [`LabError::Busy`] and the like. Failed runs are no error: they stand
    /// in the report.
    pub fn run(&self, out: &Path, execution: Execution) -> Result<Finished, LabError> {
        let start = Instant::now();
        let execution = self.prepare(execution)?;
        let folder = Folder::open(out, &self.experiment.id)?;
        let executed = runner::execute(&self.plan, &self.experiment.id, &folder, &execution)?;
        let (changes, command) = (self.changes.clone(), self.command.clone());
        let (report, page) =
            report::write(&self.experiment, &self.plan, &executed, &folder, changes, command)?;
        Ok(Finished {
            report,
            page,
            executed: self.plan.len() - executed.reused,
            reused: executed.reused,
            elapsed: start.elapsed(),
        })
    }

    /// Makes only the runs whose content hash begins with `prefix`, and stores nothing.
    ///
    /// # Errors
    /// [`LabError::Option`] if there is no such run.
    pub fn replay(&self, prefix: &str, execution: Execution) -> Result<Executed, LabError> {
        let chosen: Vec<RunSpec> =
            self.plan.iter().filter(|spec| spec.key.starts_with(prefix)).cloned().collect();
        if chosen.is_empty() || prefix.is_empty() {
            return Err(LabError::Option(format!(
                "no run of {} has a key that begins with \"{prefix}\" (keys change with the \
                 parameters and with the source code)",
                self.experiment.id
            )));
        }
        runner::execute_only(&chosen, &self.prepare(execution)?)
    }

    fn prepare(&self, mut execution: Execution) -> Result<Execution, LabError> {
        execution.command.clone_from(&self.command);
        if let Some(capture) = &execution.capture {
            std::fs::create_dir_all(capture).map_err(|e| LabError::write(capture, e))?;
        }
        Ok(execution)
    }
}
