//! The records of an experiment, ordered for questions about them.

use std::collections::BTreeMap;

use tresse_report::{Estimate, Statistic};

use super::record::{FlowRecord, Traces};
use super::{Cell, Flow};
use crate::schema::Experiment;

/// The records of an experiment, by profile, cell and replication.
#[derive(Debug)]
pub struct Measurements<'a> {
    records: BTreeMap<(usize, Cell, u32), &'a FlowRecord>,
    labels: Vec<&'a str>,
    pub(super) statistic: Statistic,
}

impl<'a> Measurements<'a> {
    /// Arranges `records`; those of other profiles or cells than the experiment's are left out.
    pub fn new(experiment: &'a Experiment<Flow>, records: &'a [FlowRecord]) -> Measurements<'a> {
        let labels: Vec<&str> =
            experiment.common.profiles.iter().map(|p| p.label.as_str()).collect();
        let cells: BTreeMap<BTreeMap<String, String>, Cell> = experiment
            .kind
            .cells()
            .into_iter()
            .map(|cell| (experiment.kind.describe(&cell).into_iter().collect(), cell))
            .collect();
        let place = |r: &'a FlowRecord| {
            let series = labels.iter().position(|l| *l == r.series)?;
            Some(((series, cells.get(&r.cell)?.clone(), r.replication), r))
        };
        Measurements {
            records: records.iter().filter_map(place).collect(),
            labels,
            statistic: experiment.kind.statistic,
        }
    }

    pub(super) fn of(&self, series: &str, cell: &Cell) -> impl Iterator<Item = &'a FlowRecord> {
        let series = self.labels.iter().position(|l| *l == series).unwrap_or(usize::MAX);
        let (from, to) = ((series, cell.clone(), 0), (series, cell.clone(), u32::MAX));
        self.records.range(from..=to).map(|(_, record)| *record)
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
