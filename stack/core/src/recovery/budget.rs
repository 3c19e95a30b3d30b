//! One budget for everything that may turn out to be sent in vain (RFC 5681 §5; RFC 8085 §3.1).
//!
//! Idea: copies that ride along, retransmissions after one SACK, tail loss probes and timers that expire
//! sooner than those of RFC 9260 are *guesses*. They repair a loss before it is certain, and where nothing
//! was lost they are load without use. Load is harmless while the link is idle and ruinous while it is not:
//! there a needless packet lengthens the queue, which makes more chunks look lost. So a guess needs
//! - a **calm** path, whose round trip is what it is without a queue (`path/calm.rs`);
//! - a chunk that is **late**: it waits longer than any SACK has taken in the last minutes, of at least four
//!   (`bundling/late_sacks.rs`), and than a repair in front of it would explain (`guess.rs`); and no repair of
//!   another chunk is unanswered. A repair is a packet more than the stream has by itself. On a slow link that is
//!   nearly full the queue that it makes lasts, and chunk after chunk would look lost behind it. What one adds
//!   is known after four;
//! - **credit**, which needless guesses use up, and proven losses and new data earn.
//!
//! A retransmission after one SACK need not be late, and the first one is free: the SACK is its evidence. So is the first
//! timer whose data goes to another path that works and is near; once it has expired, further ones need none of this
//! (`path/patience.rs`). RACK may declare lost what fewer than three packets have overtaken unless SACKs have misled twice more
//! often than not, and than in one of 128 new chunks. What may not be guessed happens when RFC 9260 would do it: T3-rtx waits for the timer of RFC 9260, and RTO
//! is doubled.
//!
//! ```text
//! cost    = bytes of the chunk / mean bytes of a new chunk, at least 1
//! credit  = 0 at first, at most 6      share = 1 at first, at most 6     ceiling = 16 at first and at most
//!           - cost a guess is sent             - cost                              - cost
//!           + cost it was useful               + cost                              + cost
//!           + cost a lost SACK explains it     + cost
//!           - cost no guess, in vain and       - cost
//!                  unexplained: to -6            to -6
//!           + 2    a loss was repaired         + 1 / 128 a new chunk is sent       + 1 / 12
//!                  on a calm path
//! a guess is allowed <=> each of them >= 1, after one SACK credit >= 0 and the others >= 1
//! ```
//! What was sent again was *in vain* if its TSN is reported as a duplicate (RFC 9260 §6.2), or acknowledged
//! sooner than half of the shortest round trip after it was sent. It was *useful* if its chunk is acknowledged, and what
//! was new when it left, too, without such a report.
//!
//! A lost SACK looks like lost data, and no sender that does not wait for the next one can tell them apart. But
//! afterwards it can: the chunk had asked for a SACK at once (RFC 7053), so it has one of its own. If the first
//! SACK that acknowledges it answers something sent later, the copy or newer data, its own was lost. If
//! it does not, its own was late, as behind a queue, and to guess was a mistake. SACKs are lost as data is: four are
//! believed to be, and two more for each loss that was repaired on a calm path. A peer that grants no SACK at once
//! would otherwise excuse every guess.
//!
//! # Why it cannot collapse
//!
//! RFC 5681 §5 and RFC 8085 §3.1 ask that a sender does not offer more for what looks like a loss. With `n` new
//! chunks and `v` guesses in vain, `w` of them not explained by a lost SACK, all in units of cost:
//! ```text
//! w <= 1 + 2 u              from the credit, u losses repaired on a calm path
//! w <= 1 + n / 128          from the share: less than one percent
//! v <= 16 + n / 12          from the ceiling: 8.4 %, whatever is reported or not
//! ```
//! where the first two hold for all that is in vain as long as guesses are made: what RFC 9260 itself repeats in
//! vain leaves less for them. And four more at most, which one packet may take beyond zero. A useful guess takes the
//! place of a retransmission that RFC 9260 would have sent later: it is no load of its own. Without losses there is
//! one guess at most, after reordering. With many, as on a full link, no more than the share. And where a queue overflows,
//! losses come while the path is not calm: nothing is earned, and the sender is the one of RFC 9260.
//! A duplicate whose report is lost with its SACK makes a needless guess look useful; the ceiling needs no reports.

mod funds;
mod guess;
mod repair;

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::ids::LossCause;
use crate::profile::Profile;
use crate::ranges::RangeSet;
use crate::recovery::{Advisor, Guess, SackFacts, Sent};
use crate::time::Time;
use funds::{CEILING_SHARE, FIRST, Funds, MOST, SHARE};
use guess::{behind_repair, is_first_of_a_path_that_works, is_near};
use repair::{Outcome, Repair};

/// What a repaired loss adds to the credit.
const REWARD: f64 = 2.0;
/// After this many repairs it is known what one adds to the round trip.
const KNOWN: u32 = 4;
/// This many lost SACKs are believed at first, and for each loss that was repaired on a calm path.
const EXCUSES: u32 = 4;
const EXCUSES_FOR_LOSS: u32 = 2;
/// Guesses that are judged at a time; of more the oldest count as in vain.
const OPEN: usize = 64;

/// The budget of one association.
#[derive(Debug)]
pub(in crate::recovery) struct Budget {
    enabled: bool,
    funds: Funds,
    /// How often what SACKs show may still be wrong.
    order: f64,
    new_bytes: u64,
    new_chunks: u64,
    /// In the order of sending.
    open: VecDeque<Repair>,
    /// Losses that were repaired on a calm path.
    repaired: u32,
    /// What was in vain, and a lost SACK explains.
    excused: u32,
    /// Chunks that a timer declared lost before that of RFC 9260 would have.
    premature: RangeSet,
    /// Chunks that asked for a SACK at once when they were new.
    asked: RangeSet,
}

impl Budget {
    fn new(enabled: bool) -> Budget {
        Budget {
            enabled,
            funds: Funds::default(),
            order: FIRST,
            new_bytes: 0,
            new_chunks: 0,
            open: VecDeque::new(),
            repaired: 0,
            excused: 0,
            premature: RangeSet::default(),
            asked: RangeSet::default(),
        }
    }

    /// A guess may be sent.
    fn affords(&self) -> bool {
        !self.enabled || self.funds.cover_guess()
    }

    /// Enough was repaired to know what a repair adds to the round trip.
    const fn knows_repairs(&self) -> bool {
        self.repaired >= KNOWN
    }

    /// When a repair of another chunk should have been answered that is under way: its packet lengthens
    /// the round trip, too.
    fn answer_due(&self, now: Time, seq: u64, round_trip: Duration) -> Option<Time> {
        let pending = self.open.iter().filter(|repair| repair.keeps_waiting(now, seq));
        pending.map(|repair| repair.sent + round_trip).max()
    }

    /// In mean new chunks, and never less than one.
    fn cost(&self, bytes: usize) -> f64 {
        if self.new_bytes == 0 {
            return 1.0;
        }
        (bytes as f64 * self.new_chunks as f64 / self.new_bytes as f64).max(1.0)
    }

    /// Whether one more lost SACK is likely, as losses go both ways.
    fn believes_lost_sack(&self) -> bool {
        self.excused < EXCUSES + EXCUSES_FOR_LOSS * self.repaired
    }

    /// A repair is judged.
    fn settle(&mut self, i: usize, outcome: Outcome) {
        let Some(repair) = self.open.remove(i) else { return };
        let Repair { cost, guess, order, explained, .. } = repair;
        if outcome == Outcome::InVain {
            let explained = explained && self.believes_lost_sack();
            self.excused = self.excused.saturating_add(u32::from(explained));
            self.order -= if order && !explained { 1.0 } else { 0.0 };
            match (guess, explained) {
                (true, true) => self.funds.add(cost, cost, 0.0),
                (false, false) => self.funds.lose(cost),
                _ => {}
            }
            return;
        }
        // Of several repairs of one chunk one was it.
        let last = self.open.iter().all(|other| other.seq != repair.seq);
        let paid = if guess { cost } else { 0.0 };
        self.order = (self.order + f64::from(u8::from(order))).min(MOST);
        let repaired = last && repair.calm;
        self.repaired = self.repaired.saturating_add(u32::from(repaired));
        let reward = if repaired { REWARD } else { 0.0 };
        self.funds.add(paid + reward, paid, paid);
    }
}

impl Advisor for Budget {
    fn of(profile: &Profile) -> Budget {
        Budget::new(profile.budget.enabled)
    }

    fn on_sent(&mut self, sent: &Sent) {
        if !self.enabled {
            return;
        }
        let Some(cause) = sent.again else {
            self.new_bytes += sent.bytes as u64;
            self.new_chunks += 1;
            self.funds.add(0.0, SHARE, CEILING_SHARE);
            self.order = (self.order + SHARE).min(MOST);
            if sent.asks {
                self.asked.insert(sent.seq);
            }
            return;
        };
        let premature = self.premature.contains(sent.seq);
        self.premature.remove(sent.seq);
        let guess = match cause {
            cause if cause.is_guess() => true,
            LossCause::Timeout => premature,
            cause if !cause.is_repair() => return,
            _ => false,
        };
        let cost = self.cost(sent.bytes);
        if guess {
            self.funds.add(-cost, -cost, -cost);
        }
        if self.open.len() == OPEN {
            self.open.pop_front();
        }
        let Sent { now, path, seq, end, calm, .. } = *sent;
        let order = cause.is_found_by_sacks();
        self.open.push_back(Repair {
            seq,
            sent: now,
            path,
            end,
            cost,
            guess,
            order,
            calm,
            acknowledged: None,
            explained: false,
        });
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>) {
        self.premature.remove_through(facts.board.cumulative());
        for repair in &mut self.open {
            repair.note_answer(facts, self.asked.contains(repair.seq));
        }
        self.asked.remove_through(facts.board.cumulative());
        for seq in facts.duplicates {
            if let Some(i) = self.open.iter().position(|repair| repair.seq == *seq) {
                self.settle(i, Outcome::InVain);
            }
        }
        for i in (0..self.open.len()).rev() {
            if let Some(outcome) = self.open[i].outcome(facts) {
                self.settle(i, outcome);
            }
        }
    }

    fn on_premature_timeout(&mut self, seq: u64) {
        if self.enabled {
            self.premature.insert(seq);
        }
    }

    fn bounds_guesses(&self) -> bool {
        self.enabled
    }

    fn guess_at(
        &self,
        guess: &Guess,
        longest: &impl Fn() -> Option<Duration>,
        round_trips: &impl Fn() -> Option<(Duration, Duration)>,
        answered_from: &impl Fn() -> Option<Time>,
    ) -> Option<Time> {
        let Guess { now, seq, srtt, rttvar, calm, granularity, .. } = *guess;
        if !self.enabled {
            return Some(now);
        }
        if !calm || !self.affords() {
            return None;
        }
        let behind_repair = behind_repair(round_trips()?, self.knows_repairs());
        let late = longest()?.max(srtt?).max(behind_repair) + granularity;
        let answered = self.answer_due(now, seq, late + 4 * rttvar);
        Some(answered.unwrap_or(now).max(answered_from()? + late))
    }

    fn bounds_timer(&self, in_a_row: u32, proven: bool) -> bool {
        self.enabled && is_first_of_a_path_that_works(in_a_row, proven)
    }

    fn affords_detour(&self, own: Option<Duration>, other: Option<Duration>) -> bool {
        is_near(own, other) && self.affords_reported()
    }

    /// A guess may be sent for what a SACK reports missing: the first one is free.
    fn affords_reported(&self) -> bool {
        !self.enabled || self.funds.cover_reported()
    }

    /// Whether a loss may be declared that less than three packets after it show: what is in vain is paid for, as all is.
    fn trusts_order(&self) -> bool {
        !self.enabled || self.order >= 0.0
    }

    fn asked(&self, chunks: &Range<u64>) -> bool {
        chunks.clone().any(|seq| self.asked.contains(seq))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::funds::CEILING;
    use super::*;
    use crate::ids::PathId;

    const BYTES: usize = 116;

    fn send(budget: &mut Budget, seq: u64, again: Option<LossCause>) {
        let (now, path, end) = (Time::from_millis(seq), PathId(0), seq + 1);
        let asks = again.is_none();
        budget.on_sent(&Sent { now, path, seq, again, bytes: BYTES, end, calm: true, asks });
    }

    #[test]
    fn losses_earn_guesses_and_new_data_bounds_them() {
        let mut budget = Budget::new(true);
        (1..1000).for_each(|seq| send(&mut budget, seq, None));
        assert!(!budget.affords(), "without losses there is nothing to guess");
        let mut budget = Budget::new(true);
        send(&mut budget, 1, Some(LossCause::Rack));
        budget.settle(0, Outcome::Useful);
        assert!(budget.affords());
        send(&mut budget, 2, Some(LossCause::Bundled));
        assert!(!budget.affords(), "nothing is known of this one");
        budget.settle(0, Outcome::Useful);
        assert_eq!((budget.funds.credit, budget.funds.share), (4.0, 1.0));
        send(&mut budget, 3, Some(LossCause::TailLossProbe));
        budget.settle(0, Outcome::InVain);
        (4..131).for_each(|seq| send(&mut budget, seq, None));
        assert!(!budget.affords(), "less than a percent");
        send(&mut budget, 131, None);
        assert!(budget.affords());
    }

    #[test]
    fn the_first_guess_after_one_sack_is_free() {
        for (fate, after) in [(Outcome::Useful, REWARD), (Outcome::InVain, -1.0)] {
            let mut budget = Budget::new(true);
            assert!(budget.affords_reported() && !budget.affords());
            send(&mut budget, 1, Some(LossCause::ThinFastRetransmit));
            assert!(!budget.affords_reported(), "nothing is known of this one");
            budget.settle(0, fate);
            (2..200).for_each(|seq| send(&mut budget, seq, None));
            assert_eq!((budget.funds.credit, budget.affords_reported()), (after, after >= 0.0));
        }
    }

    #[test]
    fn only_a_loss_without_a_queue_shows_that_guesses_help() {
        let mut budget = Budget::new(true);
        let again = Some(LossCause::Rack);
        let (now, path) = (Time::from_millis(1), PathId(0));
        let sent =
            Sent { now, path, seq: 1, again, bytes: BYTES, end: 2, calm: false, asks: false };
        budget.on_sent(&sent);
        budget.settle(0, Outcome::Useful);
        assert!(!budget.affords());
    }

    #[test]
    fn what_a_lost_sack_explains_costs_of_the_ceiling_alone() {
        let mut budget =
            Budget { funds: Funds { credit: 1.0, ..Funds::default() }, ..Budget::new(true) };
        send(&mut budget, 1, Some(LossCause::Bundled));
        budget.open[0].explained = true;
        budget.settle(0, Outcome::InVain);
        assert_eq!(
            (budget.funds.credit, budget.funds.share, budget.funds.ceiling),
            (1.0, 1.0, CEILING - 1.0)
        );
    }

    /// A peer that never answers at once makes every guess look as if its SACK had been lost.
    #[test]
    fn more_lost_sacks_than_lost_data_are_not_believed() {
        let mut budget = Budget {
            funds: Funds { credit: MOST, share: MOST, ..Funds::default() },
            ..Budget::new(true)
        };
        for seq in 1..=u64::from(EXCUSES) + 2 {
            send(&mut budget, seq, Some(LossCause::Bundled));
            budget.open[0].explained = true;
            budget.settle(0, Outcome::InVain);
        }
        assert_eq!((budget.funds.credit, budget.funds.share), (MOST - 2.0, MOST - 2.0));
        budget.repaired = 1;
        assert!(budget.believes_lost_sack(), "where data is lost SACKs are, too");
    }

    #[test]
    fn the_order_is_trusted_until_it_deceives() {
        let mut budget = Budget::new(true);
        assert!(budget.trusts_order());
        for (seq, fate) in [(1, Outcome::InVain), (2, Outcome::Useful), (3, Outcome::InVain)] {
            send(&mut budget, seq, Some(LossCause::Rack));
            budget.settle(0, fate);
            assert!(budget.trusts_order());
        }
        send(&mut budget, 4, Some(LossCause::Rack));
        budget.settle(0, Outcome::InVain);
        assert!(!budget.trusts_order(), "twice more in vain");
        (5..300).for_each(|seq| send(&mut budget, seq, None));
        assert!(budget.trusts_order(), "less than a percent");
    }

    #[test]
    fn what_rfc_9260_repeats_in_vain_leaves_less_for_guesses() {
        let mut budget =
            Budget { funds: Funds { credit: 1.5, ..Funds::default() }, ..Budget::new(true) };
        send(&mut budget, 1, Some(LossCause::Timeout));
        assert_eq!(budget.funds.credit, 1.5);
        budget.settle(0, Outcome::InVain);
        assert_eq!((budget.funds.credit, budget.funds.ceiling), (0.5, CEILING));
    }

    #[test]
    fn what_a_repair_adds_is_known_after_four() {
        let mut budget = Budget::new(true);
        for seq in 1..=u64::from(KNOWN) {
            assert!(!budget.knows_repairs());
            send(&mut budget, seq, Some(LossCause::Rack));
            budget.settle(0, Outcome::Useful);
        }
        assert!(budget.knows_repairs());
    }

    #[test]
    fn what_a_premature_timeout_repeats_is_a_guess() {
        let mut budget =
            Budget { funds: Funds { credit: 1.0, ..Funds::default() }, ..Budget::new(true) };
        send(&mut budget, 1, Some(LossCause::Timeout));
        assert!(budget.affords(), "RFC 9260 would have sent it");
        budget.on_premature_timeout(2);
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
        fn needless_guesses_are_bounded(steps in prop::collection::vec((0..5u8, 0..3u8), 1..2000)) {
            let mut budget = Budget::new(true);
            let (mut new, mut useful, mut vain, mut wrong) = (0.0, 0.0, 0.0, 0.0);
            for (seq, (step, fate)) in (1u64..).zip(steps) {
                match step {
                    0 => {
                        send(&mut budget, seq, None);
                        new += 1.0;
                    }
                    1 if budget.affords() => {
                        send(&mut budget, seq, Some(LossCause::Bundled));
                    }
                    2 => send(&mut budget, seq, Some(LossCause::Rack)),
                    4 if budget.affords_reported() => {
                        send(&mut budget, seq, Some(LossCause::ThinFastRetransmit));
                    }
                    3 if !budget.open.is_empty() => {
                        let guess = f64::from(u8::from(budget.open[0].guess));
                        budget.open[0].explained = fate == 1;
                        budget.settle(0, if fate == 2 { Outcome::Useful } else { Outcome::InVain });
                        vain += if fate < 2 { guess } else { 0.0 };
                        wrong += if fate == 0 { guess } else { 0.0 };
                        useful += f64::from(u8::from(fate == 2));
                    }
                    _ => {}
                }
                prop_assert!(wrong <= 1.0 + REWARD * useful, "{} {}", wrong, useful);
                prop_assert!(wrong <= FIRST + SHARE * new, "{} {}", wrong, new);
                prop_assert!(vain <= CEILING + CEILING_SHARE * new, "{} {}", vain, new);
            }
        }
    }
}
