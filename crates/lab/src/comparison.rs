//! Published numbers, and ours beside them.

use serde::{Deserialize, Serialize};

use crate::mistake::{Checked, require};
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

/// How a published number relates to ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// About equal.
    #[default]
    Equal,
    /// Ours must not be above it.
    Below,
    /// Ours must not be below it.
    Above,
}

/// A published number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What it is, in words.
    pub what: String,
    /// Where in the paper.
    pub place: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Largest difference that counts as agreement, in the unit.
    pub tolerance: f64,
    /// How the number bounds ours.
    pub relation: Relation,
    /// Why ours differs, if it does: a physical reason.
    pub why: Option<String>,
}

impl Claim {
    /// The number as a table shows it, with the sign of its relation.
    pub fn text(&self) -> String {
        let sign = match self.relation {
            Relation::Equal => "",
            Relation::Below => "≤ ",
            Relation::Above => "≥ ",
        };
        format!("{sign}{}", self.unit.format(self.value))
    }
}

/// A published number, and what of ours it is compared with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published<M> {
    /// What it is, in words.
    pub what: String,
    /// Where in the paper.
    #[serde(rename = "where")]
    pub place: String,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: Unit,
    /// Largest difference that counts as agreement, in the unit (percentage points for `%`).
    /// Default: 5 points of a percentage, 10 % of anything else.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// How the number bounds ours. Default `equal`.
    #[serde(default)]
    pub relation: Relation,
    /// Why ours differs, if it does: a physical reason.
    #[serde(default)]
    pub why: Option<String>,
    /// What we compare it with.
    pub measure: M,
}

impl<M> Published<M> {
    /// What was published, without how it is measured here.
    pub fn claim(&self) -> Claim {
        Claim {
            what: self.what.clone(),
            place: self.place.clone(),
            value: self.value,
            unit: self.unit,
            tolerance: self.tolerance.unwrap_or_else(|| default_tolerance(self.value, self.unit)),
            relation: self.relation,
            why: self.why.clone(),
        }
    }

    /// Checks the tolerance, which stands under `key`.
    pub(crate) fn check(&self, key: &str) -> Checked {
        require(self.tolerance.unwrap_or(0.0) >= 0.0, key, "must not be negative")
    }
}

/// The largest difference that counts as agreement where an experiment names none: 5 points for
/// percentages, 10 % of any other number.
fn default_tolerance(value: f64, unit: Unit) -> f64 {
    if unit == Unit::Percent { 5.0 } else { 0.1 * value.abs() }
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
        Some(Estimate { value, ci95, range: [s.min, s.max] })
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
}

impl Estimate {
    /// The mean of one value for each replication; `None` of nothing.
    pub fn of(values: &[f64]) -> Option<Estimate> {
        Statistic::Mean.estimate(values)
    }
}

/// A published number and ours.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The published number.
    pub claim: Claim,
    /// Ours; `None` if its runs failed.
    pub ours: Option<Estimate>,
    /// Ours minus the published one, in the unit.
    pub difference: Option<f64>,
    /// Whether they agree.
    pub verdict: Verdict,
}

impl Comparison {
    /// Compares.
    pub fn new(claim: Claim, ours: Option<Estimate>) -> Comparison {
        let difference = ours.map(|o| o.value - claim.value);
        let verdict = match difference {
            None => Verdict::Missing,
            Some(d) => {
                let agrees = match claim.relation {
                    Relation::Equal => d.abs() <= claim.tolerance,
                    Relation::Below => d <= claim.tolerance,
                    Relation::Above => d >= -claim.tolerance,
                };
                if agrees { Verdict::Agrees } else { Verdict::Differs }
            }
        };
        Comparison { claim, ours, difference, verdict }
    }
}

/// Whether a number of ours agrees with the published one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Within the tolerance (or on the right side of a bound).
    Agrees,
    /// Outside of it.
    Differs,
    /// There is no number of ours.
    Missing,
}

impl Verdict {
    /// One word for tables.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Missing => "missing",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(relation: Relation) -> Claim {
        Claim {
            what: String::new(),
            place: String::new(),
            value: 100.0,
            unit: Unit::Milliseconds,
            tolerance: 10.0,
            relation,
            why: None,
        }
    }

    #[test]
    fn verdicts_follow_relation_and_tolerance() {
        let verdict =
            |relation, ours: f64| Comparison::new(claim(relation), Estimate::of(&[ours])).verdict;
        assert_eq!(verdict(Relation::Equal, 110.0), Verdict::Agrees);
        assert_eq!(verdict(Relation::Equal, 89.0), Verdict::Differs);
        assert_eq!(verdict(Relation::Below, 1.0), Verdict::Agrees);
        assert_eq!(verdict(Relation::Below, 111.0), Verdict::Differs);
        assert_eq!(verdict(Relation::Above, 1000.0), Verdict::Agrees);
        assert_eq!(verdict(Relation::Above, 89.0), Verdict::Differs);
        assert_eq!(Comparison::new(claim(Relation::Equal), None).verdict, Verdict::Missing);
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
