//! Every row beside the published number: one page for each paper.

use std::fmt::Write as _;

use super::reasons::Evidence;
use super::{OURS, cell, is_outside, paper_of, papers_of};
use crate::comparison::{ABOVE, Comparison, Verdict};
use crate::experiment::Inferred;
use crate::report::Report;

/// The folder, in that of the results.
const FOLDER: &str = "reproduction";

/// `reproduction/PAPER.md`, by the name of the paper: what each experiment compares.
pub fn papers(reports: &[Report]) -> Vec<(String, String)> {
    let page = |paper: &str| {
        let of: Vec<&Report> =
            reports.iter().filter(|r| paper_of(r) == paper && !r.comparisons.is_empty()).collect();
        let published = of.first()?.about.paper.as_ref();
        let mut out = match published {
            _ if paper == OURS => OWN_AIMS.to_owned(),
            Some(about) => format!(
                "# {paper}: {}, *{}*\n\nGenerated; `docs/reproduction.md` counts, and says how rows are judged. \
                 Rows within are folded away below those that are not.\n",
                about.authors, about.title
            ),
            None => format!("# {paper}\n\nGenerated; `docs/reproduction.md` counts.\n"),
        };
        let (counting, evidence): (Vec<&Report>, Vec<&Report>) =
            of.iter().copied().partition(|r| counts(r));
        for report in counting {
            section(&mut out, report, &Evidence(reports), paper == OURS);
        }
        only_evidence(&mut out, &evidence);
        inferred(&mut out, &of);
        notes(&mut out, &of);
        Some((format!("{FOLDER}/{paper}.md"), out))
    };
    papers_of(reports).into_iter().filter_map(page).collect()
}

/// How the page of our own aims begins.
const OWN_AIMS: &str = "\
# tresse: what this project wants of itself

Generated; `docs/reproduction.md` counts. No paper prints these numbers: each row is an aim of our own, \
with what we wanted, what it is, and whether it is missed. Aims count apart and never among what was reproduced.
";

/// Whether an experiment has rows that count, or something to be said.
fn counts(report: &Report) -> bool {
    let as_it_should_be = report.changes.is_empty() && report.failures.is_empty();
    !as_it_should_be || report.comparisons.iter().any(|c| c.claim.repeats.is_none())
}

/// Experiments whose rows are of others, one line each.
fn only_evidence(out: &mut String, reports: &[&Report]) {
    if reports.is_empty() {
        return;
    }
    out.push_str(
        "\n## Experiments that test reasons\n\nAll of their rows repeat rows above, where their numbers stand as \
         evidence; `tresse lab show` has them all.\n\n",
    );
    for report in reports {
        let about = &report.about;
        let n = report.comparisons.len();
        let _ = writeln!(
            out,
            "- `{}`: {}: {n} row{}",
            about.id,
            cell(&about.title),
            if n == 1 { "" } else { "s" }
        );
    }
}

fn section(out: &mut String, report: &Report, evidence: &Evidence<'_>, own: bool) {
    let about = &report.about;
    let _ = writeln!(out, "\n## `{}`: {}\n", about.id, cell(&about.title));
    for change in &report.changes {
        let _ = writeln!(out, "Changed: `{change}`.\n");
    }
    let said = Said::of(&report.comparisons);
    said.write(out);
    let (outside, others): (Vec<_>, Vec<_>) =
        report.comparisons.iter().partition(|c| is_outside(c));
    if !outside.is_empty() {
        rows(out, &outside, evidence, (own, &said));
    }
    within(out, &others, own, &said);
    if !report.failures.is_empty() {
        let _ = writeln!(out, "\n{} of {} runs failed.", report.failures.len(), report.runs);
    }
}

/// What is said once above the tables of an experiment, not in each row.
struct Said {
    /// Where in the paper all of its rows are.
    place: Option<String>,
    /// Why printed numbers are known no better, with how well.
    known: Vec<String>,
}

impl Said {
    fn of(rows: &[Comparison]) -> Said {
        let place = rows.first().map(|c| &c.claim.place);
        let place =
            place.filter(|place| rows.len() > 1 && rows.iter().all(|c| c.claim.place == **place));
        let mut known: Vec<String> = Vec::new();
        for text in rows.iter().filter_map(|c| c.claim.known_to_because()) {
            let times =
                rows.iter().filter(|c| c.claim.known_to_because().as_ref() == Some(&text)).count();
            if times > 3 && !known.contains(&text) {
                known.push(text);
            }
        }
        Said { place: place.cloned(), known }
    }

    fn write(&self, out: &mut String) {
        let place = self.place.iter().map(|place| format!("All of {}.", cell(place)));
        let known =
            self.known.iter().map(|known| format!("A number is judged with {}.", cell(known)));
        let all: Vec<String> = place.chain(known).collect();
        if !all.is_empty() {
            let _ = writeln!(out, "{}\n", all.join(" "));
        }
    }

    /// The column that says where a row is, unless all are there.
    fn place(&self, text: &str) -> String {
        if self.place.is_some() { String::new() } else { format!("| {} ", cell(text)) }
    }

    /// What decides a row, less what is said above.
    fn decided_by(&self, c: &Comparison) -> String {
        let text = c.decided_by();
        let said = self.known.iter().find_map(|known| {
            let (least, why) = known.split_once(": ")?;
            text.ends_with(known.as_str())
                .then(|| format!("{}{least}", &text[..text.len() - least.len() - 2 - why.len()]))
        });
        cell(&said.unwrap_or(text))
    }
}

/// What ours is, and by how many deviations it is above the published number.
fn ours(c: &Comparison) -> [String; 2] {
    let dash = || "–".to_owned();
    let z = c.z.map(|z| if z.abs() > 99.0 { "> 99".into() } else { format!("{z:+.1}") });
    [
        c.ours.map_or_else(dash, |o| c.claim.unit.format_estimate(o)),
        z.map(|z| z.replace("+0.0", "0.0").replace("-0.0", "0.0")).unwrap_or_else(dash),
    ]
}

/// What the columns of a published number are called.
fn head(own: bool) -> &'static str {
    if own { "aim" } else { "published" }
}

fn rows(
    out: &mut String,
    comparisons: &[&Comparison],
    evidence: &Evidence<'_>,
    (own, said): (bool, &Said),
) {
    let _ = writeln!(
        out,
        "{}| what | {} | ours | difference | z | decided by | verdict | reason |\n\
         {}|---|---:|---:|---:|---:|---|---|---|",
        said.place("where"),
        head(own),
        said.place("---").replace(' ', "")
    );
    let mut reasons = Vec::new();
    for c in comparisons {
        let verdict = match (c.verdict, own) {
            (Verdict::Missing, _) => "**no run has it**",
            (_, true) => "**missed**",
            (_, false) => "**outside**",
        };
        let reason = evidence.text(c, &mut reasons);
        let [value, z] = ours(c);
        let _ = writeln!(
            out,
            "{}| {} | {} | {value} | {} | {z} | {} | {verdict} | {} |",
            said.place(&c.claim.place),
            cell(&c.claim.what),
            c.claim.text(),
            c.difference.map_or_else(|| "–".into(), |d| c.claim.unit.format_difference(d)),
            said.decided_by(c),
            cell(&reason)
        );
    }
    for (number, reason) in (1..).zip(&reasons) {
        let _ = write!(out, "\n{number}. {reason}");
    }
    out.push_str(if reasons.is_empty() { "\n" } else { "\n\n" });
}

/// Rows with nothing to explain, folded away.
fn within(out: &mut String, comparisons: &[&Comparison], own: bool, above: &Said) {
    if comparisons.is_empty() {
        return;
    }
    let repeated = comparisons.iter().filter(|c| c.claim.repeats.is_some()).count();
    let word = if own { "met" } else { "within" };
    let of = [(comparisons.len() - repeated, word), (repeated, "repeated, which do not count")];
    let said: Vec<String> =
        of.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let _ = writeln!(
        out,
        "<details><summary>{}</summary>\n\n{}| what | {} | ours | z | decided by | |\n\
         {}|---|---:|---:|---:|---|---|",
        said.join(", "),
        above.place("where"),
        head(own),
        above.place("---").replace(' ', "")
    );
    for c in comparisons {
        let mark = match c.claim.repeats.as_deref() {
            None => String::new(),
            Some(ABOVE) => "repeats a row of this experiment".into(),
            Some(id) => format!("repeats `{id}`"),
        };
        let [value, z] = ours(c);
        let _ = writeln!(
            out,
            "{}| {} | {} | {value} | {z} | {} | {mark} |",
            above.place(&c.claim.place),
            cell(&c.claim.what),
            c.claim.text(),
            above.decided_by(c)
        );
    }
    out.push_str("\n</details>\n");
}

/// What was inferred: each once, with where it was fitted and how many experiments it predicts.
fn inferred(out: &mut String, reports: &[&Report]) {
    let mut seen: Vec<&Inferred> = Vec::new();
    for one in reports.iter().flat_map(|r| &r.about.inferred) {
        if seen.contains(&one) {
            continue;
        }
        if seen.is_empty() {
            out.push_str("\n## What the paper does not print\n\n");
        }
        seen.push(one);
        let using = reports.iter().filter(|r| r.about.inferred.contains(one)).map(|r| &r.about.id);
        let predicted = using.filter(|id| !one.from.contains(id)).count();
        let (key, from, how) = (&one.key, one.from.join("`, `"), cell(&one.how));
        let whose = match (one.from.is_empty(), predicted) {
            (true, 1) => "was chosen, not fitted, for one experiment".into(),
            (true, n) => format!("was chosen, not fitted, for {n} experiments"),
            (false, 0) => format!("is fitted on `{from}`; it predicts nothing"),
            (false, 1) => {
                format!("is fitted on `{from}`; one more experiment has it, which is predicted")
            }
            (false, n) => {
                format!("is fitted on `{from}`; {n} more experiments have it, which are predicted")
            }
        };
        let _ = writeln!(out, "- `{key}` {whose}. {how}");
    }
}

/// What the paper leaves open and how it was read: each note once, with the experiments that it holds
/// for.
fn notes(out: &mut String, reports: &[&Report]) {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for report in reports {
        for note in &report.about.notes {
            let name = report.about.id.split('/').next_back().unwrap_or_default();
            match all.iter_mut().find(|(text, _)| text == note) {
                Some((_, of)) => of.push(name),
                None => all.push((note, vec![name])),
            }
        }
    }
    if all.is_empty() {
        return;
    }
    out.push_str("\n## Notes\n\n");
    for (note, of) in all {
        let whose = match () {
            () if of.len() == reports.len() => "all".to_owned(),
            () if 2 * of.len() > reports.len() => {
                let names = reports.iter().filter_map(|r| r.about.id.split('/').next_back());
                let others: Vec<&str> = names.filter(|name| !of.contains(name)).collect();
                format!("all but {}", others.join(", "))
            }
            () => of.join(", "),
        };
        let _ = writeln!(out, "- *{whose}:* {note}");
    }
}
