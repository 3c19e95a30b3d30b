//! The records of an experiment, ordered for questions about them.

use std::collections::BTreeMap;

use tresse_report::{Estimate, Statistic};

use crate::arranged::Arranged;
use crate::flow::record::{FlowRecord, Traces};
use crate::flow::{Cell, Flow};
use crate::schema::Experiment;

/// The records of an experiment, by profile, cell and replication.
#[derive(Debug)]
pub struct Measurements<'a> {
    records: Arranged<Cell, &'a FlowRecord>,
    pub(super) statistic: Statistic,
}

impl<'a> Measurements<'a> {
    /// Arranges `records`; those of other profiles or cells than the experiment's are left out.
    pub fn new(experiment: &Experiment<Flow>, records: &'a [FlowRecord]) -> Measurements<'a> {
        let Experiment { common, kind: flow } = experiment;
        let cells = flow.cells().into_iter();
        let cells: BTreeMap<BTreeMap<String, String>, Cell> =
            cells.map(|cell| (flow.describe(&cell).into_iter().collect(), cell)).collect();
        let mut arranged = Arranged::new(common);
        for record in records {
            if let Some(cell) = cells.get(&record.cell) {
                arranged.insert(&record.series, cell.clone(), record.replication, record);
            }
        }
        Measurements { records: arranged, statistic: flow.statistic }
    }

    pub(super) fn of(&self, series: &str, cell: &Cell) -> impl Iterator<Item = &'a FlowRecord> {
        self.records.of(series, cell.clone()).map(|(_, record)| *record)
    }

    /// One value for each replication, by replication.
    pub fn values(&self, metric: &str, series: &str, cell: &Cell) -> BTreeMap<u32, f64> {
        let of = self.of(series, cell);
        of.filter_map(|r| Some((r.replication, *r.values.get(metric)?))).collect()
    }

    /// Mean or median over the replications that have the value.
    pub fn estimate(&self, metric: &str, series: &str, cell: &Cell) -> Option<Estimate> {
        let values: Vec<f64> = self.values(metric, series, cell).into_values().collect();
        self.statistic.estimate(&values)
    }

    /// Time series and the like of the first replication.
    pub fn traces(&self, series: &str, cell: &Cell) -> Option<&'a Traces> {
        self.of(series, cell).next().map(|r| &r.traces).filter(|t| !t.is_empty())
    }

    /// The largest number of retransmissions of a chunk that was measured.
    pub(super) fn most_retransmissions(&self, series: &str, cell: &Cell) -> u32 {
        let number = |name: &String| {
            let rest = name.strip_prefix("retransmission.")?;
            rest.split('.').next()?.parse::<u32>().ok()
        };
        self.of(series, cell).flat_map(|r| r.values.keys().filter_map(number)).max().unwrap_or(0)
    }
}

/// By how much `own` is above `base`, in percent of the mean of `base` if `relative`. Values of
/// the same replication are paired: they had the same traffic and the same seed.
pub(super) fn difference(
    statistic: Statistic,
    own: &BTreeMap<u32, f64>,
    base: &BTreeMap<u32, f64>,
    relative: bool,
) -> Option<Estimate> {
    let pairs: Vec<(f64, f64)> =
        own.iter().filter_map(|(n, value)| Some((*value, *base.get(n)?))).collect();
    let mean_base = pairs.iter().map(|p| p.1).sum::<f64>() / pairs.len().max(1) as f64;
    let scale = if relative { 100.0 / mean_base } else { 1.0 };
    let differences: Vec<f64> = pairs.iter().map(|(own, base)| (own - base) * scale).collect();
    statistic.estimate(&differences)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_paired_and_relative_to_the_mean() {
        let own = BTreeMap::from([(1, 110.0), (2, 220.0), (3, 5.0)]);
        let base = BTreeMap::from([(1, 100.0), (2, 200.0)]);
        let percent = difference(Statistic::Mean, &own, &base, true).unwrap();
        assert!((percent.value - 10.0).abs() < 1e-9, "{percent:?}");
        assert_eq!(difference(Statistic::Mean, &own, &base, false).unwrap().value, 15.0);
        assert_eq!(difference(Statistic::Mean, &own, &BTreeMap::new(), true), None);
    }
}
