//! A report as plain text.

use super::Report;
use super::table::{Align, Table, comparison};

/// The tables of `report` as text, without the detailed ones.
pub fn render(report: &Report) -> String {
    let mut out = format!("{}: {}\n", report.about.id, report.about.title);
    for change in &report.changes {
        out.push_str(&format!("changed: {change}\n"));
    }
    let compared = comparison(&report.comparisons);
    for table in compared.iter().chain(&report.tables).filter(|t| !t.detail) {
        out.push('\n');
        out.push_str(&render_table(table));
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

fn render_table(table: &Table) -> String {
    let length = |text: &str| text.chars().count();
    let widths: Vec<usize> = (0..table.columns.len())
        .map(|i| {
            let cells = table.rows.iter().filter_map(|row| row.get(i)).map(|c| length(c));
            cells.chain([length(&table.columns[i].0)]).max().unwrap_or(0)
        })
        .collect();
    let line = |cells: Vec<&str>| {
        let mut text = String::from(" ");
        for ((cell, width), (_, align)) in cells.iter().zip(&widths).zip(&table.columns) {
            let padding = " ".repeat(width - length(cell));
            text.push(' ');
            match align {
                Align::Left => text.extend([*cell, &padding]),
                Align::Right => text.extend([&padding, *cell]),
            }
            text.push(' ');
        }
        text.trim_end().to_owned() + "\n"
    };
    let mut out = format!("{}\n", table.title);
    out.push_str(&line(table.columns.iter().map(|(head, _)| head.as_str()).collect()));
    let rule: Vec<String> = widths.iter().map(|w| "─".repeat(*w)).collect();
    out.push_str(&line(rule.iter().map(String::as_str).collect()));
    for row in &table.rows {
        out.push_str(&line(row.iter().map(String::as_str).collect()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let table = Table {
            title: "T".into(),
            caption: String::new(),
            columns: vec![("name".into(), Align::Left), ("ms".into(), Align::Right)],
            rows: vec![vec!["é".into(), "1".into()], vec!["longer".into(), "200".into()]],
            detail: false,
        };
        let expected = "T\n  name     ms\n  ──────  ───\n  é         1\n  longer  200\n";
        assert_eq!(render_table(&table), expected);
    }
}
