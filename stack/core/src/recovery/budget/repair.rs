//! A chunk that was sent again, and what SACKs tell of it (RFC 9260 §6.2; RFC 7053).

use crate::ids::PathId;
use crate::recovery::SackFacts;
use crate::scoreboard::Scoreboard;
use crate::time::Time;

/// A chunk that was sent again, and may have been in vain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    pub(super) seq: u64,
    pub(super) sent: Time,
    pub(super) path: PathId,
    /// The first sequence number that was new when it left, or left with it.
    pub(super) end: u64,
    pub(super) cost: f64,
    /// The budget has paid for it.
    pub(super) guess: bool,
    /// SACKs have shown that others overtook it.
    pub(super) order: bool,
    /// No queue was found on its path.
    pub(super) calm: bool,
    /// When its chunk was first acknowledged.
    pub(super) acknowledged: Option<Time>,
    /// The SACK of an earlier transmission was lost.
    pub(super) explained: bool,
}

/// What became of a repair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Useful,
    InVain,
}

impl Repair {
    /// Whether a SACK is the first one to acknowledge the chunk, and its own; `asked`: it had asked for one.
    pub(super) fn note_answer(&mut self, facts: &SackFacts<'_>, asked: bool) {
        let seq = self.seq;
        if self.acknowledged.is_some() || !is_acknowledged(facts.board, seq) {
            return;
        }
        self.acknowledged = Some(facts.now);
        let newer = facts.outcome.highest_newly_acked.is_some_and(|highest| highest > seq);
        self.explained = asked && (newer || facts.duplicates.contains(&seq));
    }

    /// It is of another chunk than `seq`, did not leave just `now`, and is not answered.
    pub(super) fn keeps_waiting(&self, now: Time, seq: u64) -> bool {
        self.seq != seq && self.sent != now && self.acknowledged.is_none()
    }

    /// What an acknowledgement says of it, without a report of a duplicate.
    pub(super) fn outcome(&self, facts: &SackFacts<'_>) -> Option<Outcome> {
        let acknowledged = self.acknowledged?;
        let least = facts.least.get(usize::from(self.path.0)).copied().flatten();
        // A repair may be a smaller packet than any that was measured.
        if least.is_some_and(|least| 2 * acknowledged.since(self.sent) < least) {
            return Some(Outcome::InVain);
        }
        is_acknowledged(facts.board, self.end).then_some(Outcome::Useful)
    }
}

fn is_acknowledged(board: &Scoreboard, seq: u64) -> bool {
    seq <= board.cumulative() || (seq < board.next_seq() && board.is_acked(seq))
}
