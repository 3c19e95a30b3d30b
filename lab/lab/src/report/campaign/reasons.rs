//! Why a number of ours differs from the published one: only what a run has tested, and could have told, is a reason.

use tresse_report::Estimate;

use crate::comparison::{Comparison, Rule, Scan, Verdict};
use crate::report::Report;

/// All results, among which the evidence is looked for.
pub(super) struct Evidence<'a>(pub(super) &'a [Report]);

/// What the results say of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// An experiment that changes what is thought to make the difference agrees.
    Tested,
    /// An experiment that tries what the paper leaves open excludes each of its settings.
    NotReproducible,
    /// Nothing.
    Unexplained,
}

/// The row that tests a reason, and by how many settings it was chosen; 1: there was no choice.
type Test<'a> = (usize, &'a Comparison);

impl<'a> Evidence<'a> {
    /// The rows of the same words in the experiment `id`.
    fn rows(&self, id: &str, c: &Comparison) -> Vec<&'a Comparison> {
        let of = self.0.iter().filter(|r| r.about.id == id).flat_map(|r| &r.comparisons);
        of.filter(|row| row.claim.what == c.claim.what && row.claim.value == c.claim.value)
            .collect()
    }

    /// The row of the experiment that tests the reason, if it agrees. Of several rows, as of two variants, the one
    /// counts that was nearest before it was judged.
    fn agreeing(&self, c: &Comparison) -> Option<Test<'a>> {
        let (Some(_), Some(tested)) = (&c.claim.why, &c.claim.tested) else { return None };
        let (scanned, fixed): (Vec<_>, Vec<_>) =
            self.rows(tested, c).into_iter().partition(|row| row.scan.is_some());
        let agrees = |row: &&Comparison| row.verdict == Verdict::Agrees;
        let settings = scanned.iter().filter_map(|row| row.scan).map(|scan| scan.settings).sum();
        let of_scan = nearest(&scanned).filter(agrees).map(|row| (settings, row));
        of_scan.or_else(|| fixed.into_iter().find(agrees).map(|row| (1, row)))
    }

    /// The same if it could have told: all of its interval is nearer to what it agrees with than the difference that it
    /// is to explain is large.
    fn test(&self, c: &Comparison) -> Option<Test<'a>> {
        self.agreeing(c).filter(|(_, row)| can_tell(row, c))
    }

    /// The scan in which no setting can agree, if it tried several and none of its runs failed, and the nearest. The
    /// same scan may find a reason or rule all out: a row may have named it for either.
    fn exclusion(&self, c: &Comparison) -> Option<Test<'a>> {
        let (Some(_), Some(id)) = (&c.claim.why, named(c)) else { return None };
        let failed = self.0.iter().any(|r| r.about.id == id && !r.failures.is_empty());
        let rows = self.rows(id, c);
        let scans: Vec<Scan> = rows.iter().filter_map(|row| row.scan).collect();
        let settings = scans.iter().map(|scan| scan.settings).sum();
        let none = !failed && settings > 1 && scans.iter().all(|scan| scan.possible == 0);
        nearest(&rows).filter(|_| none).map(|row| (settings, row))
    }

    /// The experiment that is the evidence of a row, if it was run.
    pub(super) fn id<'c>(&self, c: &'c Comparison) -> Option<&'c str> {
        named(c).filter(|id| !self.rows(id, c).is_empty())
    }

    /// What is known of the difference.
    pub(super) fn standing(&self, c: &Comparison) -> Standing {
        match () {
            () if self.test(c).is_some() => Standing::Tested,
            () if self.exclusion(c).is_some() => Standing::NotReproducible,
            () => Standing::Unexplained,
        }
    }

    /// The evidence in words; nothing if there is no difference. The reason itself, which many rows may have, is
    /// added to `reasons` if it is not among them, and named by its number there.
    pub(super) fn text<'c>(&self, c: &'c Comparison, reasons: &mut Vec<&'c str>) -> String {
        if c.verdict == Verdict::Agrees {
            return String::new();
        }
        let id = named(c).unwrap_or_default();
        if let Some((settings, row)) = self.test(c) {
            let which = which(id, settings, row);
            return format!("({}) tested by {which}", number(c, reasons));
        }
        if let Some((settings, row)) = self.exclusion(c) {
            return format!(
                "({}) not reproducible: each of {settings} settings in `{id}` is excluded (95 %); {}",
                number(c, reasons),
                nearest_of(row)
            );
        }
        let unexplained = self.unexplained(c);
        match c.claim.why {
            Some(_) => format!("{unexplained}; thought, not shown: ({})", number(c, reasons)),
            None => unexplained,
        }
    }

    /// What there is instead of a reason.
    fn unexplained(&self, c: &Comparison) -> String {
        let Some(id) = named(c) else {
            let missing = c.verdict == Verdict::Missing;
            return format!("unexplained{}", if missing { ": no run of ours has it" } else { "" });
        };
        let rows = self.rows(id, c);
        let scans = || rows.iter().filter_map(|row| row.scan);
        let sum = |of: fn(Scan) -> usize| -> usize { scans().map(of).sum() };
        let (settings, possible) = (sum(|scan| scan.settings), sum(|scan| scan.possible));
        if let Some((_, row)) = self.agreeing(c) {
            return format!("unexplained: {} cannot tell", which(id, settings.max(1), row));
        }
        match nearest(&rows) {
            _ if rows.is_empty() => format!("unexplained: `{id}` was not run"),
            Some(row) if c.claim.tested.is_none() && row.verdict == Verdict::Agrees => format!(
                "unexplained: `{id}` was to exclude every setting and has one that is within; {}",
                nearest_of(row)
            ),
            _ if sum(|scan| scan.holding) > 0 => {
                format!("unexplained: a setting of `{id}` is within that was not the nearest")
            }
            Some(row) => format!(
                "unexplained: {possible} of {settings} settings in `{id}` are not excluded; {}",
                nearest_of(row)
            ),
            None => format!("unexplained: {} does not remove it", which(id, 1, rows[0])),
        }
    }
}

/// The experiment that is the evidence.
fn named(c: &Comparison) -> Option<&str> {
    c.claim.tested.as_deref().or(c.claim.not_reproducible.as_deref())
}

/// Whether the row that tests a reason could have told: its interval is not as wide as the difference. Of an effect,
/// which may be missed by nothing at all, also that it lies apart from the interval of ours.
fn can_tell(row: &Comparison, c: &Comparison) -> bool {
    let Some(test) = row.ours else { return false };
    let [low, high] = test.interval();
    if let Some([least, most]) = c.ours.filter(|_| c.rule == Some(Rule::Side)).map(|o| o.interval())
        && (high < least || most < low)
    {
        return true;
    }
    let reach = (high - test.value).max(test.value - low);
    match c.difference {
        Some(difference) => reach < difference.abs(),
        // Ours has no number at all: that there is one is something.
        None => true,
    }
}

/// The row whose setting was the nearest in the runs that chose it.
fn nearest<'a>(rows: &[&'a Comparison]) -> Option<&'a Comparison> {
    let chosen = rows.iter().filter_map(|row| Some((row.scan?.chosen?, *row)));
    chosen.min_by(|a, b| a.1.claim.nearer(a.0, b.0)).map(|(_, row)| row)
}

/// What tests a reason, in words: how many runs it has, and what came out.
fn which(id: &str, settings: usize, row: &Comparison) -> String {
    match settings {
        1 => format!("`{id}` (it has {}, {})", ours(row), runs(row.ours)),
        n => format!("one of {n} settings in `{id}`: {}", nearest_of(row)),
    }
}

/// The nearest setting in words: by how many runs it was chosen, and what it has in others.
fn nearest_of(row: &Comparison) -> String {
    let chosen = row.scan.and_then(|scan| scan.chosen);
    format!(
        "the nearest, chosen by {}, has {} in {} others",
        runs(chosen),
        ours(row),
        row.ours.map_or(0, |o| o.runs)
    )
}

fn runs(estimate: Option<Estimate>) -> String {
    match estimate.map_or(0, |e| e.runs) {
        1 => "1 run".into(),
        n => format!("{n} runs"),
    }
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
