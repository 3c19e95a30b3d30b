//! What could not be used of a capture, and why.

use std::collections::BTreeMap;

use serde::Serialize;

/// Counts of what was passed over, by reason. Nothing in a capture stops the analysis; whatever it
/// cannot use is counted here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Skipped(BTreeMap<&'static str, u64>);

impl Skipped {
    /// Counts one thing that was passed over.
    pub fn add(&mut self, reason: &'static str) {
        self.add_many(reason, 1);
    }

    /// Counts several of them.
    pub fn add_many(&mut self, reason: &'static str, count: u64) {
        *self.0.entry(reason).or_default() += count;
    }

    /// How often for this reason.
    #[must_use]
    pub fn count(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or(0)
    }

    /// Reasons and counts, in the order of the alphabet.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}
