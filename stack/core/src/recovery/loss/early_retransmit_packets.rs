//! Early Retransmit counted in packets (Hurtig & Brunstrom §2.3; RFC 5827 §3.2).
//!
//! Idea: as the byte version, but small packets count as much as large ones, so it also works for
//! signalling traffic, whose messages are far below the SMSS.
//!
//! If `opkt < 4` and no new data can be sent: a chunk is lost once `opkt - 1` packets were
//! acknowledged while it was reported missing, `misses(c) >= max(1, opkt - 1)`.
//!
//! `opkt` counts packets in flight, as SCTP counts its flight size (gap-acknowledged packets have
//! left it), or with `count = "not-cumulatively-acked"` also the gap-acknowledged ones, as
//! RFC 5827 §3.2 defines `oseg`; then `oseg - 1` packets must have been acknowledged by gap blocks.

use crate::ids::LossCause;
use crate::profile::{OutstandingCount, Profile};
use crate::recovery::{Algorithm, Decisions, Evidence, SackFacts};

#[derive(Debug)]
pub(in crate::recovery) struct EarlyRetransmitPackets {
    count: OutstandingCount,
}

impl Algorithm for EarlyRetransmitPackets {
    fn of(profile: &Profile, _: bool) -> Option<EarlyRetransmitPackets> {
        let parameters = &profile.early_retransmit_packets;
        parameters.enabled.then_some(EarlyRetransmitPackets { count: parameters.count })
    }

    fn evidence(&self) -> Evidence {
        Evidence::LowCount
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        let board = facts.board;
        let opkt = match self.count {
            OutstandingCount::InFlight => board.packets_in_flight(),
            OutstandingCount::NotCumulativelyAcked => board.packets_outstanding(),
        };
        if opkt >= 4 || facts.new_data_ready {
            return;
        }
        let needed = opkt.saturating_sub(1).max(1);
        if self.count == OutstandingCount::NotCumulativelyAcked
            && board.packets_gap_acked() < needed
        {
            return;
        }
        let misses = match self.count {
            OutstandingCount::InFlight => needed as u32,
            OutstandingCount::NotCumulativelyAcked => 1,
        };
        for range in facts.missing().filter(|r| r.misses >= misses) {
            decisions.lose(range, LossCause::EarlyRetransmitPackets);
        }
    }
}
