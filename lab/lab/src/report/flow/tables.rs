//! The tables of a flow experiment.

use tresse_report::{Statistic, Table, Unit, columns};

use super::measurements::Measurements;
use crate::flow::metric::{self, RETRANSMISSION_TYPES};
use crate::flow::{Cell, Flow, TableKind, TableSpec};
use crate::schema::Experiment;

/// The tables that the experiment asks for; if it asks for none, the metrics that it compares.
pub(super) fn tables(experiment: &Experiment<Flow>, measurements: &Measurements<'_>) -> Vec<Table> {
    let mut specs = experiment.kind.tables.clone();
    if specs.is_empty() {
        specs.push(default_table(experiment));
    }
    specs
        .iter()
        .flat_map(|spec| match spec.kind {
            TableKind::Values => vec![values(experiment, measurements, spec)],
            TableKind::Retransmissions => retransmissions(experiment, measurements, spec),
        })
        .collect()
}

fn default_table(experiment: &Experiment<Flow>) -> TableSpec {
    let named = experiment.kind.published.iter().map(|p| p.measure.metric.as_str());
    let matrix = experiment.kind.matrix.as_ref().map(|m| m.metric.as_str());
    let usual = ["goodput_kbps", "timeouts", "fast_retransmits", "duplicates"];
    let mut metrics: Vec<String> = Vec::new();
    for name in named.chain(matrix).chain(usual) {
        if !metrics.iter().any(|m| m == name) {
            metrics.push(name.to_owned());
        }
    }
    TableSpec {
        title: "Measured".into(),
        kind: TableKind::Values,
        metrics,
        retransmissions: 0,
        detail: false,
    }
}

/// One row for each profile and cell.
fn values(
    experiment: &Experiment<Flow>,
    measurements: &Measurements<'_>,
    spec: &TableSpec,
) -> Table {
    let mut heads = vec!["Sender".to_owned()];
    heads.extend(experiment.kind.axes.iter().map(|axis| format!(">{}", axis.name)));
    heads.extend(spec.metrics.iter().map(|name| format!(">{}", metric::axis_label(name))));
    let mut rows = Vec::new();
    for entry in &experiment.common.profiles {
        for cell in experiment.kind.cells() {
            let mut row = vec![entry.label.clone()];
            row.extend(experiment.kind.describe(&cell).into_iter().map(|(_, text)| text));
            row.extend(spec.metrics.iter().map(|name| {
                let unit = metric::describe(name).map_or(Unit::Number, |(_, unit)| unit);
                let estimate = measurements.estimate(name, &entry.label, &cell);
                estimate.map_or("–".into(), |e| unit.digits_of(e))
            }));
            rows.push(row);
        }
    }
    let replications = experiment.common.replications.count;
    Table {
        title: spec.title.clone(),
        caption: match (replications, experiment.kind.statistic) {
            (1, _) => String::new(),
            (n, Statistic::Mean) => {
                format!("Mean over {n} replications and its 95 % confidence interval.")
            }
            (n, Statistic::Median) if n < 6 => {
                format!("Median over {n} replications, in brackets the smallest and the largest.")
            }
            (n, Statistic::Median) => {
                format!("Median over {n} replications, in brackets its 95 % confidence interval.")
            }
        },
        columns: columns(&heads.iter().map(String::as_str).collect::<Vec<_>>()),
        rows,
        detail: spec.detail,
    }
}

/// Number, smallest, largest and average delay by number and type of the retransmission, as the
/// tables of Pedersen chapters 3 and 5: one table for each cell.
fn retransmissions(
    experiment: &Experiment<Flow>,
    measurements: &Measurements<'_>,
    spec: &TableSpec,
) -> Vec<Table> {
    let several = experiment.kind.cells().len() > 1;
    let table = |cell: Cell| {
        let mut rows = Vec::new();
        for entry in &experiment.common.profiles {
            let most = measurements.most_retransmissions(&entry.label, &cell);
            for number in 1..=spec.retransmissions.min(most) {
                for kind in RETRANSMISSION_TYPES {
                    let name = format!("retransmission.{number}.{kind}");
                    let estimate = |statistic: &str| {
                        let name = format!("{name}.{statistic}");
                        let text = |e| Unit::Milliseconds.digits(e);
                        measurements
                            .estimate(&name, &entry.label, &cell)
                            .map_or("–".into(), |e| text(e.value))
                    };
                    let mut row =
                        vec![entry.label.clone(), number.to_string(), kind.replace('-', " ")];
                    row.extend(["count", "min_ms", "max_ms"].map(estimate));
                    let average =
                        measurements.estimate(&format!("{name}.avg_ms"), &entry.label, &cell);
                    row.push(average.map_or("–".into(), |e| {
                        Unit::Milliseconds.format_estimate(e).trim_end_matches(" ms").to_owned()
                    }));
                    rows.push(row);
                }
            }
        }
        Table {
            title: if several {
                format!("{}: {}", spec.title, experiment.kind.place(&cell))
            } else {
                spec.title.clone()
            },
            caption: "Milliseconds from the first transmission of a chunk. Number, smallest and \
                      largest are means over the replications, each of which is as long as the \
                      paper's one."
                .into(),
            columns: columns(&["Sender", ">Retr.", "Type", ">Number", ">Min", ">Max", ">Avg"]),
            rows,
            detail: spec.detail,
        }
    };
    experiment.kind.cells().into_iter().map(table).collect()
}
