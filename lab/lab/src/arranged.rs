//! Something of each run of an experiment, in order for questions about profiles and cells.

use std::collections::BTreeMap;

use crate::common::Common;

/// A `T` for each profile, cell and replication. `C` names a cell.
#[derive(Clone, Debug)]
pub(crate) struct Arranged<C, T> {
    labels: Vec<String>,
    all: BTreeMap<(usize, C, u32), T>,
}

impl<C: Ord + Clone, T> Arranged<C, T> {
    /// Nothing, for the profiles of an experiment.
    pub(crate) fn new(common: &Common) -> Arranged<C, T> {
        let labels = common.profiles.iter().map(|p| p.label.clone()).collect();
        Arranged { labels, all: BTreeMap::new() }
    }

    fn series(&self, label: &str) -> Option<usize> {
        self.labels.iter().position(|l| l == label)
    }

    /// That of a profile in a cell and a replication, made if it is not there; `None` if the experiment has no
    /// such profile.
    pub(crate) fn entry(&mut self, label: &str, cell: C, replication: u32) -> Option<&mut T>
    where
        T: Default,
    {
        let series = self.series(label)?;
        Some(self.all.entry((series, cell, replication)).or_default())
    }

    /// Puts that of a profile in a cell and a replication, unless the experiment has no such profile.
    pub(crate) fn insert(&mut self, label: &str, cell: C, replication: u32, value: T) {
        if let Some(series) = self.series(label) {
            self.all.insert((series, cell, replication), value);
        }
    }

    /// That of a profile in a cell and a replication.
    pub(crate) fn get(&self, label: &str, cell: C, replication: u32) -> Option<&T> {
        self.all.get(&(self.series(label)?, cell, replication))
    }

    /// Those of a profile in a cell, with their replications, in the order of these.
    pub(crate) fn of(&self, label: &str, cell: C) -> impl Iterator<Item = (u32, &T)> {
        let series = self.series(label).unwrap_or(usize::MAX);
        let (from, to) = ((series, cell.clone(), 0), (series, cell, u32::MAX));
        self.all.range(from..=to).map(|((_, _, replication), value)| (*replication, value))
    }

    /// All of them, to be changed.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.all.values_mut()
    }
}
