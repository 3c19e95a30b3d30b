//! What is not within, by reasons, which many rows may have.

use std::fmt::Write as _;

use super::reasons::{Evidence, Standing};
use super::{OURS, is_outside, paper_of};
use crate::comparison::Comparison;
use crate::report::Report;

/// Rows that have the same reason, or none.
struct Group<'a> {
    why: Option<&'a str>,
    /// What is known of rows, with the experiments that are the evidence.
    parts: Vec<Part<'a>>,
}

/// Rows of a group of which the same is known.
struct Part<'a> {
    standing: Standing,
    evidence: Vec<&'a str>,
    rows: Vec<&'a Comparison>,
}

/// Of every paper, by reasons: those with most rows first, then what has none.
pub(super) fn write(out: &mut String, reports: &[Report], papers: &[&str]) {
    out.push_str(
        "\n## What is not within, and why\n\nEach reason once, what is known of it, and of each table or figure the first row, \
         published → ours; `results/reproduction/` has all.\n",
    );
    for paper in papers {
        let mut groups = groups(reports, paper);
        groups.sort_by_key(|group| (group.why.is_none(), usize::MAX - group.size()));
        if groups.is_empty() {
            continue;
        }
        let _ = writeln!(out, "\n### {paper}\n");
        for group in &mut groups {
            group.parts.sort_by_key(|part| rank(part.standing));
            write_group(out, group, *paper == OURS);
        }
    }
}

impl Group<'_> {
    fn size(&self) -> usize {
        self.parts.iter().map(|part| part.rows.len()).sum()
    }
}

fn groups<'a>(reports: &'a [Report], paper: &str) -> Vec<Group<'a>> {
    let evidence = Evidence(reports);
    let mut groups: Vec<Group<'a>> = Vec::new();
    let of = reports.iter().filter(|report| paper_of(report) == paper);
    for c in of.flat_map(|report| &report.comparisons).filter(|c| is_outside(c)) {
        let (standing, why) = (evidence.standing(c), c.claim.why.as_deref());
        let group = find_or_push(
            &mut groups,
            |group| group.why == why,
            || Group { why, parts: Vec::new() },
        );
        let part = find_or_push(
            &mut group.parts,
            |part| part.standing == standing,
            || Part { standing, evidence: Vec::new(), rows: Vec::new() },
        );
        part.rows.push(c);
        if let Some(id) = evidence.id(c).filter(|id| !part.evidence.contains(id)) {
            part.evidence.push(id);
        }
    }
    groups
}

fn find_or_push<T>(
    all: &mut Vec<T>,
    is_it: impl Fn(&T) -> bool,
    new: impl FnOnce() -> T,
) -> &mut T {
    let at = all.iter().position(is_it).unwrap_or_else(|| {
        all.push(new());
        all.len() - 1
    });
    &mut all[at]
}

fn rank(standing: Standing) -> u8 {
    match standing {
        Standing::Tested => 0,
        Standing::NotReproducible => 1,
        Standing::Unexplained => 2,
    }
}

fn write_group(out: &mut String, group: &Group<'_>, own: bool) {
    let none = if own { "Missed, without a reason." } else { "Unexplained." };
    let why = group.why.map_or_else(|| none.into(), |why| why.replace('\n', " "));
    let _ = writeln!(out, "- {why}");
    for part in &group.parts {
        let by = part.evidence.iter().map(|id| format!("`{id}`")).collect::<Vec<_>>().join(", ");
        let head = match (part.standing, by.is_empty(), group.why) {
            (Standing::Tested, ..) => format!("*Tested by {by}.* "),
            (Standing::NotReproducible, ..) => format!("*Not reproducible, {by}.* "),
            (Standing::Unexplained, true, Some(_)) => "*Thought, not shown.* ".into(),
            (Standing::Unexplained, false, Some(_)) => format!("*Thought, not shown by {by}.* "),
            (Standing::Unexplained, ..) => String::new(),
        };
        let places = part.rows.chunk_by(|a, b| a.claim.place == b.claim.place).map(|rows| {
            let more = match rows.len() - 1 {
                0 => String::new(),
                n => format!("; and {n} more"),
            };
            format!("{}: {}{more}", rows[0].claim.place, row(rows[0]))
        });
        let _ = writeln!(out, "  - {head}{}.", places.collect::<Vec<_>>().join(". "));
    }
}

/// A row in words.
fn row(c: &Comparison) -> String {
    let ours = c.ours.map_or_else(|| "no run has it".into(), |o| c.claim.unit.format_estimate(o));
    format!("{} {} → {ours}", c.claim.what, c.claim.text())
}
