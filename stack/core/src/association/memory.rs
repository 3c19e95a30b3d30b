//! What an association holds in memory. Every part knows its size without looking through what it holds, so
//! that asking costs the same however much that is.

use bytes::Bytes;
use tresse_wire::CauseWriter;

use super::Association;
use super::errors::End;
use crate::event::{CloseReason, Event};
use crate::memory::Allowance;
use crate::path::Path;
use crate::send::Sender;
use crate::time::Time;

/// What the lists of the endpoint have for one association, and for one address of its peer.
const LISTED: usize = 256;

impl Association {
    /// Bytes of memory that it holds.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Association>()
            + LISTED
            + self.paths.len() * LISTED
            + self.paths.iter().map(Path::memory).sum::<usize>()
            + self.sender.memory()
            + self.receiver.memory()
            + self.outbox.memory()
            + self.journal.memory()
            + self.phase.memory()
            + self.extras.reconfiguration.as_ref().map_or(0, |r| r.memory())
            + self.extras.changes.as_ref().map_or(0, |changes| changes.memory())
            + self.extras.authenticator.memory()
    }

    /// Bytes of memory that it holds beyond user data that moves, and as much again for the records of small
    /// messages: of two with as much data, one whose peer takes nothing, or leaves gaps for ever, or whose
    /// application does not read, is worse.
    pub(crate) fn excess(&self) -> usize {
        let moving = self.sender.data().moving() + self.receiver.moving();
        self.memory().saturating_sub(2 * moving)
    }

    /// Learns how short memory is. What is held is measured by what moves: who reads has a window, and whose
    /// peer takes data may have some to send.
    #[inline(always)]
    pub(crate) fn keep_within(&mut self, now: Time, allowance: Allowance) {
        let is_ample = (allowance.share & self.sender.data().share()) == Allowance::AMPLE.share;
        let is_due = !is_ample || self.receiver.is_epoch_over(now);
        if is_due && !cfg!(tresse_without_account) {
            self.keep_within_now(now, allowance); // Otherwise nothing is short, nor was it: once in an epoch is enough.
        }
    }

    /// It was told that memory is short, and of nothing since.
    #[inline(always)]
    pub(crate) fn is_bounded(&self) -> bool {
        self.sender.data().share() != Allowance::AMPLE.share
    }

    fn keep_within_now(&mut self, now: Time, allowance: Allowance) {
        let stats = &self.journal.stats;
        let is_short = allowance != Allowance::AMPLE;
        self.sender.keep_within(now, allowance.share, stats.user_bytes_sent, is_short);
        self.receiver.keep_within(now, allowance, stats.user_bytes_received);
    }

    /// It has just been set up; its peer was told of no more than its share.
    pub(crate) fn begin_within(&mut self, allowance: Allowance) {
        self.receiver.begin_with(allowance.window(self.config.receive_buffer));
    }

    /// Ends it because the endpoint needs its memory: nothing of it is kept, read or not, also if it had ended.
    pub(crate) fn abort_for_memory(&mut self) {
        for mut failure in self.sender.drain() {
            failure.message.payload = Bytes::new();
            self.journal.event(Event::SendFailed(failure));
        }
        self.sender = Sender::new(self.origin.initial_tsn(), &self.config);
        // It may have ended before, and waited to be read.
        if !self.is_closed() {
            let causes = CauseWriter::new().out_of_resource().finish();
            self.abort_with(End { causes, reason: CloseReason::OutOfMemory });
        }
        self.receiver.forget(&self.config);
    }
}
