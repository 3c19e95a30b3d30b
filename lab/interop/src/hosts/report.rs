//! The matrix as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Binding, Bound, Cell, Family, Record, Travel};
use crate::matrix::Outcome;

/// A column of the table: addresses, number of interfaces, carrier.
type Column = (Family, u8, Travel);
/// A line of it.
type Line = (Binding, Bound);

/// The results of all cells.
#[derive(Clone, Debug, Default)]
pub struct Report {
    outcomes: BTreeMap<Cell, Outcome>,
}

impl Report {
    /// The last result of each cell counts.
    #[must_use]
    pub fn new(records: &[Record]) -> Report {
        Report { outcomes: records.iter().map(|r| (r.cell, r.outcome.clone())).collect() }
    }

    /// How many cells passed, failed, and were skipped.
    #[must_use]
    pub fn counts(&self) -> [usize; 3] {
        let count = |what: fn(&Outcome) -> bool| self.outcomes.values().filter(|o| what(o)).count();
        [
            count(|outcome| matches!(outcome, Outcome::Pass)),
            count(|outcome| matches!(outcome, Outcome::Fail(_))),
            count(|outcome| matches!(outcome, Outcome::Skipped(_) | Outcome::Unsupported(_))),
        ]
    }

    fn lines(&self) -> BTreeSet<Line> {
        self.outcomes.keys().map(|cell| (cell.binding, cell.bound)).collect()
    }

    fn columns(&self) -> BTreeSet<Column> {
        let column = |cell: &Cell| (cell.family, cell.interfaces, cell.travel);
        self.outcomes.keys().map(column).collect()
    }

    /// A cell in the words for passed, failed and skipped.
    fn show(&self, line: Line, column: Column, marks: [&'static str; 3]) -> &'static str {
        let ((binding, bound), (family, interfaces, travel)) = (line, column);
        match self.outcomes.get(&Cell { binding, bound, family, interfaces, travel }) {
            Some(Outcome::Pass) => marks[0],
            Some(Outcome::Fail(_)) => marks[1],
            Some(Outcome::Skipped(_) | Outcome::Unsupported(_)) => marks[2],
            None => "",
        }
    }

    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = format!("{:18}", "");
        for (family, interfaces, travel) in self.columns() {
            let _ = write!(text, "{:11}", format!("{}-{interfaces}-{}", of(family), over(travel)));
        }
        for line in self.lines() {
            let _ = write!(text, "\n{:18}", title(line));
            for column in self.columns() {
                let _ = write!(text, "{:11}", self.show(line, column, ["pass", "FAIL", "-"]));
            }
        }
        text += "\n";
        let skipped: BTreeSet<&str> = self.outcomes.values().filter_map(skipped).collect();
        skipped.iter().for_each(|why| text += &format!("skipped: {why}\n"));
        for (cell, outcome) in &self.outcomes {
            if let Outcome::Fail(why) = outcome {
                let _ = writeln!(text, "{}: {why}", cell.label());
            }
        }
        let [passed, failed, skipped] = self.counts();
        let _ = writeln!(text, "{passed} passed, {failed} failed, {skipped} skipped");
        text
    }

    /// For the documentation.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from("| |");
        for (family, interfaces, travel) in self.columns() {
            let _ = write!(text, " {}<br>{interfaces}<br>{} |", of(family), over(travel));
        }
        let _ = writeln!(text, "\n|---|{}", ":-:|".repeat(self.columns().len()));
        for line in self.lines() {
            let _ = write!(text, "| {} |", title(line));
            for column in self.columns() {
                let _ = write!(text, " {} |", self.show(line, column, ["🟢", "🔴", "⚪"]));
            }
            text += "\n";
        }
        text
    }
}

fn skipped(outcome: &Outcome) -> Option<&str> {
    match outcome {
        Outcome::Skipped(why) => Some(why),
        _ => None,
    }
}

fn of(family: Family) -> &'static str {
    match family {
        Family::Ipv4 => "IPv4",
        Family::Ipv6 => "IPv6",
        Family::Both => "both",
    }
}

fn over(travel: Travel) -> &'static str {
    match travel {
        Travel::Udp => "UDP",
        Travel::Raw => "raw",
    }
}

fn title((binding, bound): Line) -> String {
    let binding = match binding {
        Binding::Wildcard => "wildcard",
        Binding::Explicit => "explicit",
        Binding::Partial => "partial",
    };
    let bound = match bound {
        Bound::Client => "client",
        Bound::Server => "server",
        Bound::Both => "both",
    };
    format!("{binding}, {bound}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_cell_has_its_place_and_failures_say_why() {
        let records: Vec<Record> = Cell::all()
            .into_iter()
            .map(|cell| {
                let outcome = match (cell.binding, cell.travel) {
                    (Binding::Partial, Travel::Raw) => Outcome::Fail("it broke".into()),
                    (_, Travel::Raw) => Outcome::Skipped("no such thing".into()),
                    _ => Outcome::Pass,
                };
                Record { cell, outcome, seconds: 1.0 }
            })
            .collect();
        let line = serde_json::to_string(&records[0]).unwrap();
        let read: Record = serde_json::from_str(&line).unwrap();
        assert_eq!((read.cell, read.outcome), (records[0].cell, Outcome::Pass), "{line}");

        let report = Report::new(&records);
        assert_eq!(report.counts(), [48, 18, 30]);
        let text = report.text();
        assert!(text.contains("partial-both-ipv6-2-raw: it broke"), "{text}");
        assert_eq!(text.matches("no such thing").count(), 1, "{text}");
        let markdown = report.markdown();
        let six = " 🟢 | 🔴 |".repeat(6);
        assert!(markdown.contains(&format!("| partial, server |{six}\n")), "{markdown}");
    }
}
