//! What a plot contains, before it is drawn.

use crate::analysis::{Analysis, NO_LOSS};
use crate::experiment::{Cell, Experiment, Measure, Plot, PlotKind, Published, ReductionStatistic};
use crate::measurements::Measurements;
use crate::record::Sample;

/// A plot as data.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Label of the x axis, with its unit.
    pub x_label: String,
    /// Label of the y axis, with its unit.
    pub y_label: String,
    /// Range of the x axis.
    pub x_range: [f64; 2],
    /// About how many labels the x axis has.
    pub x_labels: usize,
    /// Range of the y axis; it begins at 0 unless there are negative values.
    pub y_range: [f64; 2],
    /// Lines can cover each other, so those drawn first are thicker.
    pub layered: bool,
    /// The lines, in the order of the legend.
    pub lines: Vec<Line>,
    /// Published numbers, drawn in.
    pub references: Vec<Reference>,
}

/// A line with markers.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What the legend says.
    pub label: String,
    /// Colour and marker, as an index into the palette.
    pub style: usize,
    /// Points that are joined, piece by piece.
    pub pieces: Vec<Vec<Point>>,
}

/// A point with its uncertainty.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// x.
    pub x: f64,
    /// y.
    pub y: f64,
    /// Half the width of the 95 % confidence interval of y.
    pub ci95: Option<f64>,
}

/// A published number.
#[derive(Clone, Debug, PartialEq)]
pub struct Reference {
    /// Colour of the line that it belongs to.
    pub style: usize,
    /// Where it stands.
    pub at: ReferenceAt,
}

/// Where a published number stands in a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReferenceAt {
    /// At one point.
    Point {
        /// x.
        x: f64,
        /// y.
        y: f64,
    },
    /// On a level.
    Level {
        /// y.
        y: f64,
    },
}

/// Style of the line for the run without loss.
const NO_LOSS_STYLE: usize = 0;

/// The figure that `plot` describes. `None` if no value for it was measured.
pub fn build(
    plot: &Plot,
    experiment: &Experiment,
    measurements: &Measurements,
    analysis: &Analysis,
) -> Option<Figure> {
    let figure = match plot.kind {
        PlotKind::MttByMessage => mtt_by_message(plot, experiment, measurements),
        PlotKind::ReductionByDelay => reduction_by_delay(plot, experiment, analysis),
    };
    figure.lines.iter().any(|line| !line.pieces.is_empty()).then_some(figure)
}

fn mtt_by_message(plot: &Plot, experiment: &Experiment, measurements: &Measurements) -> Figure {
    let cell = experiment.cells()[0];
    let flow = |series: &str| measurements.flow(series, cell, plot.replication);
    let mut lines = Vec::new();
    if plot.no_loss
        && let Some(flow) = flow(&experiment.profiles[0].label)
    {
        let pieces = by_burst(&flow.no_loss);
        lines.push(Line { label: NO_LOSS.into(), style: NO_LOSS_STYLE, pieces });
    }
    let mut references = Vec::new();
    for series in &plot.series {
        // A profile has the same colour in all plots of an experiment.
        let style = 1 + experiment.profiles.iter().position(|p| p.label == *series).unwrap_or(0);
        let pieces = flow(series).map(|f| by_burst(&f.lost)).unwrap_or_default();
        lines.push(Line { label: series.clone(), style, pieces });
        for published in &experiment.published {
            if matches!(&published.measure, Measure::Mtt(m) if m.series == *series) {
                let at = ReferenceAt::Level { y: published.value };
                references.push(Reference { style, at });
            }
        }
    }
    let axes = Axes {
        x_label: "Message (TSN)",
        x_margin: 0.7,
        x_labels: 12,
        y_label: "Message transfer time (ms)",
        layered: true,
    };
    finish(plot, &axes, lines, references)
}

/// The messages of a burst are joined, different bursts are not.
fn by_burst(samples: &[Sample]) -> Vec<Vec<Point>> {
    samples
        .chunk_by(|a, b| a.burst == b.burst)
        .map(|burst| {
            let point = |s: &Sample| Point { x: f64::from(s.tsn), y: s.mtt_ms, ci95: None };
            burst.iter().map(point).collect()
        })
        .collect()
}

fn reduction_by_delay(plot: &Plot, experiment: &Experiment, analysis: &Analysis) -> Figure {
    let reading = experiment.metric.average_reduction;
    let mut lines = Vec::new();
    let mut references = Vec::new();
    let several = plot.series.len() > 1;
    for series in &plot.series {
        for &bandwidth_kbps in &experiment.topology.bandwidth_kbps {
            let style = lines.len() + 1;
            let points: Vec<Point> = experiment
                .topology
                .delay_ms
                .iter()
                .filter_map(|&delay_ms| {
                    let cell = Cell { bandwidth_kbps, delay_ms };
                    let row = analysis
                        .reductions
                        .iter()
                        .find(|r| r.series == *series && r.cell == cell)?;
                    let estimate = row.average(reading);
                    Some(Point { x: delay_ms, y: estimate.value, ci95: estimate.ci95 })
                })
                .collect();
            let pieces = if points.is_empty() { Vec::new() } else { vec![points] };
            let bandwidth = format!("{bandwidth_kbps} kbit/s");
            let label = if several { format!("{series}, {bandwidth}") } else { bandwidth };
            lines.push(Line { label, style, pieces });
            let published = experiment.published.iter();
            references.extend(published.filter_map(|p| point_of(p, series, bandwidth_kbps, style)));
        }
    }
    let axes = Axes {
        x_label: "One-way delay (ms)",
        x_margin: 1.0,
        x_labels: experiment.topology.delay_ms.len() + 1,
        y_label: "Average reduction of MTT (%)",
        layered: false,
    };
    finish(plot, &axes, lines, references)
}

fn point_of(p: &Published, series: &str, bandwidth: f64, style: usize) -> Option<Reference> {
    let Measure::Reduction(m) = &p.measure else { return None };
    let same = m.series == series && m.bandwidth_kbps == Some(bandwidth);
    if !same || m.statistic != ReductionStatistic::Average {
        return None;
    }
    Some(Reference { style, at: ReferenceAt::Point { x: m.delay_ms?, y: p.value } })
}

struct Axes {
    x_label: &'static str,
    x_margin: f64,
    x_labels: usize,
    y_label: &'static str,
    layered: bool,
}

fn finish(plot: &Plot, axes: &Axes, lines: Vec<Line>, references: Vec<Reference>) -> Figure {
    let points = || lines.iter().flat_map(|l| &l.pieces).flatten();
    let fold = |values: &mut dyn Iterator<Item = f64>| {
        values.fold([f64::INFINITY, f64::NEG_INFINITY], |[l, h], v| [l.min(v), h.max(v)])
    };
    let [x_low, x_high] = fold(&mut points().map(|p| p.x));
    let reference_y = references.iter().map(|r| match r.at {
        ReferenceAt::Point { y, .. } | ReferenceAt::Level { y } => y,
    });
    let [y_low, _] = fold(&mut points().map(|p| p.y - p.ci95.unwrap_or(0.0)));
    let [_, y_high] = fold(&mut points().map(|p| p.y + p.ci95.unwrap_or(0.0)).chain(reference_y));
    let y_high = plot.y_max.unwrap_or_else(|| round_up(y_high.max(1e-9) * 1.05));
    Figure {
        title: plot.title.clone(),
        x_label: axes.x_label.into(),
        y_label: axes.y_label.into(),
        x_range: [x_low - axes.x_margin, x_high + axes.x_margin],
        x_labels: axes.x_labels,
        layered: axes.layered,
        y_range: [if y_low < 0.0 { -round_up(-y_low * 1.05) } else { 0.0 }, y_high],
        lines,
        references,
    }
}

/// The next number with at most two significant digits.
fn round_up(value: f64) -> f64 {
    let unit = 10f64.powf(value.log10().floor() - 1.0);
    (value / unit).ceil() * unit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_end_at_round_numbers() {
        assert_eq!(round_up(201.0), 210.0);
        assert!((round_up(0.0123) - 0.013).abs() < 1e-12);
        assert_eq!(round_up(100.0), 100.0);
    }

    #[test]
    fn bursts_are_not_joined() {
        let sample = |tsn, burst| Sample { tsn, burst, position: 1, mtt_ms: 1.0 };
        let pieces = by_burst(&[sample(1, 1), sample(2, 1), sample(3, 2)]);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    }
}
