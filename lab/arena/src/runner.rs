//! Plays all cells that have not been played yet, several at a time, and keeps what comes of each as
//! it comes.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use crate::error::ArenaError;
use crate::record::{Outcome, Record, Store};
use crate::scenario::Scenario;
use crate::stack::Stack;

/// A stack in a scenario, once.
#[derive(Clone, Copy, Debug)]
pub struct Cell<'a> {
    /// The scenario.
    pub scenario: &'a Scenario,
    /// Who plays.
    pub stack: &'a Stack,
    /// Which repetition, from 0 on.
    pub repetition: u32,
}

/// A cell that was played.
#[derive(Clone, Debug)]
pub struct Played {
    /// What came of it.
    pub outcome: Outcome,
    /// By how much packets came later than the links said, in milliseconds: the 99th percentile of the
    /// link with the largest. It tells how busy the machine was.
    pub late_ms: Option<f64>,
}

impl From<Outcome> for Played {
    fn from(outcome: Outcome) -> Played {
        Played { outcome, late_ms: None }
    }
}

/// Where cells are played.
pub trait Stage: Sync {
    /// Plays a cell to its end.
    fn play(&self, cell: Cell<'_>) -> Played;
    /// Which version of a stack it is, if that can be told.
    fn version(&self, stack: &Stack) -> Option<String>;
}

/// The cells of these scenarios and stacks. The first repetition of everything comes first, so that a
/// run that is interrupted has something of all. A stack that sends over several paths at once plays
/// where there are several.
#[must_use]
pub fn cells<'a>(scenarios: &'a [Scenario], stacks: &'a [Stack]) -> Vec<Cell<'a>> {
    let repetitions = scenarios.iter().map(|scenario| scenario.repetitions).max().unwrap_or(0);
    let mut cells = Vec::new();
    for repetition in 0..repetitions {
        for scenario in scenarios.iter().filter(|scenario| repetition < scenario.repetitions) {
            for stack in stacks {
                if !stack.concurrent || scenario.path_count() > 1 {
                    cells.push(Cell { scenario, stack, repetition });
                }
            }
        }
    }
    cells
}

/// Plays those of `cells` that `store` does not have, `jobs` at a time; `told` hears of each when it
/// has ended, with how many are left. A cell whose stack crashes says so, and the others go on.
///
/// # Errors
/// [`ArenaError::Write`] as soon as a result cannot be kept, when the cells that go on have ended.
///
/// # Panics
/// When `told` does.
pub fn run(
    cells: &[Cell<'_>],
    stage: &dyn Stage,
    jobs: usize,
    store: &mut Store,
    told: &(dyn Fn(&Record, usize) + Sync),
) -> Result<(), ArenaError> {
    let due: Vec<&Cell<'_>> = cells
        .iter()
        .filter(|cell| !store.has(cell.scenario, &cell.stack.to_string(), cell.repetition))
        .collect();
    let next = AtomicUsize::new(0);
    let state = Mutex::new((store, Ok(()), due.len()));
    std::thread::scope(|scope| {
        for _ in 0..jobs.clamp(1, due.len().max(1)) {
            scope.spawn(|| {
                while let Some(cell) = due.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let record = played(cell, stage);
                    let mut state = state.lock().expect("nobody panics here");
                    let (store, result, left) = &mut *state;
                    *left -= 1;
                    told(&record, *left);
                    if let Err(error) = store.add(record) {
                        *result = Err(error);
                        next.store(due.len(), Ordering::Relaxed);
                    }
                }
            });
        }
    });
    state.into_inner().expect("nobody panics here").1
}

/// Plays a cell, whatever happens in it.
fn played(cell: &Cell<'_>, stage: &dyn Stage) -> Record {
    let start = Instant::now();
    let played = catch_unwind(AssertUnwindSafe(|| stage.play(*cell)));
    let Played { outcome, late_ms } = played.unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or(panic.downcast_ref::<&str>().copied());
        Outcome::Failed(text.unwrap_or("it panicked").to_owned()).into()
    });
    Record {
        scenario: cell.scenario.id.clone(),
        fingerprint: cell.scenario.fingerprint(),
        stack: cell.stack.to_string(),
        version: stage.version(cell.stack),
        repetition: cell.repetition,
        seed: cell.scenario.seed(cell.repetition),
        took_s: start.elapsed().as_secs_f64(),
        late_ms,
        outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RECORDS;

    /// Plays nothing, and remembers what it was asked for.
    #[derive(Default)]
    struct Counting {
        played: Mutex<Vec<String>>,
    }

    impl Stage for Counting {
        fn play(&self, cell: Cell<'_>) -> Played {
            let name = format!("{} {} {}", cell.scenario.id, cell.stack, cell.repetition);
            self.played.lock().unwrap().push(name);
            let outcome = match cell.stack.to_string().as_str() {
                "linux" => Outcome::Missing("not here".into()),
                "pion" => panic!("pion fell over"),
                "dcsctp" => Outcome::Unsupported("one path".into()),
                _ => Outcome::Measured(Box::default()),
            };
            outcome.into()
        }

        fn version(&self, _: &Stack) -> Option<String> {
            Some("1.0".into())
        }
    }

    fn scenarios() -> Vec<Scenario> {
        ["bulk-loss", "two-paths"].map(|id| Scenario::named(id).unwrap()).into()
    }

    #[test]
    fn a_run_goes_on_where_it_was_left() {
        let folder = tempfile::tempdir().unwrap();
        let scenarios = scenarios();
        let stacks = ["tresse", "tresse-cmt", "linux", "pion", "dcsctp"];
        let stacks: Vec<Stack> = stacks.iter().map(|name| name.parse().unwrap()).collect();
        let cells = cells(&scenarios, &stacks);
        let repetitions: u32 = scenarios.iter().map(|s| s.repetitions).sum();
        let concurrent = scenarios[0].repetitions;
        assert_eq!(cells.len() as u32, repetitions * 5 - concurrent);

        let stage = Counting::default();
        let mut store = Store::open(folder.path(), false).unwrap();
        run(&cells[..3], &stage, 2, &mut store, &|_, _| {}).unwrap();
        drop(store);
        // The process was killed while it wrote.
        let path = folder.path().join(RECORDS);
        let whole = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, format!("{whole}{{\"scenario\": \"bul")).unwrap();

        let mut store = Store::open(folder.path(), false).unwrap();
        assert_eq!(store.records.len(), 3);
        let left = Mutex::new(Vec::new());
        run(&cells, &stage, 3, &mut store, &|_, n| left.lock().unwrap().push(n)).unwrap();
        drop(store);
        assert_eq!(left.into_inner().unwrap().last(), Some(&0));
        // What is missing or failed is tried again, what is measured or impossible is not.
        let mut store = Store::open(folder.path(), false).unwrap();
        stage.played.lock().unwrap().clear();
        run(&cells, &stage, 1, &mut store, &|_, _| {}).unwrap();
        let again = stage.played.lock().unwrap().clone();
        assert_eq!(again.len() as u32, 2 * repetitions);
        assert!(again.iter().all(|name| name.contains("linux") || name.contains("pion")));
        let fell = |r: &&Record| r.outcome == Outcome::Failed("pion fell over".into());
        assert!(store.records.iter().any(|r| fell(&r)));
        assert_eq!(Store::read(folder.path()).unwrap(), store.records);
    }

    #[test]
    fn another_scenario_of_the_same_name_is_played_again() {
        let folder = tempfile::tempdir().unwrap();
        let mut scenarios = scenarios();
        let stacks = ["tresse".parse().unwrap()];
        let stage = Counting::default();
        let mut store = Store::open(folder.path(), false).unwrap();
        run(&cells(&scenarios, &stacks), &stage, 1, &mut store, &|_, _| {}).unwrap();
        scenarios[0].links.forward.loss = 0.5;
        scenarios[1].repetitions += 1;
        stage.played.lock().unwrap().clear();
        run(&cells(&scenarios, &stacks), &stage, 1, &mut store, &|_, _| {}).unwrap();
        assert_eq!(stage.played.lock().unwrap().len() as u32, scenarios[0].repetitions + 1);
    }

    #[test]
    fn results_that_cannot_be_kept_stop_it() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(RECORDS), "what is this\n").unwrap();
        let error = Store::open(folder.path(), false).unwrap_err().to_string();
        assert!(error.contains("results.jsonl:1: not a result"), "{error}");
        let error = Store::read(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(error.starts_with("no results"), "{error}");
    }

    use std::path::Path;
}
