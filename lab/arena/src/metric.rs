//! What a verdict is about.

use serde::{Deserialize, Serialize};
use tresse_report::Unit;

/// A number that a cell is judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Metric {
    /// How long it took until a message arrived whose first packet was lost: mean.
    Repair,
    /// From handing a message over until it can be delivered: 99th percentile.
    Transfer,
    /// User data delivered in time.
    Goodput,
    /// For how long overdue messages were on their way.
    Disturbance,
    /// Of messages of which each replaces those before it, the age of the newest that was delivered: 99th percentile.
    Age,
}

impl Metric {
    /// In words.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Metric::Repair => "mean repair time",
            Metric::Transfer => "99th percentile of the transfer time",
            Metric::Goodput => "goodput",
            Metric::Disturbance => "time to failover",
            Metric::Age => "99th percentile of the age of the newest message",
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Metric::Repair | Metric::Transfer | Metric::Disturbance | Metric::Age => {
                Unit::Milliseconds
            }
            Metric::Goodput => Unit::KilobitsPerSecond,
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Metric::Goodput)
    }
}
