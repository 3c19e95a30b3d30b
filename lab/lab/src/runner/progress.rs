//! How far a run is: a bar on a terminal, a line now and then elsewhere.

use std::io::IsTerminal as _;
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressStyle};

use super::whole::Whole;

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
    Bar { bar: ProgressBar, whole: bool },
    Lines(Lines),
    Silent,
}

/// What is said now and then.
#[derive(Debug)]
pub(crate) struct Lines {
    id: String,
    total: u64,
    done: u64,
    failed: u64,
    last: Instant,
    whole: Option<(Whole, ProgressBar)>,
}

impl Progress {
    /// Of `total` runs, besides `stored` ones.
    pub(crate) fn new(
        mode: ProgressMode,
        whole: Option<&Whole>,
        id: &str,
        total: u64,
        stored: u64,
    ) -> Progress {
        if mode == ProgressMode::Silent {
            return Progress::Silent;
        }
        let whole = whole.map(|whole| (whole.clone(), whole.begin(id, total, stored)));
        if total == 0 {
            return Progress::Silent;
        }
        if !std::io::stderr().is_terminal() {
            let (id, last) = (id.to_owned(), Instant::now());
            return Progress::Lines(Lines { id, total, done: 0, failed: 0, last, whole });
        }
        if let Some((_, bar)) = whole {
            return Progress::Bar { bar, whole: true };
        }
        let bar = ProgressBar::new(total);
        let template = "{prefix}  {bar:32}  {pos}/{len} runs  {eta} left {msg}";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("━╸─"));
        }
        bar.set_prefix(id.to_owned());
        Progress::Bar { bar, whole: false }
    }

    pub(crate) fn step(&mut self, ok: bool) {
        match self {
            Progress::Bar { bar, .. } => {
                bar.inc(1);
                if !ok {
                    bar.set_message("· some failed");
                }
            }
            Progress::Lines(lines) => {
                lines.done += 1;
                lines.failed += u64::from(!ok);
                if let Some((_, bar)) = &lines.whole {
                    bar.inc(1);
                }
                if lines.last.elapsed() >= LINE_INTERVAL {
                    lines.last = Instant::now();
                    lines.say();
                }
            }
            Progress::Silent => {}
        }
    }

    pub(crate) fn finish(&self) {
        if let Progress::Bar { bar, whole: false } = self {
            bar.finish_and_clear();
        }
    }
}

impl Lines {
    fn say(&self) {
        let Lines { id, total, done, failed, .. } = self;
        let of_all = self.whole.as_ref().map(|(whole, _)| whole.state());
        let of_all = of_all.map_or(String::new(), |(done, all, left)| {
            let left =
                left.map_or(String::new(), |left| format!(", about {} left", HumanDuration(left)));
            format!("; of all {done}/{all}{left}")
        });
        eprintln!("{id}: {done}/{total} runs, {failed} failed{of_all}");
    }
}
