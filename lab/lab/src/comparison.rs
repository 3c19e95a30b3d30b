//! Published numbers, and ours beside them.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};
use tresse_report::{Estimate, Unit};

use crate::mistake::{Checked, require};
use crate::poisson;

/// How a published number relates to ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// About equal: they differ by the tolerance at most.
    #[default]
    Equal,
    /// An effect: all of the interval of ours is below it.
    Below,
    /// An effect: all of the interval of ours is above it.
    Above,
    /// A bound that ours may touch: not above it by more than the tolerance.
    AtMost,
    /// A bound that ours may touch: not below it by more than the tolerance.
    AtLeast,
}

/// What a comparison is about. These are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A value that a paper prints or draws.
    Printed,
    /// An ordering or an effect that a paper claims, or a bound that it names.
    Effect,
    /// A value that ns-2 gives for the same scenario.
    Validation,
    /// What this project aims at; it was not published elsewhere.
    Aim,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 4] = [Kind::Printed, Kind::Effect, Kind::Validation, Kind::Aim];

    /// In words.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Kind::Printed => "printed values",
            Kind::Effect => "orderings and effects",
            Kind::Validation => "ns-2 validation",
            Kind::Aim => "our own aims",
        }
    }
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
    /// Where the tolerance comes from; `None`: the default of the unit.
    #[serde(default)]
    pub tolerance_why: Option<String>,
    /// A number of events, of which the paper has counted one run.
    #[serde(default)]
    pub counted: bool,
    /// The outcome of one run of the paper, as long as one of ours.
    #[serde(default)]
    pub one_run: bool,
    /// How the number bounds ours.
    pub relation: Relation,
    /// Why ours is thought to differ, if it does: a physical reason.
    pub why: Option<String>,
    /// The experiment that tested the reason: with what it changes, its own row of the same words agrees.
    #[serde(default)]
    pub tested: Option<String>,
    /// The experiment that tried what the paper leaves open and found no setting that agrees in its rows of the
    /// same words (`what`), both in the runs that choose the nearest one and in those that judge it.
    #[serde(default)]
    pub not_reproducible: Option<String>,
    /// The experiment that counts the same number already.
    #[serde(default)]
    pub repeats: Option<String>,
}

impl Claim {
    /// The number as a table shows it, with the sign of its relation.
    pub fn text(&self) -> String {
        let sign = match self.relation {
            Relation::Equal => "",
            Relation::Below => "< ",
            Relation::Above => "> ",
            Relation::AtMost => "≤ ",
            Relation::AtLeast => "≥ ",
        };
        format!("{sign}{}", self.unit.format(self.value))
    }

    /// What it is about, as a claim of the experiment with this id.
    pub fn kind(&self, id: &str) -> Kind {
        match self.relation {
            _ if id.starts_with("tresse/") => Kind::Aim,
            _ if id.contains("/ns2") => Kind::Validation,
            Relation::Equal => Kind::Printed,
            _ => Kind::Effect,
        }
    }

    /// The tolerance and where it comes from, in words.
    pub fn tolerance_text(&self) -> String {
        let size = self.unit.format_difference(self.tolerance);
        let size = size.trim_start_matches('+');
        match (self.relation, &self.tolerance_why) {
            (Relation::Below | Relation::Above, _) => "all of the interval".into(),
            (Relation::Equal, _) if self.counted => "95 % of counts".into(),
            (Relation::Equal, _) if self.one_run => {
                format!("{size}: 10 %, or where our runs are")
            }
            (_, Some(why)) => format!("{size}: {why}"),
            (_, None) if self.tolerance == 0.0 => "none".into(),
            (_, None) if self.unit == Unit::Percent && self.tolerance == 5.0 => {
                "5 points: default of percentages".into()
            }
            (_, None)
                if (self.tolerance - 0.1 * self.value.abs()).abs() <= 0.01 * self.tolerance =>
            {
                "10 %: default".into()
            }
            (_, None) => size.to_owned(),
        }
    }

    /// The value is where our single runs are.
    fn is_as_our_runs(&self, ours: Estimate) -> bool {
        // Delays are printed to a tenth of a millisecond.
        let rounding = if self.unit == Unit::Milliseconds { 0.05 } else { 0.0 };
        ours.run_limits()
            .is_some_and(|[low, high]| (low - rounding..=high + rounding).contains(&self.value))
    }

    /// About equal.
    fn is_about(&self, ours: Estimate) -> bool {
        let near = (ours.value - self.value).abs() <= self.tolerance;
        match (self.counted, self.one_run) {
            // What one run counts is spread as a Poisson distribution with our mean is, or more: chunks that
            // travel in one packet come in clumps, which our own runs show.
            (true, _) => poisson::is_usual(self.value, ours.value) || self.is_as_our_runs(ours),
            (false, true) => near || self.is_as_our_runs(ours),
            (false, false) => near,
        }
    }

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
        let difference = ours.value - self.value;
        let [low, high] = ours.interval();
        match self.relation {
            // Something that never happens is not about as much as something that does.
            Relation::Equal if self.value != 0.0 && low == 0.0 && high == 0.0 => false,
            Relation::Equal => self.is_about(ours),
            Relation::Below => high < self.value,
            Relation::Above => low > self.value,
            Relation::AtMost => difference <= self.tolerance,
            Relation::AtLeast => difference >= -self.tolerance,
        }
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
    /// Default: 5 points of a percentage, 10 % of anything else. Effects (`below`, `above`) have none.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// Where the tolerance comes from, if it is not the default.
    #[serde(default)]
    pub tolerance_why: Option<String>,
    /// `true`: a number of events, of which the paper has counted one run. It agrees if it is
    /// where 95 % of the counts of single runs are, by ours, or where single runs of ours are. Default `false`.
    #[serde(default)]
    pub counted: bool,
    /// `true`: the outcome of one run of the paper, as long as one of ours, such as the largest delay in
    /// it. It agrees also if it is where our runs are (see [`Estimate::run_limits`]). Default `false`.
    #[serde(default)]
    pub one_run: bool,
    /// How the number bounds ours. Default `equal`.
    #[serde(default)]
    pub relation: Relation,
    /// Why ours is thought to differ, if it does: a physical reason.
    #[serde(default)]
    pub why: Option<String>,
    /// The experiment that tested the reason: with what it changes, its own row of the same words (`what`)
    /// agrees. Without one, a difference is unexplained.
    #[serde(default)]
    pub tested: Option<String>,
    /// The experiment that tried what the paper leaves open: in none of its settings does the row of the same
    /// words agree (`measure.over = "nearest"`). Not together with `tested`.
    #[serde(default)]
    pub not_reproducible: Option<String>,
    /// The experiment that counts the same number already: it is not counted twice.
    #[serde(default)]
    pub repeats: Option<String>,
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
            tolerance_why: self.tolerance_why.clone(),
            counted: self.counted,
            one_run: self.one_run,
            relation: self.relation,
            why: self.why.clone(),
            tested: self.tested.clone(),
            not_reproducible: self.not_reproducible.clone(),
            repeats: self.repeats.clone(),
        }
    }

    /// Checks the tolerance, which stands under `key`, and that a difference has one kind of evidence.
    pub(crate) fn check(&self, key: &str) -> Checked {
        require(self.tolerance.unwrap_or(0.0) >= 0.0, key, "must not be negative")?;
        let both = self.tested.is_some() && self.not_reproducible.is_some();
        require(!both, key, "either tested or not reproducible")
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
    /// Of how many settings ours is the nearest. 1: there was no choice.
    #[serde(default = "one")]
    pub settings: usize,
    /// What the nearest of several settings had in the runs by which it was chosen. Ours is what it has in others.
    #[serde(default)]
    pub chosen: Option<Estimate>,
    /// How many of several settings agree both in the runs that choose and in those that judge. `None`: there was
    /// no choice.
    #[serde(default)]
    pub holding: Option<usize>,
}

fn one() -> usize {
    1
}

impl Comparison {
    /// Compares with the nearest of several settings: chosen by the runs of the first estimate, judged by those of
    /// the second, which had other seeds. So what agrees by chance in one of many is not taken for an agreement.
    pub fn nearest(claim: Claim, settings: &[(Estimate, Option<Estimate>)]) -> Comparison {
        let nearest = settings.iter().min_by(|a, b| claim.nearer(a.0, b.0)).copied();
        let (chosen, ours) = (nearest.map(|n| n.0), nearest.and_then(|n| n.1));
        let agrees = |ours: Estimate| claim.agrees(ours);
        let holds = |s: &&(Estimate, Option<Estimate>)| agrees(s.0) && s.1.is_some_and(agrees);
        let holding = Some(settings.iter().filter(holds).count());
        Comparison { settings: settings.len(), chosen, holding, ..Comparison::new(claim, ours) }
    }

    /// Whether no setting agrees in both halves of the runs: what agrees in one half only does so by chance.
    pub fn agrees_nowhere(&self) -> bool {
        self.settings > 1 && self.holding == Some(0)
    }

    /// The same numbers by today's rules; what was chosen stays.
    pub fn judged_again(self) -> Comparison {
        let Comparison { claim, ours, difference: _, verdict: _, settings, chosen, holding } = self;
        Comparison { settings, chosen, holding, ..Comparison::new(claim, ours) }
    }

    /// Compares.
    pub fn new(claim: Claim, ours: Option<Estimate>) -> Comparison {
        let difference = ours.map(|o| o.value - claim.value);
        let verdict = match ours {
            None => Verdict::Missing,
            Some(ours) if claim.agrees(ours) => Verdict::Agrees,
            Some(_) => Verdict::Differs,
        };
        Comparison { claim, ours, difference, verdict, settings: 1, chosen: None, holding: None }
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
mod tests;
