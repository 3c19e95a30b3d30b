//! Forward RTO-Recovery (RFC 5682 §3.1, the SACK-enhanced version).
//!
//! Idea: after a timeout only the first chunk is sent again; when its SACK comes, new data follows
//! instead of further retransmissions. If the next SACK acknowledges what was sent before the
//! timeout, that had only been late. It needs nothing from the peer.
//!
//! 1. timeout, not in loss recovery: retransmit one packet, hold the rest
//! 2. SACK that advances the Cumulative TSN Ack Point: `RecoveryPoint` = highest TSN sent.
//!    It covers RecoveryPoint, or there is no new data to send: conventional recovery.
//!    Otherwise up to two new packets
//! 3. next SACK: it acknowledges something, and nothing beyond RecoveryPoint: spurious.
//!    Otherwise conventional recovery
//!
//! Difference: RecoveryPoint is the highest TSN sent when the timer expired: nothing new leaves
//! between steps 1 and 2.

use super::{Detector, Episode, Finding, PeerHelp, Trigger};
use crate::event::SpuriousCause;
use crate::profile::Profile;
use crate::recovery::{Decisions, SackFacts};

/// New packets in step 2.
const NEW_PACKETS: u32 = 2;

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Step {
    #[default]
    Idle,
    /// Step 2: waiting for the SACK of the retransmission.
    First,
    /// Step 3: new data was sent.
    Second,
}

/// F-RTO of one association.
#[derive(Debug, Default)]
pub(crate) struct FRto {
    step: Step,
    recovery_point: u64,
}

impl Detector for FRto {
    fn of(profile: &Profile, _: PeerHelp) -> Option<FRto> {
        profile.f_rto.enabled.then(FRto::default)
    }

    fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        episode: Option<&Episode>,
        decisions: &mut Decisions,
    ) -> Finding {
        let found = self.on_sack(facts, decisions);
        let timed_out = episode.is_some_and(|episode| episode.trigger == Trigger::Timeout);
        if found && timed_out { Finding::Spurious(SpuriousCause::FRto) } else { Finding::Wait }
    }

    fn on_timeout(&mut self, cumulative: u64, highest: u64, recovering: bool) {
        // Step 1: "If RecoveryPoint is larger than or equal to SND.UNA, do not enter step 2";
        // but the timer may expire several times for the same segment.
        let same = self.step == Step::First;
        let recovering = recovering || self.recovery_point > cumulative;
        self.step = if recovering && !same { Step::Idle } else { Step::First };
        self.recovery_point = highest;
    }

    /// Lost chunks other than the first wait for the decision.
    fn holds(&self) -> bool {
        self.step != Step::Idle
    }

    /// It was decided otherwise.
    fn stop(&mut self) {
        self.step = Step::Idle;
    }
}

impl FRto {
    /// Returns whether the timeout was spurious.
    fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) -> bool {
        let cumulative = facts.board.cumulative();
        match self.step {
            Step::Idle => false,
            Step::First if !facts.outcome.cumulative_advanced => false, // Stay in step 2.
            Step::First => {
                if cumulative >= self.recovery_point || !facts.new_data_ready {
                    self.step = Step::Idle;
                } else {
                    decisions.send_new += NEW_PACKETS;
                    self.step = Step::Second;
                }
                false
            }
            Step::Second => {
                self.step = Step::Idle;
                let beyond = facts.board.highest_acked() > self.recovery_point;
                !beyond && facts.outcome.newly_acked > 0
            }
        }
    }
}
