//! Why a number of ours differs from the published one: only what a run has tested is a reason.

use tresse_report::Estimate;

use crate::comparison::{Comparison, Verdict};
use crate::report::Report;

/// All results, among which the evidence is looked for.
pub(super) struct Evidence<'a>(pub(super) &'a [Report]);

/// What the results say of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// An experiment that changes what is thought to make the difference agrees.
    Tested,
    /// An experiment that tries what the paper leaves open has no setting that agrees in both halves of its runs.
    NotReproducible,
    /// Nothing.
    Unexplained,
}

impl<'a> Evidence<'a> {
    /// The rows of the same words in the experiment `id`.
    fn rows(&self, id: &str, c: &Comparison) -> Vec<&'a Comparison> {
        let of = self.0.iter().filter(|r| r.about.id == id).flat_map(|r| &r.comparisons);
        of.filter(|row| row.claim.what == c.claim.what && row.claim.value == c.claim.value)
            .collect()
    }

    /// The row of the experiment that tests the reason, and among how many settings it was chosen, if it agrees.
    /// Of several rows, as of two variants, the one counts that was nearest before it was judged.
    fn test(&self, c: &Comparison) -> Option<(usize, &'a Comparison)> {
        let (Some(_), Some(tested)) = (&c.claim.why, &c.claim.tested) else { return None };
        let (scanned, fixed): (Vec<_>, Vec<_>) =
            self.rows(tested, c).into_iter().partition(|row| row.settings > 1);
        let agrees = |row: &&Comparison| row.verdict == Verdict::Agrees;
        let settings = scanned.iter().map(|row| row.settings).sum();
        let of_scan = nearest(&scanned).filter(agrees).map(|row| (settings, row));
        of_scan.or_else(|| fixed.into_iter().find(agrees).map(|row| (1, row)))
    }

    /// In how many settings the experiment that tries them has a number, and the nearest; none if one agrees in both
    /// halves of the runs, if it tried only one, or if runs of it failed. The same scan may find a reason or rule
    /// all out: a row may have named it for either.
    fn scan(&self, c: &Comparison) -> Option<(usize, &'a Comparison)> {
        let (Some(_), Some(id)) = (&c.claim.why, named(c)) else { return None };
        let failed = self.0.iter().any(|r| r.about.id == id && !r.failures.is_empty());
        let rows = self.rows(id, c);
        let nowhere = !failed && rows.iter().all(|row| row.agrees_nowhere());
        let settings = rows.iter().map(|row| row.settings).sum();
        nearest(&rows).filter(|_| nowhere).map(|row| (settings, row))
    }

    /// Whether a setting of the experiment `id` agrees in both halves of the runs, though it was not the nearest.
    fn has_another(&self, id: &str, c: &Comparison) -> bool {
        self.rows(id, c).iter().any(|row| row.holding.is_some_and(|n| n > 0))
    }

    /// What is known of the difference.
    pub(super) fn standing(&self, c: &Comparison) -> Standing {
        match () {
            () if self.test(c).is_some() => Standing::Tested,
            () if self.scan(c).is_some() => Standing::NotReproducible,
            () => Standing::Unexplained,
        }
    }

    /// The evidence in words; nothing if there is no difference. The reason itself, which many rows may have, is
    /// added to `reasons` if it is not among them, and named by its number there.
    pub(super) fn text<'c>(&self, c: &'c Comparison, reasons: &mut Vec<&'c str>) -> String {
        if c.verdict == Verdict::Agrees {
            return String::new();
        }
        let tested = c.claim.tested.as_deref();
        match (self.test(c), self.scan(c), tested, named(c)) {
            (Some((1, row)), _, Some(id), _) => {
                format!("({}) tested by `{id}`, which has {}", number(c, reasons), ours(row))
            }
            (Some((settings, row)), _, Some(id), _) => {
                let which = which(id, settings, row);
                format!("({}) tested by {which}", number(c, reasons))
            }
            (_, Some((settings, row)), _, Some(id)) => {
                let which = which(id, settings, row);
                format!("({}) not reproducible: not even {which}", number(c, reasons))
            }
            (_, _, Some(id), _) if self.has_another(id, c) => {
                format!("unexplained: a setting of `{id}` is within that was not the nearest")
            }
            (_, _, Some(id), _) => format!("unexplained: `{id}` does not remove it"),
            (_, _, _, Some(id)) => format!("unexplained: `{id}` does not rule it out"),
            _ if c.verdict == Verdict::Missing => "unexplained: no run of ours has it".into(),
            _ => "unexplained".into(),
        }
    }
}

/// The experiment that is the evidence.
fn named(c: &Comparison) -> Option<&str> {
    c.claim.tested.as_deref().or(c.claim.not_reproducible.as_deref())
}

/// The row whose setting was the nearest in the runs that chose it.
fn nearest<'a>(rows: &[&'a Comparison]) -> Option<&'a Comparison> {
    let chosen = rows.iter().filter_map(|row| Some((row.chosen?, *row)));
    chosen.min_by(|a, b| a.1.claim.nearer(a.0, b.0)).map(|(_, row)| row)
}

/// The nearest setting in words: among how many, and by how many runs, it was chosen, and what it has in others.
fn which(id: &str, settings: usize, row: &Comparison) -> String {
    let runs = |estimate: Option<Estimate>| estimate.map_or(0, |e| e.runs);
    format!(
        "the nearest of {settings} settings in `{id}`, chosen by {} runs of each, which has {} in {} others",
        runs(row.chosen),
        ours(row),
        runs(row.ours)
    )
}

/// Our number of a row.
fn ours(row: &Comparison) -> String {
    row.ours.map_or_else(|| "–".into(), |o| row.claim.unit.format_estimate(o))
}

/// The number of the reason of a row, counted from 1.
fn number<'c>(c: &'c Comparison, reasons: &mut Vec<&'c str>) -> usize {
    let why = c.claim.why.as_deref().unwrap_or_default();
    let place = reasons.iter().position(|reason| *reason == why);
    place.unwrap_or_else(|| {
        reasons.push(why);
        reasons.len() - 1
    }) + 1
}
