//! Early Retransmit turned off after it was wrong (Hurtig & Brunstrom §2.2).
//!
//! Idea: where packets are reordered, a low threshold retransmits what was never lost. A peer that
//! reports such a chunk as a duplicate shows that this happens on the path, so Early Retransmit
//! does not run any more on this association.
//!
//! `off <=> some chunk that Early Retransmit declared lost was reported as a duplicate TSN`
//!
//! Difference: thin fast retransmit, which lowers the threshold in the same way, is treated alike.

use crate::event::LossCause;
use crate::ranges::RangeSet;

/// Remembers what Early Retransmit declared lost.
#[derive(Debug, Default)]
pub(in crate::recovery) struct EarlyRetransmitSwitchOff {
    declared: RangeSet,
    off: bool,
}

/// So many sequence numbers behind the Cumulative TSN Ack Point no duplicate report is expected.
const FORGET_AFTER: u64 = 1 << 16;

impl EarlyRetransmitSwitchOff {
    /// Whether Early Retransmit has been wrong.
    pub(in crate::recovery) fn is_off(&self) -> bool {
        self.off
    }

    /// A SACK reported duplicates.
    pub(in crate::recovery) fn on_duplicates(&mut self, duplicates: &[u64], cumulative: u64) {
        self.off |= duplicates.iter().any(|seq| self.declared.contains(*seq));
        while self.declared.first().is_some_and(|seq| seq + FORGET_AFTER < cumulative) {
            let first = self.declared.first().unwrap_or_default();
            self.declared.remove(first);
        }
    }

    /// Something was declared lost.
    pub(in crate::recovery) fn on_lost(&mut self, start: u64, end: u64, cause: LossCause) {
        if matches!(
            cause,
            LossCause::EarlyRetransmitBytes
                | LossCause::EarlyRetransmitPackets
                | LossCause::ThinFastRetransmit
        ) {
            for seq in start..=end {
                self.declared.insert(seq);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_duplicate_of_what_it_declared_lost_turns_it_off() {
        let mut switch = EarlyRetransmitSwitchOff::default();
        switch.on_lost(10, 11, LossCause::EarlyRetransmitPackets);
        switch.on_lost(12, 12, LossCause::FastRetransmit);
        switch.on_duplicates(&[9, 12], 12);
        assert!(!switch.is_off());
        switch.on_duplicates(&[11], 12);
        assert!(switch.is_off());
    }
}
