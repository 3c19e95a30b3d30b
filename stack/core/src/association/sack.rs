//! SACK chunks received, and what they mean beyond the sending half.

use tresse_wire::{GapAckBlocks, Sack, Tsn};

use super::Association;
use super::errors::End;
use crate::send::Effects;
use crate::time::Time;

impl Association {
    //= RFC 9260 6-5 6-7
    /// A SACK; or an NR-SACK, which has non-renegable blocks.
    pub(super) fn on_sack(
        &mut self,
        now: Time,
        sack: &Sack<'_>,
        nr_blocks: GapAckBlocks<'_>,
        timestamp_echo: Option<u32>,
    ) {
        if !self.state().may_send_data() {
            return;
        }
        let (sender, mut cx) = self.sending(now);
        let effects = sender.on_sack(&mut cx, sack, nr_blocks, timestamp_echo);
        if self.take_effects(effects) {
            self.continue_shutdown(now);
        }
    }

    /// The Cumulative TSN Ack of a SHUTDOWN chunk acknowledges too (RFC 9260 §9.2).
    pub(super) fn on_cumulative_ack(&mut self, now: Time, cumulative: Tsn) {
        let (sender, mut cx) = self.sending(now);
        let effects = sender.on_cumulative_ack(&mut cx, cumulative);
        self.take_effects(effects);
    }

    /// Does what an acknowledgement left to do; `false` if it was not taken.
    fn take_effects(&mut self, effects: Effects) -> bool {
        match effects {
            Effects::None => return false,
            Effects::Violation(what) => {
                self.abort_with(End::violation(what));
                return false;
            }
            Effects::Taken { progress: true } => {
                //= RFC 9260 8.1-5
                // §8.1: the counter MUST be reset each time a DATA chunk is acknowledged.
                self.errors.clear();
                if let Some(closing) = self.phase.closing_mut() {
                    closing.note_progress();
                }
                self.notify_dry();
            }
            Effects::Taken { progress: false } => {}
        }
        self.notify_writer();
        true
    }
}
