//! A report as plain text.

use tresse_report::Screen;

use super::Report;
use super::compared::comparison;

/// The tables of `report` as text that fits `screen`, without the detailed ones.
pub fn render(report: &Report, screen: &Screen) -> String {
    let mut out = format!("{}: {}\n", report.about.id, report.about.title);
    for change in &report.changes {
        out.push_str(&format!("changed: {change}\n"));
    }
    let compared = comparison(&report.comparisons, report.has_aims());
    for table in compared.iter().chain(&report.tables).filter(|t| !t.detail) {
        out.push('\n');
        out.push_str(&table.to_text_for(screen));
    }
    if !report.failures.is_empty() {
        out.push_str(&format!("\n{} of {} runs failed:\n", report.failures.len(), report.runs));
        for failure in report.failures.iter().take(10) {
            out.push_str(&format!(
                "  {} (seed {}): {}\n    again with: {}\n",
                failure.run, failure.seed, failure.message, failure.replay
            ));
        }
        if report.failures.len() > 10 {
            out.push_str("  ... all of them are on the page\n");
        }
    }
    out
}
