//! Early Retransmit turned off after it was wrong (Hurtig & Brunstrom §2.2).
//!
//! Idea: where packets are reordered, a low threshold retransmits what was never lost. A peer that
//! reports such a chunk as a duplicate shows that this happens on the path, so Early Retransmit
//! does not run any more on this association.
//!
//! `off <=> some chunk that Early Retransmit declared lost was reported as a duplicate TSN`,
//! unless it was sent again for another reason as well ([`suspects`](super::suspects)).
//!
//! Difference: thin fast retransmit, which lowers the threshold in the same way, is treated alike.

use super::suspects::Suspects;
use crate::ids::LossCause;
use crate::profile::Profile;
use crate::recovery::{Algorithm, Distrust, Evidence, SackFacts, Sent};

/// Remembers what Early Retransmit declared lost.
#[derive(Debug)]
pub(in crate::recovery) struct EarlyRetransmitSwitchOff {
    declared: Suspects,
    off: bool,
}

impl EarlyRetransmitSwitchOff {
    fn new() -> EarlyRetransmitSwitchOff {
        let declared = Suspects::new(LossCause::lowers_threshold);
        EarlyRetransmitSwitchOff { declared, off: false }
    }

    /// Whether Early Retransmit has been wrong.
    fn is_off(&self) -> bool {
        self.off
    }

    /// A SACK reported duplicates.
    fn on_duplicates(&mut self, duplicates: &[u64], cumulative: u64) {
        self.off |= self.declared.are_cleared(duplicates, cumulative);
    }

    /// A chunk was sent again.
    fn on_sent_again(&mut self, seq: u64, cause: LossCause) {
        self.declared.on_sent_again(seq, cause);
    }
}

impl Algorithm for EarlyRetransmitSwitchOff {
    fn of(profile: &Profile, _: bool) -> Option<EarlyRetransmitSwitchOff> {
        profile.early_retransmit_switch_off.enabled.then(EarlyRetransmitSwitchOff::new)
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        if let Some(cause) = sent.again {
            self.on_sent_again(sent.seq, cause);
        }
    }

    fn distrusts(&mut self, facts: &SackFacts<'_>) -> Distrust {
        if !facts.duplicates.is_empty() {
            self.on_duplicates(facts.duplicates, facts.board.cumulative());
        }
        Distrust::of(&[Evidence::LowCount, Evidence::One]).when(self.is_off())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_duplicate_of_what_it_declared_lost_turns_it_off() {
        let mut switch = EarlyRetransmitSwitchOff::new();
        switch.on_sent_again(11, LossCause::EarlyRetransmitPackets);
        switch.on_sent_again(12, LossCause::FastRetransmit);
        switch.on_duplicates(&[9, 12], 12);
        assert!(!switch.is_off());
        switch.on_duplicates(&[11], 12);
        assert!(switch.is_off());
    }
}
