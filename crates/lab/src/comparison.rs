//! Published numbers, and ours beside them.

use serde::{Deserialize, Serialize};
use tresse_report::{Estimate, Unit};

use crate::mistake::{Checked, require};

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
}
