//! What plots of all kinds have: their axes, and the cells that they show.

use tresse_report::figure::Axes;

use crate::flow::plots::Plot;
use crate::flow::{Cell, Flow};
use crate::schema::Experiment;

pub(super) fn axes(plot: &Plot, x_label: String, y_label: String) -> Axes {
    Axes {
        title: plot.title.clone(),
        x_label: plot.x_label.clone().unwrap_or(x_label),
        x_labels: 10,
        y_label: plot.y_label.clone().unwrap_or(y_label),
        y_max: plot.y_max,
        y_log: plot.y_log,
        ..Axes::default()
    }
}

/// The cells that a plot shows.
pub(super) fn cells(plot: &Plot, experiment: &Experiment<Flow>) -> Vec<Cell> {
    experiment
        .kind
        .cells()
        .into_iter()
        .filter(|cell| experiment.kind.fits(cell, &plot.at))
        .collect()
}
