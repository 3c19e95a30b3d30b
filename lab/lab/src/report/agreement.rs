//! Two results of one experiment side by side, such as that of the simulator and that of real time.

use tresse_report::{Estimate, Table, Unit, columns};

use super::Report;
use crate::flow::metric;
use crate::report::flow::analysis::Row;

/// Relative differences up to this many percent are agreement; so are differences of percentages up
/// to this many points.
pub const AGREEMENT_PERCENT: f64 = 5.0;

/// How two numbers relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agreement {
    /// They differ by [`AGREEMENT_PERCENT`] at most.
    Close,
    /// They differ by more, and their 95 % confidence intervals overlap: there are too few runs to tell.
    Undecided,
    /// They differ.
    Apart,
}

/// One number of both results.
#[derive(Clone, Debug)]
pub struct Pair {
    /// What it is.
    pub what: String,
    /// Its unit.
    pub unit: Unit,
    /// In the first result, and in the second one.
    pub values: [Estimate; 2],
}

impl Pair {
    /// The second less the first: in percent of the first, for percentages in points. `None` if that
    /// cannot be said because the first is 0.
    #[must_use]
    pub fn difference(&self) -> Option<f64> {
        let [a, b] = self.values.map(|v| v.value);
        match self.unit {
            Unit::Percent => Some(b - a),
            _ if a == b => Some(0.0),
            _ if a == 0.0 => None,
            _ => Some(100.0 * (b - a) / a),
        }
    }

    /// Whether they agree.
    #[must_use]
    pub fn agreement(&self) -> Agreement {
        let [a, b] = self.values;
        let spread = a.ci95.unwrap_or(0.0) + b.ci95.unwrap_or(0.0);
        if self.difference().is_some_and(|d| d.abs() <= AGREEMENT_PERCENT) {
            Agreement::Close
        } else if (a.value - b.value).abs() <= spread {
            Agreement::Undecided
        } else {
            Agreement::Apart
        }
    }
}

/// What both results have: the matrix of workloads and profiles, and what published numbers are
/// compared with.
#[must_use]
pub fn pairs(first: &Report, second: &Report) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for row in &first.matrix {
        let same =
            second.matrix.iter().find(|r| (&r.workload, &r.metric) == (&row.workload, &row.metric));
        for entry in &row.entries {
            let other = same.and_then(|r| r.entries.iter().find(|e| e.series == entry.series));
            let Some(other) = other else { continue };
            let words = [row.workload.as_str(), &row.metric, &entry.series];
            let what: Vec<&str> = words.into_iter().filter(|w| !w.is_empty()).collect();
            pairs.push(Pair {
                what: what.join(", "),
                unit: row.unit,
                values: [entry.value, other.value],
            });
        }
    }
    for comparison in &first.comparisons {
        let what = &comparison.claim.what;
        let same = second.comparisons.iter().find(|c| c.claim.what == *what);
        let values = comparison.ours.zip(same.and_then(|c| c.ours));
        if let Some((a, b)) = values {
            pairs.push(Pair { what: what.clone(), unit: comparison.claim.unit, values: [a, b] });
        }
    }
    if pairs.is_empty() { measured(first, second) } else { pairs }
}

/// What both have measured of the metrics in the tables of the experiment, for one that ranks nothing and has nothing
/// to compare with.
fn measured(first: &Report, second: &Report) -> Vec<Pair> {
    let rows = |report: &Report| -> Vec<Row> {
        let rows = report.analysis.get("estimates").cloned().unwrap_or_default();
        serde_json::from_value(rows).unwrap_or_default()
    };
    let tables = first.experiment.get("table").and_then(|t| t.as_array()).into_iter().flatten();
    let named = tables.filter_map(|table| table.get("metrics")?.as_array()).flatten();
    let mut names: Vec<&str> = named.filter_map(|name| name.as_str()).collect();
    if names.is_empty() {
        names.extend(["goodput_kbps", "timeouts", "fast_retransmits", "duplicates"]);
    }
    let others = rows(second);
    let mut pairs = Vec::new();
    for row in rows(first) {
        let same = |other: &&Row| (&other.series, &other.cell) == (&row.series, &row.cell);
        let Some(other) = others.iter().find(same) else { continue };
        let place: Vec<String> = row.cell.iter().map(|(name, v)| format!("{name} {v}")).collect();
        for name in &names {
            let both = row.metrics.get(*name).zip(other.metrics.get(*name));
            let (Some((text, unit)), Some((a, b))) = (metric::describe(name), both) else {
                continue;
            };
            let words = [&[row.series.clone(), text], &place[..]].concat();
            pairs.push(Pair { what: words.join(", "), unit, values: [*a, *b] });
        }
    }
    pairs
}

/// The pairs as a table, under these names for the two results.
#[must_use]
pub fn table(pairs: &[Pair], names: [&str; 2]) -> Table {
    let rows = pairs.iter().map(|pair| {
        let number = |estimate: Estimate| {
            let interval = estimate.ci95.map(|ci| format!(" ± {}", pair.unit.format(ci)));
            pair.unit.format(estimate.value) + &interval.unwrap_or_default()
        };
        let sign = if pair.unit == Unit::Percent { " points" } else { " %" };
        let difference = pair.difference().map_or("–".into(), |d| format!("{d:+.1}{sign}"));
        let verdict = match pair.agreement() {
            Agreement::Close => "within 5 %",
            Agreement::Undecided => "intervals overlap",
            Agreement::Apart => "apart",
        };
        let [a, b] = pair.values.map(number);
        vec![pair.what.clone(), a, b, difference, verdict.into()]
    });
    Table {
        title: "Both results".into(),
        caption: String::new(),
        rows: rows.collect(),
        columns: columns(&[
            "what",
            &format!(">{}", names[0]),
            &format!(">{}", names[1]),
            ">difference",
            "verdict",
        ]),
        detail: false,
    }
}
