//! Published numbers, and ours beside them.

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
    /// What this project wants of itself; nobody has published it.
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
    /// The experiment that tried what the paper leaves open and found no setting that agrees: all its rows of
    /// the same words (`what`) differ.
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

    /// How far ours is from agreeing.
    fn distance(&self, ours: Estimate) -> f64 {
        let [low, high] = ours.interval();
        let distance = match self.relation {
            _ if self.agrees(ours) => return 0.0,
            Relation::Equal => ours.value - self.value,
            Relation::Below => high - self.value,
            Relation::Above => self.value - low,
            Relation::AtMost => ours.value - self.value - self.tolerance,
            Relation::AtLeast => self.value - self.tolerance - ours.value,
        };
        // What differs is farther than what agrees, even by a hair.
        distance.abs().max(f64::MIN_POSITIVE)
    }

    fn agrees(&self, ours: Estimate) -> bool {
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
}

fn one() -> usize {
    1
}

impl Comparison {
    /// Compares with the one of ours that agrees, or else is nearest to it.
    pub fn nearest(claim: Claim, ours: &[Estimate]) -> Comparison {
        let distance = |o: &&Estimate| claim.distance(**o);
        let nearest = ours.iter().min_by(|a, b| distance(a).total_cmp(&distance(b))).copied();
        Comparison { settings: ours.len(), ..Comparison::new(claim, nearest) }
    }

    /// Compares.
    pub fn new(claim: Claim, ours: Option<Estimate>) -> Comparison {
        let difference = ours.map(|o| o.value - claim.value);
        let verdict = match ours {
            None => Verdict::Missing,
            Some(ours) if claim.agrees(ours) => Verdict::Agrees,
            Some(_) => Verdict::Differs,
        };
        Comparison { claim, ours, difference, verdict, settings: 1 }
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
            tolerance_why: None,
            counted: false,
            one_run: false,
            relation,
            why: None,
            tested: None,
            not_reproducible: None,
            repeats: None,
        }
    }

    fn verdict(claim: &Claim, value: f64, ci95: f64) -> Verdict {
        let range = [value - 1.0, value + 1.0];
        Comparison::new(claim.clone(), Some(Estimate { value, ci95: Some(ci95), range, runs: 0 }))
            .verdict
    }

    #[test]
    fn verdicts_follow_relation_and_tolerance() {
        let of = |relation, ours: f64| verdict(&claim(relation), ours, 0.5);
        assert_eq!(of(Relation::Equal, 110.0), Verdict::Agrees);
        assert_eq!(of(Relation::Equal, 89.0), Verdict::Differs);
        assert_eq!(of(Relation::AtMost, 1.0), Verdict::Agrees);
        assert_eq!(of(Relation::AtMost, 111.0), Verdict::Differs);
        assert_eq!(of(Relation::AtLeast, 1000.0), Verdict::Agrees);
        assert_eq!(of(Relation::AtLeast, 89.0), Verdict::Differs);
        assert_eq!(Comparison::new(claim(Relation::Equal), None).verdict, Verdict::Missing);
    }

    #[test]
    fn an_effect_needs_its_interval_on_the_right_side() {
        let none = Claim { value: 0.0, unit: Unit::Percent, ..claim(Relation::Above) };
        assert_eq!(verdict(&none, 2.0, 1.9), Verdict::Agrees);
        assert_eq!(verdict(&none, 2.0, 2.0), Verdict::Differs);
        assert_eq!(verdict(&none, 0.0, 0.0), Verdict::Differs);
        let below = Claim { relation: Relation::Below, ..none.clone() };
        assert_eq!(verdict(&below, -2.0, 1.9), Verdict::Agrees);
        assert_eq!(verdict(&below, -2.0, 2.1), Verdict::Differs);
        // Of a median, the extremes are the interval; a single run has none and stands for itself.
        let median = |range| Estimate { value: 6.6, ci95: None, range, runs: 0 };
        let of = |range| Comparison::new(none.clone(), Some(median(range))).verdict;
        assert_eq!(of([0.0, 15.0]), Verdict::Differs);
        assert_eq!(of([6.6, 6.6]), Verdict::Agrees);
    }

    #[test]
    fn of_several_settings_the_nearest_counts() {
        let exact = |value| Estimate { value, ci95: Some(1.0), range: [value; 2], runs: 9 };
        let of = |relation, ours: &[f64]| {
            let ours: Vec<Estimate> = ours.iter().copied().map(exact).collect();
            let c = Comparison::nearest(claim(relation), &ours);
            (c.ours.map(|o| o.value), c.verdict, c.settings)
        };
        let differs = |value, n| (Some(value), Verdict::Differs, n);
        assert_eq!(of(Relation::Equal, &[50.0, 115.0, 300.0]), differs(115.0, 3));
        assert_eq!(of(Relation::Equal, &[50.0, 91.0]), (Some(91.0), Verdict::Agrees, 2));
        assert_eq!(of(Relation::Above, &[50.0, 100.5, 99.0]), differs(100.5, 3));
        assert_eq!(of(Relation::Below, &[150.0, 98.0]), (Some(98.0), Verdict::Agrees, 2));
        assert_eq!(of(Relation::AtMost, &[150.0, 120.0]), differs(120.0, 2));
        assert_eq!(of(Relation::AtLeast, &[50.0, 20.0]), differs(50.0, 2));
        assert_eq!(of(Relation::Equal, &[]), (None, Verdict::Missing, 0));
    }

    #[test]
    fn nothing_at_all_is_not_about_one() {
        let one =
            Claim { value: 1.0, tolerance: 1.0, unit: Unit::Number, ..claim(Relation::Equal) };
        assert_eq!(verdict(&one, 0.0, 0.0), Verdict::Differs);
        assert_eq!(verdict(&one, 0.2, 0.1), Verdict::Agrees);
        let zero = Claim { value: 0.0, ..one };
        assert_eq!(verdict(&zero, 0.0, 0.0), Verdict::Agrees);
    }

    #[test]
    fn counts_are_compared_by_their_own_spread() {
        // One run that counts 100 on average counts between 80 and 120.
        let counted =
            |value| Claim { value, counted: true, tolerance: 0.0, ..claim(Relation::Equal) };
        for (published, expected) in
            [(81.0, Verdict::Agrees), (119.0, Verdict::Agrees), (121.0, Verdict::Differs)]
        {
            assert_eq!(verdict(&counted(published), 100.0, 0.5), expected, "{published}");
        }
        assert_eq!(counted(1.0).tolerance_text(), "95 % of counts");
    }

    #[test]
    fn the_outcome_of_one_run_is_compared_with_single_runs_of_ours() {
        let of = |claim: &Claim, runs: &[f64]| {
            Comparison::new(claim.clone(), Estimate::of(runs)).verdict
        };
        let largest = Claim { one_run: true, ..claim(Relation::Equal) };
        // A mean of 120 is outside 10 % of 100, but single runs reach from 80 to 160.
        let runs = [80.0, 100.0, 120.0, 140.0, 160.0];
        assert_eq!(of(&largest, &runs), Verdict::Agrees);
        assert_eq!(of(&claim(Relation::Equal), &runs), Verdict::Differs);
        assert_eq!(of(&largest, &[119.0, 120.0, 121.0]), Verdict::Differs);
        assert_eq!(of(&largest, &[80.0, 160.0]), Verdict::Differs, "two say nothing of a spread");
        // Few runs do not make it wide: 2.8 is not among runs that have 1000 and 2000.
        let far = Claim { value: 2.8, tolerance: 0.28, ..largest.clone() };
        assert_eq!(of(&far, &[1000.4, 1997.4, 2000.0]), Verdict::Differs);
        // What comes in clumps is spread more widely than a Poisson distribution.
        let clumps = Claim { counted: true, value: 150.0, ..claim(Relation::Equal) };
        assert_eq!(of(&clumps, &[100.0, 101.0, 99.0, 100.0]), Verdict::Differs);
        assert_eq!(of(&clumps, &[60.0, 160.0, 80.0, 120.0]), Verdict::Agrees);
        // One event in a run, where ours have 0.1 on average, is one run in ten.
        let mut seldom = vec![0.0; 10];
        seldom[0] = 1.0;
        assert_eq!(of(&Claim { value: 1.0, ..clumps.clone() }, &seldom), Verdict::Agrees);
        assert_eq!(of(&Claim { value: 3.0, ..clumps }, &seldom), Verdict::Differs);
    }

    #[test]
    fn claims_are_of_four_kinds_and_say_where_their_tolerance_comes_from() {
        let kind = |id, relation| claim(relation).kind(id);
        assert_eq!(kind("pedersen/table3.1", Relation::Equal), Kind::Printed);
        assert_eq!(kind("hurtig/fig8", Relation::Below), Kind::Effect);
        assert_eq!(kind("sarnow/fig5.9", Relation::AtLeast), Kind::Effect);
        assert_eq!(kind("ladha/ns2-transfer", Relation::Equal), Kind::Validation);
        assert_eq!(kind("tresse/rule1", Relation::AtLeast), Kind::Aim);
        assert_eq!(claim(Relation::Equal).tolerance_text(), "10 %: default");
        let why = Some("half a division of the axis".to_owned());
        let read = Claim { tolerance: 5.0, tolerance_why: why, ..claim(Relation::Equal) };
        assert_eq!(read.tolerance_text(), "5.0 ms: half a division of the axis");
    }
}
