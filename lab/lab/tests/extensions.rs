//! Loss recovery with every extension on: some workloads of the papers, each played a few times.

use std::fs;

use tresse_lab::extended::{Asked, extended};
use tresse_lab::report::{MatrixEntry, MatrixRow};
use tresse_lab::runner::{Execution, ProgressMode};
use tresse_lab::{AnyExperiment, ExtensionSet, Overrides, Session, experiment};

/// What a workload brings with and without them, and no run may fail.
fn rows(id: &str, parameters: &[&str]) -> Vec<MatrixRow> {
    let asked = Asked { extensions: ExtensionSet::all(), each: false, replications: Some(4) };
    let mut found: AnyExperiment = extended(experiment::find(id).unwrap(), &asked).unwrap();
    found.common.profiles.retain(|entry| entry.name == "tresse");
    let folder = tempfile::tempdir().unwrap();
    let parameters = parameters.iter().map(|text| (*text).to_owned()).collect();
    let overrides = Overrides { parameters, ..Overrides::default() };
    let session = Session::of(id, found, &overrides).unwrap();
    let quiet = Execution { progress: ProgressMode::Silent, jobs: Some(2), ..Execution::default() };
    let finished = session.run(folder.path(), quiet).unwrap();
    assert!(finished.report.failures.is_empty(), "{:?}", finished.report.failures);
    assert!(fs::read_dir(folder.path()).unwrap().next().is_some());
    finished.report.matrix
}

fn of<'a>(row: &'a MatrixRow, series: &str) -> &'a MatrixEntry {
    row.entries.iter().find(|entry| entry.series == series).unwrap()
}

/// With them it is at most `percent` worse in the metric of the paper.
fn assert_holds(row: &MatrixRow, percent: f64) {
    let [with, without] = ["tresse, extensions on", "tresse"].map(|s| of(row, s).value.value);
    let worse = if row.higher_is_better { without / with } else { with / without };
    let worse = 100.0 * (worse - 1.0);
    println!("{} {}: {without} without, {with} with", row.workload, row.metric);
    assert!(worse <= percent, "{}: {worse} % worse", row.workload);
}

/// A lost message, a thin stream and a competitor for the window: what the extensions cost is their bytes.
#[test]
fn recovery_is_as_quick_with_every_extension() {
    let mut seen = 0;
    for (id, parameters, percent) in [
        ("hurtig/fig2", vec![], 2.0),
        ("pedersen/table3.4", vec!["workload.periodic.duration_s=300"], 10.0),
        ("ladha/fig12", vec![], 6.0),
    ] {
        for row in rows(id, &parameters) {
            assert_holds(&row, percent);
            seen += 1;
        }
    }
    assert!(seen >= 3, "{seen} workloads");
}
