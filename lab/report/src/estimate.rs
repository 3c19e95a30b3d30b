//! Numbers with their uncertainty and their unit.

use serde::{Deserialize, Serialize};

use crate::statistics::Summary;

/// Unit of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Percent; differences are percentage points.
    #[serde(rename = "%")]
    Percent,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Milliseconds,
    /// Seconds.
    #[serde(rename = "s")]
    Seconds,
    /// 1000 bit/s of user data.
    #[serde(rename = "kbit/s")]
    KilobitsPerSecond,
    /// 1 000 000 bit/s of user data.
    #[serde(rename = "Mbit/s")]
    MegabitsPerSecond,
    /// 1000 bytes/s of user data.
    #[serde(rename = "kB/s")]
    KilobytesPerSecond,
    /// Events per 1 000 000 bytes of user data.
    #[serde(rename = "1/MB")]
    PerMegabyte,
    /// Bytes.
    #[serde(rename = "bytes")]
    Bytes,
    /// A pure number: counts, ratios, TSNs.
    #[serde(rename = "")]
    Number,
}

impl Unit {
    /// The unit as it follows a number; empty for a pure number.
    pub fn name(self) -> &'static str {
        match self {
            Unit::Percent => "%",
            Unit::Milliseconds => "ms",
            Unit::Seconds => "s",
            Unit::KilobitsPerSecond => "kbit/s",
            Unit::MegabitsPerSecond => "Mbit/s",
            Unit::KilobytesPerSecond => "kB/s",
            Unit::PerMegabyte => "/MB",
            Unit::Bytes => "bytes",
            Unit::Number => "",
        }
    }

    /// A number of this unit without its name: one decimal, none for large numbers, two
    /// significant digits for small ones.
    pub fn digits(self, value: f64) -> String {
        let size = value.abs();
        match self {
            Unit::Percent | Unit::Milliseconds => format!("{value:.1}"),
            _ if size >= 1000.0 => format!("{value:.0}"),
            _ if size >= 10.0 || size == 0.0 => trim(format!("{value:.1}")),
            _ => trim(format!("{value:.2}")),
        }
    }

    /// How a value in this unit is written.
    pub fn format(self, value: f64) -> String {
        format!("{} {}", self.digits(value), self.name()).trim_end().to_owned()
    }

    /// How a difference in this unit is written.
    pub fn format_difference(self, value: f64) -> String {
        let sign = if value > 0.0 { "+" } else { "" };
        let name = if self == Unit::Percent { "points" } else { self.name() };
        format!("{sign}{} {name}", self.digits(value)).trim_end().to_owned()
    }

    /// An estimate without the name of the unit.
    pub fn digits_of(self, estimate: Estimate) -> String {
        let value = self.digits(estimate.value);
        let [low, high] = estimate.range.map(|end| self.digits(end));
        match estimate.ci95 {
            Some(ci) => format!("{value} ± {}", self.digits(ci)),
            None if low != high => format!("{value} [{low} to {high}]"),
            None => value,
        }
    }

    /// How an estimate in this unit is written: value, half width of its interval, unit.
    pub fn format_estimate(self, estimate: Estimate) -> String {
        match estimate.ci95 {
            Some(ci) => format!("{} ± {}", self.digits(estimate.value), self.format(ci)),
            None => format!("{} {}", self.digits_of(estimate), self.name()).trim_end().to_owned(),
        }
    }
}

/// Whole numbers without a decimal point.
fn trim(text: String) -> String {
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// What stands for the values of all replications.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Statistic {
    /// Their mean, with its confidence interval.
    #[default]
    Mean,
    /// Their median, with the smallest and the largest.
    Median,
}

impl Statistic {
    /// The estimate from one value for each replication; `None` of nothing.
    pub fn estimate(self, values: &[f64]) -> Option<Estimate> {
        let s = Summary::of(values)?;
        let (value, ci95) = match self {
            Statistic::Mean => (s.mean, s.ci95),
            Statistic::Median => (s.median, None),
        };
        Some(Estimate { value, ci95, range: [s.min, s.max], runs: s.n })
    }
}

/// A number with its uncertainty over the replications.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Mean or median over the replications.
    pub value: f64,
    /// Half the width of the 95 % confidence interval; `None` for one replication, and of a median.
    pub ci95: Option<f64>,
    /// Smallest and largest replication; equal for a single one.
    pub range: [f64; 2],
    /// Replications that it is made of; 0 if that is not known.
    #[serde(default)]
    pub runs: usize,
}

impl Estimate {
    /// The mean of one value for each replication; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        Statistic::Mean.estimate(values)
    }

    /// Where it is: the 95 % confidence interval of a mean, the extremes of a median. A single
    /// replication has neither, and both ends are its value.
    #[must_use]
    pub fn interval(&self) -> [f64; 2] {
        match self.ci95 {
            Some(ci) => [self.value - ci, self.value + ci],
            None => self.range,
        }
    }

    /// Where single replications are: between the smallest and the largest. One more is there with a probability
    /// of (n - 1) / (n + 1), whatever their distribution: 95 % of 40, less of fewer, so that few do not make
    /// it wide. `None` of less than three, and of more than 60, whose extremes are too far out (97 %).
    #[must_use]
    pub fn run_limits(&self) -> Option<[f64; 2]> {
        (3..=60).contains(&self.runs).then_some(self.range)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_runs_are_between_the_extremes_of_a_fit_number_of_them() {
        let of = |runs| Estimate { value: 2.0, ci95: Some(9.0), range: [1.0, 4.0], runs };
        assert_eq!(of(40).run_limits(), Some([1.0, 4.0]));
        assert_eq!((of(2).run_limits(), of(61).run_limits()), (None, None));
    }

    #[test]
    fn numbers_have_the_digits_that_a_reader_wants() {
        assert_eq!(Unit::Milliseconds.format(1005.52), "1005.5 ms");
        assert_eq!(Unit::Number.format(16826.0), "16826");
        assert_eq!(Unit::Number.format(0.0), "0");
        assert_eq!(Unit::PerMegabyte.format(2.0), "2 /MB");
        assert_eq!(Unit::Percent.format_difference(-2.0), "-2.0 points");
        assert_eq!(Unit::KilobitsPerSecond.format_difference(12.34), "+12.3 kbit/s");
    }
}
