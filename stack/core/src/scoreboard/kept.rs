//! What the receiver promised to keep: NR-SACKs (draft-natarajan-tsvwg-sctp-nrsack).
//!
//! Such a chunk is never needed again, so the payload of a whole message goes at once; a SACK that leaves it out came
//! late over another path and takes nothing back.

use super::{ChunkState, Scoreboard};
use crate::ranges::{Range, difference, differing, union};

impl Scoreboard {
    /// Adds the runs just loaded, which are promises, to those before. Nothing holds before the whole SACK is read, and
    /// [believed](Self::believe_promises). Returns whether there are any.
    pub(super) fn load_promises(&mut self, cumulative: u64) -> bool {
        let promised = !self.runs.new.is_empty();
        if promised {
            let old = self.runs.kept.partition_point(|run| run.end <= cumulative);
            union(&self.runs.kept[old..], &self.runs.new, &mut self.runs.kept_before);
        }
        promised
    }

    /// The SACK that made them is well-formed.
    pub(super) fn believe_promises(&mut self) {
        std::mem::swap(&mut self.runs.kept, &mut self.runs.kept_before);
    }

    /// Adds what is kept to the runs of the SACK being processed.
    pub(super) fn add_kept(&mut self, cumulative: u64) {
        let gone = self.runs.kept.partition_point(|run| run.end <= cumulative);
        self.runs.kept.drain(..gone);
        if let Some(first) = self.runs.kept.first_mut() {
            first.start = first.start.max(cumulative + 1);
            union(&self.runs.new, &self.runs.kept, &mut self.runs.spare);
            std::mem::swap(&mut self.runs.new, &mut self.runs.spare);
        }
    }

    /// Lets go of what is kept since this SACK.
    pub(super) fn forget_kept(&mut self, cumulative: u64) {
        let kept = std::mem::take(&mut self.runs.kept);
        let before = std::mem::take(&mut self.runs.kept_before);
        let old = before.partition_point(|run| run.end <= cumulative);
        let [added, known] = differing(&kept, &before[old..]);
        difference(added, known, |piece| self.forget_payloads(piece));
        (self.runs.kept, self.runs.kept_before) = (kept, before);
    }

    fn forget_payloads(&mut self, piece: Range) {
        for seq in piece.start..=piece.end {
            let outstanding = &mut self.ring[(seq - self.base) as usize];
            // A fragment may be needed to report its message as failed, should the rest of it not
            // arrive.
            let flags = outstanding.chunk.flags;
            // Nor does a promise hold yet beyond what is heard of a SACK (`taken_back.rs`): that is still in flight.
            let is_there = outstanding.state == ChunkState::GapAcked;
            if !(is_there && flags.beginning && flags.ending) {
                continue;
            }
            let len = std::mem::take(&mut outstanding.chunk.payload).len();
            self.user_bytes.release(len);
            self.paths[usize::from(outstanding.path.0)].buffered -= len;
        }
    }
}
