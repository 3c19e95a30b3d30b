//! Why a number of ours differs from the published one: only what a run has tested is a reason.

use crate::comparison::{Comparison, Verdict};
use crate::report::Report;

/// All results, among which the evidence is looked for.
pub(super) struct Evidence<'a>(pub(super) &'a [Report]);

impl Evidence<'_> {
    /// Whether the experiment that is said to test the reason has done so: its row of the same words agrees.
    pub(super) fn explains(&self, c: &Comparison) -> bool {
        let (Some(_), Some(tested)) = (&c.claim.why, &c.claim.tested) else { return false };
        let rows = self.0.iter().filter(|r| r.about.id == *tested).flat_map(|r| &r.comparisons);
        rows.filter(|row| row.claim.what == c.claim.what).any(|row| row.verdict == Verdict::Agrees)
    }

    /// The reason in words; nothing if there is no difference.
    pub(super) fn text(&self, c: &Comparison) -> String {
        match (c.verdict, &c.claim.why, &c.claim.tested) {
            (Verdict::Agrees, ..) => String::new(),
            (Verdict::Missing, ..) => "its runs failed or were not made".into(),
            (_, Some(why), Some(tested)) if self.explains(c) => {
                format!("{why} Tested by `{tested}`.")
            }
            (_, _, Some(tested)) => format!("unexplained: `{tested}` does not remove it"),
            _ => "unexplained".into(),
        }
    }
}
