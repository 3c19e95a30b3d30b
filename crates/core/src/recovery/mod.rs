//! Loss recovery: algorithms look at facts and return decisions; only the association acts.
//!
//! Order of evaluation (decisions of an earlier algorithm come first; a chunk is declared lost
//! once): [`fast_retransmit`], [`early_retransmit_bytes`], [`early_retransmit_packets`],
//! [`limited_transmit`]. The T3-rtx rules ([`t3_rtx`]) stand beside them.

mod early_retransmit_bytes;
mod early_retransmit_packets;
mod fast_retransmit;
mod limited_transmit;
pub(crate) mod t3_rtx;
#[cfg(test)]
mod tests;

use early_retransmit_bytes::EarlyRetransmitBytes;
use early_retransmit_packets::EarlyRetransmitPackets;
use fast_retransmit::FastRetransmit;
use limited_transmit::LimitedTransmit;
use smallvec::SmallVec;

use crate::event::LossCause;
use crate::profile::Profile;
use crate::scoreboard::{MissingRange, Scoreboard};

/// What an algorithm may look at when a SACK was applied.
pub(crate) struct SackFacts<'a> {
    pub(crate) board: &'a Scoreboard,
    /// At least one chunk got a miss indication from this SACK.
    pub(crate) struck: bool,
    /// Unsent user data waits, and the peer's window has room for it.
    pub(crate) new_data_ready: bool,
    /// Sender Maximum Segment Size: the PMDCS of the data path.
    pub(crate) smss: usize,
    /// In Fast Recovery (RFC 9260 §7.2.4).
    pub(crate) in_fast_recovery: bool,
}

impl SackFacts<'_> {
    pub(crate) fn missing(&self) -> impl Iterator<Item = &MissingRange> {
        self.board.missing().iter()
    }
}

/// What an algorithm wants done.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// Chunks to declare lost: first and last sequence number, and why.
    pub(crate) lost: SmallVec<[(u64, u64, LossCause); 4]>,
    /// New packets that may be sent beyond the congestion window.
    pub(crate) send_new: u32,
}

impl Decisions {
    pub(crate) fn clear(&mut self) {
        self.lost.clear();
        self.send_new = 0;
    }

    fn lose(&mut self, range: &MissingRange, cause: LossCause) {
        self.lost.push((range.start, range.end, cause));
    }
}

/// A recovery algorithm. Every hook does nothing by default.
trait Algorithm {
    /// A SACK with gap blocks, or one that acknowledged something, was applied.
    fn on_sack(&mut self, _facts: &SackFacts<'_>, _decisions: &mut Decisions) {}
    /// T3-rtx expired on some path.
    fn on_timeout(&mut self) {}
}

/// The registry: every algorithm that a profile can switch on.
#[derive(Debug)]
enum AnyAlgorithm {
    FastRetransmit(FastRetransmit),
    EarlyRetransmitBytes(EarlyRetransmitBytes),
    EarlyRetransmitPackets(EarlyRetransmitPackets),
    LimitedTransmit(LimitedTransmit),
}

impl AnyAlgorithm {
    fn get(&mut self) -> &mut dyn Algorithm {
        match self {
            AnyAlgorithm::FastRetransmit(a) => a,
            AnyAlgorithm::EarlyRetransmitBytes(a) => a,
            AnyAlgorithm::EarlyRetransmitPackets(a) => a,
            AnyAlgorithm::LimitedTransmit(a) => a,
        }
    }
}

/// The algorithms of one association, in the order of evaluation.
#[derive(Debug)]
pub(crate) struct Recovery {
    algorithms: SmallVec<[AnyAlgorithm; 4]>,
}

impl Recovery {
    pub(crate) fn new(profile: &Profile) -> Recovery {
        let mut algorithms = SmallVec::new();
        let fast = &profile.fast_retransmit;
        if fast.threshold > 0 {
            algorithms.push(AnyAlgorithm::FastRetransmit(FastRetransmit::new(fast)));
        }
        if profile.early_retransmit_bytes.enabled {
            algorithms.push(AnyAlgorithm::EarlyRetransmitBytes(EarlyRetransmitBytes));
        }
        if profile.early_retransmit_packets.enabled {
            let algorithm = EarlyRetransmitPackets::new(&profile.early_retransmit_packets);
            algorithms.push(AnyAlgorithm::EarlyRetransmitPackets(algorithm));
        }
        if profile.limited_transmit.enabled {
            let algorithm = LimitedTransmit::new(&profile.limited_transmit);
            algorithms.push(AnyAlgorithm::LimitedTransmit(algorithm));
        }
        Recovery { algorithms }
    }

    pub(crate) fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        for algorithm in &mut self.algorithms {
            algorithm.get().on_sack(facts, decisions);
        }
    }

    pub(crate) fn on_timeout(&mut self) {
        for algorithm in &mut self.algorithms {
            algorithm.get().on_timeout();
        }
    }
}
