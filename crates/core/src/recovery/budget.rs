//! One budget for everything that may turn out to be sent in vain (RFC 5681 §5; RFC 8085 §3.1).
//!
//! Idea: copies that ride along, retransmissions after one SACK, tail loss probes and timers that expire
//! sooner than those of RFC 9260 are *guesses*. They repair a loss before it is certain, and where nothing
//! was lost they are load without use. Load is harmless while the link is idle and ruinous while it is not:
//! there a needless packet lengthens the queue, which makes more chunks look lost. So a guess needs
//! - a **calm** path, whose round trip is what it is without a queue (`path/calm.rs`);
//! - a chunk that is **late**: it waits longer than any SACK has taken in the last minutes, of at least four
//!   (`bundling/overdue.rs`), and no repair of another chunk, which would explain it, is unanswered;
//! - **credit**, which needless guesses use up and proven losses earn.
//!
//! A retransmission after one SACK needs credit alone: the SACK is its evidence. Timers whose data would go to
//! another working path need none of this. What may not be guessed happens when RFC 9260 would do it:
//! T3-rtx waits for the timer of RFC 9260 (`association/patience.rs`), and RTO is doubled.
//!
//! ```text
//! cost    = bytes of the chunk / mean bytes of a new chunk, at least 1
//! credit  = 1 at first, at most 6                  ceiling = 16 at first and at most
//!           - cost   a guess is sent                         - cost
//!           + cost   it was useful                           + cost
//!           + 2 cost whatever repaired a loss                + 1 / 12  a new chunk is sent
//!             on a calm path
//! a guess is allowed <=> credit >= 1 and ceiling >= 1
//! ```
//! What was sent again was *in vain* if its TSN is reported as a duplicate (RFC 9260 §6.2), or acknowledged
//! sooner than a round trip after it was sent. It was *useful* if its chunk is acknowledged, and what
//! was new when it left, too, without such a report.
//!
//! # Why it cannot collapse
//!
//! RFC 5681 §5 and RFC 8085 §3.1 ask that a sender does not offer more for what looks like a loss. With `n` new
//! chunks, `v` guesses in vain and `u` losses repaired on a calm path, all in units of cost:
//! ```text
//! v <= 1 + 2 u              from the credit
//! v <= 16 + n / 12          from the ceiling: 8.4 %, whatever is reported or not
//! ```
//! and four more at most, which one packet may take beyond zero. A useful guess takes the place of a
//! retransmission that RFC 9260 would have sent later: it is no load of its own. Without losses `u = 0`, and one
//! chunk in vain is all, on any link, in the whole association. Where a queue overflows, losses come
//! while the round trip is long: the path is not calm, there are no guesses, `u` does not grow, and the
//! sender is the one of RFC 9260. Losses on a calm path are the case that is left: the link is not full, and
//! `v <= 2 u` is no more than twice what it loses.
//!
//! A duplicate whose report is lost with its SACK makes a needless guess look useful; the ceiling does
//! not depend on reports.
//!
//! A lost SACK looks like lost data: `v` cannot be zero where SACKs are lost, unless a sender waits for the next
//! one, as RFC 9260 does. Its price is one chunk without a packet of its own, or one small packet.

use std::collections::VecDeque;
use std::time::Duration;

use crate::event::LossCause;
use crate::path::PathId;
use crate::ranges::RangeSet;
use crate::recovery::{SackFacts, Sent};
use crate::scoreboard::Scoreboard;
use crate::time::Time;

/// Credit at first and at most, in new chunks.
const FIRST: f64 = 1.0;
const MOST: f64 = 6.0;
/// What a repaired loss earns, in chunks.
const REWARD: f64 = 2.0;
/// The ceiling at first and at most, in new chunks, and what new data adds to it.
const CEILING: f64 = 16.0;
const SHARE: f64 = 1.0 / 12.0;
/// Guesses that are judged at a time; of more the oldest count as in vain.
const OPEN: usize = 64;

/// A chunk that was sent again, and may have been in vain.
#[derive(Clone, Copy, Debug)]
struct Repair {
    seq: u64,
    sent: Time,
    path: PathId,
    /// The first sequence number that was new when it left, or left with it.
    end: u64,
    /// What it took from the budget: nothing if it was no guess.
    cost: f64,
    /// What it earns if it was useful.
    reward: f64,
    acknowledged: bool,
}

/// The budget of one association.
#[derive(Debug)]
pub(crate) struct Budget {
    enabled: bool,
    credit: f64,
    ceiling: f64,
    new_bytes: u64,
    new_chunks: u64,
    /// In the order of sending.
    open: VecDeque<Repair>,
    /// Chunks that a timer declared lost before that of RFC 9260 would have.
    early: RangeSet,
}

impl Budget {
    pub(crate) fn new(enabled: bool) -> Budget {
        Budget {
            enabled,
            credit: FIRST,
            ceiling: CEILING,
            new_bytes: 0,
            new_chunks: 0,
            open: VecDeque::new(),
            early: RangeSet::default(),
        }
    }

    /// Whether there is a budget at all.
    pub(crate) fn is_enabled(&self) -> bool {
        self.enabled
    }

    /// In mean new chunks, and never less than one.
    fn cost(&self, bytes: usize) -> f64 {
        if self.new_bytes == 0 {
            return 1.0;
        }
        (bytes as f64 * self.new_chunks as f64 / self.new_bytes as f64).max(1.0)
    }

    /// Whether there is credit for a guess.
    pub(crate) fn affords(&self) -> bool {
        !self.enabled || self.credit.min(self.ceiling) >= 1.0
    }

    /// When a repair of another chunk should have been answered that is under way: its packet lengthens
    /// the round trip, too.
    pub(crate) fn answer_due(&self, now: Time, seq: u64, round_trip: Duration) -> Option<Time> {
        let pending =
            |repair: &&Repair| repair.seq != seq && repair.sent != now && !repair.acknowledged;
        self.open.iter().filter(pending).map(|repair| repair.sent + round_trip).max()
    }

    /// A timer that expired early declared a chunk lost.
    pub(crate) fn on_early_timeout(&mut self, seq: u64) {
        if self.enabled {
            self.early.insert(seq);
        }
    }

    /// A chunk left.
    pub(in crate::recovery) fn on_sent(&mut self, sent: &Sent) {
        if !self.enabled {
            return;
        }
        let Some(cause) = sent.again else {
            self.new_bytes += sent.bytes as u64;
            self.new_chunks += 1;
            self.earn(0.0, SHARE);
            return;
        };
        let early = self.early.contains(sent.seq);
        self.early.remove(sent.seq);
        let guess = match cause {
            LossCause::Bundled | LossCause::TailLossProbe | LossCause::ThinFastRetransmit => true,
            LossCause::Timeout => early,
            // Not repairs.
            LossCause::Redundant | LossCause::ZeroWindowProbe | LossCause::PathFailure => return,
            _ => false,
        };
        let cost = self.cost(sent.bytes);
        let reward = if sent.calm { REWARD * cost } else { 0.0 };
        let cost = if guess { cost } else { 0.0 };
        self.credit -= cost;
        self.ceiling -= cost;
        if self.open.len() == OPEN {
            self.open.pop_front();
        }
        let Sent { now, path, seq, end, .. } = *sent;
        let repair = Repair { seq, sent: now, path, end, cost, reward, acknowledged: false };
        self.open.push_back(repair);
    }

    fn earn(&mut self, credit: f64, ceiling: f64) {
        self.credit = (self.credit + credit).min(MOST);
        self.ceiling = (self.ceiling + ceiling).min(CEILING);
    }

    /// A SACK was applied: judges what it says about guesses.
    pub(in crate::recovery) fn on_sack(&mut self, facts: &SackFacts<'_>) {
        self.early.remove_through(facts.board.cumulative());
        if self.open.is_empty() {
            return;
        }
        for seq in facts.duplicates {
            if let Some(i) = self.open.iter().position(|repair| repair.seq == *seq) {
                self.settle(i, false);
            }
        }
        for i in (0..self.open.len()).rev() {
            let repair = &mut self.open[i];
            if !is_acknowledged(facts.board, repair.seq) {
                continue;
            }
            let first_told = !std::mem::replace(&mut repair.acknowledged, true);
            let least = facts.least.get(usize::from(repair.path.0)).copied().flatten();
            if first_told && least.is_some_and(|least| facts.now.since(repair.sent) < least) {
                self.settle(i, false);
            } else if is_acknowledged(facts.board, repair.end) {
                self.settle(i, true);
            }
        }
    }

    /// A repair is judged.
    fn settle(&mut self, i: usize, useful: bool) {
        let Some(repair) = self.open.remove(i).filter(|_| useful) else { return };
        // Of several repairs of one chunk one was it.
        let last = self.open.iter().all(|other| other.seq != repair.seq);
        let reward = if last { repair.reward } else { 0.0 };
        self.earn(repair.cost + reward, repair.cost);
    }
}

fn is_acknowledged(board: &Scoreboard, seq: u64) -> bool {
    seq <= board.cumulative() || (seq < board.next_seq() && board.is_acked(seq))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const BYTES: usize = 116;

    fn send(budget: &mut Budget, seq: u64, again: Option<LossCause>) {
        let (now, path, end) = (Time::from_millis(seq), PathId(0), seq + 1);
        budget.on_sent(&Sent { now, path, seq, again, bytes: BYTES, end, calm: true });
    }

    #[test]
    fn one_guess_is_free_and_two_are_earned_by_a_loss() {
        let mut budget = Budget::new(true);
        send(&mut budget, 1, None);
        assert!(budget.affords());
        send(&mut budget, 1, Some(LossCause::Bundled));
        assert!(!budget.affords(), "nothing is known of the first");
        budget.settle(0, true);
        assert_eq!(budget.credit, 3.0);
        send(&mut budget, 2, Some(LossCause::TailLossProbe));
        budget.settle(0, false);
        assert_eq!(budget.credit, 2.0);
        send(&mut budget, 3, Some(LossCause::Rack));
        assert_eq!(budget.credit, 2.0, "no guess");
        budget.settle(0, true);
        assert_eq!(budget.credit, 4.0);
    }

    #[test]
    fn what_an_early_timer_repeats_is_a_guess() {
        let mut budget = Budget::new(true);
        send(&mut budget, 1, Some(LossCause::Timeout));
        assert!(budget.affords(), "RFC 9260 would have sent it");
        budget.on_early_timeout(2);
        send(&mut budget, 2, Some(LossCause::Timeout));
        assert!(!budget.affords());
    }

    #[test]
    fn without_a_budget_everything_is_allowed() {
        let mut budget = Budget::new(false);
        (0..100).for_each(|seq| send(&mut budget, seq, Some(LossCause::Bundled)));
        assert!(budget.affords() && budget.open.is_empty());
    }

    proptest! {
        /// Whatever happens, in whatever order: the two inequalities hold.
        #[test]
        fn needless_guesses_are_bounded(steps in prop::collection::vec((0..4u8, any::<bool>()), 1..2000)) {
            let mut budget = Budget::new(true);
            let (mut new, mut vain, mut useful) = (0.0, 0.0, 0.0);
            for (seq, (step, was_useful)) in (1u64..).zip(steps) {
                match step {
                    0 => {
                        send(&mut budget, seq, None);
                        new += 1.0;
                    }
                    1 if budget.affords() => {
                        send(&mut budget, seq, Some(LossCause::Bundled));
                    }
                    2 => send(&mut budget, seq, Some(LossCause::Rack)),
                    3 if !budget.open.is_empty() => {
                        let guess = budget.open[0].cost > 0.0;
                        budget.settle(0, was_useful);
                        vain += f64::from(u8::from(guess && !was_useful));
                        useful += f64::from(u8::from(was_useful));
                    }
                    _ => {}
                }
                prop_assert!(vain <= FIRST + REWARD * useful, "{} {}", vain, useful);
                prop_assert!(vain <= CEILING + SHARE * new, "{} {}", vain, new);
            }
        }
    }
}
