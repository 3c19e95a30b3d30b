//! What is in a folder of results, as pages to leaf through: one of all, one for each paper.

use std::fmt::Write as _;
use std::path::Path;

use tresse_report::html::{self, escape};

use super::compared::comparison;
use super::{FORMAT, PAGE, Report, SUMMARY};
use crate::comparison::{Comparison, Verdict};
use crate::experiment;

/// The stored results in a folder: built-in experiments in their order, then others by their names. What cannot be
/// read, as of another version, is left out and counted.
#[must_use]
pub fn stored(folder: &Path) -> (Vec<Report>, usize) {
    let names = |folder: &Path| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let (mut reports, mut unread) = (Vec::new(), 0);
    for paper in names(folder) {
        for name in names(&folder.join(&paper)) {
            let Ok(text) = std::fs::read(folder.join(&paper).join(name).join(SUMMARY)) else {
                continue;
            };
            match serde_json::from_slice::<Report>(&text) {
                Ok(report) if report.format == FORMAT => reports.push(report.judged_again()),
                _ => unread += 1,
            }
        }
    }
    let order: Vec<&str> = experiment::ids().collect();
    // Sorting keeps the order of those that are alike.
    reports.sort_by_key(|report| {
        order.iter().position(|id| *id == report.about.id).unwrap_or(order.len())
    });
    (reports, unread)
}

/// The pages, by the name of each in the folder of results. `unread` are results that could not be read.
#[must_use]
pub fn pages(reports: &[Report], unread: usize) -> Vec<(String, String)> {
    let papers = papers(reports);
    let mut pages = vec![(PAGE.to_owned(), index(&papers, unread))];
    pages.extend(papers.iter().map(|(paper, of)| (format!("{paper}/{PAGE}"), page_of(paper, of))));
    pages
}

/// The results of each paper, in their order.
fn papers(reports: &[Report]) -> Vec<(&str, Vec<&Report>)> {
    let mut papers: Vec<(&str, Vec<&Report>)> = Vec::new();
    for report in reports {
        let id = report.about.id.as_str();
        let paper = id.split_once('/').map_or(id, |(paper, _)| paper);
        match papers.iter_mut().find(|(name, _)| *name == paper) {
            Some((_, of)) => of.push(report),
            None => papers.push((paper, vec![report])),
        }
    }
    papers
}

fn index(papers: &[(&str, Vec<&Report>)], unread: usize) -> String {
    let mut out = String::from("<h1>Results</h1>\n<ul class=\"chips\">\n");
    let all = || papers.iter().flat_map(|(_, of)| of.iter().copied());
    let _ = writeln!(out, "<li>{} experiments</li>", all().count());
    badges(&mut out, all());
    if unread > 0 {
        let _ = writeln!(out, "<li class=\"bad\">{unread} of another version, not shown</li>");
    }
    out.push_str("</ul>\n");
    for (paper, of) in papers {
        let _ = writeln!(out, "<section><h2><a href=\"{0}/{PAGE}\">{0}</a>", escape(paper));
        if let Some(about) = of.iter().find_map(|report| report.about.paper.as_ref()) {
            let _ = write!(
                out,
                " <small>{}, <cite>{}</cite></small>",
                escape(&about.authors),
                escape(&about.title)
            );
        }
        out.push_str("</h2>\n<ul class=\"chips\">\n");
        badges(&mut out, of.iter().copied());
        out.push_str("</ul>\n<div class=\"gallery\">\n");
        for report in of {
            card(&mut out, report, "");
        }
        out.push_str("</div></section>\n");
    }
    html::page("Results", STYLE, &out)
}

/// The page of a paper: each experiment with its verdicts.
fn page_of(paper: &str, reports: &[&Report]) -> String {
    let mut out =
        format!("<p><a href=\"../{PAGE}\">All results</a></p>\n<h1>{}</h1>\n", escape(paper));
    if let Some(about) = reports.iter().find_map(|report| report.about.paper.as_ref()) {
        let _ = writeln!(
            out,
            "<p class=\"paper\">{}, <cite>{}</cite></p>",
            escape(&about.authors),
            escape(&about.title)
        );
    }
    out.push_str("<ul class=\"chips\">\n");
    badges(&mut out, reports.iter().copied());
    out.push_str("</ul>\n");
    for report in reports {
        out.push_str("<section class=\"one\">\n");
        card(&mut out, report, "../");
        let _ =
            writeln!(out, "<div><p>{}</p>\n<ul class=\"chips\">", escape(&report.about.summary));
        badges(&mut out, std::iter::once(*report));
        out.push_str("</ul>\n");
        let outside: Vec<Comparison> =
            counted(report).filter(|c| c.verdict != Verdict::Agrees).cloned().collect();
        let mut list = String::new();
        for c in &outside {
            let _ = writeln!(
                list,
                "<li>{}: {} beside {}, <b class=\"{3}\">{3}</b>: {4}</li>",
                escape(&c.claim.what),
                c.ours.map_or_else(|| "nothing".into(), |o| c.claim.unit.format_estimate(o)),
                escape(&c.claim.text()),
                c.verdict.word(),
                escape(&c.reason())
            );
        }
        if !list.is_empty() {
            let _ = writeln!(out, "<ul>\n{list}</ul>");
        }
        out.push_str("</div></section>\n");
        if let Some(mut table) = comparison(&report.comparisons, report.has_aims()) {
            table.detail = true;
            table.title = format!("{}: {}", report.about.id, table.title);
            html::table(&mut out, &table);
        }
    }
    html::page(&format!("Results: {paper}"), STYLE, &out)
}

/// What counts of an experiment: rows that repeat none.
fn counted(report: &Report) -> impl Iterator<Item = &Comparison> {
    report.comparisons.iter().filter(|c| c.claim.repeats.is_none())
}

/// How many verdicts there are of each kind; aims apart from published numbers.
fn badges<'a>(out: &mut String, reports: impl Iterator<Item = &'a Report>) {
    // Agree, differ, missing: of published numbers, then of aims.
    let mut verdicts = [[0; 3]; 2];
    let mut failed = 0;
    for report in reports {
        failed += report.failures.len();
        for c in counted(report) {
            verdicts[usize::from(report.has_aims())][c.verdict as usize] += 1;
        }
    }
    let words =
        [["agree", "differ", "missing"], ["aims met", "aims missed", "aims without a number"]];
    for (counts, words) in verdicts.into_iter().zip(words) {
        for ((count, word), class) in counts.into_iter().zip(words).zip(["good", "bad", "bad"]) {
            if count > 0 {
                let _ = writeln!(out, "<li class=\"{class}\">{count} {word}</li>");
            }
        }
    }
    if failed > 0 {
        let _ = writeln!(out, "<li class=\"bad\">{failed} runs failed</li>");
    }
}

/// A small picture that leads to the page of the experiment.
fn card(out: &mut String, report: &Report, up: &str) {
    let about = &report.about;
    let link = format!("{up}{}/", about.id);
    let _ = write!(out, "<a class=\"card\" href=\"{}{PAGE}\">", escape(&link));
    match report.plots.first() {
        Some(plot) => {
            let _ = write!(
                out,
                "<img src=\"{}{}\" alt=\"\" width=\"920\" height=\"520\" loading=\"lazy\">",
                escape(&link),
                escape(plot)
            );
        }
        None => out.push_str("<span class=\"none\">no plot</span>"),
    }
    let _ = write!(out, "<b>{}</b> {}", escape(&about.id), escape(&about.title));
    let (agree, all) = report.agreement();
    if all > 0 {
        let class = if agree == all { "good" } else { "bad" };
        let word = if report.has_aims() { "met" } else { "agree" };
        let _ = write!(out, " <span class=\"{class}\">{agree} of {all} {word}</span>");
    }
    out.push_str("</a>\n");
}

const STYLE: &str = "\
h2 small { font-weight: normal; color: var(--soft); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 14px; }
.card { display: block; color: inherit; text-decoration: none; border: 1px solid var(--line); border-radius: 8px; \
padding: 8px; font-size: .86rem; line-height: 1.35; overflow-wrap: anywhere; }
.card:hover, .card:focus-visible { border-color: var(--accent); }
.card img { display: block; width: 100%; height: auto; margin-bottom: 6px; }
.card .none { display: grid; place-items: center; aspect-ratio: 920 / 520; color: var(--soft); }
.card .good { color: var(--good); font-weight: 600; }
.card .bad { color: var(--bad); font-weight: 600; }
.one { display: grid; grid-template-columns: minmax(0, 17rem) minmax(0, 1fr); gap: 18px; }
.one .chips { margin-bottom: 8px; }
b.differs, b.missing { color: var(--bad); }
@media (max-width: 640px) { .one { grid-template-columns: minmax(0, 1fr); } }
";
