//! How many comparisons of each kind agree. The kinds are never added.

use std::fmt;

use crate::comparison::{Comparison, Kind, Verdict};

/// The comparisons of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many agree.
    pub agree: usize,
    /// How many there are.
    pub all: usize,
    /// How many of them have no number of ours.
    pub missing: usize,
}

impl Count {
    /// Whether all agree.
    #[must_use]
    pub fn is_whole(self) -> bool {
        self.agree == self.all
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {}", self.agree, self.all)?;
        match self.missing {
            0 => Ok(()),
            missing => write!(f, ", {missing} missing"),
        }
    }
}

/// The counts of all kinds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    counts: [Count; Kind::ALL.len()],
}

impl Tally {
    /// Of the comparisons of the experiment with this id; rows that repeat another one do not count.
    #[must_use]
    pub fn of(id: &str, comparisons: &[Comparison]) -> Tally {
        let mut tally = Tally::default();
        for c in comparisons.iter().filter(|c| c.claim.repeats.is_none()) {
            let count = &mut tally.counts[c.claim.kind(id) as usize];
            count.all += 1;
            count.agree += usize::from(c.verdict == Verdict::Agrees);
            count.missing += usize::from(c.verdict == Verdict::Missing);
        }
        tally
    }

    /// Counts those of another experiment as well.
    pub fn add(&mut self, other: Tally) {
        for (own, other) in self.counts.iter_mut().zip(other.counts) {
            own.agree += other.agree;
            own.all += other.all;
            own.missing += other.missing;
        }
    }

    /// The count of each kind that there is.
    pub fn kinds(&self) -> impl Iterator<Item = (Kind, Count)> {
        Kind::ALL.into_iter().zip(self.counts).filter(|(_, count)| count.all > 0)
    }
}
