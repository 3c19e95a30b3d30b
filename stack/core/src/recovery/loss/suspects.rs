//! Chunks that an algorithm declared lost, to learn from duplicate reports when it was wrong
//! (Hurtig & Brunstrom §2.2; RFC 8985 §6.2 step 4).
//!
//! Idea: a duplicate proves a mistake of the algorithm only if nothing else sent the chunk again.
//! A probe, a copy that rode along or a timeout repeats chunks that have arrived whenever a SACK was
//! lost; that says nothing about reordering.

use crate::ids::LossCause;
use crate::ranges::RangeSet;

/// This many sequence numbers behind the Cumulative TSN Ack Point no duplicate report is expected.
const FORGET_AFTER: u64 = 1 << 16;

/// Chunks sent again for some causes, and for no other.
#[derive(Debug)]
pub(super) struct Suspects {
    declares: fn(LossCause) -> bool,
    chunks: RangeSet,
}

impl Suspects {
    pub(super) fn new(declares: fn(LossCause) -> bool) -> Suspects {
        Suspects { declares, chunks: RangeSet::default() }
    }

    /// A chunk was sent again.
    pub(super) fn on_sent_again(&mut self, seq: u64, cause: LossCause) {
        if (self.declares)(cause) {
            self.chunks.insert(seq);
        } else {
            self.chunks.remove(seq);
        }
    }

    /// Whether one of these duplicates was declared lost by mistake.
    pub(super) fn are_cleared(&mut self, duplicates: &[u64], cumulative: u64) -> bool {
        while self.chunks.first().is_some_and(|seq| seq + FORGET_AFTER < cumulative) {
            let first = self.chunks.first().unwrap_or_default();
            self.chunks.remove(first);
        }
        duplicates.iter().any(|seq| self.chunks.contains(*seq))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_chunks_sent_again_for_that_cause_alone() {
        let mut suspects = Suspects::new(|cause| cause == LossCause::Rack);
        suspects.on_sent_again(10, LossCause::Rack);
        suspects.on_sent_again(11, LossCause::Rack);
        suspects.on_sent_again(11, LossCause::TailLossProbe);
        suspects.on_sent_again(12, LossCause::Timeout);
        assert!(!suspects.are_cleared(&[9, 11, 12], 12));
        assert!(suspects.are_cleared(&[10], 12));
        assert!(!suspects.are_cleared(&[10], 12 + FORGET_AFTER), "forgotten");
    }
}
