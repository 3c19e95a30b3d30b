//! The view as text, for what is no terminal.

use super::order::{Order, hide_repeated};
use super::source::Source;
use super::table::{TITLES, WORDS, headlines, rows, widths};

/// Everything as plain text.
pub(super) fn text(sources: &[Source], order: Order) -> String {
    let mut rows = rows(sources);
    order.sort(&mut rows);
    hide_repeated(&mut rows);
    let widths = widths(&rows);
    let mut text = headlines(sources).join("\n") + "\n";
    let mut line = |cells: [&str; TITLES.len()]| {
        let padded = cells.iter().zip(widths).enumerate().map(|(i, (cell, width))| {
            if i < WORDS { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        text += padded.collect::<Vec<_>>().join("  ").trim_end();
        text += "\n";
    };
    line(TITLES);
    for row in &rows {
        line(row.cells.each_ref().map(String::as_str));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::fixture::snapshot;
    use super::*;

    #[test]
    fn a_table_has_a_row_for_each_path_with_the_rates_between_two_looks() {
        let mut source = Source::new("127.0.0.1:9464".parse().unwrap());
        source.before = Some(snapshot(1.0, 1_000_000));
        source.now = Some(snapshot(3.0, 2_000_000));
        let text = text(&[source], Order::default());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert!(lines[0].contains("process 9: 1 association, out 4.00 Mbit/s"), "{text}");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let expected = [
            "1v1",
            "active",
            "0*",
            "192.0.2.1",
            "32.5",
            "20.0",
            "12.5",
            "1000",
            "45.0",
            "kB",
            "1.45",
            "kB",
            "4.00",
            "Mbit",
            "0",
            "bit",
            "7",
            "1",
            "2",
        ];
        assert_eq!(words(lines[2]), expected, "{text}");
        assert_eq!(words(lines[3])[..3], ["inactive\\u{1b}[2J", "1", "192.0.2.1"], "{text}");
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }
}
