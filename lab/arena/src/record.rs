//! What a cell was and what came of it, kept in a file as it comes.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::ArenaError;
use crate::measure::Measures;
use crate::scenario::Scenario;

/// Name of the file of records, one line of JSON each.
pub const RECORDS: &str = "results.jsonl";
/// Folder of the scenarios as they were played.
pub const SCENARIOS: &str = "scenarios";

/// One cell: a stack in a scenario, once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The scenario.
    pub scenario: String,
    /// [`Scenario::fingerprint`]: results of another version of the scenario do not count.
    pub fingerprint: u32,
    /// The stack.
    pub stack: String,
    /// Its version, if that can be told.
    pub version: Option<String>,
    /// Which repetition, from 0 on.
    pub repetition: u32,
    /// Seed of the links.
    pub seed: u64,
    /// How long the cell took, in seconds.
    pub took_s: f64,
    /// By how much packets were late, see [`Played::late_ms`](crate::Played::late_ms).
    pub late_ms: Option<f64>,
    /// What came of it.
    pub outcome: Outcome,
}

/// What came of a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// The numbers.
    Measured(Box<Measures>),
    /// The stack cannot do this; in the words of its program.
    Unsupported(String),
    /// The peer is not installed, and how to have it.
    Missing(String),
    /// It crashed, hung or failed.
    Failed(String),
}

impl Outcome {
    /// Whether there is nothing to be gained by playing it again.
    #[must_use]
    pub const fn is_final(&self) -> bool {
        matches!(self, Outcome::Measured(_) | Outcome::Unsupported(_))
    }
}

/// The records of a folder.
#[derive(Debug)]
pub struct Store {
    folder: PathBuf,
    file: File,
    /// All of them, as they came.
    pub records: Vec<Record>,
}

impl Store {
    /// Opens a folder, made if need be, to go on where it was left, or from nothing if `fresh`. A last
    /// line that was cut off is thrown away.
    ///
    /// # Errors
    /// [`ArenaError::Write`]; [`ArenaError::Request`] if the folder holds something else.
    pub fn open(folder: &Path, fresh: bool) -> Result<Store, ArenaError> {
        std::fs::create_dir_all(folder.join(SCENARIOS)).map_err(ArenaError::write(folder))?;
        let path = folder.join(RECORDS);
        let mut options = OpenOptions::new();
        options.create(true).append(true);
        let file = options.open(&path).map_err(ArenaError::write(&path))?;
        if fresh {
            file.set_len(0).map_err(ArenaError::write(&path))?;
        }
        let text = std::fs::read_to_string(&path).map_err(ArenaError::write(&path))?;
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        file.set_len(whole as u64).map_err(ArenaError::write(&path))?;
        let records = parse(&path, &text[..whole])?;
        Ok(Store { folder: folder.to_owned(), file, records })
    }

    /// Reads a folder.
    ///
    /// # Errors
    /// [`ArenaError::Request`] if there are no results in it.
    pub fn read(folder: &Path) -> Result<Vec<Record>, ArenaError> {
        let path = folder.join(RECORDS);
        let text = std::fs::read_to_string(&path)
            .map_err(|e| ArenaError::Request(format!("no results: {}: {e}", path.display())))?;
        parse(&path, &text[..text.rfind('\n').map_or(0, |end| end + 1)])
    }

    /// Keeps a scenario as it is played.
    ///
    /// # Errors
    /// [`ArenaError::Write`].
    pub fn keep(&self, scenario: &Scenario) -> Result<(), ArenaError> {
        let path = self.folder.join(SCENARIOS).join(format!("{}.toml", scenario.id));
        let text = toml::to_string(scenario).unwrap_or_default();
        std::fs::write(&path, text).map_err(ArenaError::write(&path))
    }

    /// Whether a cell has been played for good.
    #[must_use]
    pub fn has(&self, scenario: &Scenario, stack: &str, repetition: u32) -> bool {
        let fingerprint = scenario.fingerprint();
        self.records.iter().any(|record| {
            (record.scenario.as_str(), record.fingerprint) == (scenario.id.as_str(), fingerprint)
                && (record.stack.as_str(), record.repetition) == (stack, repetition)
                && record.outcome.is_final()
        })
    }

    /// Adds a record, at once on disk.
    ///
    /// # Errors
    /// [`ArenaError::Write`]; those before it are kept.
    pub fn add(&mut self, record: Record) -> Result<(), ArenaError> {
        let mut line = serde_json::to_string(&record).unwrap_or_default();
        line.push('\n');
        let path = self.folder.join(RECORDS);
        self.file.write_all(line.as_bytes()).map_err(ArenaError::write(&path))?;
        self.records.push(record);
        Ok(())
    }
}

fn parse(path: &Path, text: &str) -> Result<Vec<Record>, ArenaError> {
    let record = |(n, line)| {
        serde_json::from_str(line).map_err(|e| {
            let place = format!("{}:{}", path.display(), n + 1);
            ArenaError::Request(format!("{place}: not a result of this version: {e}"))
        })
    };
    text.lines().enumerate().map(record).collect()
}
