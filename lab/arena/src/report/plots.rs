//! The plots of a scenario.

use tresse_report::figure::{Axes, Figure, Line, Look, Point};

use super::standing::Standing;
use crate::measure::STEP_MS;
use crate::samples::percentile;
use crate::scenario::Scenario;

/// The percentiles of transfer times that are drawn: most messages are not affected by anything.
const PERCENTILES: std::ops::RangeInclusive<u32> = 80..=100;

/// All plots, each with the name of its file.
/// `stacks` are all there are: each has the same colour everywhere.
pub(super) fn of(
    scenario: &Scenario,
    standings: &[Standing],
    stacks: &[String],
) -> Vec<(String, Figure)> {
    let paced = scenario.traffic.interval_ms.is_some();
    let varies =
        scenario.links.forward.spikes.is_some() || !scenario.links.forward.changes.is_empty();
    let style = |standing: &Standing| {
        1 + stacks.iter().position(|stack| *stack == standing.stack).unwrap_or(0)
    };
    let measured = standings.iter().filter(|standing| standing.was_measured());
    let all: Vec<(usize, &Standing)> =
        measured.map(|standing| (style(standing), standing)).collect();
    let mut plots = Vec::new();
    let mut add = |what: &str, figure: Option<Figure>| {
        plots.extend(figure.map(|figure| (format!("{}-{what}", scenario.id), figure)));
    };
    add("values", values(scenario, &all));
    if paced {
        add("transfer", transfers(scenario, &all));
    }
    if varies {
        add("time", over_time(scenario, &all));
    }
    plots
}

fn line(style: usize, label: &str, look: Look, points: Vec<Point>) -> Line {
    Line { label: label.to_owned(), style, look, pieces: vec![points] }
}

/// What the scenario is judged by, with its uncertainty.
fn values(scenario: &Scenario, all: &[(usize, &Standing)]) -> Option<Figure> {
    let metric = scenario.judged_by;
    let axes = Axes {
        title: format!("{}: {}", scenario.id, metric.words()),
        x_labels: all.len(),
        x_margin: 0.5,
        categories: all.iter().map(|(_, standing)| standing.stack.clone()).collect(),
        y_label: format!("{}, {}", metric.words(), metric.unit().name()),
        ..Axes::default()
    };
    let point = |(n, (style, standing)): (usize, &(usize, &Standing))| {
        let at_least = standing.is_at_least();
        let point = Point { at_least, ..Point::of(n as f64, standing.estimate?) };
        Some(line(*style, &standing.stack, Look::Markers, vec![point]))
    };
    Figure::new(axes, all.iter().enumerate().filter_map(point).collect(), Vec::new())
}

/// The slowest fifth of all messages.
fn transfers(scenario: &Scenario, all: &[(usize, &Standing)]) -> Option<Figure> {
    let axes = Axes {
        title: format!("{}: transfer time, the slowest fifth of the messages", scenario.id),
        x_label: "percentile".into(),
        x_labels: 11,
        y_label: "from handing over to delivery, ms".into(),
        layered: true,
        ..Axes::default()
    };
    let curve = |(style, standing): &(usize, &Standing)| {
        let values = standing.pooled(|cell| &cell.transfer_ms);
        let at = |percent: u32| {
            let percent = f64::from(percent);
            Some(Point::new(percent, percentile(&values, percent)?))
        };
        line(*style, &standing.stack, Look::Marked, PERCENTILES.filter_map(at).collect())
    };
    Figure::new(axes, all.iter().map(curve).collect(), Vec::new())
}

/// What was delivered in the first repetition, whose links did the same to everybody.
fn over_time(scenario: &Scenario, all: &[(usize, &Standing)]) -> Option<Figure> {
    let axes = Axes {
        title: format!("{}: delivered so far (first repetition)", scenario.id),
        x_label: "time since the first message, s".into(),
        x_labels: 11,
        y_label: "user data, MB".into(),
        layered: true,
        ..Axes::default()
    };
    let curve = |(style, standing): &(usize, &Standing)| {
        let mut sum = 0.0;
        let steps = standing.measures[0].timeline_kbps.iter().enumerate();
        let points = steps.map(|(step, kbps)| {
            // kbit/s for this many milliseconds are this many bits.
            sum += f64::from(*kbps) * STEP_MS / 8e6;
            Point::new((step + 1) as f64 * STEP_MS / 1e3, sum)
        });
        line(*style, &standing.stack, Look::Thin, points.collect())
    };
    Figure::new(axes, all.iter().map(curve).collect(), Vec::new())
}
