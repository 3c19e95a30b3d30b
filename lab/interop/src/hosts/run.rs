//! Cells are played, several at a time.

use std::panic::AssertUnwindSafe;
use std::sync::Mutex;
use std::time::Instant;

use super::play::play;
use super::{Cell, Record, Settings};
use crate::matrix::Outcome;

/// Runs cells, and tells `done` of each as it ends.
pub fn run(cells: &[Cell], settings: &Settings, done: &(dyn Fn(Record) + Sync)) {
    let queue = Mutex::new(cells.iter().copied());
    std::thread::scope(|scope| {
        for _ in 0..settings.jobs {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().expect("nobody panics here").next();
                    let Some(cell) = next else { break };
                    done(run_cell(cell, settings));
                }
            });
        }
    });
}

/// Runs one cell in a thread of its own, which changes its network namespace.
fn run_cell(cell: Cell, settings: &Settings) -> Record {
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(cell.label());
        let work = || {
            let played = std::panic::catch_unwind(AssertUnwindSafe(|| play(cell, settings)));
            played.unwrap_or_else(|panic| Outcome::of_panic(panic.as_ref()))
        };
        let thread = thread.spawn_scoped(scope, work).expect("a thread can be had");
        thread.join().unwrap_or_else(|panic| Outcome::of_panic(panic.as_ref()))
    });
    Record { cell, outcome, seconds: start.elapsed().as_secs_f64() }
}
