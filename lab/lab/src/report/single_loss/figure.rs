//! The plots of a single-loss experiment.

use tresse_report::figure::{Axes, Figure, Line, Look, Point, Reference, ReferenceAt};

use super::analysis::{Analysis, NO_LOSS};
use super::measurements::Measurements;
use crate::schema::Experiment;
use crate::single_loss::record::Sample;
use crate::single_loss::{
    Cell, Measure, Plot, PlotKind, Published, ReductionStatistic, SingleLoss,
};

/// Style of the line for the run without loss.
const NO_LOSS_STYLE: usize = 0;

/// The figure that `plot` describes. `None` if no value for it was measured.
pub(super) fn build(
    plot: &Plot,
    experiment: &Experiment<SingleLoss>,
    measurements: &Measurements,
    analysis: &Analysis,
) -> Option<Figure> {
    let mut plot = plot.clone();
    // The profile of the project is drawn wherever it was run.
    let own = experiment.common.own().filter(|own| !plot.series.contains(own));
    plot.series.extend(own);
    let plot = &plot;
    match plot.kind {
        PlotKind::MttByMessage => mtt_by_message(plot, experiment, measurements),
        PlotKind::ReductionByDelay => reduction_by_delay(plot, experiment, analysis),
    }
}

fn mtt_by_message(
    plot: &Plot,
    experiment: &Experiment<SingleLoss>,
    measurements: &Measurements,
) -> Option<Figure> {
    let cell = experiment.kind.cells()[0];
    let flow = |series: &str| measurements.flow(series, cell, plot.replication);
    let mut lines = Vec::new();
    if plot.no_loss
        && let Some(flow) = flow(&experiment.common.profiles[0].label)
    {
        let pieces = by_burst(&flow.no_loss);
        let (label, look) = (NO_LOSS.into(), Look::Marked);
        lines.push(Line { label, style: NO_LOSS_STYLE, look, pieces });
    }
    let mut references = Vec::new();
    for series in &plot.series {
        let style = experiment.common.style(series);
        let pieces = flow(series).map(|f| by_burst(&f.lost)).unwrap_or_default();
        lines.push(Line { label: series.clone(), style, look: Look::Marked, pieces });
        for published in &experiment.kind.published {
            if matches!(&published.measure, Measure::Mtt(m) if m.series == *series) {
                let at = ReferenceAt::Level { y: published.value };
                references.push(Reference { style, at });
            }
        }
    }
    let axes = Axes {
        title: plot.title.clone(),
        x_label: "Message (TSN)".into(),
        x_margin: 0.7,
        x_labels: 12,
        y_label: "Message transfer time (ms)".into(),
        y_max: plot.y_max,
        layered: true,
        ..Axes::default()
    };
    Figure::new(axes, lines, references)
}

/// The messages of a burst are joined, different bursts are not.
fn by_burst(samples: &[Sample]) -> Vec<Vec<Point>> {
    samples
        .chunk_by(|a, b| a.burst == b.burst)
        .map(|burst| burst.iter().map(|s| Point::new(f64::from(s.tsn), s.mtt_ms)).collect())
        .collect()
}

fn reduction_by_delay(
    plot: &Plot,
    experiment: &Experiment<SingleLoss>,
    analysis: &Analysis,
) -> Option<Figure> {
    let reading = experiment.kind.metric.average_reduction;
    let mut lines = Vec::new();
    let mut references = Vec::new();
    let several = plot.series.len() > 1;
    for series in &plot.series {
        for &bandwidth_kbps in &experiment.kind.topology.bandwidth_kbps {
            let style = lines.len() + 1;
            let points: Vec<Point> = experiment
                .kind
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
                    Some(Point::of(delay_ms, estimate))
                })
                .collect();
            let pieces = if points.is_empty() { Vec::new() } else { vec![points] };
            let bandwidth = format!("{bandwidth_kbps} kbit/s");
            let label = if several { format!("{series}, {bandwidth}") } else { bandwidth };
            lines.push(Line { label, style, look: Look::Marked, pieces });
            let published = experiment.kind.published.iter();
            references.extend(published.filter_map(|p| point_of(p, series, bandwidth_kbps, style)));
        }
    }
    let axes = Axes {
        title: plot.title.clone(),
        x_label: "One-way delay (ms)".into(),
        x_margin: 1.0,
        x_labels: experiment.kind.topology.delay_ms.len() + 1,
        y_label: "Average reduction of MTT (%)".into(),
        y_max: plot.y_max,
        ..Axes::default()
    };
    Figure::new(axes, lines, references)
}

fn point_of(p: &Published, series: &str, bandwidth: f64, style: usize) -> Option<Reference> {
    let Measure::Reduction(m) = &p.measure else { return None };
    let same = m.series == series && m.bandwidth_kbps == Some(bandwidth);
    if !same || m.statistic != ReductionStatistic::Average {
        return None;
    }
    Some(Reference { style, at: ReferenceAt::Point { x: m.delay_ms?, y: p.value } })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_are_not_joined() {
        let sample = |tsn, burst| Sample { tsn, burst, position: 1, mtt_ms: 1.0 };
        let pieces = by_burst(&[sample(1, 1), sample(2, 1), sample(3, 2)]);
        assert_eq!(pieces.iter().map(Vec::len).collect::<Vec<_>>(), [2, 1]);
    }
}
