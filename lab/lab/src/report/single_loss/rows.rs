//! The measured values and the reductions as rows.

use tresse_report::Frame;

use super::analysis::Analysis;
use crate::fingerprint;
use crate::schema::Experiment;
use crate::single_loss::SingleLoss;
use crate::single_loss::record::{RunRecord, Sample};

/// One row for each measured value. Parameters of profiles stand in a file of their own, by the
/// name of the series: repeated in each row they made files of 100 MB.
pub(super) fn rows(experiment: &Experiment<SingleLoss>, records: &[RunRecord]) -> Frame {
    let pairs: Vec<(&RunRecord, &Sample)> =
        records.iter().flat_map(|r| r.samples.iter().map(move |s| (r, s))).collect();
    let integers = |value: &dyn Fn(&RunRecord, &Sample) -> Option<u64>| -> Vec<Option<i64>> {
        pairs.iter().map(|(r, s)| value(r, s).and_then(|v| i64::try_from(v).ok())).collect()
    };
    let reals = |value: &dyn Fn(&RunRecord, &Sample) -> f64| -> Vec<Option<f64>> {
        pairs.iter().map(|(r, s)| Some(value(r, s))).collect()
    };
    let texts = |value: &dyn Fn(&RunRecord) -> String| -> Vec<String> {
        pairs.iter().map(|(r, _)| value(r)).collect()
    };
    Frame::default()
        .text("experiment", texts(&|_| experiment.common.id.clone()))
        .text("series", texts(&|r| r.series.clone()))
        .real("bandwidth_kbps", reals(&|r, _| r.cell.bandwidth_kbps))
        .real("delay_ms", reals(&|r, _| r.cell.delay_ms))
        .integer("replication", integers(&|r, _| Some(r.replication.into())))
        .integer("dropped_tsn", integers(&|r, _| r.dropped.map(u64::from)))
        .integer("tsn", integers(&|_, s| Some(s.tsn.into())))
        .integer("burst", integers(&|_, s| Some(s.burst.into())))
        .integer("position", integers(&|_, s| Some(s.position.into())))
        .real("mtt_ms", reals(&|_, s| s.mtt_ms))
        .text("recovered_by", texts(&|r| r.recovered_by.clone().unwrap_or_default()))
        .integer("timeouts", integers(&|r, _| Some(r.counters.timeouts)))
        .integer("duplicates", integers(&|r, _| Some(r.counters.duplicates)))
        .integer("packets", integers(&|r, _| Some(r.counters.packets)))
        .text("run", texts(&|r| fingerprint::short(&r.key)))
}

/// Both readings of the average reduction, and the best one, for each cell.
pub(super) fn reductions(experiment: &Experiment<SingleLoss>, analysis: &Analysis) -> Frame {
    let all = &analysis.reductions;
    let some = |values: Vec<f64>| values.into_iter().map(Some).collect::<Vec<_>>();
    Frame::default()
        .text("experiment", all.iter().map(|_| experiment.common.id.clone()).collect())
        .text("series", all.iter().map(|r| r.series.clone()).collect())
        .text("baseline", all.iter().map(|r| r.baseline.clone()).collect())
        .real("bandwidth_kbps", some(all.iter().map(|r| r.cell.bandwidth_kbps).collect()))
        .real("delay_ms", some(all.iter().map(|r| r.cell.delay_ms).collect()))
        .real("of_means_percent", some(all.iter().map(|r| r.of_means.value).collect()))
        .real("of_means_ci95", all.iter().map(|r| r.of_means.ci95).collect())
        .real("of_positions_percent", some(all.iter().map(|r| r.of_positions.value).collect()))
        .real("of_positions_ci95", all.iter().map(|r| r.of_positions.ci95).collect())
        .real("best_percent", some(all.iter().map(|r| r.best.value).collect()))
        .integer("best_tsn", all.iter().map(|r| r.best_tsn.map(i64::from)).collect())
}
