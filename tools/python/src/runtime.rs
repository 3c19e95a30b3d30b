//! The runtime of futures that Python awaits.
//!
//! Its threads call Python when a future is done. That must not happen once the interpreter ends, which aborts the
//! process; so the package shuts the runtime down before (`atexit`), which the runtime of `pyo3-async-runtimes`, being
//! static, cannot be. Nor do its threads exist in the child of a fork (`os.register_at_fork`): there another runtime
//! begins when it is needed, and what belongs to the old one says so.

use std::cell::OnceCell;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3_async_runtimes::{TaskLocals, generic};
use tokio::runtime::{Handle, Runtime};
use tokio::task::{JoinError, JoinHandle};

use crate::errors::error;

/// How long what calls Python may take when the interpreter ends.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The runtime, once it is needed; the handle stays when it has gone.
struct Held {
    runtime: Option<Runtime>,
    handle: Option<Handle>,
}

static HELD: Mutex<Held> = Mutex::new(Held { runtime: None, handle: None });

fn held() -> MutexGuard<'static, Held> {
    HELD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The runtime, which begins with the first call.
pub(crate) fn handle() -> PyResult<Handle> {
    let mut held = held();
    if let Some(handle) = &held.handle {
        return Ok(handle.clone());
    }
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().thread_name("tresse").build();
    let runtime = runtime.map_err(|e| error(format_args!("cannot start threads: {e}")))?;
    let handle = runtime.handle().clone();
    *held = Held { runtime: Some(runtime), handle: Some(handle.clone()) };
    Ok(handle)
}

/// How many forks lie between the first process and this one.
static GENERATION: AtomicU32 = AtomicU32::new(0);

/// This process is the child of a fork: the runtime's threads are its parent's.
#[pyfunction]
pub(crate) fn forked() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
    // Nobody else runs in a child yet; if its parent held this lock, nothing can be begun here.
    if let Ok(mut held) = HELD.try_lock() {
        std::mem::forget(held.runtime.take());
        held.handle = None;
    }
}

/// The process in which something was made.
#[derive(Clone, Copy)]
pub(crate) struct Process(u32);

impl Process {
    pub(crate) fn this() -> Process {
        Process(GENERATION.load(Ordering::Relaxed))
    }

    /// Whether it is this one, without whose threads nothing that was made in it goes on.
    pub(crate) fn check(self) -> PyResult<()> {
        if self.0 == Process::this().0 {
            return Ok(());
        }
        let what =
            "endpoints and associations stay with the process that made them: this is a fork of it";
        Err(error(what))
    }
}

/// Ends the runtime: associations end with it, and their peers are not told.
#[pyfunction]
pub(crate) fn shut_down(py: Python<'_>) {
    py.detach(|| {
        let runtime = held().runtime.take();
        if let Some(runtime) = runtime {
            runtime.shutdown_timeout(TIMEOUT);
        }
    });
}

/// `future` as one of asyncio.
pub(crate) fn awaitable<'py, T>(
    py: Python<'py>,
    future: impl Future<Output = PyResult<T>> + Send + 'static,
) -> PyResult<Bound<'py, PyAny>>
where
    T: for<'p> IntoPyObject<'p> + Send + 'static,
{
    handle()?;
    generic::future_into_py::<Tokio, _, T>(py, future)
}

/// tokio, as `pyo3-async-runtimes` wants to know it.
struct Tokio;

/// The error of a task, which has to be a type of this crate.
struct TaskError(JoinError);

impl generic::JoinError for TaskError {
    fn is_panic(&self) -> bool {
        self.0.is_panic()
    }

    fn into_panic(self) -> Box<dyn std::any::Any + Send + 'static> {
        self.0.into_panic()
    }
}

/// A task; with it the same of its error.
struct Task(JoinHandle<()>);

impl Future for Task {
    type Output = Result<(), TaskError>;

    fn poll(
        mut self: Pin<&mut Self>,
        cx: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Self::Output> {
        Pin::new(&mut self.0).poll(cx).map_err(TaskError)
    }
}

tokio::task_local! {
    static LOCALS: OnceCell<TaskLocals>;
}

/// The handle that [`awaitable`] has made sure of.
fn begun() -> Handle {
    held().handle.clone().expect("futures are spawned by `awaitable`")
}

impl generic::Runtime for Tokio {
    type JoinError = TaskError;
    type JoinHandle = Task;

    fn spawn<F: Future<Output = ()> + Send + 'static>(future: F) -> Task {
        Task(begun().spawn(future))
    }

    fn spawn_blocking<F: FnOnce() + Send + 'static>(work: F) -> Task {
        Task(begun().spawn_blocking(work))
    }
}

impl generic::ContextExt for Tokio {
    fn scope<F, R>(locals: TaskLocals, future: F) -> Pin<Box<dyn Future<Output = R> + Send>>
    where
        F: Future<Output = R> + Send + 'static,
    {
        Box::pin(LOCALS.scope(OnceCell::from(locals), future))
    }

    fn get_task_locals() -> Option<TaskLocals> {
        LOCALS.try_with(|locals| locals.get().cloned()).unwrap_or_default()
    }
}
