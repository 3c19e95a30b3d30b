//! The records of an experiment, arranged for statistics and plots.

use std::collections::BTreeMap;

use crate::arranged::Arranged;
use crate::schema::Experiment;
use crate::single_loss::record::{RunRecord, Sample};
use crate::single_loss::{Cell, SingleLoss};

/// All values of one profile in one cell and one replication.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    /// The dropped message of every run with a loss, in the order of their numbers.
    pub lost: Vec<Sample>,
    /// Every measured message of the run without loss.
    pub no_loss: Vec<Sample>,
    /// How many losses were recovered by what.
    pub recoveries: BTreeMap<String, u64>,
    /// Unnecessary retransmissions of each run, by the number of its dropped message; 0 of that without loss.
    pub duplicates: BTreeMap<u32, u64>,
}

/// All values of an experiment.
#[derive(Clone, Debug)]
pub struct Measurements {
    cells: Vec<Cell>,
    /// By the index of the cell.
    flows: Arranged<usize, Flow>,
}

impl Measurements {
    /// Arranges `records`; those of other profiles or cells than the experiment's are left out.
    pub fn new<'a>(
        experiment: &Experiment<SingleLoss>,
        records: impl IntoIterator<Item = &'a RunRecord>,
    ) -> Measurements {
        let cells = experiment.kind.cells();
        let mut flows: Arranged<usize, Flow> = Arranged::new(&experiment.common);
        for record in records {
            let Some(cell) = cells.iter().position(|c| *c == record.cell) else { continue };
            let flow = flows.entry(&record.series, cell, record.replication);
            let Some(flow) = flow else { continue };
            let dropped = record.dropped.unwrap_or(0);
            *flow.duplicates.entry(dropped).or_default() += record.counters.duplicates;
            if record.dropped.is_some() {
                flow.lost.extend(&record.samples);
                let cause = record.recovered_by.as_deref().unwrap_or("nothing");
                *flow.recoveries.entry(cause.to_owned()).or_default() += 1;
            } else {
                flow.no_loss.extend(&record.samples);
            }
        }
        for flow in flows.values_mut() {
            flow.lost.sort_by_key(|s| s.tsn);
            flow.no_loss.sort_by_key(|s| s.tsn);
        }
        Measurements { cells, flows }
    }

    fn cell(&self, cell: Cell) -> usize {
        self.cells.iter().position(|c| *c == cell).unwrap_or(usize::MAX)
    }

    /// The values of one profile in one cell and one replication (counted from 1).
    pub fn flow(&self, series: &str, cell: Cell, replication: u32) -> Option<&Flow> {
        self.flows.get(series, self.cell(cell), replication)
    }

    /// The values of one profile in one cell, replication by replication.
    pub fn flows(&self, series: &str, cell: Cell) -> impl Iterator<Item = (u32, &Flow)> {
        self.flows.of(series, self.cell(cell))
    }
}
