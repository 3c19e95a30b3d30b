//! The tables of a single-loss experiment.

use tresse_report::{Estimate, Table, columns};

use super::analysis::{Analysis, Reduction, TransferTimes};
use crate::schema::Experiment;
use crate::single_loss::{AverageReduction, SingleLoss};

/// All tables: first of the paper's senders, then of those beyond it.
pub(super) fn tables(experiment: &Experiment<SingleLoss>, analysis: &Analysis) -> Vec<Table> {
    let mut tables = Vec::new();
    let extra_exists = experiment.common.profiles.iter().any(|p| p.extra);
    for extra in [false, true] {
        if extra && !extra_exists {
            continue;
        }
        let suffix = if extra { ", beyond the paper" } else { "" };
        let reductions: Vec<&Reduction> =
            analysis.reductions.iter().filter(|r| r.extra == extra).collect();
        tables.extend(reduction_tables(experiment, &reductions, suffix));
        let times: Vec<&TransferTimes> =
            analysis.transfer_times.iter().filter(|t| t.extra == extra).collect();
        tables.extend(transfer_table(experiment, &times, suffix));
    }
    tables
}

fn percent(estimate: Estimate) -> String {
    match estimate.ci95 {
        Some(ci) => format!("{:.1} ± {ci:.1} %", estimate.value),
        None => format!("{:.1} %", estimate.value),
    }
}

const OF_MEANS: &str = "1 − mean(variant)/mean(baseline)";
const OF_POSITIONS: &str = "mean of (1 − variant/baseline)";

fn reduction_tables(
    experiment: &Experiment<SingleLoss>,
    reductions: &[&Reduction],
    suffix: &str,
) -> Vec<Table> {
    if reductions.is_empty() {
        return Vec::new();
    }
    let several_cells = experiment.kind.cells().len() > 1;
    let mut tables = Vec::new();
    if several_cells {
        tables.extend(reduction_grids(experiment, reductions, suffix));
    }
    let mut heads = vec!["Sender", "Against"];
    if several_cells {
        heads.extend([">kbit/s", ">ms one way"]);
    }
    heads.extend([">Average, of means", ">Average, of positions", ">Largest", ">at TSN"]);
    let rows = reductions
        .iter()
        .map(|r| {
            let mut row = vec![r.series.clone(), r.baseline.clone()];
            if several_cells {
                row.extend([r.cell.bandwidth_kbps.to_string(), r.cell.delay_ms.to_string()]);
            }
            row.extend([
                percent(r.of_means),
                percent(r.of_positions),
                percent(r.best),
                r.best_tsn.map_or("–".into(), |tsn| tsn.to_string()),
            ]);
            row
        })
        .collect();
    tables.push(Table {
        title: format!("Reduction of MTT{suffix}{}", if several_cells { ", all" } else { "" }),
        caption: format!(
            "Two readings of \"average reduction\" over all loss positions: of means is {OF_MEANS}, \
             of positions is the {OF_POSITIONS}. The comparison uses the average {}.",
            headline_word(experiment)
        ),
        columns: columns(&heads),
        rows,
        detail: several_cells,
    });
    tables
}

fn headline_word(experiment: &Experiment<SingleLoss>) -> &'static str {
    match experiment.kind.metric.average_reduction {
        AverageReduction::OfMeans => "of means",
        AverageReduction::OfPositions => "of positions",
    }
}

fn headline(experiment: &Experiment<SingleLoss>) -> &'static str {
    match experiment.kind.metric.average_reduction {
        AverageReduction::OfMeans => OF_MEANS,
        AverageReduction::OfPositions => OF_POSITIONS,
    }
}

/// Bandwidth down, delay across: one grid for each sender.
fn reduction_grids(
    experiment: &Experiment<SingleLoss>,
    reductions: &[&Reduction],
    suffix: &str,
) -> Vec<Table> {
    let topology = &experiment.kind.topology;
    let mut grids = Vec::new();
    for entry in &experiment.common.profiles {
        let of_series: Vec<&&Reduction> =
            reductions.iter().filter(|r| r.series == entry.label).collect();
        let Some(first) = of_series.first() else { continue };
        let mut heads = vec![">kbit/s".to_owned()];
        heads.extend(topology.delay_ms.iter().map(|ms| format!(">{ms} ms")));
        let rows = topology
            .bandwidth_kbps
            .iter()
            .map(|kbps| {
                let mut row = vec![kbps.to_string()];
                row.extend(topology.delay_ms.iter().map(|ms| {
                    let here =
                        |r: &&&&Reduction| r.cell.bandwidth_kbps == *kbps && r.cell.delay_ms == *ms;
                    let reading = experiment.kind.metric.average_reduction;
                    let found = of_series.iter().find(here);
                    found.map_or("–".into(), |r| percent(r.average(reading)))
                }));
                row
            })
            .collect();
        grids.push(Table {
            title: format!(
                "Average reduction of MTT: {} against {}{suffix}",
                entry.label, first.baseline
            ),
            caption: format!("{}, by bandwidth and one-way delay.", headline(experiment)),
            columns: columns(&heads.iter().map(String::as_str).collect::<Vec<_>>()),
            rows,
            detail: false,
        });
    }
    grids
}

fn transfer_table(
    experiment: &Experiment<SingleLoss>,
    times: &[&TransferTimes],
    suffix: &str,
) -> Option<Table> {
    let several_cells = experiment.kind.cells().len() > 1;
    let mut heads = vec!["Sender"];
    if several_cells {
        heads.extend([">kbit/s", ">ms one way"]);
    }
    heads.extend([
        ">n",
        ">mean",
        ">sd",
        ">min",
        ">median",
        ">p95",
        ">max",
        "recovered by",
        ">needless retransmissions",
    ]);
    let rows: Vec<Vec<String>> = times
        .iter()
        .map(|t| {
            let mut row = vec![t.series.clone()];
            if several_cells {
                row.extend([t.cell.bandwidth_kbps.to_string(), t.cell.delay_ms.to_string()]);
            }
            let s = &t.mtt_ms;
            row.push(s.n.to_string());
            row.push(format!("{:.1}", s.mean));
            row.push(s.sd.map_or("–".into(), |sd| format!("{sd:.1}")));
            row.extend([s.min, s.median, s.p95, s.max].map(|v| format!("{v:.1}")));
            let causes: Vec<String> =
                t.recoveries.iter().map(|(cause, n)| format!("{cause} × {n}")).collect();
            row.push(if causes.is_empty() { "–".into() } else { causes.join(", ") });
            row.push(t.duplicates.to_string());
            row
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        title: format!("Message transfer time, ms{suffix}"),
        caption: "Of the message whose packet was dropped, over all loss positions; without loss \
                  of every message."
            .into(),
        columns: columns(&heads),
        rows,
        detail: several_cells,
    })
}
