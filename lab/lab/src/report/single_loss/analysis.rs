//! From measurements to the numbers of the tables, and their comparison with the published ones.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tresse_report::statistics::{Summary, mean};
use tresse_report::{Estimate, Unit};

use super::measurements::{Flow, Measurements};
use crate::common::ProfileEntry;
use crate::comparison::Comparison;
use crate::report::outcome::{MatrixEntry, MatrixRow};
use crate::schema::Experiment;
use crate::single_loss::{
    AverageReduction, Cell, Measure, MttMeasure, MttStatistic, ReductionMeasure,
    ReductionStatistic, SingleLoss,
};

/// Every number of an experiment's tables.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysis {
    /// Transfer times, one row per profile and cell, and one per cell for the run without loss.
    pub transfer_times: Vec<TransferTimes>,
    /// Reductions, one row per cell and profile that has a baseline.
    pub reductions: Vec<Reduction>,
    /// Ours beside the published numbers.
    pub comparisons: Vec<Comparison>,
}

/// Transfer times of one profile in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TransferTimes {
    /// Label of the profile, or [`NO_LOSS`].
    pub series: String,
    /// Not in the paper.
    pub extra: bool,
    /// Bandwidth and delay.
    pub cell: Cell,
    /// MTT of the dropped messages (of all messages without loss), milliseconds.
    pub mtt_ms: Summary,
    /// How many losses were recovered by what.
    pub recoveries: BTreeMap<String, u64>,
    /// Unnecessary retransmissions.
    pub duplicates: u64,
}

/// Label of the row and the line for the run without loss.
pub const NO_LOSS: &str = "No loss";

/// By how much one profile reduces the MTT of another one, in percent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reduction {
    /// Label of the profile.
    pub series: String,
    /// Label of its baseline.
    pub baseline: String,
    /// Not in the paper.
    pub extra: bool,
    /// Bandwidth and delay.
    pub cell: Cell,
    /// `1 − mean(variant) / mean(baseline)`, over the loss positions of a replication.
    pub of_means: Estimate,
    /// Mean over the loss positions of `1 − variant / baseline`.
    pub of_positions: Estimate,
    /// The largest `1 − variant / baseline` of all loss positions of a replication.
    pub best: Estimate,
    /// Loss position of the largest one, in the paper's numbering, if there is one replication.
    pub best_tsn: Option<u32>,
}

impl Reduction {
    /// The average reduction in the reading that the experiment has chosen.
    pub fn average(&self, reading: AverageReduction) -> Estimate {
        match reading {
            AverageReduction::OfMeans => self.of_means,
            AverageReduction::OfPositions => self.of_positions,
        }
    }
}

/// Computes every table.
pub fn analyse(experiment: &Experiment<SingleLoss>, measurements: &Measurements) -> Analysis {
    let mut transfer_times = Vec::new();
    let mut reductions = Vec::new();
    for cell in experiment.kind.cells() {
        let first = &experiment.common.profiles[0];
        transfer_times.extend(no_loss_row(measurements, first, cell));
        for entry in &experiment.common.profiles {
            transfer_times.extend(transfer_row(measurements, entry, cell));
            if let Some(baseline) = experiment.baseline_of(entry) {
                reductions.extend(reduction(measurements, entry, baseline, cell, &[]));
            }
        }
    }
    let reading = experiment.kind.metric.average_reduction;
    let comparisons = experiment
        .kind
        .published
        .iter()
        .map(|published| {
            let ours = match &published.measure {
                Measure::Reduction(m) => {
                    let cell = cell_of(experiment, m.bandwidth_kbps, m.delay_ms);
                    reduction_estimate(experiment, measurements, &reductions, m, cell, reading)
                }
                Measure::Mtt(m) => {
                    let cell = cell_of(experiment, m.bandwidth_kbps, m.delay_ms);
                    mtt_estimate(measurements, m, cell)
                }
            };
            Comparison::new(published.claim(), ours)
        })
        .collect();
    Analysis { transfer_times, reductions, comparisons }
}

fn cell_of(
    experiment: &Experiment<SingleLoss>,
    bandwidth: Option<f64>,
    delay: Option<f64>,
) -> Cell {
    Cell {
        bandwidth_kbps: bandwidth.unwrap_or(experiment.kind.topology.bandwidth_kbps[0]),
        delay_ms: delay.unwrap_or(experiment.kind.topology.delay_ms[0]),
    }
}

fn no_loss_row(m: &Measurements, entry: &ProfileEntry, cell: Cell) -> Option<TransferTimes> {
    let values: Vec<f64> =
        m.flows(&entry.label, cell).flat_map(|(_, f)| f.no_loss.iter().map(|s| s.mtt_ms)).collect();
    Some(TransferTimes {
        series: NO_LOSS.into(),
        extra: false,
        cell,
        mtt_ms: Summary::of(&values)?,
        recoveries: BTreeMap::new(),
        duplicates: 0,
    })
}

fn transfer_row(m: &Measurements, entry: &ProfileEntry, cell: Cell) -> Option<TransferTimes> {
    let mut values = Vec::new();
    let mut recoveries: BTreeMap<String, u64> = BTreeMap::new();
    let mut duplicates = 0;
    for (_, flow) in m.flows(&entry.label, cell) {
        values.extend(flow.lost.iter().map(|s| s.mtt_ms));
        duplicates += flow.duplicates.values().sum::<u64>();
        for (cause, n) in &flow.recoveries {
            *recoveries.entry(cause.clone()).or_default() += n;
        }
    }
    Some(TransferTimes {
        series: entry.label.clone(),
        extra: entry.extra,
        cell,
        mtt_ms: Summary::of(&values)?,
        recoveries,
        duplicates,
    })
}

/// Whether a loss at `position` within its burst is one of `positions`, or these are all.
fn is_wanted(position: u32, positions: &[u32]) -> bool {
    positions.is_empty() || positions.contains(&position)
}

/// Pairs (baseline, variant) of the same loss position, with its number; of these positions within a
/// burst only, if there are any.
fn pairs(baseline: &Flow, variant: &Flow, positions: &[u32]) -> Vec<(u32, f64, f64)> {
    let of_variant: BTreeMap<u32, f64> = variant.lost.iter().map(|s| (s.tsn, s.mtt_ms)).collect();
    baseline
        .lost
        .iter()
        .filter(|s| is_wanted(s.position, positions))
        .filter_map(|s| of_variant.get(&s.tsn).map(|v| (s.tsn, s.mtt_ms, *v)))
        .collect()
}

fn percent_less(variant: f64, baseline: f64) -> f64 {
    100.0 * (1.0 - variant / baseline)
}

fn reduction(
    m: &Measurements,
    entry: &ProfileEntry,
    baseline: &str,
    cell: Cell,
    positions: &[u32],
) -> Option<Reduction> {
    let (mut of_means, mut of_positions, mut best) = (Vec::new(), Vec::new(), Vec::new());
    let mut best_tsn = None;
    for (replication, flow) in m.flows(&entry.label, cell) {
        let Some(base) = m.flow(baseline, cell, replication) else { continue };
        let pairs = pairs(base, flow, positions);
        let base_mean = mean(&pairs.iter().map(|p| p.1).collect::<Vec<_>>());
        let own_mean = mean(&pairs.iter().map(|p| p.2).collect::<Vec<_>>());
        let (Some(base_mean), Some(own_mean)) = (base_mean, own_mean) else { continue };
        of_means.push(percent_less(own_mean, base_mean));
        let each: Vec<(u32, f64)> =
            pairs.iter().map(|(tsn, base, own)| (*tsn, percent_less(*own, *base))).collect();
        of_positions.extend(mean(&each.iter().map(|e| e.1).collect::<Vec<_>>()));
        if let Some((tsn, value)) = each.into_iter().max_by(|a, b| a.1.total_cmp(&b.1)) {
            best.push(value);
            best_tsn = Some(tsn);
        }
    }
    Some(Reduction {
        series: entry.label.clone(),
        baseline: baseline.to_owned(),
        extra: entry.extra,
        cell,
        best_tsn: if best.len() == 1 { best_tsn } else { None },
        of_means: Estimate::of(&of_means)?,
        of_positions: Estimate::of(&of_positions)?,
        best: Estimate::of(&best)?,
    })
}

fn reduction_estimate(
    experiment: &Experiment<SingleLoss>,
    m: &Measurements,
    reductions: &[Reduction],
    measure: &ReductionMeasure,
    cell: Cell,
    reading: AverageReduction,
) -> Option<Estimate> {
    let positions = &measure.positions;
    let of_some = || {
        let entry = experiment.common.profile(&measure.series)?;
        reduction(m, entry, experiment.baseline_of(entry)?, cell, positions)
    };
    let of_all = || reductions.iter().find(|r| r.series == measure.series && r.cell == cell);
    let row = || if positions.is_empty() { of_all().cloned() } else { of_some() };
    match measure.statistic {
        ReductionStatistic::Average => row().map(|r| r.average(reading)),
        ReductionStatistic::Best => row().map(|r| r.best),
        ReductionStatistic::AtTsn(tsn) => {
            let baseline = experiment.baseline_of(experiment.common.profile(&measure.series)?)?;
            let values: Vec<f64> = m
                .flows(&measure.series, cell)
                .filter_map(|(replication, flow)| {
                    let base = m.flow(baseline, cell, replication)?;
                    let pair = pairs(base, flow, positions).into_iter().find(|p| p.0 == tsn)?;
                    Some(percent_less(pair.2, pair.1))
                })
                .collect();
            Estimate::of(&values)
        }
    }
}

fn mtt_estimate(m: &Measurements, measure: &MttMeasure, cell: Cell) -> Option<Estimate> {
    let per_replication: Vec<f64> = m
        .flows(&measure.series, cell)
        .filter_map(|(_, flow)| {
            let values: Vec<f64> = flow
                .lost
                .iter()
                .filter(|s| is_wanted(s.position, &measure.positions))
                .map(|s| s.mtt_ms)
                .collect();
            let summary = Summary::of(&values)?;
            Some(match measure.statistic {
                MttStatistic::Mean => summary.mean,
                MttStatistic::Min => summary.min,
                MttStatistic::Max => summary.max,
            })
        })
        .collect();
    Estimate::of(&per_replication)
}

/// The number of a run. It loses one message: it is told apart by its replication and that message.
fn run(replication: u32, dropped: u32) -> u32 {
    replication << 16 | dropped & 0xffff
}

/// MTT of each loss.
fn losses(m: &Measurements, of: &TransferTimes) -> BTreeMap<u32, f64> {
    let flows = m.flows(&of.series, of.cell);
    flows
        .flat_map(|(replication, flow)| {
            flow.lost.iter().map(move |s| (run(replication, s.tsn), s.mtt_ms))
        })
        .collect()
}

/// Unnecessary retransmissions of each run, times the runs of a replication.
fn duplicates(m: &Measurements, of: &TransferTimes) -> BTreeMap<u32, f64> {
    let flows: Vec<(u32, &Flow)> = m.flows(&of.series, of.cell).collect();
    let runs: usize = flows.iter().map(|(_, flow)| flow.duplicates.len()).sum();
    let scale = runs as f64 / flows.len().max(1) as f64;
    let each = flows.iter().flat_map(|(replication, flow)| {
        flow.duplicates.iter().map(|(dropped, n)| (run(*replication, *dropped), *n as f64 * scale))
    });
    each.collect()
}

/// MTT of each sender in each cell, for the matrix of workloads and profiles.
pub(super) fn matrix(
    experiment: &Experiment<SingleLoss>,
    m: &Measurements,
    analysis: &Analysis,
) -> Vec<MatrixRow> {
    let several = experiment.kind.cells().len() > 1;
    let entry = |t: &TransferTimes| {
        let profile = experiment.common.profile(&t.series)?;
        Some(MatrixEntry {
            series: t.series.clone(),
            profile: profile.name.clone(),
            extra: t.extra,
            value: Estimate {
                value: t.mtt_ms.mean,
                ci95: t.mtt_ms.ci95,
                range: [t.mtt_ms.min, t.mtt_ms.max],
                runs: t.mtt_ms.n,
                deviation: t.mtt_ms.sd,
                limits: None,
            },
            values: losses(m, t),
            goodput_kbps: BTreeMap::new(),
            duplicates: duplicates(m, t),
            retransmitted: None,
        })
    };
    let cells = experiment.kind.cells().into_iter();
    cells
        .map(|cell| MatrixRow {
            workload: if several { cell.to_string() } else { String::new() },
            metric: "mean MTT of a lost message".into(),
            unit: Unit::Milliseconds,
            higher_is_better: false,
            entries: analysis
                .transfer_times
                .iter()
                .filter(|t| t.cell == cell)
                .filter_map(entry)
                .collect(),
        })
        .collect()
}
