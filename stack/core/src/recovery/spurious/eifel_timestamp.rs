//! Eifel detection by TIMESTAMP chunks (Ladha et al., Figure 6 I; RFC 3522).
//!
//! Idea: the receiver echoes the time at which the packet that it answers was sent. If the SACK
//! that covers everything retransmitted echoes a time before the first retransmission, the
//! originals caused it.
//!
//! On a cover ack: `spurious <=> TSecr < RetransmitTS`, unless loss recovery began with a timeout,
//! no other SACK came before (`AckRcvd` is false) and all retransmitted TSNs were reported as
//! duplicates: then the SACKs of the originals were lost, which is congestion (RFC 3522 §3.3).
//!
//! Difference: time is in ticks of 100 us (the source leaves the unit open), compared in serial
//! number arithmetic.

use super::cover_ack::is_judged;
use super::{Detector, Episode, Finding, PeerHelp, Trigger};
use crate::event::SpuriousCause;
use crate::profile::Profile;
use crate::recovery::{Decisions, SackFacts};
use crate::time::Time;

/// The timestamp of a moment: 100 us a tick, wrapping around after five days.
pub(crate) fn ticks(now: Time) -> u32 {
    (now.as_nanos() / 100_000) as u32 // Truncation is the wrap-around.
}

#[derive(Debug)]
pub(super) struct EifelTimestamp {
    cover_ack: bool,
    ack_rcvd: bool,
}

impl Detector for EifelTimestamp {
    fn wants(profile: &Profile) -> PeerHelp {
        PeerHelp { timestamps: profile.eifel_timestamp.enabled, ..PeerHelp::NOTHING }
    }

    fn of(profile: &Profile, agreed: PeerHelp) -> Option<EifelTimestamp> {
        let parameters = &profile.eifel_timestamp;
        let enabled = agreed.timestamps && parameters.enabled;
        enabled.then_some(EifelTimestamp {
            cover_ack: parameters.cover_ack,
            ack_rcvd: parameters.ack_rcvd,
        })
    }

    fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        episode: Option<&Episode>,
        _: &mut Decisions,
    ) -> Finding {
        let Some(episode) = episode else { return Finding::Wait };
        let advanced = facts.outcome.cumulative_advanced;
        if !is_judged(facts.board.cumulative(), advanced, episode, self.cover_ack) {
            return Finding::Wait;
        }
        let (Some(echo), Some(first)) = (facts.timestamp_echo, episode.retransmit_ts) else {
            return Finding::Done;
        };
        // Step 4: TSecr < RetransmitTS.
        if ticks(first).wrapping_sub(echo).cast_signed() <= 0 {
            return Finding::Done;
        }
        // Step 5.
        let acks_lost = self.ack_rcvd
            && episode.trigger == Trigger::Timeout
            && !episode.ack_rcvd
            && episode.unreported.first().is_none();
        if acks_lost { Finding::Done } else { Finding::Spurious(SpuriousCause::EifelTimestamp) }
    }
}
