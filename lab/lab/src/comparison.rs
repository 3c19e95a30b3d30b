//! Published numbers, and ours beside them.

use serde::{Deserialize, Serialize};
use tresse_report::Estimate;

pub use claim::{ABOVE, Claim, Kind, Published, Relation, has_aims};
pub use judge::Rule;

mod claim;
mod judge;
mod reason;

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
    /// What decided.
    #[serde(default)]
    pub rule: Option<Rule>,
    /// Ours less the published number, in standard deviations of the difference, where both spreads are known.
    #[serde(default)]
    pub z: Option<f64>,
    /// The settings of a scan, of which ours is the nearest; `None`: there was no choice.
    #[serde(default)]
    pub scan: Option<Scan>,
}

/// What a scan of settings found for one published number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Scan {
    /// How many settings have a number.
    pub settings: usize,
    /// How many of them agree both in the runs that choose the nearest and in those that judge it.
    pub holding: usize,
    /// How many are not excluded: by all of their runs, with 95 %, they may agree.
    pub possible: usize,
    /// What the nearest had in the runs by which it was chosen. Ours is what it has in others.
    pub chosen: Option<Estimate>,
}

/// One setting of a scan, by its runs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    /// Those that choose.
    pub(crate) choosing: Estimate,
    /// Those that judge.
    pub(crate) judging: Option<Estimate>,
    /// All of them.
    pub(crate) all: Estimate,
}

impl Comparison {
    /// Compares with the nearest of several settings: chosen by some of the runs, judged by the others, which had
    /// other seeds. So what agrees by chance in one of many is not taken for an agreement.
    pub(crate) fn nearest(claim: Claim, settings: &[Setting]) -> Comparison {
        let nearest = settings.iter().min_by(|a, b| claim.nearer(a.choosing, b.choosing)).copied();
        let agrees = |ours: Estimate| claim.agrees(ours);
        let holds = |s: &&Setting| agrees(s.choosing) && s.judging.is_some_and(agrees);
        let scan = Scan {
            settings: settings.len(),
            holding: settings.iter().filter(holds).count(),
            possible: settings.iter().filter(|s| !claim.judge(s.all).excluded).count(),
            chosen: nearest.map(|n| n.choosing),
        };
        let ours = nearest.and_then(|n| n.judging);
        Comparison { scan: Some(scan), ..Comparison::new(claim, ours) }
    }

    /// The same numbers by today's rules; what was scanned stays.
    pub fn judged_again(self) -> Comparison {
        Comparison { scan: self.scan, ..Comparison::new(self.claim, self.ours) }
    }

    /// Compares.
    pub fn new(claim: Claim, ours: Option<Estimate>) -> Comparison {
        let difference = ours.map(|o| o.value - claim.value);
        let judgement = ours.map(|ours| claim.judge(ours));
        let verdict = match judgement {
            None => Verdict::Missing,
            Some(judgement) if judgement.within => Verdict::Agrees,
            Some(_) => Verdict::Differs,
        };
        let (rule, z) = (judgement.map(|j| j.rule), judgement.and_then(|j| j.z));
        Comparison { claim, ours, difference, verdict, rule, z, scan: None }
    }

    /// Half of the interval that a single run is judged by, in percent of the published number.
    pub(crate) fn half_width(&self) -> Option<f64> {
        let ours = self.ours.filter(|_| self.rule == Some(Rule::OneRun) && self.claim.value != 0.0);
        let [low, high] = ours?.prediction()?;
        Some(50.0 * (high - low) / self.claim.value.abs())
    }

    /// What decided, in words.
    pub(crate) fn decided_by(&self) -> String {
        self.claim.decided_by(self.ours)
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
