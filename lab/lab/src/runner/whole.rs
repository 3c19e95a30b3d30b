//! How far several experiments are that are run together.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// One bar for all experiments of a command, with one time that is left.
#[derive(Clone, Debug)]
pub struct Whole {
    bar: ProgressBar,
    started: Instant,
}

impl Whole {
    /// So many runs; those that are found stored are taken off later. The bar is drawn on standard error if that is a
    /// terminal.
    #[must_use]
    pub fn new(runs: usize) -> Whole {
        let bar = ProgressBar::new(runs as u64).with_finish(ProgressFinish::AndClear);
        if let Ok(style) = ProgressStyle::with_template(
            "{prefix}  {bar:24}  {pos}/{len} runs of all  {eta} left {msg}",
        ) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        Whole { bar, started: Instant::now() }
    }

    /// Prints while the bar is out of the way.
    pub fn suspend(&self, print: impl FnOnce()) {
        self.bar.suspend(print);
    }

    /// The next experiment begins, of which so many runs are stored.
    pub(super) fn begin(&self, id: &str, stored: u64) -> ProgressBar {
        self.bar.dec_length(stored);
        self.bar.set_prefix(id.to_owned());
        self.bar.clone()
    }

    /// How many runs are made, how many there are, and how long the rest takes if it goes on like that.
    pub(super) fn state(&self) -> (u64, u64, Option<Duration>) {
        let (done, all) = (self.bar.position(), self.bar.length().unwrap_or(0));
        (done, all, left(self.started.elapsed(), done, all))
    }
}

/// How long the rest takes if it goes on as it did; `None` before anything is done.
fn left(elapsed: Duration, done: u64, all: u64) -> Option<Duration> {
    (done > 0).then(|| elapsed.mul_f64(all.saturating_sub(done) as f64 / done as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_is_left_for_all() {
        assert_eq!(left(Duration::from_secs(3), 0, 10), None);
        assert_eq!(left(Duration::from_secs(3), 6, 10), Some(Duration::from_secs(2)));
        assert_eq!(left(Duration::from_secs(3), 10, 10), Some(Duration::ZERO));
    }

    #[test]
    fn what_is_stored_is_not_waited_for() {
        let whole = Whole::new(100);
        whole.begin("a/b", 40).inc(15);
        assert_eq!((whole.state().0, whole.state().1), (15, 60));
        whole.begin("a/c", 20).inc(25);
        assert_eq!((whole.state().0, whole.state().1), (40, 40));
    }
}
