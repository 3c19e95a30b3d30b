//! Plots of single runs over time: time series and the sequence of TSNs.

use tresse_report::figure::{Figure, Line, Look, Point};

use super::super::measurements::Measurements;
use super::axes::{axes, cells};
use crate::flow::plots::Plot;
use crate::flow::record::StepKind;
use crate::flow::{Flow, metric};
use crate::schema::Experiment;

pub(super) fn series(
    plot: &Plot,
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
) -> Option<Figure> {
    let cell = cells(plot, experiment).into_iter().next()?;
    let mut lines = Vec::new();
    for label in &plot.series {
        let traces = m.traces(label, &cell)?;
        for name in &plot.names {
            let points: Vec<Point> = traces
                .series
                .get(name)
                .into_iter()
                .flatten()
                .map(|[at, value]| Point::new(*at, *value))
                .collect();
            let (plain, suffix) = match name.strip_suffix(".2") {
                Some(plain) => (plain, ", second path"),
                None => (name.as_str(), ""),
            };
            let words = metric::SERIES.iter().find(|(s, _)| *s == plain).map_or(plain, |(_, t)| *t);
            let own = if plot.series.len() > 1 { format!("{label}: ") } else { String::new() };
            // Samples are dots; what is in force until it changes is a line.
            let look = if plain == "rtt_ms" { Look::Dots } else { Look::Steps };
            let points = shown(&points, look, plot, None);
            if points.is_empty() {
                continue;
            }
            let label = format!("{own}{words}{suffix}");
            lines.push(Line { label, style: lines.len() + 1, look, pieces: vec![points] });
        }
    }
    let unit = if plot.names.iter().any(|n| n.starts_with("cwnd")) { "bytes" } else { "ms" };
    let mut axes = axes(plot, "Time (s)".into(), format!("({unit})"));
    axes.x_range = plot.span_s;
    Figure::new(axes, lines, Vec::new())
}

/// What a sequence plot shows, in the order of drawing: what is small comes last. Kind, words,
/// colour and marks.
const KINDS: [(StepKind, &str, usize, Look); 5] = [
    (StepKind::Acked, "Acknowledged", 3, Look::Steps),
    (StepKind::Sent, "Data sent", 2, Look::Dots),
    (StepKind::Again, "Data sent again", 1, Look::Markers),
    (StepKind::Lost, "Lost", 0, Look::Crosses),
    (StepKind::Delivered, "Message delivered", 4, Look::Rings),
];

pub(super) fn sequence(
    plot: &Plot,
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
) -> Option<Figure> {
    let cell = cells(plot, experiment).into_iter().next()?;
    let mut lines = Vec::new();
    for label in &plot.series {
        let traces = m.traces(label, &cell)?;
        let paths = traces.sequence.iter().map(|s| s.2).max().unwrap_or(1);
        for (kind, words, style, look) in KINDS {
            for path in 1..=paths {
                if plot.path.is_some_and(|wanted| wanted != path) {
                    continue;
                }
                let of = traces.sequence.iter().filter(|s| s.3 == kind && s.2 == path);
                let points: Vec<Point> = of.map(|s| Point::new(s.0, f64::from(s.1))).collect();
                // Nothing was acknowledged before the first step of the first path.
                let points = shown(&points, look, plot, (path == 1).then_some(0.0));
                if points.is_empty() {
                    continue;
                }
                let own = if plot.series.len() > 1 { format!("{label}: ") } else { String::new() };
                let where_ = match (paths, plot.path) {
                    (1, _) | (_, Some(_)) => String::new(),
                    _ => format!(", path {path}"),
                };
                let style = style + 3 * usize::from(path - 1);
                let label = format!("{own}{words}{where_}");
                lines.push(Line { label, style, look, pieces: vec![points] });
            }
        }
    }
    let tsns = || lines.iter().flat_map(|l| &l.pieces).flatten().map(|p| p.y);
    let (lowest, highest) = (tsns().fold(f64::INFINITY, f64::min), tsns().fold(0.0, f64::max));
    let mut axes = axes(plot, "Time (s)".into(), "TSN (the first one is 1)".into());
    axes.x_range = plot.span_s;
    axes.whole = true;
    let mut figure = Figure::new(axes, lines, Vec::new())?;
    if highest - lowest < 12.0 && plot.y_max.is_none() {
        // Few enough to name each.
        figure.y_range = [(lowest - 1.0).max(0.0), highest + 1.0];
    } else if lowest > 0.3 * figure.y_range[1] {
        // A trace of the middle of a transfer does not begin at TSN 0.
        figure.y_range[0] = (lowest - 0.05 * (figure.y_range[1] - lowest)).floor().max(0.0);
    }
    Some(figure)
}

/// The points within the time that `plot` shows. Steps are what holds until the next point:
/// it reaches from the beginning, where it is at `before` if there is no point yet, to the end.
fn shown(points: &[Point], look: Look, plot: &Plot, before: Option<f64>) -> Vec<Point> {
    let span = plot.span_s;
    let inside = |p: &&Point| span.is_none_or(|[from, to]| p.x >= from && p.x <= to);
    let within: Vec<Point> = points.iter().filter(inside).copied().collect();
    let (Look::Steps, Some([from, to])) = (look, span) else { return within };
    let last = |until: f64| points.iter().rfind(|p| p.x <= until).map(|p| p.y);
    let begin = last(from).or(before).map(|y| Point::new(from, y));
    let end = last(to).map(|y| Point::new(to, y));
    begin.into_iter().chain(within).chain(end).collect()
}
