//! A campaign: many seeds, in as many sittings as it takes.
//!
//! Its journal is a text file that only grows: the range, each violation when it is found, and now and then
//! below which seed all are done. A campaign that was stopped, however, goes on from there.

use std::collections::BTreeSet;
use std::env;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::ledger::Violation;

/// What a campaign runs if only its journal is named.
const MILLION: Range<u64> = 0..1_000_000;

pub(crate) struct Campaign {
    range: Range<u64>,
    journal: Option<Mutex<File>>,
    past: Past,
    started: Instant,
}

/// What earlier sittings have done.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Past {
    /// All seeds below are done.
    pub(crate) below: u64,
    pub(crate) failed: BTreeSet<u64>,
    pub(crate) spent: Duration,
}

impl Campaign {
    /// `TRESSE_SEEDS="start..end"`, and the journal `TRESSE_CAMPAIGN=file`; `None` without either.
    pub(crate) fn asked_for() -> Option<Campaign> {
        let journal = env::var_os("TRESSE_CAMPAIGN");
        let range = match env::var("TRESSE_SEEDS") {
            Ok(text) => range(&text),
            Err(_) if journal.is_some() => MILLION,
            Err(_) => return None,
        };
        Some(Campaign::new(range, journal.as_deref().map(Path::new)))
    }

    /// # Panics
    /// If the journal is one of other seeds, or cannot be written.
    pub(crate) fn new(range: Range<u64>, journal: Option<&Path>) -> Campaign {
        let title = format!("seeds {}..{}", range.start, range.end);
        let mut past = Past { below: range.start, ..Past::default() };
        let journal = journal.map(|path| {
            let open = OpenOptions::new().read(true).append(true).create(true).open(path);
            let mut file = open.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let mut lines = BufReader::new(&file).lines().map_while(Result::ok);
            match lines.next() {
                Some(first) => {
                    let of = "is the journal of";
                    assert_eq!(first, title, "{} {of} {first}", path.display());
                    lines.for_each(|line| past.read(&line));
                }
                None => writeln!(file, "{title}").expect("a file that was opened takes a line"),
            }
            Mutex::new(file)
        });
        Campaign { range, journal, past, started: Instant::now() }
    }

    /// What is left to do.
    pub(crate) fn rest(&self) -> Range<u64> {
        self.past.below..self.range.end
    }

    pub(crate) const fn past(&self) -> &Past {
        &self.past
    }

    fn write(&self, line: &str) {
        if let Some(file) = &self.journal {
            let mut file = file.lock().expect("nobody panics while holding it");
            // One that cannot be written any more stops nothing; what is found is printed, too.
            if let Err(error) = writeln!(file, "{line}") {
                eprintln!("journal: {error}");
            }
        }
    }

    /// What fails is known at once, however the campaign ends.
    pub(crate) fn fails(&self, seed: u64, violations: &[Violation]) {
        for violation in violations {
            let line = format!("seed {seed}: {violation}");
            eprintln!("{line}");
            self.write(&line);
        }
    }

    /// All seeds below are done.
    pub(crate) fn done(&self, below: u64, failures: usize) {
        let below = below.min(self.range.end);
        let now = self.started.elapsed();
        let rate = (below - self.past.below) as f64 / now.as_secs_f64();
        let spent = self.past.spent + now;
        self.write(&format!("below {below} {}", spent.as_secs()));
        let all = failures + self.past.failed.len();
        let end = self.range.end;
        eprintln!("{all} failures, {rate:.0} seeds/s; go on with TRESSE_SEEDS={below}..{end}");
    }
}

impl Past {
    fn read(&mut self, line: &str) {
        let mut words = line.split_whitespace();
        let kind = words.next();
        let number = words.next().and_then(|word| word.trim_end_matches(':').parse().ok());
        match (kind, number) {
            (Some("seed"), Some(seed)) => drop(self.failed.insert(seed)),
            (Some("below"), Some(below)) => {
                self.below = below;
                let spent = words.next().and_then(|word| word.parse().ok());
                self.spent = Duration::from_secs(spent.unwrap_or(0));
            }
            // The last line may have been cut off.
            _ => {}
        }
    }
}

fn range(text: &str) -> Range<u64> {
    let parse = |part: &str| part.trim().parse().ok();
    let range = text.split_once("..").and_then(|(a, b)| Some(parse(a)?..parse(b)?));
    range.unwrap_or_else(|| panic!("TRESSE_SEEDS={text} is not like 0..10000"))
}

#[test]
fn a_campaign_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("journal");
    let violation = Violation { kind: crate::ledger::Kind::Lost, text: "all of it".into() };
    let first = Campaign::new(10..100, Some(&path));
    assert_eq!(first.rest(), 10..100);
    first.fails(12, std::slice::from_ref(&violation));
    first.done(40, 1);
    first.fails(41, &[violation]);
    drop(first);
    // It is killed while it writes.
    let mut file = OpenOptions::new().append(true).open(&path).expect("it is there");
    file.write_all(b"bel").expect("writable");
    let second = Campaign::new(10..100, Some(&path));
    assert_eq!((second.rest(), &second.past().failed), (40..100, &BTreeSet::from([12, 41])));
}
