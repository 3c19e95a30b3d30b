//! Tresse to Tresse on real hosts: two network namespaces whose interfaces come and go.
//!
//! One end, or both, has the binding of the cell; the other one is bound to every address of its host. An
//! interface of that end goes in the middle of a transfer, addresses and all, and comes back. What was sent
//! meanwhile arrives: over the other interface, if there is one that the binding covers, or else later.

mod command;
mod network;
mod play;
mod report;
mod run;

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use serde::{Deserialize, Serialize};

use crate::matrix::{Outcome, word};
pub(crate) use command::{HostsArgs, run_hosts};
pub use report::Report;
pub use run::run;

/// Which addresses the hosts have. Link-local ones of IPv6 are there in any case.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
    /// Both.
    Both,
}

/// What an end is bound to.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Binding {
    /// The unspecified address.
    Wildcard,
    /// Every address of the host.
    Explicit,
    /// The last one alone; of hosts with both families, the last one of IPv4.
    Partial,
}

/// How packets travel.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Travel {
    /// In UDP datagrams.
    Udp,
    /// Directly on IP.
    Raw,
}

/// Which end has the binding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The one that opens the association; an interface of its host goes.
    Client,
    /// The one that accepts it; an interface of its host goes.
    Server,
    /// Both; an interface of the server's host goes.
    Both,
}

/// One cell of the matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Cell {
    /// What is bound how,
    pub binding: Binding,
    /// at which end,
    pub bound: Bound,
    /// on hosts with which addresses
    pub family: Family,
    /// and how many interfaces, 1 or 2; a single one has two addresses of each family.
    pub interfaces: u8,
    /// How packets travel.
    pub travel: Travel,
}

impl Cell {
    /// Every cell, in the order of the table.
    #[must_use]
    pub fn all() -> Vec<Cell> {
        let mut cells = Vec::new();
        for &binding in Binding::value_variants() {
            for &bound in Bound::value_variants() {
                // That is what the end is that has not the binding of the cell.
                if binding == Binding::Explicit && bound == Bound::Both {
                    continue;
                }
                for &family in Family::value_variants() {
                    for interfaces in [1, 2] {
                        for &travel in Travel::value_variants() {
                            cells.push(Cell { binding, bound, family, interfaces, travel });
                        }
                    }
                }
            }
        }
        cells
    }

    /// Whether data must arrive while the interface is away.
    fn has_spare(self) -> bool {
        self.interfaces == 2 && self.binding != Binding::Partial
    }

    /// A name for threads and files.
    fn label(self) -> String {
        let interfaces = self.interfaces.to_string();
        let (family, travel) = (word(&self.family), word(&self.travel));
        [word(&self.binding), word(&self.bound), family, interfaces, travel].join("-")
    }
}

/// A line of the results.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Record {
    /// Which cell.
    #[serde(flatten)]
    pub cell: Cell,
    /// What became of it.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// How long it took.
    pub seconds: f64,
}

/// How cells are run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Messages of 1 000 bytes that go each way.
    pub messages: u64,
    /// How long each step of a cell may take.
    pub limit: Duration,
    /// Cells that run at the same time.
    pub jobs: usize,
    /// Where reports and captures of cells that fail go to.
    pub failures: PathBuf,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_matrix_has_every_combination_once() {
        let cells = Cell::all();
        let different: BTreeSet<_> = cells.iter().collect();
        // 3 families, 1 or 2 interfaces, 2 carriers; wildcard and partial at either end or at both, explicit
        // at either.
        assert_eq!((cells.len(), different.len()), (3 * 2 * 2 * (3 + 3 + 2), cells.len()));
        assert!(cells.is_sorted());
        let labels: BTreeSet<_> = cells.iter().map(|cell| cell.label()).collect();
        assert_eq!(labels.len(), cells.len());
    }
}
