//! The page: what the laws demand and what they found, distributions, and the worst worlds.

use std::fmt::Write as _;

use tresse_gauntlet::law::Demand;
use tresse_gauntlet::{Law, World};
use tresse_report::Drawing;
use tresse_report::figure::{Axes, Figure, Line, Look, Point};
use tresse_report::statistics::percentile;

use super::tally::{Row, Tally};
use crate::gauntlet::{Candidate, Request};
use crate::version;

/// How many of the worst worlds are listed.
const WORST: usize = 20;
/// The values that the plots show.
const SHOWN: f64 = 3.0;

/// The page in Markdown with its plots. The first candidate is what it is about.
pub(crate) fn render(request: &Request, candidates: &[Candidate]) -> (String, Vec<Drawing>) {
    let mut out = String::from("# The gauntlet\n\n");
    let Some(first) = candidates.first() else { return (out, Vec::new()) };
    let tally = Tally::of(&first.measures);
    let _ = writeln!(
        out,
        "Made by `{}`, {}; not edited by hand.\n\n\
         Random worlds, each drawn from a number (`lab/gauntlet/src/world.rs` has the distribution), played over all \
         paths; where nobody competes over each path alone; where others do, with one more of them in our place; and where a \
         thin stream runs beside bulk, without the bulk. Here: {} \
         worlds with the profile `{}`. A world that breaks a law by less than a fifth is played {} times, and the means \
         count; of law 5 the worst.\n",
        request.command(),
        version::describe(),
        first.measures.len() + first.failures.len(),
        first.name,
        tresse_gauntlet::judge::REPLICATIONS,
    );
    failures(&mut out, candidates);
    laws(&mut out, &tally);
    if candidates.len() > 1 {
        compare(&mut out, candidates);
    }
    families(&mut out, &tally);
    let drawings = distributions(&mut out, &tally);
    worst(&mut out, request, &first.name, &tally);
    (out, drawings)
}

/// The laws of all candidates, for a terminal.
pub(crate) fn summary(request: &Request, candidates: &[Candidate]) -> String {
    let mut out = String::new();
    for candidate in candidates {
        let tally = Tally::of(&candidate.measures);
        let _ = writeln!(out, "{}, {} worlds", candidate.name, candidate.measures.len());
        for row in &tally.rows {
            if row.verdicts.is_empty() {
                let _ = writeln!(out, "  {:26} no world that it is about", row.law.name());
                continue;
            }
            let _ = write!(
                out,
                "  {:26} {:5} of {:5} worlds ({:5.1} %)",
                row.law.name(),
                row.holding(),
                row.verdicts.len(),
                100.0 * row.share()
            );
            if let Some((world, verdict)) = row.worst() {
                let _ = write!(out, ", worst {:.3} in world {world}", verdict.value);
            }
            let _ = writeln!(out);
        }
        for failure in &candidate.failures {
            let _ = writeln!(out, "  {}: {}; {}", failure.run, failure.message, failure.replay);
        }
        if let [only] = candidates {
            for broken in tally.worst(5) {
                let _ = writeln!(
                    out,
                    "  {:.3} {}: {}",
                    broken.verdict.value,
                    broken.verdict.law.name(),
                    request.replay(broken.world, &only.name)
                );
            }
        }
    }
    out
}

fn failures(out: &mut String, candidates: &[Candidate]) {
    for candidate in candidates {
        for failure in &candidate.failures {
            let _ = writeln!(
                out,
                "**{} with `{}` broke an invariant**: {} (`{}`)\n",
                failure.run, candidate.name, failure.message, failure.replay
            );
        }
    }
}

/// A demand in words.
fn must(law: Law) -> String {
    let words = |demand: Demand| {
        let Demand { bound, in_share, worst, at_most } = demand;
        let sign = if at_most { "≤" } else { "≥" };
        let share = if in_share < 1.0 {
            format!(" in {:.0} % of worlds", 100.0 * in_share)
        } else {
            " in all".to_owned()
        };
        let limit = match worst {
            worst if at_most || worst == 0.0 => String::new(),
            worst => format!(", {sign} {worst} in all"),
        };
        format!("{sign} {bound:.3}{share}{limit}")
    };
    let (one, several) = (law.demand(1), law.demand(2));
    if one == several {
        words(several)
    } else {
        format!("{}; one path {}", words(several), words(one))
    }
}

fn laws(out: &mut String, tally: &Tally) {
    out.push_str(
        "## Laws\n\n| law | value | worlds | must | holds in | worst | beyond the limit | |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in &tally.rows {
        let worst = row.worst().map_or_else(String::new, |(world, verdict)| {
            format!("{:.3} (world {world})", verdict.value)
        });
        if row.verdicts.is_empty() {
            let (name, value, worlds) = (row.law.name(), row.law.value(), row.law.worlds());
            let _ = writeln!(
                out,
                "| {name} | {value} | {worlds} | {} | no such world | – | | – |",
                must(row.law)
            );
            continue;
        }
        let limit = row.law.demand(1).worst;
        let has_limit = limit > 0.0 && limit.is_finite();
        let beyond = if has_limit { row.beyond().to_string() } else { String::new() };
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} of {} ({:.1} %) | {worst} | {} | {} |",
            row.law.name(),
            row.law.value(),
            row.law.worlds(),
            must(row.law),
            row.holding(),
            row.verdicts.len(),
            100.0 * row.share(),
            beyond,
            if row.is_kept() { "kept" } else { "**broken**" }
        );
    }
    let (plain, below) = tally.plain;
    let _ = writeln!(
        out,
        "\nOf {plain} worlds of law 1 with one message size from 1 kB to a packet {below} are below its limit for all \
         (0.1 % may be).\n"
    );
}

/// All candidates beside each other.
fn compare(out: &mut String, candidates: &[Candidate]) {
    out.push_str("## Candidates\n\nPercent of the worlds in which a law holds, and its worst value.\n\n| profile |");
    for law in Law::ALL {
        let _ = write!(out, " {} |", law.name());
    }
    let _ = writeln!(out, "\n|---|{}", "---|".repeat(Law::ALL.len()));
    for candidate in candidates {
        let _ = write!(out, "| `{}` |", candidate.name);
        for row in &Tally::of(&candidate.measures).rows {
            let worst = row.worst().map_or(f64::NAN, |(_, verdict)| verdict.value);
            match row.verdicts.len() {
                0 => out.push_str(" – |"),
                _ => {
                    let _ = write!(out, " {:.1} ({worst:.2}) |", 100.0 * row.share());
                }
            }
        }
        let _ = writeln!(out);
    }
    let _ = writeln!(out);
}

fn families(out: &mut String, tally: &Tally) {
    use tresse_gauntlet::Family;
    let families =
        [Family::Open, Family::Clean, Family::Shared, Family::Lossy, Family::Dying, Family::Thin];
    out.push_str(
        "## By family\n\nWorlds in which a law holds, of those that it applies to.\n\n| law |",
    );
    families.iter().for_each(|family| {
        let _ = write!(out, " {} |", family.name());
    });
    let _ = writeln!(out, "\n|---|{}", "---|".repeat(families.len()));
    for row in &tally.rows {
        let _ = write!(out, "| {} |", row.law.name());
        for family in families {
            let of = || row.verdicts.iter().filter(|(world, _)| Family::of(*world) == family);
            let (all, holding) = (of().count(), of().filter(|(_, v)| v.holds()).count());
            let text = if all == 0 { String::new() } else { format!("{holding} of {all}") };
            let _ = write!(out, " {text} |");
        }
        let _ = writeln!(out);
    }
    let _ = writeln!(out);
}

/// A table of percentiles, and a plot of the distributions.
fn distributions(out: &mut String, tally: &Tally) -> Vec<Drawing> {
    out.push_str(
        "## Distributions\n\n| law | least | 1 % | 5 % | 25 % | 50 % | 75 % | 95 % | 99 % | greatest |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in tally.rows.iter().filter(|row| !row.verdicts.is_empty()) {
        let values = row.values();
        let _ = write!(out, "| {} |", row.law.name());
        for p in [0.0, 1.0, 5.0, 25.0, 50.0, 75.0, 95.0, 99.0, 100.0] {
            let _ = write!(out, " {:.3} |", percentile(&values, p).unwrap_or(0.0));
        }
        let _ = writeln!(out);
    }
    let (least, most): (Vec<&Row>, Vec<&Row>) =
        tally.rows.iter().partition(|row| !row.law.demand(1).at_most);
    let mut drawings = Vec::new();
    for (name, title, rows) in [
        ("gauntlet-least", "What must not be low", least),
        ("gauntlet-most", "What must not be high", most),
    ] {
        if let Some(drawing) = cumulative(name, title, &rows) {
            let _ = write!(out, "\n![{title}]({})\n", drawing.name);
            drawings.push(drawing);
        }
    }
    let _ = writeln!(out);
    drawings
}

/// The share of the worlds with no more than each value.
fn cumulative(name: &str, title: &str, rows: &[&Row]) -> Option<Drawing> {
    let line = |(style, row): (usize, &&Row)| {
        let values = row.values();
        let share = |place: usize| 100.0 * (place + 1) as f64 / values.len() as f64;
        let points = values.iter().enumerate().filter(|(_, value)| **value <= SHOWN);
        let points = points.map(|(place, value)| Point::new(*value, share(place)));
        let pieces = vec![points.collect()];
        Line { label: row.law.name().into(), style, look: Look::Thin, pieces }
    };
    let axes = Axes {
        title: title.into(),
        x_label: "value".into(),
        x_labels: 12,
        x_range: Some([0.0, SHOWN]),
        y_label: "% of worlds with no more".into(),
        y_max: Some(100.0),
        ..Axes::default()
    };
    let figure = Figure::new(axes, rows.iter().enumerate().map(line).collect(), Vec::new())?;
    Drawing::new(name, &figure).ok()
}

fn worst(out: &mut String, request: &Request, profile: &str, tally: &Tally) {
    let broken = tally.worst(WORST);
    let _ = writeln!(out, "## The worst {}\n\nOf each law in turn.\n", broken.len());
    for broken in broken {
        let _ = writeln!(
            out,
            "Law {}: {:.3} instead of {:.3}.\n\n```text\n{}\n{}\n```\n",
            broken.verdict.law.name(),
            broken.verdict.value,
            broken.verdict.demand.bound,
            request.replay(broken.world, profile),
            World::draw(broken.world)
        );
    }
}
