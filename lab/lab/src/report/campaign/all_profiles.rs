//! Every workload with every profile: what the summary leaves out.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::standing::{Outcome, Standing, average, standings};
use super::{cell, made_by};
use crate::report::{MatrixEntry, MatrixRow, Report};

/// `RESULTS/default-profile.md`: every workload and every profile in the metric of the paper. `absent` are
/// experiments without results.
pub fn all_profiles(reports: &[Report], absent: &[&str]) -> String {
    let mut out = String::from("# Every workload with every profile\n\n");
    made_by(&mut out, reports, absent);
    workloads(&mut out, &standings(reports));
    matrix(&mut out, reports);
    out
}

fn workloads(out: &mut String, standings: &[Standing<'_>]) {
    out.push_str("## `tresse` beside the best\n\n");
    out.push_str(
        "| workload | metric | best of the paper | RFC 9260 | tresse | gain | holds | goodput \
         kbit/s, tresse / RFC 9260 | unnecessary, tresse / RFC 9260 |\n\
         |---|---|---:|---:|---:|---:|---|---:|---:|\n",
    );
    for s in standings {
        let pair = |of: fn(&MatrixEntry) -> &BTreeMap<u32, f64>, outcome: Option<Outcome>| {
            let mean = |entry| average(of(entry));
            let (own, base) = (mean(s.ours), s.standard.and_then(mean));
            let Some((own, base)) = own.zip(base) else { return "–".to_owned() };
            let text = format!("{own:.1} / {base:.1}");
            match outcome {
                Some(Outcome::Worse) => format!("**{text}**"),
                Some(Outcome::Undecided) => format!("{text} (undecided)"),
                _ => text,
            }
        };
        let unit = s.row.unit;
        let _ = writeln!(
            out,
            "| `{}` {} | {} | {} ({}) | {} | {} | {:+.1} % | {} | {} | {} |",
            s.id,
            cell(&s.row.workload),
            cell(&s.row.metric),
            unit.format_estimate(s.best.value),
            cell(&s.best.series),
            s.standard.map_or("–".into(), |e| unit.format_estimate(e.value)),
            unit.format_estimate(s.ours.value),
            s.gain(s.best),
            s.against(s.best).map_or("not compared", Outcome::word),
            pair(|e| &e.goodput_kbps, s.goodput()),
            pair(|e| &e.duplicates, s.duplicates()),
        );
    }
}

/// All profiles on all workloads: the metric, the best of each row marked, and beside it what it
/// costs in unnecessary retransmissions.
fn matrix(out: &mut String, reports: &[Report]) {
    out.push_str(
        "\n## All profiles\n\nBehind each value: unnecessary retransmissions, and their share of all \
         retransmissions where those were counted.\n",
    );
    for report in reports.iter().filter(|r| !r.matrix.is_empty()) {
        let _ = writeln!(out, "\n### `{}`: {}\n", report.about.id, report.about.title);
        let first = &report.matrix[0];
        let sense = if first.higher_is_better { "more is better" } else { "less is better" };
        let _ = writeln!(out, "{} ({sense}).\n", first.metric);
        let mut series: Vec<&str> = Vec::new();
        for entry in report.matrix.iter().flat_map(|row| &row.entries) {
            if !series.contains(&entry.series.as_str()) {
                series.push(&entry.series);
            }
        }
        let heads: Vec<String> = series.iter().map(|s| cell(s)).collect();
        let _ = writeln!(out, "| workload | {} |", heads.join(" | "));
        let _ = writeln!(out, "|---|{}", "---:|".repeat(series.len()));
        for row in &report.matrix {
            let cells: Vec<String> = series.iter().map(|label| value(row, label)).collect();
            let place = if row.workload.is_empty() { "–" } else { &row.workload };
            let _ = writeln!(out, "| {} | {} |", cell(place), cells.join(" | "));
        }
    }
}

/// What one profile has in one workload.
fn value(row: &MatrixRow, label: &str) -> String {
    let Some(entry) = row.entries.iter().find(|e| e.series == label) else { return "–".into() };
    let values = row.entries.iter().map(|e| e.value.value);
    let best = if row.higher_is_better {
        values.fold(f64::NEG_INFINITY, f64::max)
    } else {
        values.fold(f64::INFINITY, f64::min)
    };
    let mut text = row.unit.format_estimate(entry.value);
    if (entry.value.value - best).abs() <= 1e-9 * best.abs() {
        text = format!("**{text}**");
    }
    if let Some(duplicates) = average(&entry.duplicates) {
        let _ = write!(text, "; {duplicates:.1}");
        if let Some(all) = entry.retransmitted.filter(|all| *all > 0.0) {
            let _ = write!(text, ", {:.0} %", 100.0 * duplicates / all);
        }
    }
    text
}
