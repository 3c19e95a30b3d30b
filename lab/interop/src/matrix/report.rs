//! The matrix as text.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{Cell, Outcome, Record, Role, Stack, Subject};

/// Marks of the outcomes in Markdown, in the order of [`Report::mark`].
const COLOURS: [&str; 4] = ["🟢", "🔴", "🟡", "⚪"];
/// Those in plain text.
const WORDS: [&str; 4] = ["pass", "FAIL", "peer", "-"];

/// The results of all cells.
#[derive(Clone, Debug, Default)]
pub struct Report {
    outcomes: BTreeMap<Cell, Outcome>,
    versions: BTreeMap<Stack, String>,
}

impl Report {
    /// The last result of each cell counts.
    #[must_use]
    pub fn new(records: &[Record], versions: BTreeMap<Stack, String>) -> Report {
        let outcomes = records.iter().map(|r| (r.cell, r.outcome.clone())).collect();
        Report { outcomes, versions }
    }

    /// How many cells passed, failed, are beyond their peer, and were skipped.
    #[must_use]
    pub fn counts(&self) -> [usize; 4] {
        let mut counts = [0; 4];
        for outcome in self.outcomes.values() {
            counts[Self::mark(outcome)] += 1;
        }
        counts
    }

    fn mark(outcome: &Outcome) -> usize {
        match outcome {
            Outcome::Pass => 0,
            Outcome::Fail(_) => 1,
            Outcome::Unsupported(_) => 2,
            Outcome::Skipped(_) => 3,
        }
    }

    fn stacks(&self) -> BTreeSet<Stack> {
        self.outcomes.keys().map(|cell| cell.peer).collect()
    }

    fn subjects(&self) -> BTreeSet<Subject> {
        self.outcomes.keys().map(|cell| cell.subject).collect()
    }

    /// What the cells that did not pass have to say, each text once.
    fn notes(&self) -> Vec<&str> {
        let mut notes = Vec::new();
        for outcome in self.outcomes.values() {
            if let Outcome::Unsupported(text) | Outcome::Skipped(text) = outcome
                && !notes.contains(&text.as_str())
            {
                notes.push(text);
            }
        }
        notes
    }

    /// A cell: its mark and the number of its note.
    fn show(&self, cell: Cell, marks: [&str; 4]) -> String {
        let Some(outcome) = self.outcomes.get(&cell) else { return String::new() };
        let mark = marks[Self::mark(outcome)];
        let note = match outcome {
            Outcome::Unsupported(text) | Outcome::Skipped(text) => {
                self.notes().iter().position(|note| note == text)
            }
            _ => None,
        };
        note.map_or(mark.to_owned(), |note| format!("{mark} {}", note + 1))
    }

    /// A name with its version.
    fn title(&self, stack: Stack) -> String {
        match self.versions.get(&stack) {
            Some(version) => format!("{} {version}", stack.name()),
            None => stack.name().to_owned(),
        }
    }

    /// For a terminal.
    #[must_use]
    pub fn text(&self) -> String {
        let names = self.subjects().into_iter().map(|subject| subject.name().len());
        let width = names.max().unwrap_or(0).max(20) + 2;
        let mut text = format!("{:width$}", "Tresse as");
        for stack in self.stacks() {
            let _ = write!(text, "{:20}", self.title(stack));
        }
        let _ = write!(text, "\n{:width$}", "");
        for _ in self.stacks() {
            text += "client    server    ";
        }
        for subject in self.subjects() {
            let _ = write!(text, "\n{:width$}", subject.name());
            for peer in self.stacks() {
                for role in [Role::Client, Role::Server] {
                    let _ = write!(text, "{:10}", self.show(Cell { peer, role, subject }, WORDS));
                }
            }
        }
        text += "\n";
        for (n, note) in self.notes().iter().enumerate() {
            let _ = writeln!(text, "{}: {note}", n + 1);
        }
        for (cell, outcome) in &self.outcomes {
            if let Outcome::Fail(why) = outcome {
                let _ = writeln!(text, "{}: {why}", cell.label());
            }
        }
        let [passed, failed, unsupported, skipped] = self.counts();
        let _ = writeln!(
            text,
            "{passed} passed, {failed} failed, {unsupported} that the peer cannot, {skipped} skipped"
        );
        text
    }

    /// For the documentation.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut text = String::from("| |");
        let stacks = self.stacks();
        for stack in &stacks {
            for role in ["client", "server"] {
                let _ = write!(text, " {}<br>{role} |", self.title(*stack));
            }
        }
        let _ = writeln!(text, "\n|---|{}", ":-:|".repeat(2 * stacks.len()));
        let mut extension = None;
        for subject in self.subjects() {
            if subject.extension() != extension {
                extension = subject.extension();
                let title = extension.unwrap_or_default();
                let _ = writeln!(text, "| **{title}** |{}", " |".repeat(2 * stacks.len()));
            }
            let _ = write!(text, "| {} |", subject.name());
            for &peer in &stacks {
                for role in [Role::Client, Role::Server] {
                    let shown = self.show(Cell { peer, role, subject }, COLOURS);
                    let _ = write!(text, " {shown} |");
                }
            }
            text += "\n";
        }
        text += "\n";
        for (n, note) in self.notes().iter().enumerate() {
            let _ = writeln!(text, "{}. {note}", n + 1);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    fn record(peer: Stack, role: Role, outcome: Outcome) -> Record {
        let cell = Cell { peer, role, subject: Subject::Restart };
        Record { cell, full: false, outcome, seconds: 1.0 }
    }

    #[test]
    fn the_page_has_every_line() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/interop.md");
        let page = std::fs::read_to_string(page).expect("docs/interop.md");
        let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.split(" | ").next());
        let rows: BTreeSet<&str> = rows.collect();
        let lacks: Vec<&str> = Subject::value_variants()
            .iter()
            .map(|subject| subject.name())
            .filter(|name| !rows.contains(name))
            .collect();
        assert_eq!(lacks, [""; 0], "`conformance/interop/run --quick` makes the table");
    }

    #[test]
    fn every_outcome_has_its_mark_and_equal_notes_stand_once() {
        let limit = || Outcome::Unsupported("no such call".into());
        let records = [
            record(Stack::Linux, Role::Client, Outcome::Fail("it broke".into())),
            record(Stack::Linux, Role::Client, Outcome::Pass),
            record(Stack::Linux, Role::Server, Outcome::Fail("wrong order".into())),
            record(Stack::Pion, Role::Client, limit()),
            record(Stack::Pion, Role::Server, limit()),
        ];
        let versions = BTreeMap::from([(Stack::Linux, "6.1".to_owned())]);
        let report = Report::new(&records, versions);
        assert_eq!(report.counts(), [1, 1, 2, 0]);
        let text = report.text();
        assert!(text.contains("Linux kernel 6.1"), "{text}");
        assert!(text.contains("linux-server-restart: wrong order"), "{text}");
        assert_eq!(text.matches("no such call").count(), 1, "{text}");
        let markdown = report.markdown();
        assert!(markdown.contains("| restart | 🟢 | 🔴 | 🟡 1 | 🟡 1 |"), "{markdown}");
    }

    #[test]
    fn extensions_have_titles_of_their_own() {
        let subjects = [Subject::Ipv6, Subject::Reset, Subject::AddStreams, Subject::Timed];
        let cells =
            subjects.map(|subject| Cell { peer: Stack::Linux, role: Role::Client, subject });
        let record = |cell| Record { cell, full: false, outcome: Outcome::Pass, seconds: 1.0 };
        let report = Report::new(&cells.map(record), BTreeMap::new());
        let markdown = report.markdown();
        let rows: Vec<&str> =
            markdown.lines().skip(2).filter_map(|line| line.split(" |").next()).collect();
        let expected = [
            "| IPv6",
            "| **RE-CONFIG, RFC 6525**",
            "| reset by Tresse",
            "| more streams, asked for by Tresse",
            "| **PR-SCTP, RFC 3758 and RFC 7496**",
            "| timed, sent by Tresse",
        ];
        assert_eq!(rows[..6], expected, "{markdown}");
        // The longest name has its column.
        assert!(report.text().contains("more streams, asked for by Tresse  pass"));
    }

    #[test]
    fn a_record_is_one_line_and_is_read_again() {
        for outcome in [Outcome::Pass, Outcome::Fail("a\nb".into())] {
            let record = record(Stack::SctpProto, Role::Server, outcome.clone());
            let line = serde_json::to_string(&record).unwrap();
            assert!(!line.contains('\n'), "{line}");
            let read: Record = serde_json::from_str(&line).unwrap();
            assert_eq!((read.cell, read.outcome), (record.cell, outcome));
        }
    }
}
