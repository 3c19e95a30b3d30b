//! What the receiver promised to keep: NR-SACKs (draft-natarajan-tsvwg-sctp-nrsack).
//!
//! Such a chunk is never needed again, so the payload of a whole message goes at once; a SACK that leaves it out came
//! late over another path and takes nothing back.

use tresse_wire::{GapAckBlocks, Tsn};

use super::{AckOutcome, Outstanding, SackFault, Scoreboard};
use crate::ranges::{Range, difference, differing, union};

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
        let grows = !self.runs.new.is_empty();
        if grows {
            let old = self.runs.kept.partition_point(|run| run.end <= cumulative);
            union(&self.runs.kept[old..], &self.runs.new, &mut self.runs.kept_before);
        }
        self.load_runs(cumulative, blocks)?;
        if let Some(view) = &view {
            self.keep_hidden(view, cumulative);
        }
        if grows {
            std::mem::swap(&mut self.runs.kept, &mut self.runs.kept_before);
        }
        self.add_kept(cumulative);
        self.apply(cumulative, self.all_changed(cumulative), outcome, released);
        if grows {
            let kept = std::mem::take(&mut self.runs.kept);
            let before = std::mem::take(&mut self.runs.kept_before);
            let old = before.partition_point(|run| run.end <= cumulative);
            let [added, known] = differing(&kept, &before[old..]);
            difference(added, known, |piece| self.forget_payloads(piece));
            (self.runs.kept, self.runs.kept_before) = (kept, before);
        }
        Ok(())
    }

    /// Adds what is kept to the runs of the SACK being processed.
    fn add_kept(&mut self, cumulative: u64) {
        let gone = self.runs.kept.partition_point(|run| run.end <= cumulative);
        self.runs.kept.drain(..gone);
        if let Some(first) = self.runs.kept.first_mut() {
            first.start = first.start.max(cumulative + 1);
            union(&self.runs.new, &self.runs.kept, &mut self.runs.spare);
            std::mem::swap(&mut self.runs.new, &mut self.runs.spare);
        }
    }

    fn forget_payloads(&mut self, piece: Range) {
        for seq in piece.start..=piece.end {
            let outstanding = &mut self.ring[(seq - self.base) as usize];
            // A fragment may be needed to report its message as failed, should the rest of it not
            // arrive.
            let flags = outstanding.chunk.flags;
            if !(flags.beginning && flags.ending) {
                continue;
            }
            let len = std::mem::take(&mut outstanding.chunk.payload).len();
            self.user_bytes.release(len);
            self.paths[usize::from(outstanding.path.0)].buffered -= len;
        }
    }
}
