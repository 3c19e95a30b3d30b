//! What the runs of an experiment say, whatever its kind: what a report is written from.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tresse_netem::LinkConfig;
use tresse_report::figure::Figure;
use tresse_report::{DataFile, Drawing, Estimate, Table, Unit};

use crate::comparison::Comparison;
use crate::error::LabError;
use crate::runner::Run;
use crate::schema::{Experiment, Schema};

/// A kind of experiment: how its runs are read.
pub(crate) trait Told: Schema {
    /// Everything that the runs say.
    ///
    /// # Errors
    /// [`LabError::Option`] if a plot cannot be drawn.
    fn outcome(
        experiment: &Experiment<Self>,
        records: &[<Self::Run as Run>::Record],
    ) -> Result<Outcome, LabError>;
}

/// What the runs of an experiment say, before it is written.
pub(crate) struct Outcome {
    pub(crate) packets: u64,
    pub(crate) setup: Vec<(String, String)>,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) tables: Vec<Table>,
    pub(crate) drawings: Vec<Drawing>,
    pub(crate) data: Vec<DataFile>,
    pub(crate) matrix: Vec<MatrixRow>,
    pub(crate) analysis: serde_json::Value,
}

/// One workload and how each profile fares with it, in the metric of its paper.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixRow {
    /// What sets it apart within its experiment; empty if it is the only one.
    pub workload: String,
    /// What is measured, in words.
    pub metric: String,
    /// Unit of it.
    pub unit: Unit,
    /// Whether more of it is better.
    pub higher_is_better: bool,
    /// One for each profile.
    pub entries: Vec<MatrixEntry>,
}

/// One profile on one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatrixEntry {
    /// What tables call it.
    pub series: String,
    /// Its name.
    pub profile: String,
    /// Not one of the paper's variants.
    pub extra: bool,
    /// The metric of the row.
    pub value: Estimate,
    /// The same for each run: runs of the same number had the same seed.
    #[serde(default)]
    pub values: BTreeMap<u32, f64>,
    /// User data delivered, kbit/s, for each run; empty where it says nothing.
    #[serde(default)]
    pub goodput_kbps: BTreeMap<u32, f64>,
    /// Chunks that reached the receiver twice, unnecessary retransmissions, for each run. Where a replication has
    /// several runs, that many times as many: their mean is that of a replication.
    #[serde(default)]
    pub duplicates: BTreeMap<u32, f64>,
    /// All retransmissions, where they are counted.
    #[serde(default)]
    pub retransmitted: Option<f64>,
}

/// The figures that could be drawn, by their file names.
///
/// # Errors
/// [`LabError::Option`] if one cannot be.
pub(crate) fn drawings<'a>(
    figures: impl Iterator<Item = (&'a str, Option<Figure>)>,
) -> Result<Vec<Drawing>, LabError> {
    let built = figures.filter_map(|(file, figure)| Some((file, figure?)));
    built.map(|(file, figure)| Drawing::new(file, &figure).map_err(LabError::Option)).collect()
}

/// A link in words: what differs from a perfect one, by the names of the TOML keys.
pub(crate) fn describe_link(link: &LinkConfig) -> String {
    let table = |link: &LinkConfig| toml::Table::try_from(link).unwrap_or_default();
    let (own, perfect) = (table(link), table(&LinkConfig::default()));
    let mut parts: Vec<String> = own
        .iter()
        .filter(|(key, value)| perfect.get(*key) != Some(*value))
        .map(|(key, value)| format!("{key} = {value}"))
        .collect();
    parts.sort();
    if parts.is_empty() { "perfect".into() } else { parts.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_described_by_what_they_do() {
        assert_eq!(describe_link(&LinkConfig::default()), "perfect");
        let link = LinkConfig { loss: 0.05, ..LinkConfig::new(1000.0, 100.0) };
        assert_eq!(describe_link(&link), "bandwidth_kbps = 1000.0, delay_ms = 100.0, loss = 0.05");
    }
}
