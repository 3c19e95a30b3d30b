//! What is in a folder of results, as pages to leaf through: one of all, one for each paper.

use std::fmt::Write as _;
use std::path::Path;

use tresse_report::html::{self, escape, prose};

use super::compared::comparison;
use super::{FORMAT, PAGE, Report, SUMMARY, Tally};
use crate::common::Paper;
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
        if let Some(about) = the_paper(of) {
            let _ = write!(
                out,
                " <small>{}, <cite>{}</cite></small>",
                escape(&about.authors),
                escape(&about.title)
            );
        }
        out.push_str("</h2>\n<ul class=\"chips\">\n");
        badges(&mut out, of.iter().copied());
        out.push_str("</ul>\n");
        cards(&mut out, of);
        out.push_str("</section>\n");
    }
    html::page("Results", STYLE, &out)
}

/// The paper that they reproduce, unless there are several.
fn the_paper<'a>(reports: &[&'a Report]) -> Option<&'a Paper> {
    let mut papers = reports.iter().filter_map(|report| report.about.paper.as_ref());
    let first = papers.next()?;
    papers.all(|paper| paper.title == first.title).then_some(first)
}

/// The page of a paper: each experiment with its verdicts.
fn page_of(paper: &str, reports: &[&Report]) -> String {
    let mut out =
        format!("<p><a href=\"../{PAGE}\">All results</a></p>\n<h1>{}</h1>\n", escape(paper));
    if let Some(about) = the_paper(reports) {
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
        let _ = writeln!(out, "<div><p>{}</p>\n<ul class=\"chips\">", prose(&report.about.summary));
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

/// How many comparisons of each kind agree, and whether runs failed.
pub(super) fn badges<'a>(out: &mut String, reports: impl Iterator<Item = &'a Report>) {
    let (mut tally, mut failed) = (Tally::default(), 0);
    for report in reports {
        failed += report.failures.len();
        tally.add(report.tally());
    }
    for (kind, count) in tally.kinds() {
        let class = if count.is_whole() { "good" } else { "bad" };
        let _ = writeln!(out, "<li class=\"{class}\">{}: {count}</li>", kind.words());
    }
    if failed > 0 {
        let _ = writeln!(out, "<li class=\"bad\">runs that failed: {failed}</li>");
    }
}

/// Small pictures that lead to the pages of experiments, and a list of those that have no picture.
fn cards(out: &mut String, reports: &[&Report]) {
    let (drawn, plain): (Vec<&Report>, Vec<&Report>) =
        reports.iter().copied().partition(|report| !report.plots.is_empty());
    if !drawn.is_empty() {
        out.push_str("<div class=\"gallery\">\n");
        for report in drawn {
            card(out, report, "");
        }
        out.push_str("</div>\n");
    }
    if !plain.is_empty() {
        out.push_str("<h3>Tables and scans</h3>\n<ul class=\"plain\">\n");
        for report in plain {
            let href = escape(&report.about.id);
            let _ = write!(out, "<li><a href=\"{href}/{PAGE}\">");
            words(out, report);
            out.push_str("</a></li>\n");
        }
        out.push_str("</ul>\n");
    }
}

/// A small picture that leads to the page of the experiment.
fn card(out: &mut String, report: &Report, up: &str) {
    let link = format!("{up}{}/", report.about.id);
    let _ = write!(out, "<a class=\"card\" href=\"{}{PAGE}\">", escape(&link));
    if let Some(plot) = report.plots.first() {
        let _ = write!(
            out,
            "<img src=\"{}{}\" alt=\"\" width=\"920\" height=\"520\" loading=\"lazy\">",
            escape(&link),
            escape(plot)
        );
    }
    words(out, report);
    out.push_str("</a>\n");
}

/// What an experiment is, and how much of it agrees.
fn words(out: &mut String, report: &Report) {
    let about = &report.about;
    let _ = write!(out, "<b>{}</b> {}", escape(&about.id), escape(&about.title));
    for (kind, count) in report.tally().kinds() {
        let class = if count.is_whole() { "good" } else { "bad" };
        let _ = write!(out, " <span class=\"{class}\">{}: {count}</span>", kind.words());
    }
}

const STYLE: &str = "\
h2 small { font-weight: normal; color: var(--soft); }
.gallery { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 14px; }
.card { display: block; color: inherit; text-decoration: none; border: 1px solid var(--line); border-radius: 8px; \
padding: 8px; font-size: .86rem; line-height: 1.35; overflow-wrap: anywhere; }
.card:hover, .card:focus-visible { border-color: var(--accent); }
.card img { display: block; width: 100%; height: auto; margin-bottom: 6px; }
.plain { margin: 0; padding: 0; list-style: none; columns: 22rem; column-gap: 14px; font-size: .86rem; line-height: 1.35; }
.plain li { break-inside: avoid; padding: 4px 0; overflow-wrap: anywhere; }
.plain a { color: inherit; text-decoration: none; }
.plain a:hover, .plain a:focus-visible { text-decoration: underline; }
.card .good, .plain .good { color: var(--good); font-weight: 600; }
.card .bad, .plain .bad { color: var(--bad); font-weight: 600; }
.one { display: grid; grid-template-columns: minmax(0, 17rem) minmax(0, 1fr); gap: 18px; }
.one .card { align-self: start; }
.one .chips { margin-bottom: 8px; }
b.differs, b.missing { color: var(--bad); }
@media (max-width: 640px) { .one { grid-template-columns: minmax(0, 1fr); } }
";
