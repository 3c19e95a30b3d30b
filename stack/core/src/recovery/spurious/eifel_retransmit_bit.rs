//! Eifel detection by retransmit bits (Ladha et al., Figure 6 II;
//! draft-proshin-tsvwg-sctp-rtx-bit-03).
//!
//! Idea: a retransmitted DATA chunk carries a bit, and so does a SACK that answers one. A SACK
//! without the bit answers originals. It costs nothing, where timestamps cost 12 bytes a packet.
//!
//! - cover ack without the bit: spurious
//! - cover ack with the bit: not spurious, or it cannot be told
//! - any other SACK with the bit: a retransmission arrived before all originals had; it cannot be
//!   told any more

use super::cover_ack::is_judged;
use super::{Detector, Episode, Finding, PeerHelp};
use crate::event::SpuriousCause;
use crate::profile::Profile;
use crate::recovery::{Decisions, SackFacts};

#[derive(Debug)]
pub(super) struct EifelRetransmitBit {
    cover_ack: bool,
}

impl Detector for EifelRetransmitBit {
    fn wants(profile: &Profile) -> PeerHelp {
        PeerHelp { retransmit_bit: profile.eifel_retransmit_bit.enabled, ..PeerHelp::NOTHING }
    }

    fn of(profile: &Profile, agreed: PeerHelp) -> Option<EifelRetransmitBit> {
        let parameters = &profile.eifel_retransmit_bit;
        let enabled = agreed.retransmit_bit && parameters.enabled;
        enabled.then_some(EifelRetransmitBit { cover_ack: parameters.cover_ack })
    }

    fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        episode: Option<&Episode>,
        _: &mut Decisions,
    ) -> Finding {
        let Some(episode) = episode.filter(|episode| episode.max_retransmit.is_some()) else {
            return Finding::Wait;
        };
        let advanced = facts.outcome.cumulative_advanced;
        if facts.retransmit_bit {
            return Finding::Done;
        }
        if is_judged(facts.board.cumulative(), advanced, episode, self.cover_ack) {
            Finding::Spurious(SpuriousCause::EifelRetransmitBit)
        } else {
            Finding::Wait
        }
    }
}
