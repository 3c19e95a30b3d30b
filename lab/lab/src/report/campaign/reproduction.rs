//! The published numbers beside ours: counts on one page, every row on one page for each paper.

use std::fmt::Write as _;

use tresse_report::statistics::percentile;

use super::reasons::{Evidence, Standing};
use super::{OURS, cell, made_by, paper_of, papers_of};
use crate::comparison::{ABOVE, Comparison, Kind, Rule, Verdict};
use crate::experiment::Inferred;
use crate::report::Report;

/// The folder, beside the short page, of one page for each paper.
const FOLDER: &str = "reproduction";

/// What counts: claims that are not counted elsewhere.
fn counted<'a>(reports: &'a [Report], paper: &str, kind: Kind) -> Vec<&'a Comparison> {
    let of = reports.iter().filter(|report| paper.is_empty() || paper_of(report) == paper);
    of.flat_map(|report| {
        let id = report.about.id.as_str();
        report
            .comparisons
            .iter()
            .filter(move |c| c.claim.repeats.is_none() && c.claim.kind(id) == kind)
    })
    .collect()
}

fn count(comparisons: &[&Comparison], verdict: Verdict) -> usize {
    comparisons.iter().filter(|c| c.verdict == verdict).count()
}

/// `within / counted`, and what is missing.
fn share(comparisons: &[&Comparison]) -> String {
    if comparisons.is_empty() {
        return "–".into();
    }
    let within = count(comparisons, Verdict::Agrees);
    let percent = 100.0 * within as f64 / comparisons.len() as f64;
    let missing = match count(comparisons, Verdict::Missing) {
        0 => String::new(),
        n => format!(", {n} missing"),
    };
    format!("{within} of {} ({percent:.0} %){missing}", comparisons.len())
}

/// How verdicts come about, for who reads the counts.
const RULES: &str = "\
- *A value* is judged by the spread of runs where that is known, else by a tolerance; each row says by which, and `z` is \
how many standard deviations ours is above the published number. A count of one run of the paper: the exact test of one \
count against those of our runs. Another outcome of one run, such as an average or the largest delay: where 95 % of single \
runs are by ours (Student's t for one more run, and no wider than ours were). A mean of several runs: \
the difference of both means, less than 1.96 standard deviations (t for few runs); where the paper prints no spread, \
theirs is taken to be that of our runs. A printed number is known to its last digit, or as well as the row says. Where no \
spread is known: 10 % of the number, of a percentage 5 points at most, or what a row says instead.
- *An effect* is within if all of the interval of ours (95 % confidence; the extremes of a median of less than six \
runs; the value of a single run) is on its side: a difference of nothing is none. What a paper says in words, such as \
\"nearly the same\", is `≈`: all of the interval must be within what we read into the words. `≥` and `≤` are bounds that \
ours may touch.
- *Not within* has a reason only if an experiment has tested it: with what that one changes, the same row is within, and \
its interval is narrower than the difference that it explains. Where it tries several settings, half of the runs choose \
the nearest and the others, which have other seeds, judge it. It is *not reproducible* if an experiment has tried what \
the paper leaves open and every setting is excluded with 95 % confidence, by all of its runs. Else it is unexplained: \
also where a test or a scan has too few runs to tell. What is thought but not shown is said, and counts as unexplained. \
None of the three counts as within.

";

/// What of the papers is not among the rows.
const MISSING: &str = "
## What is not here

- pedersen: the TCP Tables 3.6 and 3.7 count nowhere. Those of a present kernel are in [tcp-baseline.md](tcp-baseline.md); \
NewReno, SACK and FACK of 2006 are simulated by the example `tcp` of tresse-sim, which prints the averages of both, but are no experiment yet. Delays of zero, which stand for retransmissions that never happened, are no \
rows: their numbers are.
- hurtig: of Figures 2 to 11 what the text says is compared; their curves were not read. 200 bytes stand beside the fitted \
size in experiments of their own, whose rows repeat.
- gonzalez: of the virtualised environment of §4.3 (`gonzalez/virtual`) the paper presents no measurement, and the live \
Internet cannot be had again.
- ladha: the curves of Figures 11 to 13 were not read, only what the text says of them; the queue in them is illegible.
- sarnow: all curves are lost, so sentences are compared. Only `sarnow/long` has runs of 300 s. Of a SACK window in \
pieces the time of the processor is not known, as the model takes a SACK as a whole. That the flight size is above the \
window for 90 % of the time with a window of 200 (§6.3.2) is not measured.
";

/// `docs/reproduction.md`: how many numbers of each kind are within, paper by paper. `absent` are
/// experiments without results.
pub fn reproduction(reports: &[Report], absent: &[&str]) -> String {
    let mut out = String::from(
        "# Reproduction of the published results\n\n\
         Generated by `tresse lab report` from the results of `tresse lab run --all --slow`; not edited \
         by hand. Four counts, which are never added: values that a paper prints or draws; orderings and \
         effects that it claims; agreement with ns-2; and what this project wants of itself. No number \
         counts twice: a row that repeats another one says so.\n\n",
    );
    out.push_str(RULES);
    made_by(&mut out, reports, absent);
    let kinds = Kind::ALL.map(Kind::words).join(" | ");
    let _ = writeln!(
        out,
        "| paper | {kinds} | not within: tested reason | not within: not reproducible | not within: unexplained |"
    );
    out.push_str("|---|---:|---:|---:|---:|---:|---:|---:|\n");
    let row = |out: &mut String, name: &str, paper: &str| {
        let of = Kind::ALL.map(|kind| counted(reports, paper, kind));
        let outside = of.iter().flatten().filter(|c| c.verdict != Verdict::Agrees);
        let standings: Vec<Standing> = outside.map(|c| Evidence(reports).standing(c)).collect();
        let number = |of| standings.iter().filter(|standing| **standing == of).count();
        let [tested, not, unexplained] =
            [Standing::Tested, Standing::NotReproducible, Standing::Unexplained].map(number);
        let shares = of.each_ref().map(|of| share(of)).join(" | ");
        let _ = writeln!(out, "| {name} | {shares} | {tested} | {not} | {unexplained} |");
    };
    let named: Vec<&str> = papers_of(reports)
        .into_iter()
        .filter(|paper| reports.iter().any(|r| paper_of(r) == *paper && !r.comparisons.is_empty()))
        .collect();
    for paper in &named {
        row(&mut out, &format!("[{paper}]({FOLDER}/{paper}.md)"), paper);
    }
    row(&mut out, "each count over all", "");
    by_rule(&mut out, reports, &named);
    for paper in papers_of(reports) {
        fitted(&mut out, reports, paper);
    }
    out.push_str(MISSING);
    let repeats = reports.iter().flat_map(|r| &r.comparisons).filter(|c| c.claim.repeats.is_some());
    let _ = writeln!(
        out,
        "\n{} rows repeat another one and count nowhere: those of experiments that test a reason or try settings, and \
         numbers that a paper prints more than once.",
        repeats.count()
    );
    out
}

/// By which rules the printed values were judged, and how wide the intervals of single runs are: a wide one says little.
fn by_rule(out: &mut String, reports: &[Report], papers: &[&str]) {
    let columns = [
        (&[Rule::Count][..], "counts of one run"),
        (&[Rule::OneRun], "other outcomes of one run"),
        (&[Rule::Means], "means of several runs"),
        (&[Rule::Tolerance], "no spread known: tolerance"),
    ];
    let heads = columns.map(|(_, head)| head).join(" | ");
    let _ = writeln!(
        out,
        "\nBy what the printed values were judged, and how many are within. Behind those of one run: half of the interval \
         in percent of the number, in the median, with the largest tenth; where it is wide, a value within says little.\n\n\
         | paper | {heads} |\n|---|---:|---:|---:|---:|"
    );
    for paper in papers {
        let all = counted(reports, paper, Kind::Printed);
        if all.is_empty() {
            continue;
        }
        let cells = columns.map(|(rules, _)| {
            let of: Vec<&Comparison> = all
                .iter()
                .copied()
                .filter(|c| c.rule.is_some_and(|rule| rules.contains(&rule)))
                .collect();
            let widths: Vec<f64> = of.iter().filter_map(|c| c.half_width()).collect();
            match percentile(&widths, 50.0).zip(percentile(&widths, 90.0)) {
                Some((median, tenth)) => format!("{}; ± {median:.0}, ± {tenth:.0} %", share(&of)),
                None => share(&of),
            }
        });
        let _ = writeln!(out, "| {paper} | {} |", cells.join(" | "));
    }
}

/// How many printed values are of experiments that something was fitted on, and how many were predicted.
fn fitted(out: &mut String, reports: &[Report], paper: &str) {
    let is_fitted = |r: &&Report| r.about.inferred.iter().any(|i| !i.from.is_empty());
    let concerned = reports.iter().filter(|r| paper_of(r) == paper && is_fitted(r));
    let (on, predicted): (Vec<&Report>, Vec<&Report>) = concerned.partition(|r| is_fitted_on(r));
    if on.is_empty() && predicted.is_empty() {
        return;
    }
    let share_of = |reports: Vec<&Report>| {
        let of: Vec<Comparison> = reports
            .iter()
            .flat_map(|r| counted(std::slice::from_ref(*r), "", Kind::Printed))
            .cloned()
            .collect();
        share(&of.iter().collect::<Vec<_>>())
    };
    let _ = writeln!(
        out,
        "\n{paper}: something that the paper does not print was fitted. Printed values of the experiments \
         that it was fitted on: {}; predicted: {}.",
        share_of(on),
        share_of(predicted)
    );
}

/// Whether something that the experiment uses was fitted on its own results.
fn is_fitted_on(report: &Report) -> bool {
    report.about.inferred.iter().any(|i| i.from.contains(&report.about.id))
}

/// `docs/reproduction/PAPER.md`, by the name of the paper: what each experiment compares.
pub fn papers(reports: &[Report]) -> Vec<(String, String)> {
    let page = |paper: &str| {
        let of: Vec<&Report> =
            reports.iter().filter(|r| paper_of(r) == paper && !r.comparisons.is_empty()).collect();
        let published = of.first()?.about.paper.as_ref();
        let mut out = match published {
            _ if paper == OURS => OWN_AIMS.to_owned(),
            Some(about) => format!(
                "# {paper}: {}, *{}*\n\nGenerated, see [the summary](../reproduction.md), which says how rows are judged. \
                 Rows within are folded away below those that are not.\n",
                about.authors, about.title
            ),
            None => format!("# {paper}\n\nGenerated, see [the summary](../reproduction.md).\n"),
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

Generated, see [the summary](../reproduction.md). No paper prints these numbers: each row is an aim of our own, \
with what we wanted, what it is, and whether it is missed. Aims count apart and never among what was reproduced.
";

/// Whether an experiment has rows that count, or something to be said.
fn counts(report: &Report) -> bool {
    let as_it_should_be = report.changes.is_empty() && report.failures.is_empty();
    !as_it_should_be || report.comparisons.iter().any(|c| c.claim.repeats.is_none())
}

/// Whether a row has to be explained.
fn is_outside(c: &Comparison) -> bool {
    c.claim.repeats.is_none() && c.verdict != Verdict::Agrees
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
    let (outside, others): (Vec<_>, Vec<_>) =
        report.comparisons.iter().partition(|c| is_outside(c));
    if !outside.is_empty() {
        rows(out, &outside, evidence, own);
    }
    within(out, &others, own);
    if !report.failures.is_empty() {
        let _ = writeln!(out, "\n{} of {} runs failed.", report.failures.len(), report.runs);
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

fn rows(out: &mut String, comparisons: &[&Comparison], evidence: &Evidence<'_>, own: bool) {
    let _ = writeln!(
        out,
        "| where | what | {} | ours | difference | z | decided by | verdict | reason |\n\
         |---|---|---:|---:|---:|---:|---|---|---|",
        head(own)
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
            "| {} | {} | {} | {value} | {} | {z} | {} | {verdict} | {} |",
            cell(&c.claim.place),
            cell(&c.claim.what),
            c.claim.text(),
            c.difference.map_or_else(|| "–".into(), |d| c.claim.unit.format_difference(d)),
            cell(&c.decided_by()),
            cell(&reason)
        );
    }
    for (number, reason) in (1..).zip(&reasons) {
        let _ = write!(out, "\n{number}. {reason}");
    }
    out.push_str(if reasons.is_empty() { "\n" } else { "\n\n" });
}

/// Rows with nothing to explain, folded away.
fn within(out: &mut String, comparisons: &[&Comparison], own: bool) {
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
        "<details><summary>{}</summary>\n\n| where | what | {} | ours | z | decided by | |\n\
         |---|---|---:|---:|---:|---|---|",
        said.join(", "),
        head(own)
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
            "| {} | {} | {} | {value} | {z} | {} | {mark} |",
            cell(&c.claim.place),
            cell(&c.claim.what),
            c.claim.text(),
            cell(&c.decided_by())
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
