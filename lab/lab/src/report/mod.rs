//! Everything that is written about an experiment: CSV, Parquet, JSON, SVG, one HTML page, and
//! the terminal.

pub mod agreement;
pub mod campaign;
mod compared;
pub mod gallery;
mod html;
pub mod side_by_side;
mod tally;
mod terminal;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tresse_core::Profile;
use tresse_report::{Frame, Table};

use crate::comparison::Comparison;
use crate::error::LabError;
use crate::experiment::{self, About, Common, Experiment};
use crate::outcome::Outcome;
pub use crate::outcome::{MatrixEntry, MatrixRow};
use crate::overrides::Overrides;
use crate::runner::{Failure, Folder};
use crate::schema::Schema;
use crate::shell::shell_word;
use crate::version;

pub use tally::{Count, Tally};
pub use terminal::render as render_for_terminal;
pub use tresse_report::Screen;

/// File that [`Report`] is stored in.
pub const SUMMARY: &str = "summary.json";

/// The page.
pub const PAGE: &str = "index.html";

/// File of the parameters in which profiles differ.
const PROFILES: &str = "profiles.csv";

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

/// How the runs were made.
pub(crate) struct Made {
    pub(crate) runs: usize,
    pub(crate) failures: Vec<Failure>,
    pub(crate) changes: Vec<String>,
    pub(crate) command: String,
}

/// Writes all files, each of them whole or not at all. Returns the report and the path of the
/// page.
///
/// # Errors
/// [`LabError::Write`].
pub(crate) fn write<K: Schema>(
    experiment: &Experiment<K>,
    outcome: Outcome,
    made: Made,
    folder: &Folder,
) -> Result<(Report, PathBuf), LabError> {
    let mut files = Vec::new();
    for file in &outcome.data {
        let csv = format!("{}.csv", file.name);
        folder.write(&csv, file.frame.to_csv().as_bytes())?;
        files.push((csv, file.what.clone()));
        #[cfg(feature = "parquet")]
        {
            let parquet = format!("{}.parquet", file.name);
            folder.write(&parquet, &file.frame.to_parquet().map_err(LabError::Option)?)?;
            files.push((parquet, "the same as Parquet".into()));
        }
    }
    let profiles = resolved_profiles(&experiment.common)?;
    folder.write(PROFILES, profile_parameters(&profiles).to_csv().as_bytes())?;
    files.push((PROFILES.into(), "the parameters in which a profile differs from RFC 9260".into()));
    let report = Report {
        format: FORMAT,
        version: version::describe(),
        about: experiment.common.about(),
        experiment: serde_json::to_value(experiment).unwrap_or_default(),
        changes: made.changes,
        command: made.command,
        profiles,
        runs: made.runs,
        packets: outcome.packets,
        failures: made.failures,
        setup: outcome.setup,
        comparisons: outcome.comparisons,
        tables: outcome.tables,
        matrix: outcome.matrix,
        files,
        plots: outcome.drawings.iter().map(|d| d.name.clone()).collect(),
        analysis: outcome.analysis,
    };
    for drawing in &outcome.drawings {
        folder.write(&drawing.name, drawing.file().as_bytes())?;
    }
    folder.remove_plots_except(&report.plots);
    let json = serde_json::to_string_pretty(&report)
        .map_err(|e| LabError::write(&folder.path().join(SUMMARY), e.into()))?;
    folder.write(SUMMARY, (json + "\n").as_bytes())?;
    folder.write(PAGE, html::page(&report, &outcome.drawings).as_bytes())?;
    let page = folder.path().join(PAGE);
    Ok((report, page))
}

fn resolved_profiles(common: &Common) -> Result<Vec<ResolvedProfile>, LabError> {
    common
        .profiles
        .iter()
        .map(|entry| {
            let sender = entry.resolve(&common.parameters)?;
            Ok(ResolvedProfile {
                label: entry.label.clone(),
                name: entry.name.clone(),
                description: sender.description(),
                parameters: sender.to_toml(),
            })
        })
        .collect()
}

/// One row for each profile: the parameters in which any of them differs from RFC 9260.
fn profile_parameters(profiles: &[ResolvedProfile]) -> Frame {
    let standard = flatten(&Profile::standard().to_toml());
    let all: Vec<Vec<(String, String)>> = profiles.iter().map(|p| flatten(&p.parameters)).collect();
    let mut keys: Vec<&String> = all
        .iter()
        .flatten()
        .filter(|pair| !standard.contains(pair))
        .map(|(key, _)| key)
        .filter(|key| key.contains('.'))
        .collect();
    keys.sort();
    keys.dedup();
    let mut frame = Frame::default()
        .text("series", profiles.iter().map(|p| p.label.clone()).collect())
        .text("profile", profiles.iter().map(|p| p.name.clone()).collect());
    for key in keys {
        let value = |pairs: &Vec<(String, String)>| {
            pairs.iter().find(|(k, _)| k == key).map(|(_, v)| v.clone()).unwrap_or_default()
        };
        frame = frame.text(key, all.iter().map(value).collect());
    }
    frame
}

/// `[rto] min_ms = 100` becomes (`rto.min_ms`, `100`).
fn flatten(toml: &str) -> Vec<(String, String)> {
    let table: toml::Table = toml.parse().unwrap_or_default();
    let mut pairs = Vec::new();
    for (key, value) in table {
        match value {
            toml::Value::Table(inner) => {
                pairs.extend(inner.into_iter().map(|(k, v)| (format!("{key}.{k}"), plain(&v))));
            }
            value => pairs.push((key, plain(&value))),
        }
    }
    pairs
}

fn plain(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_get_dotted_keys() {
        let pairs = flatten("name = 'x'\n[rto]\nmin_ms = 100.0\n");
        assert!(pairs.contains(&("rto.min_ms".into(), "100.0".into())), "{pairs:?}");
        assert!(pairs.contains(&("name".into(), "x".into())));
    }
}
