//! The schema, as all kinds of experiments have one: what it shows, its checks, its runs.

use super::run::RunSpec;
use super::{Measure, PlotKind, Published, SingleLoss, plan, validate};
use crate::common::PlotHead;
use crate::error::LabError;
use crate::mistake::Checked;
use crate::schema::{Experiment, Schema};

impl Schema for SingleLoss {
    type Measure = Measure;
    type Run = RunSpec;

    fn published(&self) -> &[Published] {
        &self.published
    }

    fn published_mut(&mut self) -> &mut Vec<Published> {
        &mut self.published
    }

    fn plots(&self) -> Vec<PlotHead<'_>> {
        let plots = self.plots.iter();
        plots.map(|p| PlotHead { file: &p.file, series: &p.series, y_max: p.y_max }).collect()
    }

    /// A copy of the first plot by message shows it beside the others.
    fn show(&mut self, label: &str) {
        const ADDED: &str = "with-added-profiles";
        if let Some(plot) = self.plots.iter_mut().find(|p| p.file == ADDED) {
            plot.series.push(label.to_owned());
        } else if let Some(plot) = self.plots.iter().find(|p| p.kind == PlotKind::MttByMessage) {
            let mut plot = plot.clone();
            plot.file = ADDED.into();
            plot.title = format!("{}, with added profiles", plot.title);
            plot.series.push(label.to_owned());
            self.plots.push(plot);
        }
    }

    fn validate(experiment: &Experiment<SingleLoss>) -> Checked {
        validate::validate(experiment)
    }

    fn check_measure(experiment: &Experiment<SingleLoss>, key: &str, measure: &Measure) -> Checked {
        validate::measure(experiment, key, measure)
    }

    fn plan(experiment: &Experiment<SingleLoss>) -> Result<Vec<RunSpec>, LabError> {
        plan::plan(experiment)
    }
}
