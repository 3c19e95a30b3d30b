//! Everything that is written about an experiment: CSV, Parquet, JSON, SVG, one HTML page, and
//! the terminal.

pub mod agreement;
pub mod campaign;
mod compared;
mod files;
pub mod flow;
pub mod gallery;
pub mod gauntlet;
mod html;
mod outcome;
pub mod side_by_side;
pub mod single_loss;
mod tally;
mod terminal;

use std::path::Path;

use serde::{Deserialize, Serialize};
use tresse_report::Table;

use crate::comparison::Comparison;
use crate::error::LabError;
use crate::experiment::{self, About};
use crate::overrides::Overrides;
use crate::runner::Failure;
use crate::shell::shell_word;

pub(crate) use files::{Made, write};
pub(crate) use outcome::Told;
pub use outcome::{MatrixEntry, MatrixRow};
pub use tally::{Count, Tally};
pub use terminal::render as render_for_terminal;
pub use tresse_report::Screen;

/// File that [`Report`] is stored in.
pub const SUMMARY: &str = "summary.json";

/// The page.
pub const PAGE: &str = "index.html";

/// The result of an experiment: what was run, what came out, how it compares.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// Version of this structure.
    pub format: u32,
    /// The code that made it.
    pub version: String,
    /// What it is about.
    pub about: About,
    /// The experiment, with what was changed about it.
    pub experiment: serde_json::Value,
    /// Command-line options that changed it.
    pub changes: Vec<String>,
    /// The command that makes this result again.
    pub command: String,
    /// The profiles as run, every parameter written out as TOML.
    pub profiles: Vec<ResolvedProfile>,
    /// Runs in the plan.
    pub runs: usize,
    /// Packets that all finished runs simulated.
    pub packets: u64,
    /// Runs that went wrong.
    pub failures: Vec<Failure>,
    /// Network, traffic and so on in words.
    pub setup: Vec<(String, String)>,
    /// Ours beside the published numbers.
    pub comparisons: Vec<Comparison>,
    /// The tables.
    pub tables: Vec<Table>,
    /// The rows of this experiment in the matrix of workloads and profiles.
    pub matrix: Vec<MatrixRow>,
    /// Files of measured values and what they hold.
    pub files: Vec<(String, String)>,
    /// Files of plots.
    pub plots: Vec<String>,
    /// The numbers of the tables as data.
    pub analysis: serde_json::Value,
}

/// A profile with everything that was changed about it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ResolvedProfile {
    /// What tables call it.
    pub label: String,
    /// Its name.
    pub name: String,
    /// One line on what it is.
    pub description: String,
    /// All parameters, as TOML.
    pub parameters: String,
}

const FORMAT: u32 = 4;

impl Report {
    /// How many comparisons of each kind agree, without those that other experiments count.
    #[must_use]
    pub fn tally(&self) -> Tally {
        Tally::of(&self.about.id, &self.comparisons)
    }

    /// Whether what it is compared with are aims of this project, which nobody has published.
    #[must_use]
    pub fn has_aims(&self) -> bool {
        experiment::has_aims(&self.about.id)
    }

    /// The same numbers by today's rules.
    fn judged_again(mut self) -> Report {
        self.comparisons = self.comparisons.into_iter().map(Comparison::judged_again).collect();
        self
    }

    /// The stored result in `folder`.
    ///
    /// # Errors
    /// [`LabError::NoResult`] if there is none, [`LabError::BadResult`] if it is of another
    /// version; both say which command makes one.
    pub fn load(folder: &Path, id: &str, command: &str) -> Result<Report, LabError> {
        let path = folder.join(SUMMARY);
        let text = std::fs::read_to_string(&path).map_err(|source| {
            if source.kind() == std::io::ErrorKind::NotFound {
                LabError::NoResult {
                    id: id.to_owned(),
                    path: folder.to_owned(),
                    command: command.to_owned(),
                }
            } else {
                LabError::Read { path: path.clone(), source }
            }
        })?;
        match serde_json::from_str::<Report>(&text) {
            Ok(report) if report.format == FORMAT => Ok(report.judged_again()),
            _ => Err(LabError::BadResult { path, command: command.to_owned() }),
        }
    }
}

/// The command that runs `name` with `overrides`, as typed in a shell.
pub fn command_line(name: &str, overrides: &Overrides) -> String {
    let mut words = vec!["tresse lab run".to_owned(), shell_word(name)];
    words.extend(overrides.arguments());
    words.join(" ")
}
