//! The files of a result.

use std::path::PathBuf;

use tresse_core::Profile;
use tresse_report::Frame;

use super::outcome::Outcome;
use super::{FORMAT, PAGE, Report, ResolvedProfile, SUMMARY, html};
use crate::error::LabError;
use crate::experiment::{Common, Experiment};
use crate::runner::{Failure, Folder};
use crate::schema::Schema;
use crate::version;

/// File of the parameters in which profiles differ.
const PROFILES: &str = "profiles.csv";

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
