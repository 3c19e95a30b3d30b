//! What was published, as the file of an experiment says it.

use serde::{Deserialize, Serialize};
use tresse_report::Unit;

use crate::mistake::{Checked, require};

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

/// Whether the numbers that the experiment of this id is compared with are aims of this project: nobody has published
/// them.
#[must_use]
pub fn has_aims(id: &str) -> bool {
    id.starts_with("tresse/")
}

/// What `repeats` says of a number that stands in the same experiment already.
pub const ABOVE: &str = "above";

/// Declares a published number twice: as it stands in the file of an experiment, with what of ours it is compared with, and as
/// results keep it. What both have alike is declared once.
macro_rules! published {
    ($($(#[$attribute:meta])* $field:ident: $type:ty,)*) => {
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
            $($(#[$attribute])* pub $field: $type,)*
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
            /// Default: 10 % of the number, of a percentage 5 points at most. Effects (`below`, `above`) have none.
            #[serde(default)]
            pub tolerance: Option<f64>,
            $($(#[$attribute])* pub $field: $type,)*
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
                    $($field: Clone::clone(&self.$field),)*
                }
            }
        }
    };
}

published! {
    /// Where the tolerance comes from, if it is not the default.
    #[serde(default)]
    tolerance_why: Option<String>,
    /// `true`: a number of events, of which the paper has counted one run. It agrees if one run of ours may count as
    /// many: by the exact test of one count against those of all of ours. Default `false`.
    #[serde(default)]
    counted: bool,
    /// `true`: the outcome of one run of the paper, as long as one of ours, such as the largest delay in
    /// it. It agrees if it is where 95 % of our runs are (see [`Estimate::prediction`](tresse_report::Estimate::prediction)). Default `false`.
    #[serde(default)]
    one_run: bool,
    /// The mean of this many runs of the paper. It agrees if the difference of both means is less than 1.96 of its
    /// standard deviations. Their spread is taken to be that of our runs unless `interval` is given.
    #[serde(default)]
    of_runs: Option<u32>,
    /// Half of the 95 % confidence interval of the mean of `of_runs`, where it is printed.
    #[serde(default)]
    interval: Option<f64>,
    /// How exactly the number is known, in the unit: a difference counts from there on where it is judged by a spread.
    /// Default: half of its last digit, which is 0.1 of times and 1 of percentages and pure numbers.
    #[serde(default)]
    resolution: Option<f64>,
    /// Why it is known no better.
    #[serde(default)]
    resolution_why: Option<String>,
    /// `true`: the paper says it in words, such as "nearly the same", or as a bound in its prose, and the number is our
    /// reading of them. It counts among orderings and effects, and all of the interval of ours must be within the
    /// tolerance, which must be given. Default `false`.
    #[serde(default)]
    in_words: bool,
    /// `true`: the number is that of ns-2 for the scenario of the paper, which prints none. Default `false`.
    #[serde(default)]
    of_ns2: bool,
    /// How the number bounds ours. Default `equal`.
    #[serde(default)]
    relation: Relation,
    /// Why ours is thought to differ, if it does: a physical reason.
    #[serde(default)]
    why: Option<String>,
    /// The experiment that tested the reason: with what it changes, its own row of the same words (`what`)
    /// agrees. Without one, a difference is unexplained.
    #[serde(default)]
    tested: Option<String>,
    /// The experiment that tried what the paper leaves open: in none of its settings does the row of the same
    /// words agree (`measure.over = "nearest"`). Not together with `tested`.
    #[serde(default)]
    not_reproducible: Option<String>,
    /// The experiment that counts the same number already, or `above` if this one does: it is not counted twice.
    #[serde(default)]
    repeats: Option<String>,
}

impl Claim {
    /// The number as a table shows it, with the sign of its relation.
    pub fn text(&self) -> String {
        let sign = match self.relation {
            Relation::Equal if self.in_words => "≈ ",
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
            _ if has_aims(id) => Kind::Aim,
            _ if self.of_ns2 || id.contains("/ns2") => Kind::Validation,
            Relation::Equal if !self.in_words => Kind::Printed,
            _ => Kind::Effect,
        }
    }
}

impl<M> Published<M> {
    /// Checks the tolerance, which stands under `key`, and that a difference has one kind of evidence.
    pub(crate) fn check(&self, key: &str) -> Checked {
        require(self.tolerance.unwrap_or(0.0) >= 0.0, key, "must not be negative")?;
        let both = self.tested.is_some() && self.not_reproducible.is_some();
        require(!both, key, "either tested or not reproducible")?;
        let chosen = self.relation != Relation::Equal || self.tolerance.is_some();
        require(chosen || !self.in_words, key, "what is said in words has a tolerance of its own")?;
        let runs = [self.counted, self.one_run, self.of_runs.is_some(), self.in_words];
        let one = runs.iter().filter(|given| **given).count() <= 1;
        require(one, key, "is of one kind: counted, one_run, of_runs or in_words")
    }
}

/// The largest difference that counts as agreement where an experiment names none: 10 % of the number, of a
/// percentage 5 points at most.
pub(super) fn default_tolerance(value: f64, unit: Unit) -> f64 {
    let most = if unit == Unit::Percent { 5.0 } else { f64::INFINITY };
    (0.1 * value.abs()).min(most)
}
