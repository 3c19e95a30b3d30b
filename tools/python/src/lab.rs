//! Experiments: `tresse.Experiment` and `tresse.campaign`.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use pyo3::prelude::*;
use tresse_lab::report::{Screen, render_for_terminal};
use tresse_lab::runner::{self, Execution, ProgressMode};
use tresse_lab::{LabError, Overrides, Session, experiment};

use crate::errors::lab_error;

/// How often a run looks whether Ctrl-C was pressed.
const SIGNALS: Duration = Duration::from_millis(50);

/// Runs made, runs that were stored already, the report as text, and runs that went wrong: which, and how.
type Finished = (usize, usize, String, Vec<(String, String)>);

/// Key of a run, its result, or what went wrong.
type Made = (String, Option<String>, Option<String>);

/// Version of the package and of the source code that decides results.
#[pyfunction]
pub(crate) fn version() -> String {
    tresse_lab::version::describe()
}

/// Id, title and whether it takes minutes, of every experiment that is built in.
#[pyfunction]
pub(crate) fn experiments() -> PyResult<Vec<(String, String, bool)>> {
    let all = experiment::built_in().map_err(lab_error)?;
    Ok(all.iter().map(|e| (e.id().to_owned(), e.title().to_owned(), e.is_slow())).collect())
}

/// An experiment as JSON: what its file says, every default written out.
#[pyfunction]
#[pyo3(signature = (name, text=None))]
pub(crate) fn definition(name: &str, text: Option<&str>) -> PyResult<String> {
    serde_json::to_string(&find(name, text)?).map_err(lab_error)
}

/// JSON as TOML.
#[pyfunction]
pub(crate) fn to_toml(json: &str) -> PyResult<String> {
    let value: serde_json::Value = serde_json::from_str(json).map_err(lab_error)?;
    toml::to_string(&value).map_err(lab_error)
}

fn find(name: &str, text: Option<&str>) -> PyResult<tresse_lab::AnyExperiment> {
    let found = match text {
        Some(text) => experiment::parse(name, text),
        None => experiment::find(name),
    };
    found.map_err(lab_error)
}

/// An experiment with what is changed about it, ready to run.
#[pyclass(frozen, module = "tresse._native")]
pub(crate) struct Plan {
    session: Session,
}

#[pymethods]
impl Plan {
    #[new]
    #[pyo3(signature = (name, text, profiles, parameters, seed))]
    fn new(
        name: &str,
        text: Option<&str>,
        profiles: Vec<String>,
        parameters: Vec<String>,
        seed: Option<u64>,
    ) -> PyResult<Plan> {
        let overrides = Overrides { profiles, parameters, seed };
        let session = Session::of(name, find(name, text)?, &overrides).map_err(lab_error)?;
        Ok(Plan { session })
    }

    #[getter]
    fn id(&self) -> &str {
        &self.session.common().id
    }

    #[getter]
    fn title(&self) -> &str {
        &self.session.common().title
    }

    #[getter]
    fn runs(&self) -> usize {
        self.session.runs()
    }

    /// Makes what is not stored under `out` and writes the report; returns how many runs were made, how many were
    /// stored already, the report as text, and failures.
    #[pyo3(signature = (out, jobs, fresh, capture, progress))]
    fn run(
        &self,
        py: Python<'_>,
        out: PathBuf,
        jobs: Option<usize>,
        fresh: bool,
        capture: Option<PathBuf>,
        progress: bool,
    ) -> PyResult<Finished> {
        let stop = Arc::new(AtomicBool::new(false));
        let progress = if progress { ProgressMode::Stderr } else { ProgressMode::Silent };
        let execution = Execution {
            jobs,
            fresh,
            capture,
            progress,
            stop: Arc::clone(&stop),
            ..Execution::default()
        };
        let finished = with_signals(py, &stop, || self.session.run(&out, execution))?;
        let failures = finished.report.failures.iter().map(|f| (f.run.clone(), f.message.clone()));
        let failures = failures.collect();
        let text = render_for_terminal(&finished.report, &Screen::default());
        Ok((finished.executed, finished.reused, text, failures))
    }

    /// Opens the folder of results under `out` to those made elsewhere.
    fn collect(&self, out: PathBuf) -> PyResult<Collection> {
        let collection = self.session.collect(&out).map_err(lab_error)?;
        Ok(Collection { open: Mutex::new(Some(collection)) })
    }

    /// Makes the runs with these keys: key, result, and what went wrong, of each.
    fn make(&self, py: Python<'_>, keys: Vec<String>) -> PyResult<Vec<Made>> {
        let brought = py.detach(|| self.session.make(&keys)).map_err(lab_error)?;
        let parts = |b: runner::Brought| match b.result {
            Ok(result) => (b.key, Some(result), None),
            Err(message) => (b.key, None, Some(message)),
        };
        Ok(brought.into_iter().map(parts).collect())
    }
}

/// Does `work` in a thread of its own, while this one waits for it and for Ctrl-C.
fn with_signals<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    work: impl FnOnce() -> Result<T, LabError> + Send,
) -> PyResult<T> {
    std::thread::scope(|scope| {
        let worker = scope.spawn(work);
        while !worker.is_finished() {
            py.detach(|| std::thread::sleep(SIGNALS));
            if let Err(interrupt) = py.check_signals() {
                stop.store(true, Ordering::Relaxed);
                // What was being made is stored.
                let _ = py.detach(|| worker.join());
                return Err(interrupt);
            }
        }
        match worker.join() {
            Ok(result) => result.map_err(lab_error),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// A folder of results that is open to those made elsewhere.
#[pyclass(frozen, module = "tresse._native")]
pub(crate) struct Collection {
    open: Mutex<Option<runner::Collection>>,
}

#[pymethods]
impl Collection {
    /// Keys of the runs that are to be made.
    fn missing(&self) -> PyResult<Vec<String>> {
        self.with(|collection| Ok(collection.missing().to_vec()))
    }

    /// Stores a result.
    fn store(&self, result: &str) -> PyResult<()> {
        self.with(|collection| collection.store(result).map_err(lab_error))
    }

    /// Lets go of the folder.
    fn close(&self) {
        self.lock().take();
    }
}

impl Collection {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<runner::Collection>> {
        // Nothing in it can be half changed.
        self.open.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn with<T>(&self, act: impl FnOnce(&mut runner::Collection) -> PyResult<T>) -> PyResult<T> {
        match &mut *self.lock() {
            Some(collection) => act(collection),
            None => Err(lab_error("the collection is closed")),
        }
    }
}
