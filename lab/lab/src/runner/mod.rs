//! Executes the runs of a plan on all cores, keeps what is finished, and carries on where an
//! interrupted process stopped.

mod elsewhere;
mod failure;
mod folder;
mod progress;
mod run;
mod whole;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

use rayon::prelude::*;

use crate::error::LabError;
use progress::Progress;

pub(crate) use elsewhere::make;
pub use elsewhere::{Brought, Collection};
pub use failure::Failure;
pub use folder::{Folder, RUNS, RunWriter};
pub use progress::ProgressMode;
pub use run::{Record, Run};
pub use whole::Whole;

/// How runs are executed. Nothing here changes a result, but for `real_time`.
#[derive(Clone, Debug, Default)]
pub struct Execution {
    /// Threads. Default: one for each core.
    pub jobs: Option<usize>,
    /// Make every run again, also those that are stored.
    pub fresh: bool,
    /// Folder for packet captures (pcapng) of every run, of both hosts; implies `fresh`.
    pub capture: Option<PathBuf>,
    /// Runs are played in real time instead of simulated, on Linux, with the permissions that
    /// network namespaces need. Their results are kept apart from those of the simulator.
    pub real_time: bool,
    /// Where progress is reported.
    pub progress: ProgressMode,
    /// All experiments that are run together, whose progress is one.
    pub whole: Option<Whole>,
    /// Once it is true, no further run begins: those that are being made are stored, and the execution ends with
    /// [`LabError::Interrupted`].
    pub stop: Arc<AtomicBool>,
    /// The command line that repeats the experiment, for the report of failures.
    pub command: String,
}

/// Gets what it takes to play runs in real time; to be called before the process has other threads.
///
/// # Errors
/// [`LabError::Option`]: what is missing, in one line.
pub fn prepare_real_time() -> Result<(), LabError> {
    #[cfg(real_time)]
    return crate::real_time::prepare().map_err(LabError::Option);
    #[cfg(not(real_time))]
    Err(LabError::Option(NO_REAL_TIME.into()))
}

#[cfg(not(real_time))]
const NO_REAL_TIME: &str =
    "real time needs Linux, and all of the command: cargo run --release -- lab run";

/// Runs that are played at the same time, unless `jobs` says otherwise: they wait more than they
/// compute.
const PLAYED_AT_ONCE: usize = 16;

impl Execution {
    /// The key that the result of `run` is stored under.
    fn key(&self, run: &impl Run) -> String {
        if self.real_time { format!("real-time-{}", run.key()) } else { run.key().to_owned() }
    }

    fn make<R: Run>(&self, run: &R) -> Result<R::Record, String> {
        if !self.real_time {
            return run.execute(self.capture.as_deref());
        }
        #[cfg(real_time)]
        {
            let mut record = run.play()?;
            record.set_key(self.key(run));
            Ok(record)
        }
        #[cfg(not(real_time))]
        Err(NO_REAL_TIME.into())
    }

    fn threads(&self) -> usize {
        self.jobs.unwrap_or(if self.real_time { PLAYED_AT_ONCE } else { 0 })
    }
}

/// What an execution brought.
#[derive(Clone, Debug)]
pub struct Executed<R> {
    /// Results in the order of the plan, without those of failed runs.
    pub records: Vec<R>,
    /// Runs that went wrong, in the order of the plan.
    pub failures: Vec<Failure>,
    /// How many results were stored already.
    pub reused: usize,
    /// Packets that the runs made now have simulated.
    pub packets: u64,
}

/// Executes those runs of `plan` that are not stored in `folder`, storing each when it finishes.
/// In the end its file of runs holds exactly the results of the plan; what else was stored, such as runs with another
/// seed, is kept beside it.
///
/// A process that is killed meanwhile loses the runs in execution and nothing else.
///
/// # Errors
/// [`LabError::Write`], [`LabError::Read`] and [`LabError::Interrupted`]; finished runs stay stored. A run that fails is no
/// error: see [`Executed::failures`].
pub fn execute<R: Run>(
    plan: &[R],
    id: &str,
    folder: &Folder,
    execution: &Execution,
) -> Result<Executed<R::Record>, LabError> {
    let mut results: Vec<Option<Result<R::Record, String>>> =
        stored(plan, folder, execution)?.into_iter().map(|record| record.map(Ok)).collect();
    let todo: Vec<usize> =
        results.iter().enumerate().filter(|(_, r)| r.is_none()).map(|(i, _)| i).collect();
    let reused = plan.len() - todo.len();

    let mut writer = folder.append_runs()?;
    let mut progress = {
        let (mode, whole) = (execution.progress, execution.whole.as_ref());
        Progress::new(mode, whole, id, todo.len() as u64, reused as u64)
    };
    let mut write_error = None;
    let mut packets = 0;
    in_parallel(plan, &todo, execution, |index, result| {
        progress.step(result.is_ok());
        packets += result.as_ref().map_or(0, Record::simulated);
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
    let finished = results.iter().filter(|result| matches!(result, Some(Ok(_)))).count();
    if results.iter().any(Option::is_none) {
        let (id, path) = (id.to_owned(), folder.path().to_owned());
        return Err(LabError::Interrupted { id, stored: finished, runs: plan.len(), path });
    }

    let mut executed = collect(plan, results, reused, &execution.command);
    executed.packets = packets;
    folder.replace_runs(&executed.records)?;
    Ok(executed)
}

/// Results of `plan` that are stored in `folder` or in one beside it, and need not be made again. Those of other plans are
/// put aside.
fn stored<R: Run>(
    plan: &[R],
    folder: &Folder,
    execution: &Execution,
) -> Result<Vec<Option<R::Record>>, LabError> {
    let fresh = execution.fresh || execution.capture.is_some();
    let mut stored = folder.load_runs::<R::Record>()?;
    let known = |run| stored.remove(&execution.key(run)).filter(|_| !fresh);
    let mut results: Vec<Option<R::Record>> = plan.iter().map(known).collect();
    folder.keep_others(&stored)?;
    if fresh {
        folder.clear_runs()?;
        return Ok(results);
    }
    let missing = || plan.iter().zip(&results).filter(|(_, r)| r.is_none());
    let wanted: HashSet<&str> = missing().map(|(run, _)| run.key()).collect();
    if !wanted.is_empty() && !execution.real_time {
        let mut beside = folder.load_runs_beside::<R::Record>(&wanted);
        for (run, result) in plan.iter().zip(&mut results) {
            if result.is_none() {
                *result = beside.remove(run.key());
            }
        }
    }
    Ok(results)
}

/// Executes `plan` without storing anything, for a closer look at some runs.
///
/// # Errors
/// [`LabError::Option`] if the threads cannot be started.
pub fn execute_only<R: Run>(
    plan: &[R],
    execution: &Execution,
) -> Result<Executed<R::Record>, LabError> {
    let all: Vec<usize> = (0..plan.len()).collect();
    let mut results: Vec<Option<Result<R::Record, String>>> = vec![None; plan.len()];
    in_parallel(plan, &all, execution, |index, result| {
        results[index] = Some(result);
        true
    })?;
    Ok(collect(plan, results, 0, &execution.command))
}

fn collect<R: Run>(
    plan: &[R],
    results: Vec<Option<Result<R::Record, String>>>,
    reused: usize,
    command: &str,
) -> Executed<R::Record> {
    let mut executed = Executed { records: Vec::new(), failures: Vec::new(), reused, packets: 0 };
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
fn in_parallel<R: Run>(
    plan: &[R],
    todo: &[usize],
    execution: &Execution,
    mut finished: impl FnMut(usize, Result<R::Record, String>) -> bool,
) -> Result<(), LabError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(execution.threads().min(todo.len()))
        .thread_name(|n| format!("{}{n}", failure::THREAD_NAME))
        .build()
        .map_err(|e| LabError::Option(format!("cannot start threads: {e}")))?;
    let stop = AtomicBool::new(false);
    let (sender, receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            pool.install(|| {
                todo.par_iter().for_each_with(sender, |sender, &index| {
                    let stops =
                        || [stop, &*execution.stop].iter().any(|s| s.load(Ordering::Relaxed));
                    if !stops() {
                        let run = &plan[index];
                        let result = failure::guarded(|| execution.make(run));
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
