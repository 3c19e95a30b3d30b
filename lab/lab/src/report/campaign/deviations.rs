//! What is not within, each row once, under the reason that many have.

use std::fmt::Write as _;

use super::reasons::{Evidence, Standing};
use super::{OURS, is_outside, paper_of};
use crate::comparison::Comparison;
use crate::report::Report;

/// Rows that have the same reason, or none.
struct Group<'a> {
    standing: Standing,
    why: Option<&'a str>,
    /// Experiments that are the evidence.
    evidence: Vec<&'a str>,
    rows: Vec<&'a Comparison>,
}

/// Of every paper, by reasons: those that are shown, then those that are not, then what has none.
pub(super) fn write(out: &mut String, reports: &[Report], papers: &[&str]) {
    out.push_str("\n## What is not within, and why\n\nPublished → ours.\n");
    for paper in papers {
        let mut groups = groups(reports, paper);
        groups.sort_by_key(|group| (rank(group), usize::MAX - group.rows.len()));
        if groups.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n### {paper}\n");
        for group in &groups {
            write_group(out, group, *paper == OURS);
        }
    }
}

fn groups<'a>(reports: &'a [Report], paper: &str) -> Vec<Group<'a>> {
    let evidence = Evidence(reports);
    let mut groups: Vec<Group<'a>> = Vec::new();
    let of = reports.iter().filter(|report| paper_of(report) == paper);
    for c in of.flat_map(|report| &report.comparisons).filter(|c| is_outside(c)) {
        let (standing, why) = (evidence.standing(c), c.claim.why.as_deref());
        let same = groups.iter().position(|group| (group.standing, group.why) == (standing, why));
        let at = same.unwrap_or_else(|| {
            groups.push(Group { standing, why, evidence: Vec::new(), rows: Vec::new() });
            groups.len() - 1
        });
        let group = &mut groups[at];
        group.rows.push(c);
        if let Some(id) = evidence.id(c).filter(|id| !group.evidence.contains(id)) {
            group.evidence.push(id);
        }
    }
    groups
}

fn rank(group: &Group<'_>) -> u8 {
    match (group.standing, group.why) {
        (Standing::Tested, _) => 0,
        (Standing::NotReproducible, _) => 1,
        (Standing::Unexplained, Some(_)) => 2,
        (Standing::Unexplained, None) => 3,
    }
}

fn write_group(out: &mut String, group: &Group<'_>, own: bool) {
    let by = group.evidence.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
    let head = match (group.standing, by.is_empty(), group.why) {
        (Standing::Tested, ..) => format!("Tested by {by}"),
        (Standing::NotReproducible, ..) => format!("Not reproducible, {by}"),
        (Standing::Unexplained, true, Some(_)) => "Thought, not shown".into(),
        (Standing::Unexplained, false, Some(_)) => format!("Thought, not shown by {by}"),
        (Standing::Unexplained, ..) if own => "Missed, without a reason".into(),
        (Standing::Unexplained, ..) => "Unexplained".into(),
    };
    let why = group.why.map(|why| format!(" {}", why.replace('\n', " "))).unwrap_or_default();
    let _ = writeln!(out, "- *{head}.*{why}");
    for rows in group.rows.chunk_by(|a, b| a.claim.place == b.claim.place) {
        let said: Vec<String> = rows.iter().map(|c| row(c)).collect();
        let _ = writeln!(out, "  - {}: {}", rows[0].claim.place, said.join("; "));
    }
}

/// A row in words.
fn row(c: &Comparison) -> String {
    let ours = c.ours.map_or_else(|| "no run has it".into(), |o| c.claim.unit.format_estimate(o));
    format!("{} {} → {ours}", c.claim.what, c.claim.text())
}
