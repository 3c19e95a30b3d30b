//! What a whole campaign says: the published numbers of all papers beside ours, and the default
//! profile on all workloads. All of it is Markdown, made from stored results only.

mod all_profiles;
mod default_profile;
mod deviations;
mod extensions_on;
mod papers;
mod reasons;
mod reproduction;
mod standing;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::Report;
use crate::common::OWN as OURS;
use crate::comparison::{Comparison, Verdict};

pub use all_profiles::all_profiles;
pub use default_profile::default_profile;
pub use deviations::deviations;
pub use extensions_on::extensions_on;
pub use papers::papers;
pub use reproduction::reproduction;

/// Label of the standard in every experiment.
const STANDARD: &str = "RFC 9260";

/// Paper of an experiment, by its id.
fn paper_of(report: &Report) -> &str {
    report.about.id.split('/').next().unwrap_or(&report.about.id)
}

/// The papers of reports, in their order.
fn papers_of(reports: &[Report]) -> Vec<&str> {
    let mut papers: Vec<&str> = Vec::new();
    for paper in reports.iter().map(paper_of) {
        if !papers.contains(&paper) {
            papers.push(paper);
        }
    }
    papers
}

/// Which program made the results, and what is not among them.
fn made_by(out: &mut String, reports: &[Report], absent: &[&str]) {
    let versions: BTreeSet<&str> = reports.iter().map(|r| r.version.as_str()).collect();
    let versions: Vec<&str> = versions.into_iter().collect();
    let _ = writeln!(out, "Made by {}.\n", versions.join(", "));
    if !absent.is_empty() {
        let _ = writeln!(out, "Not run for this page: {}.\n", absent.join(", "));
    }
}

/// Whether a row has to be explained.
fn is_outside(c: &Comparison) -> bool {
    c.claim.repeats.is_none() && c.verdict != Verdict::Agrees
}

/// Text that stands in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
