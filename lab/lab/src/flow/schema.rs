//! The schema, as all kinds of experiments have one: what it shows, its checks, its runs.

use super::printed::Printed;
use super::run::FlowRun;
use super::{Flow, Measure, Published, plan, validate};
use crate::common::PlotHead;
use crate::error::LabError;
use crate::mistake::Checked;
use crate::schema::{Experiment, Schema};

impl Schema for Flow {
    type Measure = Measure;
    type Run = FlowRun;

    fn prepare(&mut self) {
        let printed = std::mem::take(&mut self.printed);
        self.published.extend(printed.iter().flat_map(Printed::published));
    }

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

    /// Every curve by axis or profile shows it beside the others.
    fn show(&mut self, label: &str) {
        for plot in self.plots.iter_mut().filter(|p| p.kind.compares_profiles()) {
            plot.series.push(label.to_owned());
        }
    }

    fn drop_unfit_plots(experiment: &mut Experiment<Flow>) {
        let mut plots = std::mem::take(&mut experiment.kind.plots);
        plots.retain(|plot| validate::place(experiment, &str::to_owned, plot).is_ok());
        experiment.kind.plots = plots;
    }

    fn validate(experiment: &Experiment<Flow>) -> Checked {
        validate::validate(experiment)
    }

    fn check_measure(experiment: &Experiment<Flow>, key: &str, measure: &Measure) -> Checked {
        validate::measure(experiment, key, measure)
    }

    fn plan(experiment: &Experiment<Flow>) -> Result<Vec<FlowRun>, LabError> {
        plan::plan(experiment)
    }
}
