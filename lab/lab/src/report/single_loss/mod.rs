//! What the runs of an experiment on single losses say.

pub mod analysis;
mod figure;
pub mod measurements;
mod rows;
mod setup;
mod tables;

use tresse_report::DataFile;

use crate::error::LabError;
use crate::report::outcome::{self, Outcome, Told};
use crate::schema::Experiment;
use crate::single_loss::SingleLoss;
use crate::single_loss::record::RunRecord;
use measurements::Measurements;

impl Told for SingleLoss {
    fn outcome(
        experiment: &Experiment<SingleLoss>,
        records: &[RunRecord],
    ) -> Result<Outcome, LabError> {
        let measurements = Measurements::new(experiment, records);
        let analysis = analysis::analyse(experiment, &measurements);
        let plots = experiment.kind.plots.iter();
        let drawings = outcome::drawings(plots.map(|plot| {
            (plot.file.as_str(), figure::build(plot, experiment, &measurements, &analysis))
        }))?;
        let data = vec![
            DataFile {
                name: "rows".into(),
                what: "every measured value".into(),
                frame: rows::rows(experiment, records),
            },
            DataFile {
                name: "reductions".into(),
                what: "the reductions, both readings".into(),
                frame: rows::reductions(experiment, &analysis),
            },
        ];
        Ok(Outcome {
            packets: records.iter().map(|r| r.counters.simulated).sum(),
            setup: setup::describe(experiment),
            comparisons: analysis.comparisons.clone(),
            tables: tables::tables(experiment, &analysis),
            drawings,
            data,
            matrix: analysis::matrix(experiment, &measurements, &analysis),
            analysis: serde_json::to_value(&analysis).unwrap_or_default(),
        })
    }
}
