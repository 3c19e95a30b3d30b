//! The result as one self-contained page: nothing is loaded from elsewhere.

use std::fmt::Write as _;

use tresse_report::Drawing;
use tresse_report::html::{self, escape, prose};

use super::compared::comparison;
use super::gallery::badges;
use super::{Report, SUMMARY};
use crate::common::Paper;
use crate::runner::RUNS;

/// The page, with `drawings` in it.
pub(super) fn page(report: &Report, drawings: &[Drawing]) -> String {
    let mut out = String::new();
    header(&mut out, report);
    failures(&mut out, report);
    if let Some(table) = comparison(&report.comparisons, report.has_aims()) {
        html::table(&mut out, &table);
    }
    for drawing in drawings {
        html::drawing(&mut out, drawing);
    }
    for table in &report.tables {
        html::table(&mut out, table);
    }
    notes(&mut out, report);
    setup(&mut out, report);
    again(&mut out, report);
    out.push_str(&format!("<footer>Made by {}.</footer>\n", escape(&report.version)));
    html::page(&format!("{}: {}", report.about.id, report.about.title), "", &out)
}

/// Where an experiment was published.
fn published_in(paper: &Paper) -> String {
    let Paper { authors, title, section } = paper;
    format!(" · {}, <cite>{}</cite>, {}", escape(authors), escape(title), escape(section))
}

fn header(out: &mut String, report: &Report) {
    let e = &report.about;
    let _ = write!(out, "<h1>{}</h1>\n<p class=\"paper\">", escape(&e.title));
    let _ = writeln!(
        out,
        "<code>{}</code>{}</p>",
        escape(&e.id),
        e.paper.as_ref().map_or(String::new(), published_in)
    );
    out.push_str("<ul class=\"chips\">\n");
    badges(out, std::iter::once(report));
    let _ = writeln!(out, "<li>{} runs</li>", report.runs);
    let r = &e.replications;
    let plural = if r.count == 1 { "" } else { "s" };
    let _ = writeln!(out, "<li>{} replication{plural}, seed {}</li>", r.count, r.seed);
    for change in &report.changes {
        let _ = writeln!(out, "<li class=\"bad\">changed: <code>{}</code></li>", escape(change));
    }
    out.push_str("</ul>\n");
    let _ = writeln!(out, "<section><p>{}</p></section>", prose(&e.summary));
}

fn failures(out: &mut String, report: &Report) {
    if report.failures.is_empty() {
        return;
    }
    out.push_str("<section><h2>Failed runs</h2>\n<div class=\"wide\"><table>\n");
    out.push_str("<tr><th>Run</th><th>Seed</th><th>What happened</th><th>Again with</th></tr>\n");
    for f in &report.failures {
        let _ = writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td>{}</td><td><code>{}</code></td></tr>",
            escape(&f.run),
            f.seed,
            escape(&f.message),
            escape(&f.replay)
        );
    }
    out.push_str("</table></div></section>\n");
}

fn notes(out: &mut String, report: &Report) {
    let about = &report.about;
    if about.notes.is_empty() && about.inferred.is_empty() {
        return;
    }
    out.push_str("<section><h2>Notes</h2>\n<ul>\n");
    for i in &about.inferred {
        let from = match &i.from[..] {
            [] => String::new(),
            list => format!(" from {}", escape(&list.join(", "))),
        };
        let _ = writeln!(
            out,
            "<li><code>{}</code> is inferred{from}: {}</li>",
            escape(&i.key),
            escape(&i.how)
        );
    }
    for note in &report.about.notes {
        let _ = writeln!(out, "<li>{}</li>", prose(note));
    }
    out.push_str("</ul></section>\n");
}

fn setup(out: &mut String, report: &Report) {
    out.push_str("<section><h2>Set-up</h2>\n<dl>\n");
    for (term, text) in &report.setup {
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(term), escape(text));
    }
    out.push_str("</dl>\n<p class=\"caption\"></p>\n");
    for p in &report.profiles {
        let _ = writeln!(
            out,
            "<details><summary>{} <code>{}</code></summary><p>{}. Both endpoints run it.</p>\
             <pre>{}</pre></details>",
            escape(&p.label),
            escape(&p.name),
            escape(&p.description),
            escape(&p.parameters)
        );
    }
    out.push_str("</section>\n");
}

fn again(out: &mut String, report: &Report) {
    out.push_str("<section><h2>Make it again</h2>\n");
    let _ = writeln!(out, "<pre>{}</pre>", escape(&report.command));
    let _ = writeln!(
        out,
        "<p>From the source tree: <code>{}</code>. The same source and seed give the same bytes.</p>",
        escape(&from_source(&report.command))
    );
    let own = [(SUMMARY, "all tables and parameters"), (RUNS, "the finished runs")];
    let data = report.files.iter().map(|(file, what)| (file.as_str(), what.as_str()));
    out.push_str("<dl>\n");
    for (file, what) in data.chain(own) {
        let _ = writeln!(out, "<dt><a href=\"{file}\">{file}</a></dt><dd>{what}</dd>");
    }
    out.push_str("</dl></section>\n");
}

/// The command in a checkout. Real time takes all of the command (`.cargo/config.toml`).
fn from_source(command: &str) -> String {
    match command.strip_prefix("tresse lab ") {
        Some(rest) if !rest.contains("--real-time") => format!("cargo lab {rest}"),
        _ => format!("cargo run --release -- {}", command.trim_start_matches("tresse ")),
    }
}

#[cfg(test)]
mod tests {
    use super::from_source;

    #[test]
    fn a_checkout_has_the_laboratory_alone() {
        assert_eq!(from_source("tresse lab run hurtig/fig2"), "cargo lab run hurtig/fig2");
        let real = "tresse lab run hurtig/fig2 --real-time";
        assert_eq!(from_source(real), "cargo run --release -- lab run hurtig/fig2 --real-time");
    }
}
