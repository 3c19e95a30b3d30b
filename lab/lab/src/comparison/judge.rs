//! How a number of ours is judged: by which rule, with which result.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tresse_report::statistics::t_quantile;
use tresse_report::{Estimate, Unit};

use super::claim::{Claim, Relation};
use crate::poisson;

/// What decides whether ours agrees.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// The difference, by the tolerance.
    Tolerance,
    /// A count of one run of the paper: the exact test of one count against several.
    Count,
    /// The outcome of one run of the paper: where single runs of ours are, with 95 %.
    OneRun,
    /// A mean of several runs of the paper: the difference of two means, by the spread of both.
    Means,
    /// What the paper says in words: all of the interval is within the tolerance.
    Words,
    /// An effect: all of the interval is on its side.
    Side,
    /// A bound that ours may touch.
    Bound,
}

/// How ours compares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// Ours agrees.
    pub(crate) within: bool,
    /// By what.
    pub(crate) rule: Rule,
    /// Ours less the published number, in standard deviations of that difference; `None` where one of both spreads
    /// is not known.
    pub(crate) z: Option<f64>,
    /// It is as good as certain, with 95 %, that ours does not agree: more runs would not change that.
    pub(crate) excluded: bool,
}

/// Beyond this many standard deviations are 5 % of what is due to chance, if the deviation is known.
const LIMIT: f64 = 1.96;

impl Claim {
    /// Which of two is nearer to the number, the nearer one first: what agrees before what differs, and of
    /// those that agree the one that agrees more clearly.
    pub(crate) fn nearer(&self, a: Estimate, b: Estimate) -> Ordering {
        let away = |ours: Estimate| {
            let [low, high] = ours.interval();
            match self.relation {
                Relation::Equal => (ours.value - self.value).abs(),
                Relation::Below => high - self.value,
                Relation::Above => self.value - low,
                Relation::AtMost => ours.value - self.value,
                Relation::AtLeast => self.value - ours.value,
            }
        };
        let differs = |ours| !self.agrees(ours);
        differs(a).cmp(&differs(b)).then(away(a).total_cmp(&away(b)))
    }

    /// Whether ours agrees.
    pub(crate) fn agrees(&self, ours: Estimate) -> bool {
        self.judge(ours).within
    }

    /// The rule that decides, if the runs of ours have what it needs.
    fn rule(&self, ours: Estimate) -> Rule {
        let spread = ours.runs >= 3 && ours.deviation.is_some();
        match self.relation {
            Relation::Below | Relation::Above => Rule::Side,
            Relation::AtMost | Relation::AtLeast => Rule::Bound,
            Relation::Equal if self.in_words => Rule::Words,
            Relation::Equal if self.counted => Rule::Count,
            Relation::Equal if self.one_run && spread => Rule::OneRun,
            Relation::Equal if self.of_runs.is_some() && spread => Rule::Means,
            Relation::Equal => Rule::Tolerance,
        }
    }

    /// How exactly the published number is known: where it is not said, by its last digit.
    pub(crate) fn known_to(&self) -> f64 {
        let last_digit = match self.unit {
            Unit::Milliseconds | Unit::Seconds => 0.05,
            Unit::Percent | Unit::Number => 0.5,
            _ => 0.0,
        };
        self.resolution.unwrap_or(last_digit)
    }

    /// The same and why, in words, if that is said.
    pub(crate) fn known_to_because(&self) -> Option<String> {
        let (to, why) = (self.known_to(), self.resolution_why.as_deref()?);
        let text = self.unit.format_difference(to);
        (to != 0.0).then(|| format!("{} more: {why}", text.trim_start_matches('+')))
    }

    /// Ours less the published number, in deviations, beyond what the published one is known to.
    fn deviations(&self, ours: Estimate, deviation: f64) -> f64 {
        let difference = ours.value - self.value;
        let beyond = (difference.abs() - self.known_to()).max(0.0);
        if beyond == 0.0 { 0.0 } else { difference.signum() * beyond / deviation }
    }

    /// How ours compares.
    pub(crate) fn judge(&self, ours: Estimate) -> Judgement {
        let rule = self.rule(ours);
        let (z, limit) = self.score(ours, rule);
        let beyond = z.is_some_and(|z| z.abs() > limit);
        let [low, high] = ours.interval();
        let (least, most) = (self.value - self.tolerance, self.value + self.tolerance);
        let (within, excluded) = match rule {
            // Something that never happens is not about as much as something that does.
            Rule::Tolerance if self.value != 0.0 && low == 0.0 && high == 0.0 => (false, true),
            Rule::Tolerance => ((least..=most).contains(&ours.value), high < least || most < low),
            Rule::Words => (least <= low && high <= most, high < least || most < low),
            Rule::Count | Rule::Means => (!beyond, beyond),
            Rule::OneRun => (self.is_among_runs(ours), beyond),
            Rule::Side if self.relation == Relation::Below => {
                (high < self.value, low >= self.value)
            }
            Rule::Side => (low > self.value, high <= self.value),
            Rule::Bound if self.relation == Relation::AtMost => (ours.value <= most, low > most),
            Rule::Bound => (ours.value >= least, high < least),
        };
        Judgement { within, rule, z, excluded: excluded && ours.runs > 1 }
    }

    /// The number of deviations between both, and beyond how many it is not chance.
    fn score(&self, ours: Estimate, rule: Rule) -> (Option<f64>, f64) {
        let n = ours.runs as f64;
        let deviation = ours.deviation.unwrap_or(0.0);
        let t = || t_quantile(0.975, n - 1.0);
        match (rule, self.of_runs) {
            (Rule::Count, _) => {
                // Events that come in clumps are spread more widely than independent ones.
                let clumped = (ours.value - self.value) / (deviation * (1.0 + 1.0 / n).sqrt());
                let independent = poisson::score(self.value, ours.value, ours.runs);
                let wider = clumped.is_finite() && clumped.abs() < independent.abs();
                (Some(if wider { clumped } else { independent }), LIMIT)
            }
            (Rule::OneRun, _) => {
                (Some(self.deviations(ours, deviation * (1.0 + 1.0 / n).sqrt())), t())
            }
            (Rule::Means, Some(theirs)) => {
                // Their spread is taken to be ours where they do not print it.
                let own = deviation / n.sqrt();
                let their = match self.interval {
                    Some(half) => half / LIMIT,
                    None => deviation / f64::from(theirs).sqrt(),
                };
                (Some(self.deviations(ours, own.hypot(their))), t())
            }
            _ => (None, LIMIT),
        }
    }

    /// The published number is where single runs of ours are, or as near as it is known.
    fn is_among_runs(&self, ours: Estimate) -> bool {
        let around = self.known_to();
        ours.prediction()
            .is_some_and(|[low, high]| (low - around..=high + around).contains(&self.value))
    }

    /// The rule, and what it is with these runs of ours, in words.
    pub(crate) fn decided_by(&self, ours: Option<Estimate>) -> String {
        let size = self.unit.format_difference(self.tolerance);
        let size = size.trim_start_matches('+');
        let why = self.tolerance_why.as_deref();
        let known_to = || match self.known_to_because() {
            Some(text) => format!(", {text}"),
            None => String::new(),
        };
        let Some(ours) = ours else { return "no run of ours".into() };
        match self.rule(ours) {
            Rule::Side => "all of the interval".into(),
            Rule::Words => {
                format!("all of the interval within {size}: {}", why.unwrap_or("chosen"))
            }
            Rule::Count => format!("z: a count of one run against {} of ours", ours.runs),
            Rule::OneRun => {
                let ends = ours.prediction().unwrap_or(ours.range).map(|end| self.unit.digits(end));
                format!(
                    "one run; 95 % of ours: {} to {} {}{}",
                    ends[0],
                    ends[1],
                    self.unit.name(),
                    known_to()
                )
            }
            Rule::Means => format!(
                "z: means of {} and {} runs{}",
                self.of_runs.unwrap_or(0),
                ours.runs,
                known_to()
            ),
            Rule::Tolerance | Rule::Bound => self.tolerance_text(size),
        }
    }

    /// A tolerance and where it comes from.
    fn tolerance_text(&self, size: &str) -> String {
        match &self.tolerance_why {
            Some(why) => format!("{size}: {why}"),
            None if self.tolerance == 0.0 => "none".into(),
            None if self.unit == Unit::Percent && self.tolerance == 5.0 => {
                "5 points: the default for large percentages".into()
            }
            None => format!("{size}: 10 %, the default"),
        }
    }
}
