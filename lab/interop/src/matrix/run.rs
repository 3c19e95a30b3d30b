//! Cells are played, several at a time; what went wrong is kept.

use std::any::Any;
use std::io;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::Mutex;
use std::time::Instant;

use tresse_peers::{Lab, Stack, Unavailable, Unsupported};

use super::scene::Scene;
use super::{Cell, Outcome, Record, Settings, cells};

impl Outcome {
    /// That of a cell whose thread panicked.
    pub(crate) fn of_panic(panic: &(dyn Any + Send)) -> Outcome {
        Stop::from_panic(panic).into()
    }
}

/// Runs cells, and tells `done` of each as it ends.
pub fn run(cells: &[Cell], lab: &Lab, settings: &Settings, done: &(dyn Fn(Record) + Sync)) {
    let (kernel, others): (Vec<Cell>, Vec<Cell>) =
        cells.iter().partition(|cell| cell.peer == Stack::Linux);
    let queues =
        [(Mutex::new(kernel.into_iter()), 1), (Mutex::new(others.into_iter()), settings.jobs)];
    std::thread::scope(|scope| {
        for (queue, workers) in &queues {
            for _ in 0..*workers {
                scope.spawn(move || {
                    loop {
                        let next = queue.lock().expect("nobody panics here").next();
                        let Some(cell) = next else { break };
                        done(run_cell(cell, lab, settings));
                    }
                });
            }
        }
    });
}

/// Runs one cell in a thread of its own, which may change its network namespace.
fn run_cell(cell: Cell, lab: &Lab, settings: &Settings) -> Record {
    let start = Instant::now();
    let outcome = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(cell.label());
        let work = || {
            let scene = Scene::new(cell, lab, settings).map_err(Stop::Skipped)?;
            let result = std::panic::catch_unwind(AssertUnwindSafe(|| cells::play(&scene)));
            result.map_err(|panic| {
                let why = Stop::from_panic(panic.as_ref());
                if let Stop::Failed(why) = &why {
                    let kept = keep(&scene, why, &settings.failures);
                    kept.unwrap_or_else(|e| eprintln!("{}: {e}", settings.failures.display()));
                }
                why
            })
        };
        let thread = thread.spawn_scoped(scope, work).expect("a thread can be had");
        match thread.join() {
            Ok(Ok(())) => Outcome::Pass,
            Ok(Err(stop)) => stop.into(),
            Err(panic) => Outcome::of_panic(panic.as_ref()),
        }
    });
    Record { cell, full: settings.full, outcome, seconds: start.elapsed().as_secs_f64() }
}

/// Why a cell was not played to its end.
enum Stop {
    Skipped(Unavailable),
    Unsupported(String),
    Failed(String),
}

impl Stop {
    fn from_panic(panic: &(dyn Any + Send)) -> Stop {
        if let Some(Unsupported(what)) = panic.downcast_ref() {
            return Stop::Unsupported(what.clone());
        }
        let text = panic.downcast_ref::<String>().cloned();
        let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        Stop::Failed(text.unwrap_or_else(|| "a panic without words".to_owned()))
    }
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Outcome {
        match stop {
            Stop::Skipped(why) => Outcome::Skipped(why.to_string()),
            Stop::Unsupported(what) => Outcome::Unsupported(what),
            Stop::Failed(why) => Outcome::Fail(why),
        }
    }
}

/// Keeps what explains a failure: the reason, what the peers said, the packets.
fn keep(scene: &Scene<'_>, why: &str, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = |extension| folder.join(scene.cell.label()).with_extension(extension);
    let words = scene.words.lock().expect("nobody panics here").join("\n");
    std::fs::write(file("txt"), format!("{why}\n\nThe peers said:\n{words}\n"))?;
    scene.recorder.write(&file("pcapng"))
}
