//! Fast retransmit after one SACK in thin streams (Pedersen 2006 §4.2.1).
//!
//! Idea: a thin stream brings few SACKs, and waiting for three or four of them takes longer than
//! the timer. The first one that reports a chunk missing is believed; a spurious retransmission of
//! a small message costs little.
//!
//! `lost(c) <=> thin and misses(c) >= 1`, evaluated on SACKs that struck `c`. Thick streams keep
//! the threshold of fast retransmit.

use crate::ids::LossCause;
use crate::profile::Profile;
use crate::recovery::{Algorithm, Decisions, Evidence, SackFacts};

#[derive(Debug)]
pub(in crate::recovery) struct ThinFastRetransmit;

impl Algorithm for ThinFastRetransmit {
    fn of(profile: &Profile, _: bool) -> Option<ThinFastRetransmit> {
        profile.thin_fast_retransmit.enabled.then_some(ThinFastRetransmit)
    }

    fn evidence(&self) -> Evidence {
        Evidence::One
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        if !(facts.thin && facts.struck) {
            return;
        }
        for range in facts.missing().filter(|r| r.struck && r.misses >= 1) {
            decisions.lose(range, LossCause::ThinFastRetransmit);
        }
    }
}
