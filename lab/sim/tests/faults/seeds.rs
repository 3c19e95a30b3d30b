//! Runs many seeds on all processors, and survives what goes wrong in one of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::env;
use std::ops::Range;
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Once};
use std::thread;
use std::time::{Duration, Instant};

use crate::campaign::Campaign;
use crate::ledger::{Kind, Violation};
use crate::run::{Options, Report, run};
pub(crate) use crate::scenario::{EXTENDED, KEYED, LARGE, MIXED, MOVING, NASTY, RESTLESS};
use crate::scenario::{OFTEN, Scenario};

/// A run that fails collects this many failing seeds, a campaign more.
const MAX_FAILURES: usize = 10;
const MAX_FAILURES_OF_A_CAMPAIGN: usize = 1000;
/// How often a campaign says how far it is.
const PROGRESS: Duration = Duration::from_secs(10);
/// A scenario takes milliseconds. One that takes so long, within its bounds of simulated events, does too
/// much for each of them.
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

/// How many a developer's `cargo test` plays, so many that each thing of note happens in some, and how many with
/// `TRESSE_THOROUGH=1`, as `.ci/run` has it.
fn usual(fewer: u64, more: u64) -> Range<u64> {
    0..if env::var_os("TRESSE_THOROUGH").is_some() { more } else { fewer }
}

/// Seeds that every test run covers.
pub(crate) fn plain() -> Range<u64> {
    usual(2_500, 10_000)
}

/// Those of the first ones that are played also with extensions.
pub(crate) fn extended() -> Range<u64> {
    let range = usual(1_000, 2_000);
    EXTENDED + range.start..EXTENDED + range.end
}

/// `TRESSE_PARTIAL_SEEDS=a..b`: seeds that are run with messages that may be given up.
pub(crate) fn partial() -> Range<u64> {
    asked("TRESSE_PARTIAL_SEEDS").unwrap_or_else(|| usual(625, 2_500))
}

/// `TRESSE_MIXED_SEEDS=a..b`: those of any subset of the extensions at each end, counted from 0.
pub(crate) fn mixed() -> Range<u64> {
    let range = asked("TRESSE_MIXED_SEEDS").unwrap_or_else(|| usual(1_000, 2_000));
    MIXED + range.start..MIXED + range.end
}

/// `TRESSE_NASTY_SEEDS=a..b`: nasty ones, counted from 0.
pub(crate) fn nasty() -> Range<u64> {
    let range = asked("TRESSE_NASTY_SEEDS").unwrap_or_else(|| usual(1_000, 2_000));
    NASTY + range.start..NASTY + range.end
}

/// `TRESSE_KEYED_SEEDS=a..b`: those with keys, counted from 0.
pub(crate) fn keyed() -> Range<u64> {
    let range = asked("TRESSE_KEYED_SEEDS").unwrap_or_else(|| usual(250, 1_000));
    KEYED + range.start..KEYED + range.end
}

/// `TRESSE_MOVING_SEEDS=a..b`: those with hosts that move, counted from 0.
pub(crate) fn moving() -> Range<u64> {
    let range = asked("TRESSE_MOVING_SEEDS").unwrap_or_else(|| usual(200, 500));
    MOVING + range.start..MOVING + range.end
}

/// `TRESSE_RESTLESS_SEEDS=a..b`: those with hosts that are never at rest, counted from 0.
pub(crate) fn restless() -> Range<u64> {
    let range = asked("TRESSE_RESTLESS_SEEDS").unwrap_or_else(|| usual(100, 200));
    RESTLESS + range.start..RESTLESS + range.end
}

/// `TRESSE_LARGE_SEEDS=a..b`: those with messages of many receive buffers, counted from 0.
pub(crate) fn large() -> Range<u64> {
    let range = asked("TRESSE_LARGE_SEEDS").unwrap_or_else(|| usual(125, 500));
    LARGE + range.start..LARGE + range.end
}

fn asked(name: &str) -> Option<Range<u64>> {
    let text = env::var(name).ok()?;
    let bounds = text.split_once("..").and_then(|(a, b)| Some(a.parse().ok()?..b.parse().ok()?));
    Some(bounds.unwrap_or_else(|| panic!("{name}={text} is no range")))
}

/// `TRESSE_PARTIAL`: messages may be given up in the seed that is replayed.
pub(crate) fn is_partial() -> bool {
    env::var_os("TRESSE_PARTIAL").is_some()
}

/// How to see what a seed does.
pub(crate) fn replay_command(seed: u64, partial: bool) -> String {
    let partial = if partial { "TRESSE_PARTIAL=1 " } else { "" };
    format!(
        "TRESSE_SEED={seed} {partial}cargo test -p tresse-sim --test faults seeds -- --nocapture"
    )
}

/// Runs one seed; a panic becomes a violation.
pub(crate) fn run_seed(seed: u64, options: &Options) -> (Scenario, Report) {
    catch_panics();
    PANIC.set(Some(String::new()));
    let scenario = Scenario::draw(seed);
    let scenario = if options.partial { scenario.partial(OFTEN) } else { scenario };
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
    /// The most events and packets of a scenario, and its seed.
    pub(crate) most_work: (u64, u64),
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
        self.most_work = self.most_work.max((report.work, seed));
        let load = report.packets * 100 / (report.chunks + 20);
        self.busiest = self.busiest.max((load, seed));
        if !report.violations.is_empty() {
            self.failures.insert(seed, report.violations);
        }
    }
}

/// What a thread is at.
struct Worker {
    seed: AtomicU64,
    since_ms: AtomicU64,
    /// It hangs, and another one is in its place.
    replaced: AtomicBool,
}

/// What all threads share.
struct Pool {
    range: Range<u64>,
    next: AtomicU64,
    summary: Mutex<Summary>,
    campaign: Option<Campaign>,
    options: Options,
    /// This many failures are enough.
    most: usize,
    started: Instant,
}

/// Runs a range of seeds, up to some failures.
pub(crate) fn run_all(range: Range<u64>, campaign: Option<Campaign>, options: Options) -> Summary {
    let threads = thread::available_parallelism().map_or(1, |n| n.get());
    let pool = Arc::new(Pool {
        next: AtomicU64::new(range.start),
        range,
        summary: Mutex::new(Summary::default()),
        most: if campaign.is_some() { MAX_FAILURES_OF_A_CAMPAIGN } else { MAX_FAILURES },
        campaign,
        options,
        started: Instant::now(),
    });
    let mut workers: Vec<Arc<Worker>> = (0..threads).map(|_| hire(&pool)).collect();
    let mut told = Instant::now();
    loop {
        for worker in &mut workers {
            if pool.has_hung(worker) {
                *worker = hire(&pool);
            }
        }
        let last = workers.iter().all(|worker| worker.is_idle());
        if last || told.elapsed() >= PROGRESS {
            told = Instant::now();
            pool.progress(&workers);
        }
        if last {
            // A thread that hangs still holds the pool, and is left behind.
            return std::mem::take(&mut *pool.lock());
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// Another thread, which takes seeds until there are none left.
fn hire(pool: &Arc<Pool>) -> Arc<Worker> {
    let worker = Arc::new(Worker {
        // Those below are taken.
        seed: AtomicU64::new(pool.next.load(Ordering::Relaxed)),
        since_ms: AtomicU64::new(pool.now()),
        replaced: AtomicBool::new(false),
    });
    let (own, pool) = (Arc::clone(&worker), Arc::clone(pool));
    thread::spawn(move || pool.work(&own));
    worker
}

impl Worker {
    fn is_idle(&self) -> bool {
        self.since_ms.load(Ordering::Relaxed) == u64::MAX
    }
}

impl Pool {
    fn now(&self) -> u64 {
        self.started.elapsed().as_millis() as u64
    }

    fn lock(&self) -> MutexGuard<'_, Summary> {
        self.summary.lock().expect("nobody panics while holding it")
    }

    fn work(&self, worker: &Worker) {
        loop {
            let seed = self.next.fetch_add(1, Ordering::Relaxed);
            if seed >= self.range.end {
                break;
            }
            worker.seed.store(seed, Ordering::Relaxed);
            worker.since_ms.store(self.now(), Ordering::Relaxed);
            let (scenario, report) = run_seed(seed, &self.options);
            let mut summary = self.lock();
            if worker.replaced.load(Ordering::Relaxed) {
                return;
            }
            self.tell(seed, &report.violations);
            summary.add(seed, &scenario, report);
            if summary.failures.len() >= self.most {
                break;
            }
        }
        worker.since_ms.store(u64::MAX, Ordering::Relaxed);
    }

    fn tell(&self, seed: u64, violations: &[Violation]) {
        if let Some(campaign) = &self.campaign {
            campaign.fails(seed, violations);
        }
    }

    /// Whether the thread takes too long for its seed, which has failed then: another one has to go on, for
    /// a thread cannot be stopped from outside.
    fn has_hung(&self, worker: &Worker) -> bool {
        let mut summary = self.lock();
        let since = worker.since_ms.load(Ordering::Relaxed);
        if self.now().saturating_sub(since) <= HANG.as_millis() as u64 {
            return false;
        }
        worker.replaced.store(true, Ordering::Relaxed);
        let seed = worker.seed.load(Ordering::Relaxed);
        let text = format!("not over after {HANG:?} of real time");
        let violation = Violation { kind: Kind::Spin, text };
        self.tell(seed, std::slice::from_ref(&violation));
        summary.failures.insert(seed, vec![violation]);
        true
    }

    /// Notes how far a campaign is.
    fn progress(&self, workers: &[Arc<Worker>]) {
        let Some(campaign) = &self.campaign else { return };
        // The next seed is taken before its worker is seen at it, so it is looked at first.
        let next = self.next.load(Ordering::Relaxed);
        let busy = workers.iter().filter(|worker| !worker.is_idle());
        let lowest = busy.map(|worker| worker.seed.load(Ordering::Relaxed)).min();
        let failures = self.lock().failures.len();
        campaign.done(lowest.map_or(next, |lowest| lowest.min(next)), failures);
    }
}
