//! Numbers with their uncertainty and their unit.

use serde::{Deserialize, Serialize};

use crate::statistics::{Summary, t_quantile};

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
        let [low, high] = estimate.interval().map(|end| self.digits(end));
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
        let (value, ci95, limits) = match self {
            Statistic::Mean => (s.mean, s.ci95, None),
            Statistic::Median => (s.median, None, median_limits(values)),
        };
        let range = [s.min, s.max];
        Some(Estimate { value, ci95, range, runs: s.n, deviation: s.sd, limits })
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
    /// Standard deviation of single replications; `None` for one, and where it is not known.
    #[serde(default)]
    pub deviation: Option<f64>,
    /// The 95 % confidence interval of a median; `None` of less than six replications, and of a mean.
    #[serde(default)]
    pub limits: Option<[f64; 2]>,
}

impl Estimate {
    /// The mean of one value for each replication; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        Statistic::Mean.estimate(values)
    }

    /// Where it is: the 95 % confidence interval of a mean or of a median, the extremes of a median of less than
    /// six replications. A single one has neither, and both ends are its value.
    #[must_use]
    pub fn interval(&self) -> [f64; 2] {
        match (self.ci95, self.limits) {
            (Some(ci), _) => [self.value - ci, self.value + ci],
            (None, Some(limits)) => limits,
            (None, None) => self.range,
        }
    }

    /// Where one more replication is with a probability of 95 % at most: the prediction interval by Student's t,
    /// no wider than what there was. `None` of less than three, and where their deviation is not known.
    #[must_use]
    pub fn prediction(&self) -> Option<[f64; 2]> {
        let deviation = self.deviation.filter(|_| self.runs >= 3)?;
        let n = self.runs as f64;
        let half = t_quantile(0.975, n - 1.0) * deviation * (1.0 + 1.0 / n).sqrt();
        let [low, high] = self.range;
        Some([low.max(self.value - half), high.min(self.value + half)])
    }
}

/// The 95 % confidence interval of the median, whatever the distribution: the values whose ranks are as far in from
/// both ends as a binomial distribution of one half allows. `None` of less than six, of which even the extremes
/// do not hold it with 95 %.
fn median_limits(values: &[f64]) -> Option<[f64; 2]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let n = sorted.len();
    // Probability of at most `rank` values below the median, added up from the outside.
    let mut term = 0.5_f64.powi(i32::try_from(n).ok()?);
    let (mut sum, mut inside) = (term, None);
    for rank in 0..n / 2 {
        if sum > 0.025 {
            break;
        }
        inside = Some([sorted[rank], sorted[n - 1 - rank]]);
        term *= (n - rank) as f64 / (rank + 1) as f64;
        sum += term;
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_more_run_is_predicted_from_those_that_were() {
        let of = |values: &[f64]| Estimate::of(values).unwrap();
        // 1 to 5: mean 3, deviation 1.581, t 2.776, so 3 ± 4.81; but none of them was below 1.
        assert_eq!(of(&[1.0, 2.0, 3.0, 4.0, 5.0]).prediction(), Some([1.0, 5.0]));
        assert_eq!(of(&[1.0, 2.0]).prediction(), None);
        // Of many the extremes are too far out: mean 0, deviation 1.005, t 1.9842.
        let many: Vec<f64> = (0..100).map(|i| if i % 2 == 0 { 1.0 } else { -1.0 }).collect();
        let wide = [&many[..], &[9.0, -9.0]].concat();
        let [low, high] = of(&wide).prediction().unwrap();
        assert!((3.0..4.0).contains(&high) && (low + high).abs() < 1e-9, "{low} {high}");
    }

    #[test]
    fn a_median_has_an_interval_of_ranks() {
        let of = |n: u32| {
            let values: Vec<f64> = (1..=n).map(f64::from).collect();
            Statistic::Median.estimate(&values).unwrap().interval()
        };
        // Tables of the sign test: the 1st and the 6th of six, the 2nd and the 9th of ten, the 14th and the
        // 27th of forty.
        assert_eq!((of(6), of(10), of(40)), ([1.0, 6.0], [2.0, 9.0], [14.0, 27.0]));
        // Less have no such interval, so the extremes stand for it.
        assert_eq!(of(5), [1.0, 5.0]);
        assert_eq!(Statistic::Median.estimate(&[1.0, 2.0, 3.0]).unwrap().limits, None);
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
