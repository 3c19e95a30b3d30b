//! From records to the numbers of tables, plots and comparisons.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tresse_report::Estimate;

use super::effect::{self, Shown};
use super::measurements::{Measurements, difference};
use crate::comparison::{Comparison, Setting};
use crate::flow::{Cell, Flow, Measure, Over, Published};
use crate::schema::Experiment;

/// Every number of an experiment's comparisons and tables, as data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Analysis {
    /// Ours beside the published numbers.
    pub comparisons: Vec<Comparison>,
    /// What profiles change against each other, cell by cell.
    pub effects: Vec<Shown>,
    /// Every metric of every profile in every cell.
    pub estimates: Vec<Row>,
}

/// One profile in one cell.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Label of the profile.
    pub series: String,
    /// The values of the axes.
    pub cell: BTreeMap<String, String>,
    /// Every metric that was measured.
    pub metrics: BTreeMap<String, Estimate>,
}

/// Computes every number.
pub fn analyse(experiment: &Experiment<Flow>, measurements: &Measurements<'_>) -> Analysis {
    let comparisons =
        experiment.kind.published.iter().map(|p| compared(experiment, measurements, p)).collect();
    let mut estimates = Vec::new();
    for cell in experiment.kind.cells() {
        for entry in &experiment.common.profiles {
            let mut names: Vec<&String> =
                measurements.of(&entry.label, &cell).flat_map(|r| r.values.keys()).collect();
            names.sort_unstable();
            names.dedup();
            let metrics = names
                .into_iter()
                .filter_map(|name| {
                    Some((name.clone(), measurements.estimate(name, &entry.label, &cell)?))
                })
                .collect();
            estimates.push(Row {
                series: entry.label.clone(),
                cell: experiment.kind.describe(&cell).into_iter().collect(),
                metrics,
            });
        }
    }
    Analysis { comparisons, effects: effect::shown(experiment, measurements), estimates }
}

/// A published number beside ours.
fn compared(
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
    published: &Published,
) -> Comparison {
    let (claim, measure) = (published.claim(), &published.measure);
    let Some(over) = measure.over else {
        let cell = experiment.kind.cell_at(&measure.at);
        let ours = cell.and_then(|cell| in_cell(experiment, m, measure, &cell, Runs::All));
        return Comparison::new(claim, ours);
    };
    let cells: Vec<Cell> = experiment
        .kind
        .cells()
        .into_iter()
        .filter(|cell| experiment.kind.fits(cell, &measure.at))
        .collect();
    let value = |cell: &Cell, runs| in_cell(experiment, m, measure, cell, runs);
    let order = |a: &Estimate, b: &Estimate| a.value.total_cmp(&b.value);
    // Of the extremes, one that is missing could be the one that counts.
    let whole =
        || cells.iter().map(|cell| value(cell, Runs::All)).collect::<Option<Vec<Estimate>>>();
    match over {
        Over::Smallest => Comparison::new(claim, whole().and_then(|v| v.into_iter().min_by(order))),
        Over::Largest => Comparison::new(claim, whole().and_then(|v| v.into_iter().max_by(order))),
        Over::Nearest => {
            let setting = |cell| {
                Some(Setting {
                    choosing: value(cell, Runs::Odd)?,
                    judging: value(cell, Runs::Even),
                    all: value(cell, Runs::All)?,
                })
            };
            Comparison::nearest(claim, &cells.iter().filter_map(setting).collect::<Vec<_>>())
        }
    }
}

/// Which replications count. They are numbered from 1 on, and each has a seed of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runs {
    All,
    /// Those that choose one of several settings.
    Odd,
    /// Those that judge it.
    Even,
}

impl Runs {
    fn of(self, mut values: BTreeMap<u32, f64>) -> BTreeMap<u32, f64> {
        values.retain(|n, _| match self {
            Runs::All => true,
            Runs::Odd => n % 2 == 1,
            Runs::Even => n % 2 == 0,
        });
        values
    }
}

/// The number of ours in one cell, by these runs.
fn in_cell(
    experiment: &Experiment<Flow>,
    m: &Measurements<'_>,
    measure: &Measure,
    cell: &Cell,
    runs: Runs,
) -> Option<Estimate> {
    let values = |series: &str, cell: &Cell| runs.of(m.values(&measure.metric, series, cell));
    let own = values(&measure.series, cell);
    let baseline = measure.relative_to.as_ref().or(measure.above.as_ref());
    let (Some(series), other) = (match (&baseline, &measure.relative_at) {
        (None, None) => (None, cell.clone()),
        (Some(series), None) => (Some(series.as_str()), cell.clone()),
        (Some(series), Some(at)) => (Some(series.as_str()), experiment.kind.moved(cell, at)),
        (None, Some(at)) => (Some(measure.series.as_str()), experiment.kind.moved(cell, at)),
    }) else {
        return m.statistic.estimate(&own.into_values().collect::<Vec<_>>());
    };
    let base = values(series, &other);
    difference(m.statistic, &own, &base, measure.above.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_choose_are_not_those_that_judge() {
        let values: BTreeMap<u32, f64> = (1..=5).map(|n| (n, f64::from(n))).collect();
        let of = |runs: Runs| runs.of(values.clone()).into_keys().collect::<Vec<_>>();
        assert_eq!((of(Runs::Odd), of(Runs::Even)), (vec![1, 3, 5], vec![2, 4]));
        assert_eq!(of(Runs::All).len(), 5);
    }
}
