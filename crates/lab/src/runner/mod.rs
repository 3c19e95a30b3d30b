//! Executes the runs of a plan on all cores, keeps what is finished, and carries on where an
//! interrupted process stopped.

mod failure;
mod folder;
mod progress;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use rayon::prelude::*;

use crate::error::LabError;
use crate::plan::RunSpec;
use crate::record::RunRecord;
use crate::scenario;
use progress::Progress;

pub use failure::Failure;
pub use folder::{Folder, RUNS, RunWriter};
pub use progress::ProgressMode;

/// How runs are executed. Nothing here changes a result.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Threads. Default: one for each core.
    pub jobs: Option<usize>,
    /// Make every run again, also those that are stored.
    pub fresh: bool,
    /// Folder for a packet capture (pcapng) of every run; implies `fresh`.
    pub capture: Option<PathBuf>,
    /// Where progress is reported.
    pub progress: ProgressMode,
    /// The command line that repeats the experiment, for the report of failures.
    pub command: String,
}

/// What an execution brought.
#[derive(Clone, Debug, Default)]
pub struct Executed {
    /// Results in the order of the plan, without those of failed runs.
    pub records: Vec<RunRecord>,
    /// Runs that went wrong, in the order of the plan.
    pub failures: Vec<Failure>,
    /// How many results were stored already.
    pub reused: usize,
}

/// Executes those runs of `plan` that are not stored in `folder`, storing each when it finishes.
/// In the end the folder holds exactly the results of the plan.
///
/// A process that is killed meanwhile loses the runs in execution and nothing else.
///
/// # Errors
/// [`LabError::Write`] and [`LabError::Read`]; finished runs stay stored. A run that fails is no
/// error: see [`Executed::failures`].
pub fn execute(
    plan: &[RunSpec],
    id: &str,
    folder: &Folder,
    execution: &Execution,
) -> Result<Executed, LabError> {
    let fresh = execution.fresh || execution.capture.is_some();
    if fresh {
        folder.clear_runs()?;
    }
    let mut stored = folder.load_runs()?;
    let mut results: Vec<Option<Result<RunRecord, String>>> =
        plan.iter().map(|spec| stored.remove(&spec.key).map(Ok)).collect();
    let todo: Vec<usize> =
        results.iter().enumerate().filter(|(_, r)| r.is_none()).map(|(i, _)| i).collect();
    let reused = plan.len() - todo.len();

    let mut writer = folder.append_runs()?;
    let mut progress = Progress::new(execution.progress, id, todo.len() as u64);
    let mut write_error = None;
    in_parallel(plan, &todo, execution, |index, result| {
        progress.step(result.is_ok());
        if let Ok(record) = &result
            && let Err(error) = writer.append(record)
        {
            write_error = Some(error);
            return false;
        }
        results[index] = Some(result);
        true
    })?;
    progress.finish();
    if let Some(error) = write_error {
        return Err(error);
    }

    let executed = collect(plan, results, reused, &execution.command);
    folder.replace_runs(&executed.records)?;
    Ok(executed)
}

/// Executes `plan` without storing anything, for a closer look at some runs.
///
/// # Errors
/// [`LabError::Option`] if the threads cannot be started.
pub fn execute_only(plan: &[RunSpec], execution: &Execution) -> Result<Executed, LabError> {
    let all: Vec<usize> = (0..plan.len()).collect();
    let mut results: Vec<Option<Result<RunRecord, String>>> = vec![None; plan.len()];
    in_parallel(plan, &all, execution, |index, result| {
        results[index] = Some(result);
        true
    })?;
    Ok(collect(plan, results, 0, &execution.command))
}

fn collect(
    plan: &[RunSpec],
    results: Vec<Option<Result<RunRecord, String>>>,
    reused: usize,
    command: &str,
) -> Executed {
    let mut executed = Executed { reused, ..Executed::default() };
    for (spec, result) in plan.iter().zip(results) {
        match result {
            Some(Ok(record)) => executed.records.push(record),
            Some(Err(message)) => executed.failures.push(Failure::new(spec, message, command)),
            None => {}
        }
    }
    executed
}

/// Hands each result to `finished`, on the calling thread, in the order in which they finish;
/// stops when it says `false`.
fn in_parallel(
    plan: &[RunSpec],
    todo: &[usize],
    execution: &Execution,
    mut finished: impl FnMut(usize, Result<RunRecord, String>) -> bool,
) -> Result<(), LabError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(execution.jobs.unwrap_or(0))
        .thread_name(|n| format!("{}{n}", failure::THREAD_NAME))
        .build()
        .map_err(|e| LabError::Option(format!("cannot start threads: {e}")))?;
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let (stop, capture) = (&stop, execution.capture.as_deref());
        scope.spawn(move || {
            pool.install(|| {
                todo.par_iter().for_each_with(sender, |sender, &index| {
                    if !stop.load(Ordering::Relaxed) {
                        let spec = &plan[index];
                        let result = failure::guarded(|| scenario::run(spec, capture));
                        // The receiver is gone only when the run is being stopped.
                        let _ = sender.send((index, result));
                    }
                });
            });
        });
        for (index, result) in receiver {
            if !finished(index, result) {
                stop.store(true, Ordering::Relaxed);
                break;
            }
        }
    });
    Ok(())
}
