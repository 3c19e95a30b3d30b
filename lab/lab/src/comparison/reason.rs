//! Why a verdict is what it is, in one line.

use tresse_report::Estimate;

use super::{Comparison, Relation, Rule, Verdict};

impl Comparison {
    /// What of ours decided, with the numbers, and why ours is thought to differ where it does.
    #[must_use]
    pub fn reason(&self) -> String {
        let Some(ours) = self.ours else { return "no run of ours has it".into() };
        let numbers = self.numbers(ours);
        match (self.verdict, self.claim.why.as_deref()) {
            (Verdict::Differs, Some(why)) => format!("{numbers}; thought: {why}"),
            _ => numbers,
        }
    }

    fn numbers(&self, ours: Estimate) -> String {
        let claim = &self.claim;
        let agrees = self.verdict == Verdict::Agrees;
        let unit = |value: f64| {
            claim.unit.format_difference(value.abs()).trim_start_matches('+').to_owned()
        };
        let range = |[low, high]: [f64; 2]| {
            format!("{} to {}", claim.unit.digits(low), claim.unit.format(high))
        };
        let not = if agrees { "" } else { "not " };
        match self.rule.unwrap_or(Rule::Tolerance) {
            Rule::Tolerance => {
                let away = unit(ours.value - claim.value);
                let sign = if agrees { "no more than" } else { "more than" };
                format!("{away} away, {sign} {}", unit(claim.tolerance))
            }
            Rule::Words => {
                let around =
                    format!("{} of {}", unit(claim.tolerance), claim.unit.format(claim.value));
                format!("{} is {not}all within {around}", range(ours.interval()))
            }
            Rule::OneRun => {
                let among = ours.prediction().unwrap_or(ours.range);
                format!(
                    "{} is {not}among single runs of ours, {}",
                    claim.unit.format(claim.value),
                    range(among)
                )
            }
            Rule::Count | Rule::Means => {
                let z = self.z.unwrap_or(0.0).abs();
                let chance = if agrees { "may be chance" } else { "is not chance (5 %)" };
                format!("a difference of {z:.1} standard deviations {chance}")
            }
            Rule::Side => {
                let side = if claim.relation == Relation::Below { "below" } else { "above" };
                format!(
                    "{} is {not}all {side} {}",
                    range(ours.interval()),
                    claim.unit.format(claim.value)
                )
            }
            Rule::Bound => {
                let (word, other, sign) = match claim.relation {
                    Relation::AtMost => ("no more than", "more than", '+'),
                    _ => ("no less than", "less than", '-'),
                };
                let word = if agrees { word } else { other };
                let [value, bound] = [ours.value, claim.value].map(|v| claim.unit.format(v));
                match claim.tolerance {
                    0.0 => format!("{value} is {word} {bound}"),
                    tolerance => format!("{value} is {word} {bound} {sign} {}", unit(tolerance)),
                }
            }
        }
    }
}
