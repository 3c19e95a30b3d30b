//! The plots of a flow experiment.

use tresse_report::figure::{Axes, Figure, Line, Look, Point, Reference, ReferenceAt};

mod axes;
mod over_time;

use super::measurements::Measurements;
use crate::comparison::has_aims;
use crate::flow::plots::{Plot, PlotKind};
use crate::flow::{Axis, Cell, Flow, Measure, metric};
use crate::schema::Experiment;
use axes::{axes, cells};

/// The figure that `plot` describes. `None` if no value for it was measured.
pub(super) fn build(
    plot: &Plot,
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
) -> Option<Figure> {
    let plot = &with_own(plot, experiment);
    let mut figure = match plot.kind {
        PlotKind::ByAxis => by_axis(plot, experiment, m),
        PlotKind::ByProfile => by_profile(plot, experiment, m),
        PlotKind::ByMetric => by_metric(plot, experiment, m),
        PlotKind::ByRetransmission => by_retransmission(plot, experiment, m),
        PlotKind::Series => over_time::series(plot, experiment, m),
        PlotKind::Sequence => over_time::sequence(plot, experiment, m),
    }?;
    if has_aims(&experiment.common.id) {
        figure.reference_name = "aim";
    }
    for level in &plot.levels {
        let [low, high] = figure.x_range;
        let piece = vec![Point::new(low, level.y), Point::new(high, level.y)];
        let label = level.label.clone();
        figure.lines.push(Line { label, style: 0, look: Look::Thin, pieces: vec![piece] });
    }
    Some(figure)
}

/// The profile of the project is drawn wherever profiles are compared and it was run.
fn with_own(plot: &Plot, experiment: &Experiment<Flow>) -> Plot {
    let mut plot = plot.clone();
    let own = experiment.common.own().filter(|own| !plot.series.contains(own));
    plot.series.extend(own.filter(|_| plot.kind.compares_profiles()));
    plot
}

fn by_axis(plot: &Plot, experiment: &Experiment<Flow>, m: &Measurements<'_>) -> Option<Figure> {
    let along = experiment.kind.axes.iter().position(|a| a.name == plot.axis)?;
    let axis = &experiment.kind.axes[along];
    // Cells that differ in the axis alone make one line.
    let mut groups: Vec<(Cell, Vec<Cell>)> = Vec::new();
    for cell in cells(plot, experiment) {
        let mut rest = cell.clone();
        rest.0[along] = 0;
        match groups.iter_mut().find(|(key, _)| *key == rest) {
            Some((_, members)) => members.push(cell),
            None => groups.push((rest, vec![cell])),
        }
    }
    let several = plot.series.len() > 1;
    let total = plot.series.len() * groups.len();
    let mut lines = Vec::new();
    let mut references = Vec::new();
    for series in &plot.series {
        for (rest, members) in &groups {
            let beside = if is_apart(plot, axis) { beside(lines.len(), total) } else { 0.0 };
            let style = match groups.len() {
                1 => experiment.common.style(series),
                _ => lines.len() + 1,
            };
            let points: Vec<Point> = members
                .iter()
                .filter_map(|cell| {
                    let estimate = m.estimate(&plot.metric, series, cell)?;
                    let x = axis.position(cell.0[along]) + beside;
                    Some(Point::of(x, estimate))
                })
                .collect();
            let pieces = if points.is_empty() { Vec::new() } else { vec![points] };
            let place = place(experiment, plot, rest, along);
            let label = match (place.is_empty(), several) {
                (true, _) => series.clone(),
                (false, true) => format!("{series}, {place}"),
                (false, false) => place,
            };
            let look = if plot.separate { Look::Markers } else { Look::Marked };
            lines.push(Line { label, style, look, pieces });
            let published = experiment.kind.published.iter().filter_map(|p| {
                let same = p.measure.metric == plot.metric
                    && p.measure.series == *series
                    && absolute(&p.measure);
                let cell = same.then(|| experiment.kind.cell_at(&p.measure.at)).flatten()?;
                let x = axis.position(cell.0[along]) + beside;
                let here = members.contains(&cell);
                here.then_some(Reference { style, at: ReferenceAt::Point { x, y: p.value } })
            });
            references.extend(published);
        }
    }
    if let Some((_, members)) = groups.first() {
        let style = lines.len().max(experiment.common.profiles.len()) + 1;
        let curves = curves(plot, experiment, m, members, along);
        lines.extend((style..).zip(curves).map(|(style, line)| Line { style, ..line }));
    }
    let label = axis.label.clone().unwrap_or_else(|| axis.name.clone());
    let mut axes = axes(plot, label, metric::axis_label(&plot.metric));
    arrange(&mut axes, axis);
    if is_apart(plot, axis) {
        axes.x_range = Some([0.0, axis.values.len().saturating_sub(1) as f64]);
    }
    Figure::new(axes, lines, references)
}

/// Whether points of one value stand side by side, so that neither they nor their bars cover each other.
fn is_apart(plot: &Plot, axis: &Axis) -> bool {
    plot.separate && !axis.is_numeric()
}

/// How far right of its place line `index` of `total` stands, where places are 1 apart.
fn beside(index: usize, total: usize) -> f64 {
    0.5 * ((index as f64 + 0.5) / total as f64 - 0.5)
}

/// Metrics of the first profile as plain lines, along an axis through some cells.
fn curves(
    plot: &Plot,
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
    members: &[Cell],
    along: usize,
) -> Vec<Line> {
    let series = plot.series.first().map_or("", String::as_str);
    let line = |name: &String| {
        let point = |cell: &Cell| {
            let estimate = m.estimate(name, series, cell)?;
            Some(Point::new(experiment.kind.axes[along].position(cell.0[along]), estimate.value))
        };
        let label = metric::describe(name).map_or_else(|| name.clone(), |(text, _)| text);
        let pieces = vec![members.iter().filter_map(point).collect()];
        Line { label, style: 0, look: Look::Thin, pieces }
    };
    plot.curves.iter().map(line).collect()
}

/// Whether a published number is a value of its metric, not a difference.
fn absolute(m: &Measure) -> bool {
    m.relative_to.is_none() && m.above.is_none() && m.relative_at.is_none() && m.over.is_none()
}

/// The values of the axes that set a line apart from the others of its profile.
fn place(experiment: &Experiment<Flow>, plot: &Plot, cell: &Cell, along: usize) -> String {
    let parts = experiment.kind.axes.iter().enumerate().zip(&cell.0);
    parts
        .filter(|((i, axis), _)| {
            *i != along && axis.values.len() > 1 && !plot.at.contains_key(&axis.name)
        })
        .map(|((_, axis), index)| format!("{} {}", axis.name, axis.text(*index)))
        .collect::<Vec<_>>()
        .join(", ")
}

/// Room and names on the x axis.
fn arrange(axes: &mut Axes, axis: &Axis) {
    let positions: Vec<f64> = (0..axis.values.len()).map(|i| axis.position(i)).collect();
    let low = positions.iter().copied().fold(f64::INFINITY, f64::min);
    let high = positions.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if axis.is_numeric() {
        axes.x_margin = 0.03 * (high - low);
    } else {
        axes.x_margin = 0.4;
        axes.x_labels = axis.values.len() + 1;
        axes.categories = (0..axis.values.len()).map(|i| axis.text(i)).collect();
    }
}

fn by_profile(plot: &Plot, experiment: &Experiment<Flow>, m: &Measurements<'_>) -> Option<Figure> {
    let cells = cells(plot, experiment);
    let mut lines = Vec::new();
    let mut references = Vec::new();
    for (i, series) in plot.series.iter().enumerate() {
        let style = experiment.common.style(series);
        let mut points = Vec::new();
        for (k, cell) in cells.iter().enumerate() {
            // Several cells stand side by side.
            let spread =
                if cells.len() > 1 { k as f64 / (cells.len() - 1) as f64 - 0.5 } else { 0.0 };
            let x = i as f64 + 0.4 * spread;
            if let Some(e) = m.estimate(&plot.metric, series, cell) {
                points.push(Point::of(x, e));
            }
            references.extend(experiment.kind.published.iter().filter_map(|p| {
                let same = p.measure.metric == plot.metric
                    && p.measure.series == *series
                    && absolute(&p.measure)
                    && experiment.kind.cell_at(&p.measure.at).as_ref() == Some(cell);
                same.then_some(Reference { style, at: ReferenceAt::Point { x, y: p.value } })
            }));
        }
        let pieces = if points.is_empty() { Vec::new() } else { vec![points] };
        lines.push(Line { label: series.clone(), style, look: Look::Markers, pieces });
    }
    let mut axes = axes(plot, String::new(), metric::axis_label(&plot.metric));
    axes.x_margin = 0.6;
    axes.x_labels = plot.series.len() + 1;
    axes.x_range = Some([0.0, plot.series.len().saturating_sub(1) as f64]);
    axes.categories.clone_from(&plot.series);
    Figure::new(axes, lines, references)
}

/// Metrics of one kind side by side, such as the classes of a histogram.
fn by_metric(plot: &Plot, experiment: &Experiment<Flow>, m: &Measurements<'_>) -> Option<Figure> {
    let cells = cells(plot, experiment);
    let mut lines = Vec::new();
    let mut references = Vec::new();
    for series in &plot.series {
        for cell in &cells {
            let style =
                if cells.len() > 1 { lines.len() + 1 } else { experiment.common.style(series) };
            let mut points = Vec::new();
            for (i, name) in plot.metrics.iter().enumerate() {
                let x = i as f64;
                points.extend(m.estimate(name, series, cell).map(|e| Point::of(x, e)));
                references.extend(experiment.kind.published.iter().filter_map(|p| {
                    let same = p.measure.metric == *name
                        && p.measure.series == *series
                        && absolute(&p.measure)
                        && experiment.kind.cell_at(&p.measure.at).as_ref() == Some(cell);
                    same.then_some(Reference { style, at: ReferenceAt::Point { x, y: p.value } })
                }));
            }
            let pieces = if points.is_empty() { Vec::new() } else { vec![points] };
            let label = cell_label(experiment, plot, series, cell);
            lines.push(Line { label, style, look: Look::Marked, pieces });
        }
    }
    let y_label = plot.metrics.first().map_or_else(String::new, |name| metric::axis_label(name));
    let mut axes = axes(plot, String::new(), y_label);
    axes.x_margin = 0.4;
    axes.x_labels = plot.metrics.len() + 1;
    let last = |name: &String| name.rsplit('.').next().unwrap_or(name).replace("over-", "> ");
    axes.categories = plot.metrics.iter().map(last).collect();
    axes.x_range = Some([0.0, plot.metrics.len().saturating_sub(1) as f64]);
    Figure::new(axes, lines, references)
}

/// What a legend says of a profile in a cell: as little as tells it from the others.
fn cell_label(experiment: &Experiment<Flow>, plot: &Plot, series: &str, cell: &Cell) -> String {
    let open =
        experiment.kind.describe(cell).into_iter().filter(|(axis, _)| !plot.at.contains_key(axis));
    let place: Vec<String> = open.map(|(axis, value)| format!("{axis} {value}")).collect();
    match (place.is_empty(), plot.series.len()) {
        (true, _) => series.to_owned(),
        (false, 1) => place.join(", "),
        (false, _) => format!("{series}, {}", place.join(", ")),
    }
}

fn by_retransmission(
    plot: &Plot,
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
) -> Option<Figure> {
    let cells = cells(plot, experiment);
    let mut lines = Vec::new();
    let mut references = Vec::new();
    let total = (plot.series.len() * cells.len()).max(1);
    for series in &plot.series {
        for cell in &cells {
            let index = lines.len();
            let style = if cells.len() > 1 { index + 1 } else { experiment.common.style(series) };
            // Side by side, so that the bars do not cover each other.
            let shift = beside(index, total);
            let points: Vec<Point> = (1..=5u32)
                .filter_map(|number| {
                    let get = |statistic: &str| {
                        let name = format!("retransmission.{number}.{}.{statistic}", plot.metric);
                        m.estimate(&name, series, cell).map(|e| e.value)
                    };
                    let bar = [get("min_ms")?, get("max_ms")?];
                    let x = f64::from(number) + shift;
                    Some(Point { bar: Some(bar), ..Point::new(x, get("avg_ms")?) })
                })
                .collect();
            for p in &experiment.kind.published {
                let number = (1..=5u32).find(|n| {
                    p.measure.metric == format!("retransmission.{n}.{}.avg_ms", plot.metric)
                });
                let here = p.measure.series == *series
                    && absolute(&p.measure)
                    && experiment.kind.cell_at(&p.measure.at).as_ref() == Some(cell);
                if let (Some(number), true) = (number, here) {
                    let at = ReferenceAt::Point { x: f64::from(number) + shift, y: p.value };
                    references.push(Reference { style, at });
                }
            }
            let place: Vec<String> =
                experiment.kind.describe(cell).iter().map(|(n, v)| format!("{n} {v}")).collect();
            let label = match (cells.len(), plot.series.len()) {
                (1, _) => series.clone(),
                (_, 1) => place.join(", "),
                _ => format!("{series}, {}", place.join(", ")),
            };
            let pieces = if points.is_empty() { Vec::new() } else { vec![points] };
            lines.push(Line { label, style, look: Look::Markers, pieces });
        }
    }
    let y_label = "Cumulative delay (ms): average, range";
    let mut axes = axes(plot, "Number of the retransmission".into(), y_label.into());
    axes.x_margin = 0.4;
    axes.x_labels = 6;
    axes.x_range = Some([1.0, 5.0]);
    Figure::new(axes, lines, references)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stands_side_by_side_is_around_its_place() {
        assert_eq!(beside(0, 1), 0.0);
        let all: Vec<f64> = (0..4).map(|index| beside(index, 4)).collect();
        assert_eq!(all, [-0.1875, -0.0625, 0.0625, 0.1875]);
    }
}
