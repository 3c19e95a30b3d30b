//! What a verdict is about.

use serde::{Deserialize, Serialize};
use tresse_report::Unit;

use crate::measure::Measures;

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
        }
    }

    /// Its unit.
    #[must_use]
    pub const fn unit(self) -> Unit {
        match self {
            Metric::Repair | Metric::Transfer | Metric::Disturbance => Unit::Milliseconds,
            Metric::Goodput => Unit::KilobitsPerSecond,
        }
    }

    /// Whether more of it is better.
    #[must_use]
    pub const fn more_is_better(self) -> bool {
        matches!(self, Metric::Goodput)
    }

    /// Its value in a cell, if the cell has one.
    #[must_use]
    pub fn of(self, measures: &Measures) -> Option<f64> {
        match self {
            Metric::Repair => mean(&measures.repair_ms),
            Metric::Transfer => percentile(&measures.transfer_ms, 99.0),
            Metric::Goodput => measures.goodput_kbps,
            Metric::Disturbance => measures.disturbance_ms,
        }
    }
}

/// The mean; `None` of nothing.
pub(crate) fn mean(values: &[f32]) -> Option<f64> {
    let sum: f64 = values.iter().copied().map(f64::from).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

/// The smallest value that so many percent do not exceed; `None` of nothing.
pub(crate) fn percentile(values: &[f32], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = [3.0, 1.0, 2.0, 4.0];
        let at = |percent| percentile(&values, percent).unwrap();
        assert_eq!([at(0.0), at(25.0), at(50.0), at(51.0), at(100.0)], [1.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!((percentile(&[], 50.0), mean(&[])), (None, None));
        assert_eq!(mean(&values), Some(2.5));
    }
}
