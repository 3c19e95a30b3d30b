//! SACK chunks received: facts into the scoreboard, decisions out of the recovery algorithms,
//! and what follows from both (RFC 9260 §6.2.1, §6.3, §7.2).

use tresse_wire::{GapAckBlocks, Sack, SackFlags, Tsn};

use super::{SackSigns, Sender, Work};
use crate::event::TraceEvent;
use crate::ids::{LossCause, PathId};
use crate::scoreboard::{AckOutcome, SackFault, Scoreboard};
use crate::send::context::Context;
use crate::send::gate;
use crate::time::Time;

/// What an acknowledgement leaves to the association.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Effects {
    /// Nothing: it was not taken.
    None,
    /// The peer breaks the protocol: the end.
    Violation(&'static str),
    /// It was taken.
    Taken {
        /// It acknowledged something new.
        progress: bool,
    },
}

impl Sender {
    /// A SACK; or an NR-SACK, which has non-renegable blocks.
    pub(crate) fn on_sack(
        &mut self,
        cx: &mut Context<'_>,
        sack: &Sack<'_>,
        nr_blocks: GapAckBlocks<'_>,
        timestamp_echo: Option<u32>,
    ) -> Effects {
        cx.journal.stats.sacks_received += 1;
        let mut work = self.work.take().unwrap_or_default();
        work.duplicates.clear();
        work.duplicates.extend(sack.duplicates().map(|tsn| self.data.board().unwrap(tsn)));
        let blocks = sack.gap_blocks();
        let gap_blocks = blocks.len() + nr_blocks.len();
        let (cumulative, outcome) = (sack.cumulative_tsn_ack, &mut work.outcome);
        let result = self.data.on_sack(cumulative, blocks, nr_blocks, outcome);
        let refusal = self.refuse(cx, &work.outcome, result);
        let effects = refusal.unwrap_or_else(|| {
            let (duplicates, newly_acked) = (work.duplicates.len(), work.outcome.newly_acked);
            cx.journal.stats.duplicates_reported += duplicates as u64;
            self.data.note_window(sack.a_rwnd);
            cx.journal.trace(cx.now, || TraceEvent::Sacked {
                cumulative,
                gap_blocks,
                duplicates,
                newly_acked,
                a_rwnd: sack.a_rwnd,
            });
            let SackFlags { retransmission: retransmit_bit, packets } = sack.flags;
            let repeats = self.damaged_sack.take_if(|damaged| cx.now >= damaged.from);
            let repeats = repeats.map(|damaged| damaged.asked);
            let signs = SackSigns { timestamp_echo, retransmit_bit, packets, repeats };
            let effects = self.after_acks(cx, &mut work, signs);
            self.resend_dropped_probe(cx);
            gate::watch_window(&mut self.zero_window, cx, &self.data);
            cx.paths.begin_opportunity(cx.profile());
            effects
        });
        self.work = Some(work);
        effects
    }

    //= RFC 9260 3.3.8-2
    /// The Cumulative TSN Ack of a SHUTDOWN chunk acknowledges too (RFC 9260 §9.2).
    pub(crate) fn on_cumulative_ack(&mut self, cx: &mut Context<'_>, cumulative: Tsn) -> Effects {
        let mut work = self.work.take().unwrap_or_default();
        work.duplicates.clear();
        let result = self.data.on_cumulative_ack(cumulative, &mut work.outcome);
        let refusal = self.refuse(cx, &work.outcome, result);
        let effects = refusal.unwrap_or_else(|| {
            // A SHUTDOWN has no room for signs: as if it answered a retransmission.
            let (timestamp_echo, repeats) = (None, None);
            let signs = SackSigns { timestamp_echo, retransmit_bit: true, packets: 0, repeats };
            let effects = self.after_acks(cx, &mut work, signs);
            // It tells no a_rwnd: what waits may need a probe to learn that the window is open.
            gate::watch_window(&mut self.zero_window, cx, &self.data);
            effects
        });
        self.work = Some(work);
        effects
    }

    /// Judges what the scoreboard made of an acknowledgement; `None` if it is taken.
    fn refuse(
        &mut self,
        cx: &mut Context<'_>,
        outcome: &AckOutcome,
        result: Result<(), SackFault>,
    ) -> Option<Effects> {
        match result {
            Ok(()) => {
                for seq in &outcome.reneged {
                    let tsn = Scoreboard::tsn(*seq);
                    cx.journal.stats.reneged += 1;
                    cx.journal.trace(cx.now, || TraceEvent::Reneged { tsn });
                }
                let what = "SACKs take back and repeat what was not sent again";
                let contradicts = self.contradictions.note(outcome);
                cx.journal.stats.contradictory_sacks += u64::from(contradicts);
                let (limit, on_the_way) =
                    (cx.profile().limits.contradictory_sacks, self.data.board().len());
                let ends = contradicts && self.contradictions.are_too_many(limit, on_the_way);
                ends.then_some(Effects::Violation(what))
            }
            // §6.2.1 D i: drop it.
            Err(SackFault::Stale) => Some(Effects::None),
            Err(SackFault::Unsent) => {
                //= RFC 9260 12.4-4
                // An optimistic or broken receiver: nothing it says can be relied on any more.
                Some(Effects::Violation("a TSN that was never sent is acknowledged"))
            }
            Err(SackFault::MalformedGap) => {
                cx.journal.stats.malformed_chunks += 1;
                Some(Effects::None)
            }
        }
    }

    /// What an acknowledgement means, step by step; each step needs those before it.
    ///
    /// 1. Whether the paths were in fast recovery is what they were when it came: [`recover`](Self::recover) asks that. So it is
    ///    looked at before fast recovery ends.
    /// 2. Facts of the paths: who has answered, RTT samples, marks, queues. Decisions follow from the RTO and the RTT of now.
    /// 3. The mechanisms decide. Nothing is done yet but for a loss that was none: it restores its window.
    /// 4. Windows grow, from what they were when the chunks were sent: before losses cut them, and not if one was just restored.
    /// 5. The losses are acted on, and what holds up the peer's window may leave elsewhere, lost chunks among it.
    /// 6. FORWARD TSN and T3-rtx come last: they follow from what is outstanding after all that.
    fn after_acks(&mut self, cx: &mut Context<'_>, work: &mut Work, signs: SackSigns) -> Effects {
        let progress = work.outcome.newly_acked > 0 || work.outcome.passed > 0;
        if progress {
            cx.renew_wait(&self.data);
        }
        self.zero_window.on_answer(progress);
        self.overrides.on_sack();
        let in_recovery = cx.paths.in_fast_recovery();
        cx.end_fast_recovery(&self.data);
        self.recovery.on_acked(self.data.board().cumulative(), work.outcome.has_gaps);
        self.note_acks(cx, &work.outcome, signs.repeats);
        //= RFC 9260 7.2.4-6
        let spurious = self.recover(cx, work, signs, in_recovery);
        cx.grow_windows(&mut self.data, &work.outcome, spurious);
        self.act_on_losses(cx, &mut work.decisions);
        if cx.strategy.reschedules() {
            self.reschedule(cx);
        }
        self.abandonment.forward_after_ack(cx, &mut self.data, &work.outcome);
        self.update_timers(cx, &work.outcome);
        if self.data.board().is_empty() {
            self.zero_window.stop_probing();
        }
        Effects::Taken { progress }
    }

    /// Tells the paths what was acknowledged of what they carried.
    fn note_acks(&mut self, cx: &mut Context<'_>, outcome: &AckOutcome, repeats: Option<Time>) {
        let now = cx.now;
        for (i, ack) in outcome.paths.iter().enumerate() {
            let path = PathId(i as u8);
            if ack.chunks > 0 {
                cx.paths[path].reachability.on_acked(now);
                cx.paths[path].window.allow_more();
                cx.paths[path].t3.on_ack();
                //= RFC 7829 3.2-17 3.2-18
                // §8.2: the ack of what was sent again on another path may belong to either: it
                // does not count. RFC 7829 §3.2 rule 10: chunks "that have been transmitted to one
                // destination address only MUST clear the error counter".
                if let Some(sent) = ack.unambiguous {
                    cx.path_answered(path, sent);
                    cx.paths[path].address.on_ack(sent);
                }
                self.take_rtt_sample(cx, path, ack.latest, repeats);
                cx.watch_marks(&self.data, path, ack);
            }
        }
        let next = self.data.board().next_seq();
        for (i, ack) in outcome.paths.iter().enumerate() {
            let path = &mut cx.paths[PathId(i as u8)];
            path.window.watch_delay(now, ack);
            cx.strategy.watch_queue(now, path, ack, next);
        }
    }

    /// What the peer had no room for leaves again now that there is some.
    fn resend_dropped_probe(&mut self, cx: &mut Context<'_>) {
        let room = self.data.peer_room();
        for seq in self.zero_window.take_dropped(self.data.board(), room, cx.paths.ids()) {
            self.lose(cx, seq, LossCause::ZeroWindowProbe);
        }
    }
}
