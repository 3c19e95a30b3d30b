//! Why the laboratory cannot do what was asked. Every message is one line.

use std::path::{Path, PathBuf};

use thiserror::Error;
use tresse_core::ProfileError;

/// A request that cannot be carried out. Nothing has been written when one is returned, except
/// for [`LabError::Write`] in the middle of a run, which leaves the finished runs to be resumed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LabError {
    /// No built-in experiment has this id, and it is not a file either.
    #[error("unknown experiment \"{id}\"{}; `tresse lab list` shows all {}", near_text(near), known.len())]
    UnknownExperiment {
        /// What was asked for.
        id: String,
        /// Known ids that look like it, best first.
        near: Vec<String>,
        /// All known ids.
        known: Vec<String>,
    },
    /// An experiment file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// An experiment file is wrong.
    #[error("{origin}{}: {message}{}", line_text(*line), key_text(key))]
    Experiment {
        /// The file, or the id of a built-in experiment.
        origin: String,
        /// The line, if known, counted from 1.
        line: Option<usize>,
        /// The TOML key, with dots.
        key: String,
        /// What is wrong with it.
        message: String,
    },
    /// A profile that the caller asked for is unknown, or a parameter is wrong.
    #[error("{context}: {source}")]
    Profile {
        /// Where the profile or the parameter was given.
        context: String,
        /// What is wrong.
        source: ProfileError,
    },
    /// An option is wrong.
    #[error("{0}")]
    Option(String),
    /// A folder or file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The folder or file.
        path: PathBuf,
        /// What the operating system said.
        source: std::io::Error,
    },
    /// Another process runs the same experiment into the same folder.
    #[error("another run is writing to {}; wait for it or choose another folder", path.display())]
    Busy {
        /// The folder.
        path: PathBuf,
    },
    /// Somebody asked for an end before all runs were made. What is made is stored.
    #[error(
        "interrupted: {stored} of {runs} runs of {id} are stored in {}; the same command makes the rest",
        path.display()
    )]
    Interrupted {
        /// The experiment.
        id: String,
        /// Runs that are stored.
        stored: usize,
        /// All of its runs.
        runs: usize,
        /// The folder.
        path: PathBuf,
    },
    /// There is no result to show.
    #[error("no result of {id} in {}; make one with: {command}", path.display())]
    NoResult {
        /// The experiment.
        id: String,
        /// Where it was looked for.
        path: PathBuf,
        /// The command that makes it.
        command: String,
    },
    /// A stored result cannot be understood.
    #[error("{} is not a result of this version; make it again with: {command}", path.display())]
    BadResult {
        /// The file.
        path: PathBuf,
        /// The command that makes it again.
        command: String,
    },
}

impl LabError {
    pub(crate) fn write(path: &Path, source: std::io::Error) -> LabError {
        LabError::Write { path: path.to_owned(), source }
    }
}

fn near_text(near: &[String]) -> String {
    if near.is_empty() { String::new() } else { format!("; did you mean {}?", near.join(" or ")) }
}

fn line_text(line: Option<usize>) -> String {
    line.map_or_else(String::new, |n| format!(":{n}"))
}

fn key_text(key: &str) -> String {
    if key.is_empty() { String::new() } else { format!(" (key {key})") }
}
