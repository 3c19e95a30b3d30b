//! Runs many seeds on all processors, and survives what goes wrong in one of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, Once};
use std::thread;
use std::time::{Duration, Instant};

use crate::campaign::Campaign;
use crate::ledger::{Kind, Violation};
use crate::run::{Options, Report, run};
use crate::scenario::Scenario;

/// Seeds that every test run covers.
pub(crate) const DEFAULT: Range<u64> = 0..20_000;
/// A run that fails collects so many failing seeds, a campaign more.
const MAX_FAILURES: usize = 10;
const MAX_FAILURES_OF_A_CAMPAIGN: usize = 1000;
/// How often a campaign says how far it is.
const PROGRESS: Duration = Duration::from_secs(10);
/// A scenario takes milliseconds; one that takes so long will not end.
const HANG: Duration = Duration::from_secs(120);

thread_local! {
    /// Where a panic of this thread left its message, if somebody wants it.
    static PANIC: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// `TRESSE_SEED=n`: the seed to replay.
pub(crate) fn to_replay() -> Option<u64> {
    let text = env::var("TRESSE_SEED").ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("TRESSE_SEED={text} is not a number")))
}

/// How to see what a seed does.
pub(crate) fn replay_command(seed: u64) -> String {
    format!("TRESSE_SEED={seed} cargo test -p tresse-sim --test faults seeds -- --nocapture")
}

/// Runs one seed; a panic becomes a violation.
pub(crate) fn run_seed(seed: u64, options: &Options) -> (Scenario, Report) {
    catch_panics();
    PANIC.set(Some(String::new()));
    let scenario = Scenario::draw(seed);
    let result = panic::catch_unwind(AssertUnwindSafe(|| run(&scenario, options)));
    let message = PANIC.take().unwrap_or_default();
    let report = result.unwrap_or_else(|_| Report {
        violations: vec![Violation { kind: Kind::Panic, text: message }],
        ..Report::default()
    });
    (scenario, report)
}

/// Has threads that ask for it keep the message of a panic instead of printing it.
fn catch_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let default = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let kept = PANIC.with_borrow_mut(|kept| {
                kept.as_mut().map(|kept| *kept = info.to_string()).is_some()
            });
            if !kept {
                default(info);
            }
        }));
    });
}

/// What many seeds did, summed up.
#[derive(Debug, Default)]
pub(crate) struct Summary {
    pub(crate) seeds: u64,
    pub(crate) packets: u64,
    /// In how many scenarios something was drawn or happened.
    pub(crate) features: BTreeMap<&'static str, u64>,
    pub(crate) failures: BTreeMap<u64, Vec<Violation>>,
    /// The longest virtual time, and its seed.
    pub(crate) longest: (u64, u64),
    /// The most packets for each chunk that had to be sent, times 100, and its seed.
    pub(crate) busiest: (u64, u64),
    /// The slowest mild scenario: milliseconds of virtual time, and its seed.
    pub(crate) slowest_mild: (u64, u64),
}

impl Summary {
    fn add(&mut self, seed: u64, scenario: &Scenario, report: Report) {
        self.seeds += 1;
        self.packets += report.packets;
        for name in scenario.features.iter().chain(&report.seen) {
            *self.features.entry(name).or_default() += 1;
        }
        let millis = report.finished.as_nanos() / 1_000_000;
        self.longest = self.longest.max((millis, seed));
        if scenario.mild {
            self.slowest_mild = self.slowest_mild.max((millis, seed));
        }
        let load = report.packets * 100 / (report.chunks + 20);
        self.busiest = self.busiest.max((load, seed));
        if !report.violations.is_empty() {
            self.failures.insert(seed, report.violations);
        }
    }
}

/// What each thread is at.
struct Worker {
    seed: AtomicU64,
    since_ms: AtomicU64,
}

/// Runs a range of seeds, up to some failures.
pub(crate) fn run_all(range: Range<u64>, campaign: Option<&Campaign>) -> Summary {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let (next, done) = (AtomicU64::new(range.start), AtomicBool::new(false));
    let summary = Mutex::new(Summary::default());
    let most = if campaign.is_some() { MAX_FAILURES_OF_A_CAMPAIGN } else { MAX_FAILURES };
    let started = Instant::now();
    let idle = || Worker { seed: AtomicU64::new(0), since_ms: AtomicU64::new(u64::MAX) };
    let workers: Vec<Worker> = (0..threads).map(|_| idle()).collect();
    let work = |worker: &Worker| {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= range.end {
                break;
            }
            worker.seed.store(seed, Ordering::Relaxed);
            worker.since_ms.store(started.elapsed().as_millis() as u64, Ordering::Relaxed);
            let (scenario, report) = run_seed(seed, &Options::default());
            let mut summary = summary.lock().expect("nobody panics while holding it");
            if let Some(campaign) = campaign {
                campaign.fails(seed, &report.violations);
            }
            summary.add(seed, &scenario, report);
            if summary.failures.len() >= most {
                break;
            }
        }
        worker.since_ms.store(u64::MAX, Ordering::Relaxed);
    };
    thread::scope(|scope| {
        scope.spawn(|| watch(&workers, started, &done));
        if let Some(campaign) = campaign {
            scope.spawn(|| progress(campaign, &workers, &next, &summary, &done));
        }
        let running: Vec<_> = workers.iter().map(|worker| scope.spawn(|| work(worker))).collect();
        for thread in running {
            thread.join().expect("panics are caught");
        }
        done.store(true, Ordering::Relaxed);
    });
    summary.into_inner().expect("nobody panics while holding it")
}

/// Notes now and then how far a campaign is, and at the end.
fn progress(
    campaign: &Campaign,
    workers: &[Worker],
    next: &AtomicU64,
    summary: &Mutex<Summary>,
    done: &AtomicBool,
) {
    let mut told = Instant::now();
    loop {
        let last = done.load(Ordering::Relaxed);
        if last || told.elapsed() >= PROGRESS {
            told = Instant::now();
            // The next seed is taken before its worker is seen at it, so it is looked at first.
            let next = next.load(Ordering::Relaxed);
            let busy = workers.iter().filter(|w| w.since_ms.load(Ordering::Relaxed) != u64::MAX);
            let lowest = busy.map(|w| w.seed.load(Ordering::Relaxed)).min();
            let failures = summary.lock().expect("nobody panics while holding it").failures.len();
            campaign.done(lowest.map_or(next, |lowest| lowest.min(next)), failures);
        }
        if last {
            break;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Ends the test when a seed hangs: a thread cannot be stopped from outside.
fn watch(workers: &[Worker], started: Instant, done: &AtomicBool) {
    while !done.load(Ordering::Relaxed) {
        thread::sleep(Duration::from_millis(100));
        let now = started.elapsed().as_millis() as u64;
        for worker in workers {
            let since = worker.since_ms.load(Ordering::Relaxed);
            if now.saturating_sub(since) > HANG.as_millis() as u64 {
                let seed = worker.seed.load(Ordering::Relaxed);
                eprintln!("seed {seed} hangs; replay: {}", replay_command(seed));
                std::process::exit(101);
            }
        }
    }
}
