//! What the runs of an experiment on whole flows say.

pub mod analysis;
pub mod effect;
mod figure;
mod matrix;
pub mod measurements;
mod rows;
mod setup;
mod tables;

use tresse_report::DataFile;

use crate::error::LabError;
use crate::flow::Flow;
use crate::flow::record::FlowRecord;
use crate::report::outcome::{self, Outcome, Told};
use crate::schema::Experiment;
use measurements::Measurements;

impl Told for Flow {
    fn outcome(experiment: &Experiment<Flow>, records: &[FlowRecord]) -> Result<Outcome, LabError> {
        let measurements = Measurements::new(experiment, records);
        let analysis = analysis::analyse(experiment, &measurements);
        let plots = experiment.kind.plots.iter();
        let drawings = outcome::drawings(
            plots.map(|plot| (plot.file.as_str(), figure::build(plot, experiment, &measurements))),
        )?;
        let mut data = vec![DataFile {
            name: "rows".into(),
            what: "one row for each run with everything that was measured".into(),
            frame: rows::runs(experiment, records),
        }];
        data.extend(rows::traces(experiment, records));
        Ok(Outcome {
            packets: records.iter().map(|r| r.packets).sum(),
            setup: setup::describe(experiment),
            comparisons: analysis.comparisons.clone(),
            tables: effect::table(&analysis.effects)
                .into_iter()
                .chain(tables::tables(experiment, &measurements))
                .collect(),
            drawings,
            data,
            matrix: matrix::rows(experiment, &measurements),
            analysis: serde_json::to_value(&analysis).unwrap_or_default(),
        })
    }
}
