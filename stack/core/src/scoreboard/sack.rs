//! Processing one SACK (RFC 9260 §6.2.1).

use smallvec::SmallVec;
use tresse_wire::{GapAckBlocks, Tsn};

use super::changed::{Changed, SackFault, edges};
use super::window::SackView;
use super::{AckOutcome, ChunkState, Outstanding, Scoreboard};
use crate::ids::PathId;
use crate::ranges::{Range, difference, differing, union};
use crate::time::Time;

/// No honest peer acknowledges a TSN this far ahead.
const FAR: u64 = 1 << 30;

impl Scoreboard {
    /// Applies a SACK. `outcome` says what it changed; `released` is called for each chunk that
    /// became cumulatively acknowledged, lowest first.
    ///
    /// # Errors
    /// [`SackFault`]; nothing was applied then.
    pub fn on_sack(
        &mut self,
        cumulative: Tsn,
        blocks: GapAckBlocks<'_>,
        outcome: &mut AckOutcome,
        released: impl FnMut(&Outstanding),
    ) -> Result<(), SackFault> {
        self.on_nr_sack(cumulative, blocks, GapAckBlocks::default(), outcome, released)
    }

    /// Applies a Cumulative TSN Ack that says nothing about gaps, as a SHUTDOWN chunk carries it.
    ///
    /// Gap blocks that began above it still hold. But no receiver has the chunk right behind it: the
    /// Cumulative TSN Ack would include that one. If it was reported, it has been dropped since (RFC 9260
    /// §6.2, "reneging"), and with it what was reported next to it, for the highest TSNs are dropped first.
    ///
    /// # Errors
    /// As [`on_sack`](Self::on_sack).
    pub fn on_cumulative_ack(
        &mut self,
        cumulative: Tsn,
        outcome: &mut AckOutcome,
        released: impl FnMut(&Outstanding),
    ) -> Result<(), SackFault> {
        let cumulative = self.check_cumulative(cumulative)?;
        self.runs.new.clear();
        self.runs.new.extend(self.runs.known.iter().filter(|r| r.start > cumulative + 1));
        self.add_kept(cumulative);
        self.apply(cumulative, self.all_changed(cumulative), outcome, released);
        Ok(())
    }

    /// Applies an NR-SACK. As [`on_sack`](Self::on_sack); what `nr_blocks` report is acknowledged
    /// too, and for good.
    ///
    /// # Errors
    /// [`SackFault`]; nothing was applied then.
    pub fn on_nr_sack(
        &mut self,
        cumulative: Tsn,
        blocks: GapAckBlocks<'_>,
        nr_blocks: GapAckBlocks<'_>,
        outcome: &mut AckOutcome,
        released: impl FnMut(&Outstanding),
    ) -> Result<(), SackFault> {
        let cumulative = self.check_cumulative(cumulative)?;
        if nr_blocks.len() == 0 && self.runs.kept.is_empty() && self.window.is_everything() {
            let changed = self.load_changes(cumulative, &blocks)?;
            self.apply(cumulative, changed, outcome, released);
            return Ok(());
        }
        self.load_runs(cumulative, nr_blocks)?;
        let view = self.window.next(cumulative, self.next_seq() - 1);
        if let Some(view) = &view {
            self.hide(view);
        }
        let promised = self.load_promises(cumulative);
        self.load_runs(cumulative, blocks)?;
        if let Some(view) = &view {
            self.keep_hidden(view, cumulative);
        }
        if promised {
            self.believe_promises();
        }
        self.add_kept(cumulative);
        self.apply(cumulative, self.all_changed(cumulative), outcome, released);
        if promised {
            self.forget_kept(cumulative);
        }
        Ok(())
    }

    //= RFC 3758 3.5-19
    fn check_cumulative(&self, cumulative: Tsn) -> Result<u64, SackFault> {
        let cumulative = self.unwrap(cumulative);
        // What is half of the number space ahead is as far behind: from before the TSNs began again (RFC 6525 §5.2.4).
        if cumulative < self.cumulative() || cumulative > self.next_seq() + FAR {
            Err(SackFault::Stale)
        } else if cumulative >= self.next_seq() {
            Err(SackFault::Unsent)
        } else {
            Ok(cumulative)
        }
    }

    fn apply(
        &mut self,
        cumulative: u64,
        changed: Changed,
        outcome: &mut AckOutcome,
        released: impl FnMut(&Outstanding),
    ) {
        outcome.begin(self);
        for path in &mut self.paths {
            path.missing.begin_sack();
        }
        self.advance_cumulative(cumulative, outcome, released);
        self.apply_runs(cumulative, changed, outcome);
        outcome.has_gaps = !self.runs.known.is_empty();
        for i in 0..outcome.paths.len() {
            let highest = outcome.paths[i].highest_newly_acked.unwrap_or(0);
            self.paths[i].highest_acked = self.paths[i].highest_acked.max(highest);
            if outcome.paths[i].earliest {
                let path = PathId(i as u8);
                let from = self.earliest(path).unwrap_or(self.base);
                self.advance_earliest(path, from);
            }
            if let Some(latest) = outcome.paths[i].latest.as_mut().filter(|l| l.once > 0) {
                latest.once = self.packets.bytes(latest.packet).max(latest.once);
            }
        }
        self.packets.forget_old();
    }

    //= RFC 9260 6.7-3
    fn advance_cumulative(
        &mut self,
        cumulative: u64,
        outcome: &mut AckOutcome,
        mut released: impl FnMut(&Outstanding),
    ) {
        if cumulative < self.base {
            return;
        }
        outcome.cumulative_advanced = true;
        for path in &mut self.paths {
            path.missing.remove_through(cumulative);
        }
        while self.base <= cumulative {
            let Some(chunk) = self.ring.front() else { break };
            outcome.visited += 1;
            let seq = self.base;
            self.base += 1;
            let (state, size, user_bytes) =
                (chunk.state, chunk.counted(), chunk.chunk.payload.len());
            let facts = &mut self.paths[usize::from(chunk.path.0)];
            outcome.passed += usize::from(chunk.limits.abandoned);
            if matches!(state, ChunkState::InFlight | ChunkState::Lost) {
                outcome.note(seq, chunk);
                facts.unacked -= 1;
                if facts.earliest == Some(seq) {
                    outcome.paths[usize::from(chunk.path.0)].earliest = true;
                }
            }
            match state {
                ChunkState::InFlight => {
                    facts.flight -= size;
                    self.user_bytes.leave_flight(chunk.user_bytes());
                }
                ChunkState::Lost => self.lost.remove(seq),
                ChunkState::GapAcked | ChunkState::Abandoned => {}
            }
            if state != ChunkState::Abandoned {
                self.packets.change(chunk.packet, |p| {
                    p.open -= 1;
                    match state {
                        ChunkState::InFlight => p.in_flight -= 1,
                        ChunkState::GapAcked => p.gap_acked -= 1,
                        ChunkState::Lost | ChunkState::Abandoned => {}
                    }
                });
            }
            self.user_bytes.release(user_bytes);
            facts.buffered -= user_bytes;
            released(chunk);
            self.ring.pop_front();
        }
        self.pass_given_up();
        self.highest_acked = self.highest_acked.max(cumulative);
        self.holes_to = self.holes_to.max(cumulative);
    }

    /// Puts the `new` runs in the place of what they replace.
    fn apply_runs(&mut self, cumulative: u64, changed: Changed, outcome: &mut AckOutcome) {
        let mut runs = std::mem::take(&mut self.runs.known);
        let mut new = std::mem::take(&mut self.runs.new);
        let replaced = changed.from..changed.until;
        self.hear_in_part(&runs[replaced.clone()], &mut new, cumulative);
        let [old_part, new_part] = differing(&runs[replaced.clone()], &new);
        difference(new_part, old_part, |piece| {
            for seq in piece.start..=piece.end {
                self.gap_ack(seq, outcome);
            }
        });
        difference(old_part, new_part, |piece| {
            for seq in piece.start.max(cumulative + 1)..=piece.end {
                self.renege(seq, outcome);
            }
        });
        runs.splice(replaced.clone(), new.iter().copied());
        runs.drain(..changed.head);
        self.runs.edges.splice(replaced, new.iter().map(|run| edges(*run)));
        self.runs.edges.drain(..changed.head);
        self.find_new_holes(&runs);
        self.runs.known = runs;
        self.runs.new = new;
    }

    fn gap_ack(&mut self, seq: u64, outcome: &mut AckOutcome) {
        let i = (seq - self.base) as usize;
        let chunk = &mut self.ring[i];
        let state = chunk.state;
        if matches!(state, ChunkState::GapAcked | ChunkState::Abandoned) {
            return;
        }
        outcome.note(seq, chunk);
        outcome.visited += 1;
        outcome.contradictions += usize::from(std::mem::take(&mut chunk.acks.taken_back));
        chunk.state = ChunkState::GapAcked;
        chunk.acks.ever = true;
        let (path, packet, size) = (chunk.path, chunk.packet, chunk.counted());
        let user_bytes = chunk.user_bytes();
        chunk.limits.coming = 0;
        let facts = &mut self.paths[usize::from(path.0)];
        facts.unacked -= 1;
        if facts.earliest == Some(seq) {
            outcome.paths[usize::from(path.0)].earliest = true;
        }
        if state == ChunkState::InFlight {
            facts.flight -= size;
            facts.missing.remove(seq);
            self.user_bytes.leave_flight(user_bytes);
        } else {
            self.lost.remove(seq);
        }
        self.packets.change(packet, |p| {
            p.gap_acked += 1;
            if state == ChunkState::InFlight {
                p.in_flight -= 1;
            }
        });
    }

    fn renege(&mut self, seq: u64, outcome: &mut AckOutcome) {
        let i = (seq - self.base) as usize;
        if self.ring[i].limits.abandoned {
            self.renege_abandoned(seq);
            return;
        }
        let chunk = &mut self.ring[i];
        debug_assert_eq!(chunk.state, ChunkState::GapAcked);
        chunk.state = ChunkState::InFlight;
        chunk.acks.taken_back = true;
        outcome.visited += 1;
        let (path, packet, size) = (chunk.path, chunk.packet, chunk.counted());
        let eligible = !chunk.fast_retransmitted;
        let sent = chunk.struck_after();
        self.user_bytes.enter_flight(chunk.chunk.payload.len());
        let facts = &mut self.paths[usize::from(path.0)];
        facts.flight += size;
        facts.unacked += 1;
        facts.earliest = Some(facts.earliest.map_or(seq, |e| e.min(seq)));
        self.packets.change(packet, |p| {
            p.gap_acked -= 1;
            p.in_flight += 1;
        });
        // RFC 9260 §6.2.1 D iii: count one miss indication.
        if eligible && seq <= self.holes_to {
            self.facts(path).missing.strike_one(seq, sent);
        }
        outcome.reneged.push(seq);
    }

    //= RFC 9260 6.7-4 6.7-5
    /// Chunks between the old and the new highest acknowledged TSN are missing from now on; with a
    /// SACK window, only those within it.
    fn find_new_holes(&mut self, runs: &[Range]) {
        let limit = self.window.end(self.cumulative());
        let first = runs.partition_point(|r| r.end <= self.holes_to);
        let mut below = self.holes_to;
        for run in &runs[first..] {
            for seq in below + 1..run.start.min(limit + 1) {
                let chunk = &self.ring[(seq - self.base) as usize];
                if chunk.state == ChunkState::InFlight && !chunk.fast_retransmitted {
                    let missing = &mut self.paths[usize::from(chunk.path.0)].missing;
                    missing.insert(seq, 0, chunk.struck_after());
                }
            }
            below = run.end;
            if below >= limit {
                break;
            }
        }
        self.highest_acked = self.highest_acked.max(runs.last().map_or(0, |run| run.end));
        self.holes_to = self.holes_to.max(below.min(limit));
    }

    /// Adds one miss indication to every missing chunk below `limit` (RFC 9260 §7.2.4); `sent` is
    /// when the newest of the acknowledged chunks was sent. Returns whether any was struck.
    pub fn strike(&mut self, limit: u64, sent: Time) -> bool {
        // Every path: no short circuit.
        self.paths.iter_mut().fold(false, |any, path| path.missing.strike(limit, sent) | any)
    }

    /// Adds one miss indication to every missing chunk of one path below `limit`. Returns whether any was struck.
    pub fn strike_on(&mut self, path: PathId, limit: u64, sent: Time) -> bool {
        self.facts(path).missing.strike(limit, sent)
    }

    /// Takes out of the runs just loaded what is not looked at.
    fn hide(&mut self, view: &SackView) {
        self.runs.spare.clear();
        let spare = &mut self.runs.spare;
        difference(&self.runs.new, &view.hidden, |piece| spare.push(piece));
        std::mem::swap(&mut self.runs.new, &mut self.runs.spare);
    }

    /// Puts there, instead of what is not looked at, what was known before.
    fn keep_hidden(&mut self, view: &SackView, cumulative: u64) {
        self.hide(view);
        let mut before = SmallVec::<[Range; 32]>::new();
        let old = &self.runs.known[self.runs.known.partition_point(|run| run.end <= cumulative)..];
        difference(old, &view.shown, |piece| before.push(piece));
        union(&self.runs.new, &before, &mut self.runs.spare);
        std::mem::swap(&mut self.runs.new, &mut self.runs.spare);
    }
}
