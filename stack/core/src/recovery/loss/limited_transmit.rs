//! Limited Transmit (RFC 3042).
//!
//! Idea: each of the first two SACKs that report a chunk missing shows that a packet left the
//! network, so one new packet may be sent beyond cwnd; it elicits the further SACKs that fast
//! retransmit needs.
//!
//! `FlightSize <= cwnd + 2 SMSS`, not in fast recovery; cwnd itself does not change.
//!
//! Difference: with `only_thin` it is silent while five packets or more are in flight. Those bring the SACKs by
//! themselves, and a packet beyond cwnd finds the queue full that has just lost one.

use crate::profile::{LimitedTransmitParameters, Profile};
use crate::recovery::{Algorithm, Decisions, SackFacts};

#[derive(Debug)]
pub(in crate::recovery) struct LimitedTransmit {
    limit: u32,
    only_thin: bool,
    /// Packets allowed since nothing was missing.
    used: u32,
}

impl Algorithm for LimitedTransmit {
    fn of(profile: &Profile, _: bool) -> Option<LimitedTransmit> {
        let LimitedTransmitParameters { enabled, packets: limit, only_thin } =
            profile.limited_transmit;
        enabled.then_some(LimitedTransmit { limit, only_thin, used: 0 })
    }

    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        if facts.missing().next().is_none() {
            self.used = 0;
            return;
        }
        if facts.struck
            && !facts.in_fast_recovery
            && facts.new_data_ready
            && (facts.thin || !self.only_thin)
            && decisions.lost.is_empty()
            && self.used < self.limit
        {
            self.used += 1;
            decisions.send_new += 1;
        }
    }

    fn on_timeout(&mut self) {
        self.used = 0;
    }
}
