//! Early Retransmit counted in bytes (RFC 5827 §3.1; Hurtig & Brunstrom §2.2).
//!
//! Idea: with few bytes outstanding and nothing new to send, the SACKs that fast retransmit waits
//! for can never come, so the threshold falls to what can still arrive.
//!
//! If `ownd < 4 SMSS` and no new data can be sent:
//! `threshold = ceil(ownd / SMSS) - 1` miss indications, where `ownd` is the FlightSize in bytes.
//! A threshold of 0 never fires: with small packets the byte count says nothing about how many
//! packets are left, which is the imprecision that the packet version removes.

use crate::ids::LossCause;
use crate::profile::Profile;
use crate::recovery::{Algorithm, Decisions, Evidence, SackFacts};

#[derive(Debug)]
pub(in crate::recovery) struct EarlyRetransmitBytes;

impl Algorithm for EarlyRetransmitBytes {
    fn of(profile: &Profile, _: bool) -> Option<EarlyRetransmitBytes> {
        profile.early_retransmit_bytes.enabled.then_some(EarlyRetransmitBytes)
    }

    fn evidence(&self) -> Evidence {
        Evidence::LowCount
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        let ownd = facts.board.total_flight();
        // RFC 5827 §3.1 (2.a) and (2.b).
        if ownd >= 4 * facts.smss || facts.new_data_ready {
            return;
        }
        let threshold = (ownd.div_ceil(facts.smss) as u32).saturating_sub(1);
        if threshold == 0 {
            return;
        }
        for range in facts.missing().filter(|r| r.misses >= threshold && r.misses > 0) {
            decisions.lose(range, LossCause::EarlyRetransmitBytes);
        }
    }
}
