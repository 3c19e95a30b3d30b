//! What the records say: a page with plots, and the same tables as Markdown. All of it is made from the
//! records; no word in it about a stack is anybody's opinion.

mod plots;
mod standing;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use tresse_report::statistics::percentile;
use tresse_report::{Align, Drawing, Table, columns, html};

use crate::error::ArenaError;
use crate::record::{Outcome, Record, SCENARIOS, Store};
use crate::scenario::Scenario;
use crate::stack::{DEFAULT, Stack};

use standing::{Standing, ratio, verdict};

/// Name of the page.
pub const PAGE: &str = "index.html";
/// Name of the tables as Markdown.
pub const MARKDOWN: &str = "arena.md";
/// What is between these lines of a file is replaced by [`Report::insert_into`].
const MARKS: [&str; 2] =
    ["<!-- tresse arena report: begin -->", "<!-- tresse arena report: end -->"];

/// What a set of records says.
#[derive(Debug)]
pub struct Report {
    scenarios: Vec<Played>,
    /// Every stack that anything is known of.
    stacks: Vec<String>,
    versions: BTreeMap<String, String>,
    /// Stacks that are not installed, and why.
    missing: BTreeMap<String, String>,
    /// Of each cell, by how much packets were late.
    late_ms: Vec<f64>,
}

/// A scenario and how each stack fared.
#[derive(Debug)]
struct Played {
    scenario: Scenario,
    standings: Vec<Standing>,
}

impl Report {
    /// Reads the results of a folder.
    ///
    /// # Errors
    /// [`ArenaError::Request`] if there are none, or they are of another version.
    pub fn read(folder: &Path) -> Result<Report, ArenaError> {
        let records = Store::read(folder)?;
        let usual: Vec<String> = Scenario::built_in().into_iter().map(|s| s.id).collect();
        let ids = in_order(records.iter().map(|record| &record.scenario), &usual);
        let scenario =
            |id: &String| Scenario::read(&folder.join(SCENARIOS).join(format!("{id}.toml")));
        let scenarios = ids.iter().map(scenario).collect::<Result<Vec<_>, _>>()?;
        if scenarios.is_empty() {
            return Err(ArenaError::Request(format!("no results yet in {}", folder.display())));
        }
        Ok(Report::new(&records, scenarios))
    }

    /// What `records` say about `scenarios`. Records of another version of a scenario do not count, and
    /// of one cell the last one does.
    #[must_use]
    pub fn new(records: &[Record], scenarios: Vec<Scenario>) -> Report {
        let usual: Vec<String> = Stack::usual().iter().map(Stack::to_string).collect();
        let mut report = Report {
            scenarios: Vec::new(),
            stacks: in_order(records.iter().map(|record| &record.stack), &usual),
            versions: BTreeMap::new(),
            missing: BTreeMap::new(),
            late_ms: Vec::new(),
        };
        let mut cells: BTreeMap<(&str, &str, u32), &Record> = BTreeMap::new();
        for record in records {
            if let Some(version) = &record.version {
                report.versions.insert(record.stack.clone(), version.clone());
            }
            match &record.outcome {
                Outcome::Missing(why) => {
                    report.missing.insert(record.stack.clone(), why.clone());
                }
                _ => {
                    report.missing.remove(&record.stack);
                }
            }
            cells.insert((&record.scenario, &record.stack, record.repetition), record);
        }
        report.late_ms = cells.values().filter_map(|record| record.late_ms).collect();
        for scenario in scenarios {
            let fingerprint = scenario.fingerprint();
            let of = |stack: &String| {
                let records = cells.values().filter(|record| {
                    record.scenario == scenario.id
                        && record.stack == *stack
                        && record.fingerprint == fingerprint
                });
                Standing::new(stack, scenario.judged_by, &records.copied().collect::<Vec<_>>())
            };
            let standings = report.stacks.iter().filter_map(of).collect();
            report.scenarios.push(Played { scenario, standings });
        }
        report
    }

    /// Every stack in every scenario, by what the scenario is judged by.
    #[must_use]
    pub fn overview(&self) -> Table {
        let mut heads = columns(&["Stack"]);
        for Played { scenario, .. } in &self.scenarios {
            let head = format!("{} ({})", scenario.id, scenario.judged_by.unit().name());
            heads.push((head, Align::Right));
        }
        let row = |stack: &String| {
            let cell = |played: &Played| played.standing(stack).map_or("–".into(), Standing::short);
            let cells = self.scenarios.iter().map(cell);
            std::iter::once(stack.clone()).chain(cells).collect()
        };
        let what = self.scenarios.iter().map(|Played { scenario, .. }| {
            let better = if scenario.judged_by.more_is_better() { "more" } else { "less" };
            format!("{}: {}, {better} is better", scenario.id, scenario.judged_by.words())
        });
        Table {
            title: "All stacks in all scenarios".into(),
            caption: format!(
                "{}. Mean of the repetitions; \u{2265}: messages were still missing at the end; –: the \
                 stack cannot do it or does not take part.",
                what.collect::<Vec<_>>().join("; ")
            ),
            columns: heads,
            rows: self.stacks.iter().map(row).collect(),
            detail: false,
        }
    }

    /// Which stack is better than the default profile, where, and by how much; best first.
    #[must_use]
    pub fn beaten(&self) -> Table {
        let mut rows = Vec::new();
        for played in &self.scenarios {
            let Some(default) = played.standing(DEFAULT) else { continue };
            let metric = played.scenario.judged_by;
            let mut better: Vec<(f64, &Standing)> = played
                .standings
                .iter()
                .filter_map(|other| Some((ratio(metric, other, default)?, other)))
                .filter(|(ratio, other)| *ratio > 1.0 && other.stack != DEFAULT)
                .collect();
            better.sort_by(|a, b| b.0.total_cmp(&a.0));
            for (_, other) in better {
                rows.push(vec![
                    played.scenario.id.clone(),
                    other.stack.clone(),
                    other.value(),
                    default.value(),
                    verdict(metric, other, default),
                ]);
            }
        }
        Table {
            title: format!("Better than {DEFAULT}"),
            caption: if rows.is_empty() {
                format!("No other stack is better than {DEFAULT} in any scenario.")
            } else {
                "Within the spread: the confidence intervals of the repetitions overlap.".into()
            },
            columns: columns(&[
                "Scenario",
                "Stack",
                ">Value",
                &format!(">{DEFAULT}"),
                "Difference",
            ]),
            rows,
            detail: false,
        }
    }

    /// Stacks that did not take part, and cells that went wrong, each with the reason.
    #[must_use]
    pub fn troubles(&self) -> Table {
        let mut rows: Vec<Vec<String>> = self
            .missing
            .iter()
            .map(|(stack, why)| vec![stack.clone(), "all".into(), "skipped".into(), why.clone()])
            .collect();
        for played in &self.scenarios {
            for standing in &played.standings {
                for (what, why) in &standing.troubles {
                    let cells = [&standing.stack, &played.scenario.id, *what, why.as_str()];
                    rows.push(cells.map(str::to_owned).into());
                }
            }
        }
        rows.dedup();
        Table {
            title: "Skipped, impossible, failed".into(),
            caption: String::new(),
            columns: columns(&["Stack", "Scenario", "What", "Why"]),
            rows,
            detail: false,
        }
    }

    /// Writes the page, its plots and the tables into `folder`; gives the path of the page.
    ///
    /// # Errors
    /// [`ArenaError::Write`].
    pub fn write(&self, folder: &Path) -> Result<PathBuf, ArenaError> {
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(ArenaError::write(&path))
        };
        let mut body = String::from("<h1>The arena: SCTP stacks side by side</h1>\n");
        let _ = writeln!(body, "<section><p>{}</p></section>", html::escape(INTRODUCTION));
        html::table(&mut body, &self.overview());
        html::table(&mut body, &self.beaten());
        if !self.troubles().rows.is_empty() {
            html::table(&mut body, &self.troubles());
        }
        for played in &self.scenarios {
            let scenario = &played.scenario;
            let _ = writeln!(
                body,
                "<section><h2 id=\"{0}\">{0}: {1}</h2><p>{2}</p></section>",
                scenario.id,
                html::escape(&scenario.title),
                html::escape(scenario.summary.trim())
            );
            for (name, figure) in plots::of(scenario, &played.standings, &self.stacks) {
                // It draws finite numbers.
                let Ok(drawing) = Drawing::new(&name, &figure) else { continue };
                write(&drawing.name, &drawing.file())?;
                html::drawing(&mut body, &drawing);
            }
            html::table(&mut body, &played.table());
        }
        let _ = writeln!(
            body,
            "<section><h2>How it was played</h2><p>{} {}</p></section>",
            html::escape(&self.versions()),
            self.lateness()
        );
        write(MARKDOWN, &self.markdown())?;
        write(PAGE, &html::page("The arena", STYLE, &body))?;
        Ok(folder.join(PAGE))
    }

    /// The tables as Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let mut out = markdown(&self.overview());
        out += &markdown(&self.beaten());
        let troubles = self.troubles();
        if !troubles.rows.is_empty() {
            out += &markdown(&troubles);
        }
        for played in &self.scenarios {
            out += &markdown(&played.table());
        }
        let _ = writeln!(out, "{} {}", self.versions(), self.lateness());
        out
    }

    /// Puts the tables between the two marks of a file.
    ///
    /// # Errors
    /// [`ArenaError::Request`] if it has no marks, [`ArenaError::Write`].
    pub fn insert_into(&self, file: &Path) -> Result<(), ArenaError> {
        let wrong = |why: String| ArenaError::Request(format!("{}: {why}", file.display()));
        let text = std::fs::read_to_string(file).map_err(|e| wrong(e.to_string()))?;
        let [begin, end] = MARKS;
        let parts = text
            .split_once(begin)
            .and_then(|(before, rest)| Some((before, rest.split_once(end)?.1)));
        let (before, after) =
            parts.ok_or_else(|| wrong(format!("{begin} and {end} are missing")))?;
        let text = format!("{before}{begin}\n\n{}\n{end}{after}", self.markdown());
        std::fs::write(file, text).map_err(ArenaError::write(file))
    }

    fn versions(&self) -> String {
        let all = self.versions.iter().map(|(stack, version)| format!("{stack} {version}"));
        format!("Versions: {}.", all.collect::<Vec<_>>().join(", "))
    }

    /// How busy the machine was.
    fn lateness(&self) -> String {
        let of = |percent| percentile(&self.late_ms, percent).unwrap_or(0.0);
        format!(
            "The emulator delivered 99 % of the packets no later than {:.1} ms after they were due in \
             half of the cells, {:.1} ms in the worst one.",
            of(50.0),
            of(100.0)
        )
    }
}

const INTRODUCTION: &str = "Every stack plays against itself, with its defaults (messages are sent \
    without delay, SCTP_NODELAY), through the same emulated links with the same random numbers. All \
    figures come out of captures of both ends.";

/// Room for the tables; numbers stay on one line, words do not.
const STYLE: &str = "main { max-width: 84rem }\n";

impl Played {
    fn standing(&self, stack: &str) -> Option<&Standing> {
        self.standings.iter().find(|standing| standing.stack == stack)
    }

    /// Everything about every stack.
    fn table(&self) -> Table {
        let default = self.standing(DEFAULT);
        let metric = self.scenario.judged_by;
        let paced = self.scenario.traffic.interval_ms.is_some();
        let mut heads =
            vec!["Stack".to_owned(), format!(">{}", metric.words()), "Against tresse".into()];
        let rest: &[&str] = if paced {
            &[">Transfer p50 / p99 / max, ms", ">Overdue for, ms"]
        } else {
            &[">Goodput, kbit/s"]
        };
        heads.extend(rest.iter().map(|head| (*head).to_owned()));
        heads.extend(standing::HEADS.map(str::to_owned));
        let rows =
            self.standings.iter().filter(|standing| standing.was_measured()).map(|standing| {
                let against = default.map_or(String::new(), |d| verdict(metric, standing, d));
                let mut row = vec![standing.stack.clone(), standing.value(), against];
                row.extend(standing.details(paced));
                row
            });
        Table {
            title: format!("{}: {}", self.scenario.id, self.scenario.title),
            caption: "Delays: from the first transmission of a chunk to its second (retransmission), and of \
                a lost one to its arrival (repair); mean and largest."
                .into(),
            columns: columns(&heads.iter().map(String::as_str).collect::<Vec<_>>()),
            rows: rows.collect(),
            detail: false,
        }
    }
}

/// All different names: those that are usual in their usual order, then the others as they come.
fn in_order<'a>(names: impl Iterator<Item = &'a String>, usual: &[String]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for name in names {
        if !all.contains(name) {
            all.push(name.clone());
        }
    }
    // Sorting keeps the order of those that are alike.
    all.sort_by_key(|name| usual.iter().position(|other| other == name).unwrap_or(usual.len()));
    all
}

/// A table as Markdown.
fn markdown(table: &Table) -> String {
    let line = |cells: &mut dyn Iterator<Item = String>| {
        format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
    };
    let clean = |text: &String| text.replace('|', "\\|").replace('\n', " ");
    let mut out = format!("### {}\n\n", table.title);
    if !table.caption.is_empty() {
        let _ = writeln!(out, "{}\n", table.caption);
    }
    if table.rows.is_empty() {
        return out;
    }
    out += &line(&mut table.columns.iter().map(|(head, _)| clean(head)));
    out += &line(&mut table.columns.iter().map(|(_, align)| {
        if *align == Align::Right { "--:".to_owned() } else { "---".to_owned() }
    }));
    for row in &table.rows {
        out += &line(&mut row.iter().map(clean));
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests;
