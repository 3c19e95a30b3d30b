//! How far several experiments are that are run together.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressFinish, ProgressState, ProgressStyle};

/// One bar for all experiments of a command, with one time that is left.
#[derive(Clone, Debug)]
pub struct Whole {
    bar: ProgressBar,
    started: Instant,
    experiments: Arc<Mutex<Experiments>>,
}

/// How many of the experiments are made. A run may take a millisecond or a minute, and those that take so long are few: an
/// experiment says more of the time that others take than a run does.
#[derive(Debug)]
struct Experiments {
    /// Those that have to be made, the present one among them.
    all: usize,
    over: usize,
    /// Runs before the present one, and its own.
    present: Option<(u64, u64)>,
}

impl Experiments {
    /// The next one begins, of which this many runs have to be made, after this many.
    fn begin(&mut self, before: u64, runs: u64) {
        self.over += usize::from(self.present.take().is_some());
        if runs == 0 {
            self.all = self.all.saturating_sub(1);
        } else {
            self.present = Some((before, runs));
        }
    }

    /// How many are made, with the part of the present one, after this many runs.
    fn done(&self, runs: u64) -> f64 {
        let part = |(before, own): (u64, u64)| runs.saturating_sub(before) as f64 / own as f64;
        self.over as f64 + self.present.map_or(0.0, part)
    }
}

impl Whole {
    /// This many experiments with this many runs; those that are found stored are taken off later. The bar is drawn on standard
    /// error if that is a terminal.
    #[must_use]
    pub fn new(experiments: usize, runs: usize) -> Whole {
        let bar = ProgressBar::new(runs as u64).with_finish(ProgressFinish::AndClear);
        let experiments =
            Arc::new(Mutex::new(Experiments { all: experiments, over: 0, present: None }));
        let whole = Whole { bar, started: Instant::now(), experiments };
        if let Ok(style) = ProgressStyle::with_template(
            "{prefix}  {bar:24}  {pos}/{len} runs of all  {left} {msg}",
        ) {
            let (started, of) = (whole.started, Arc::clone(&whole.experiments));
            let say = move |state: &ProgressState, text: &mut dyn std::fmt::Write| {
                if let Some(left) = left(started.elapsed(), &of, state.pos()) {
                    let _ = write!(text, "about {} left", HumanDuration(left));
                }
            };
            whole.bar.set_style(style.progress_chars("━╸─").with_key("left", say));
        }
        whole
    }

    /// Prints while the bar is out of the way.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// Takes the bar away: all is made.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }

    /// The next experiment begins: this many runs have to be made, besides those that are stored.
    pub(super) fn begin(&self, id: &str, runs: u64, stored: u64) -> ProgressBar {
        self.bar.dec_length(stored);
        self.bar.set_prefix(id.to_owned());
        let mut experiments = self.experiments.lock().unwrap_or_else(PoisonError::into_inner);
        experiments.begin(self.bar.position(), runs);
        self.bar.clone()
    }

    /// How many runs are made, how many there are, and how long the rest takes if it goes on like that.
    pub(super) fn state(&self) -> (u64, u64, Option<Duration>) {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        (done, all, left(self.started.elapsed(), &self.experiments, done))
    }
}

/// How long the rest takes if experiments go on as they did; `None` before anything is done.
fn left(elapsed: Duration, experiments: &Mutex<Experiments>, runs: u64) -> Option<Duration> {
    let experiments = experiments.lock().unwrap_or_else(PoisonError::into_inner);
    let done = experiments.done(runs);
    let rest = (experiments.all as f64 - done).max(0.0);
    (done > 0.0).then(|| elapsed.mul_f64((rest / done).min(1e6)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_is_left_for_all() {
        let three = Duration::from_secs(3);
        let of = Mutex::new(Experiments { all: 4, over: 0, present: None });
        assert_eq!(left(three, &of, 0), None);
        of.lock().unwrap().begin(0, 10);
        assert_eq!(left(three, &of, 0), None);
        // Half of the first of four: seven times as long.
        assert_eq!(left(three, &of, 5), Some(three * 7));
        // One of ten thousand short runs takes no longer for that; one that is stored takes nothing.
        of.lock().unwrap().begin(10, 10_000);
        of.lock().unwrap().begin(10_010, 0);
        assert_eq!(left(three, &of, 10_010), Some(Duration::from_millis(1500)));
        of.lock().unwrap().begin(10_010, 1);
        assert_eq!(left(three, &of, 10_011), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_stored_is_not_waited_for() {
        let whole = Whole::new(2, 100);
        whole.begin("a/b", 15, 40).inc(15);
        assert_eq!((whole.state().0, whole.state().1), (15, 60));
        whole.begin("a/c", 25, 20).inc(25);
        assert_eq!((whole.state().0, whole.state().1), (40, 40));
    }
}
