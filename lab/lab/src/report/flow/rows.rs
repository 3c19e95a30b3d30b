//! The measured values as rows.

use std::collections::{BTreeMap, BTreeSet};

use tresse_report::{DataFile, Frame};

use crate::fingerprint;
use crate::flow::Flow;
use crate::flow::record::{FlowRecord, Step};
use crate::schema::Experiment;

/// One row for each run, one column for each metric.
pub(super) fn runs(experiment: &Experiment<Flow>, records: &[FlowRecord]) -> Frame {
    let names: BTreeSet<&String> = records.iter().flat_map(|r| r.values.keys()).collect();
    let mut frame = identity(experiment, &records.iter().collect::<Vec<_>>());
    for name in names {
        frame = frame.real(name, records.iter().map(|r| r.values.get(name).copied()).collect());
    }
    let keys = records.iter().map(|r| fingerprint::short(&r.key)).collect();
    frame.text("run", keys)
}

/// What a row belongs to: experiment, profile, cell, replication.
fn identity(experiment: &Experiment<Flow>, records: &[&FlowRecord]) -> Frame {
    let profiles: BTreeMap<&str, &str> =
        experiment.common.profiles.iter().map(|p| (p.label.as_str(), p.name.as_str())).collect();
    let name = |r: &&FlowRecord| profiles.get(r.series.as_str()).copied().unwrap_or("").to_owned();
    let mut frame = Frame::default()
        .text("experiment", records.iter().map(|_| experiment.common.id.clone()).collect())
        .text("series", records.iter().map(|r| r.series.clone()).collect())
        .text("profile", records.iter().map(name).collect());
    for axis in &experiment.kind.axes {
        let value = |r: &&FlowRecord| r.cell.get(&axis.name).cloned().unwrap_or_default();
        frame = if axis.is_numeric() {
            let number = |r: &&FlowRecord| value(r).parse().ok();
            frame.real(&axis.name, records.iter().map(number).collect())
        } else {
            frame.text(&axis.name, records.iter().map(value).collect())
        };
    }
    frame.integer("replication", records.iter().map(|r| Some(r.replication.into())).collect())
}

/// Time series and sequence traces of the first replication, if there are any.
pub(super) fn traces(experiment: &Experiment<Flow>, records: &[FlowRecord]) -> Vec<DataFile> {
    let mut files = Vec::new();
    let points: Vec<(&FlowRecord, &String, &[f64; 2])> = records
        .iter()
        .flat_map(|r| r.traces.series.iter().map(move |(name, points)| (r, name, points)))
        .flat_map(|(r, name, points)| points.iter().map(move |p| (r, name, p)))
        .collect();
    if !points.is_empty() {
        let of: Vec<&FlowRecord> = points.iter().map(|p| p.0).collect();
        let frame = identity(experiment, &of)
            .text("name", points.iter().map(|p| p.1.clone()).collect())
            .real("time_s", points.iter().map(|p| Some(p.2[0])).collect())
            .real("value", points.iter().map(|p| Some(p.2[1])).collect());
        let what = "time series of the first replication".into();
        files.push(DataFile { name: "series".into(), what, frame });
    }
    let steps: Vec<(&FlowRecord, &Step)> =
        records.iter().flat_map(|r| r.traces.sequence.iter().map(move |s| (r, s))).collect();
    if !steps.is_empty() {
        let of: Vec<&FlowRecord> = steps.iter().map(|s| s.0).collect();
        let frame = identity(experiment, &of)
            .real("time_s", steps.iter().map(|s| Some(s.1.0)).collect())
            .integer("tsn", steps.iter().map(|s| Some(s.1.1.into())).collect())
            .integer("path", steps.iter().map(|s| Some(s.1.2.into())).collect())
            .text("what", steps.iter().map(|s| s.1.3.name().to_owned()).collect());
        let what = "when each TSN was sent, sent again, lost, acknowledged and delivered, first replication".into();
        files.push(DataFile { name: "sequence".into(), what, frame });
    }
    files
}
