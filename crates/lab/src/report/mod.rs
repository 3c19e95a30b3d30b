//! Everything that is written about an experiment: CSV, JSON, SVG, one HTML page, and the
//! terminal.

mod csv;
pub mod figure;
mod html;
pub mod svg;
mod table;
mod terminal;

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::analysis::{Analysis, Verdict, analyse};
use crate::error::LabError;
use crate::experiment::Experiment;
use crate::measurements::Measurements;
use crate::overrides::{Overrides, shell_word};
use crate::plan::{RunSpec, resolve};
use crate::record::RunRecord;
use crate::runner::{Executed, Failure, Folder};
use crate::version;

pub use table::{Align, Table, tables};
pub use terminal::render as render_for_terminal;

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
    /// The experiment, with what was changed about it.
    pub experiment: Experiment,
    /// Command-line options that changed it.
    pub changes: Vec<String>,
    /// The command that makes this result again.
    pub command: String,
    /// The profiles as run, every parameter written out as TOML.
    pub profiles: Vec<ResolvedProfile>,
    /// Runs in the plan.
    pub runs: usize,
    /// Runs that went wrong.
    pub failures: Vec<Failure>,
    /// The numbers.
    pub analysis: Analysis,
    /// Files of plots.
    pub plots: Vec<String>,
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

const FORMAT: u32 = 1;

impl Report {
    /// How many published numbers agree, and how many there are.
    pub fn agreement(&self) -> (usize, usize) {
        let comparisons = &self.analysis.comparisons;
        let agree = comparisons.iter().filter(|c| c.verdict == Verdict::Agrees).count();
        (agree, comparisons.len())
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
            Ok(report) if report.format == FORMAT => Ok(report),
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

/// Analyses what was executed and writes all files, each of them whole or not at all. Returns
/// the report and the path of the page.
///
/// # Errors
/// [`LabError::Write`], and [`LabError::Option`] if a plot cannot be drawn.
pub fn write(
    experiment: &Experiment,
    plan: &[RunSpec],
    executed: &Executed,
    folder: &Folder,
    changes: Vec<String>,
    command: String,
) -> Result<(Report, PathBuf), LabError> {
    let measurements = Measurements::new(experiment, &executed.records);
    let analysis = analyse(experiment, &measurements);
    let mut drawings = Vec::new();
    for plot in &experiment.plots {
        if let Some(figure) = figure::build(plot, experiment, &measurements, &analysis) {
            let drawing = svg::draw(&figure).map_err(LabError::Option)?;
            drawings.push((format!("{}.svg", plot.file), drawing));
        }
    }
    let report = Report {
        format: FORMAT,
        version: version::describe(),
        experiment: experiment.clone(),
        changes,
        command,
        profiles: resolved_profiles(experiment)?,
        runs: plan.len(),
        failures: executed.failures.clone(),
        analysis,
        plots: drawings.iter().map(|(name, _)| name.clone()).collect(),
    };
    let records: Vec<&RunRecord> = executed.records.iter().collect();
    folder.write("rows.csv", csv::rows(&report, &records).as_bytes())?;
    folder.write("reductions.csv", csv::reductions(&report).as_bytes())?;
    for (name, drawing) in &drawings {
        folder.write(name, drawing.as_bytes())?;
    }
    folder.remove_plots_except(&report.plots);
    let json = serde_json::to_string_pretty(&report)
        .map_err(|e| LabError::write(&folder.path().join(SUMMARY), e.into()))?;
    folder.write(SUMMARY, (json + "\n").as_bytes())?;
    folder.write(PAGE, html::page(&report, &drawings).as_bytes())?;
    let page = folder.path().join(PAGE);
    Ok((report, page))
}

fn resolved_profiles(experiment: &Experiment) -> Result<Vec<ResolvedProfile>, LabError> {
    experiment
        .profiles
        .iter()
        .map(|entry| {
            let profile = resolve(experiment, &entry.name)?;
            Ok(ResolvedProfile {
                label: entry.label.clone(),
                name: entry.name.clone(),
                description: profile.description.clone(),
                parameters: profile.to_toml(),
            })
        })
        .collect()
}
