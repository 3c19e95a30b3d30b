//! Runs that went wrong: a panic or a broken invariant.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Once;

use serde::{Deserialize, Serialize};

use super::run::Run;

/// A run that went wrong, with what is needed to see it again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// Content hash of the run.
    pub key: String,
    /// Which run: profile, cell, dropped message, replication.
    pub run: String,
    /// Seed of the experiment.
    pub seed: u64,
    /// What happened.
    pub message: String,
    /// The command that repeats this run alone.
    pub replay: String,
}

impl Failure {
    pub(crate) fn new(run: &impl Run, message: String, command: &str) -> Failure {
        Failure {
            key: run.key().to_owned(),
            run: run.name(),
            seed: run.seed(),
            message,
            replay: format!("{command} --only {}", run.key().get(..16).unwrap_or(run.key())),
        }
    }
}

/// Prefix of the names of the runner's threads.
pub(crate) const THREAD_NAME: &str = "lab-";

thread_local! {
    static LAST_PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `body`; a panic becomes an error with its message and place.
pub(crate) fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_panics_of_runs();
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|_| {
        let message = LAST_PANIC.with(|last| last.borrow_mut().take());
        Err(message.unwrap_or_else(|| "panicked".into()))
    })
}

/// Panics in the runner's own threads are kept for the report instead of being printed over the
/// progress bar; all others go where they went before.
fn catch_panics_of_runs() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let thread = std::thread::current();
            if !thread.name().is_some_and(|name| name.starts_with(THREAD_NAME)) {
                previous(info);
                return;
            }
            let what = info.payload_as_str().unwrap_or("panicked").replace('\n', " ");
            let place = info
                .location()
                .map(|l| format!(" at {}:{}", l.file(), l.line()))
                .unwrap_or_default();
            LAST_PANIC.with(|last| *last.borrow_mut() = Some(format!("panic{place}: {what}")));
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_becomes_a_message_with_its_place() {
        let run = || guarded::<()>(|| panic!("two\nlines {}", 7));
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}test")).spawn(run);
        let error = thread.unwrap().join().unwrap().unwrap_err();
        assert!(error.starts_with("panic at ") && error.ends_with("two lines 7"), "{error}");
        assert_eq!(guarded(|| Ok(3)), Ok(3));
        assert_eq!(guarded::<()>(|| Err("broken".into())), Err("broken".into()));
    }
}
