//! The rows of an experiment in the matrix of workloads and profiles.

use tresse_report::Unit;

use super::measurements::Measurements;
use crate::flow::{Flow, metric};
use crate::report::outcome::{MatrixEntry, MatrixRow};
use crate::schema::Experiment;

/// One row for each cell, in the paper's metric.
pub(super) fn rows(
    experiment: &Experiment<Flow>,
    measurements: &Measurements<'_>,
) -> Vec<MatrixRow> {
    let Some(matrix) = &experiment.kind.matrix else { return Vec::new() };
    let (words, unit) =
        metric::describe(&matrix.metric).unwrap_or((matrix.metric.clone(), Unit::Number));
    let cells = experiment.kind.cells().into_iter();
    cells
        .map(|cell| {
            let entries = experiment
                .common
                .profiles
                .iter()
                .filter_map(|p| {
                    let each = |metric: &str| measurements.values(metric, &p.label, &cell);
                    let mean = |metric: &str| {
                        measurements.estimate(metric, &p.label, &cell).map(|e| e.value)
                    };
                    Some(MatrixEntry {
                        series: p.label.clone(),
                        profile: p.name.clone(),
                        extra: p.extra,
                        value: measurements.estimate(&matrix.metric, &p.label, &cell)?,
                        values: each(&matrix.metric),
                        goodput_kbps: each("goodput_kbps"),
                        duplicates: each("duplicates"),
                        retransmitted: mean("retransmitted_chunks"),
                    })
                })
                .collect();
            MatrixRow {
                workload: experiment.kind.place(&cell),
                metric: words.clone(),
                unit,
                higher_is_better: matrix.higher_is_better,
                entries,
            }
        })
        .collect()
}
