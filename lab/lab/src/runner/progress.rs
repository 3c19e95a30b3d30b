//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};

/// Where progress is reported.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProgressMode {
    /// On standard error: a bar if it is a terminal, plain lines otherwise.
    #[default]
    Stderr,
    /// Nowhere.
    Silent,
}

/// Time between two plain lines.
const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Reports progress over `total` runs.
#[derive(Debug)]
pub(crate) enum Progress {
    Bar(ProgressBar),
    Lines { id: String, total: u64, done: u64, failed: u64, last: Instant },
    Silent,
}

impl Progress {
    pub(crate) fn new(mode: ProgressMode, id: &str, total: u64) -> Progress {
        if mode == ProgressMode::Silent || total == 0 {
            return Progress::Silent;
        }
        if !std::io::stderr().is_terminal() {
            let (id, last) = (id.to_owned(), Instant::now());
            return Progress::Lines { id, total, done: 0, failed: 0, last };
        }
        let bar = ProgressBar::new(total);
        let template = "{prefix}  {bar:32}  {pos}/{len} runs  {eta} left {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_prefix(id.to_owned());
        Progress::Bar(bar)
    }

    pub(crate) fn step(&mut self, ok: bool) {
        match self {
            Progress::Bar(bar) => {
                bar.inc(1);
                if !ok {
                    bar.set_message("· some failed");
                }
            }
            Progress::Lines { id, total, done, failed, last } => {
                *done += 1;
                *failed += u64::from(!ok);
                if last.elapsed() >= LINE_INTERVAL {
                    *last = Instant::now();
                    eprintln!("{id}: {done}/{total} runs, {failed} failed");
                }
            }
            Progress::Silent => {}
        }
    }

    pub(crate) fn finish(&self) {
        if let Progress::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
