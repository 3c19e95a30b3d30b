//! Several detectors at once (Ladha et al. §4, Figure 6, "Multihoming Considerations").
//!
//! Idea: with `Delay-Spike(primary) > RTO(primary) + RTT(alternate)` the retransmission overtakes
//! the original on the alternate path. Its SACK tells Eifel nothing; duplicate reports that follow
//! do. So what Eifel leaves undecided stays open for DupTSN.
//!
//! Order: a detector that calls an episode spurious is believed; Eifel is done when every variant
//! in use is.

use super::{Detector, Episode, Finding, PeerHelp};
use crate::profile::Profile;
use crate::recovery::{Decisions, SackFacts};

/// Two variants of Eifel, of which one may not be in use.
#[derive(Debug)]
pub(super) struct Either<A, B> {
    timestamp: Option<A>,
    retransmit_bit: Option<B>,
}

impl<A: Detector, B: Detector> Detector for Either<A, B> {
    fn wants(profile: &Profile) -> PeerHelp {
        A::wants(profile).or(B::wants(profile))
    }

    fn of(profile: &Profile, agreed: PeerHelp) -> Option<Self> {
        let both =
            Either { timestamp: A::of(profile, agreed), retransmit_bit: B::of(profile, agreed) };
        (both.timestamp.is_some() || both.retransmit_bit.is_some()).then_some(both)
    }

    fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        episode: Option<&Episode>,
        decisions: &mut Decisions,
    ) -> Finding {
        let episode = episode.filter(|episode| !episode.decided);
        let timestamp = self.timestamp.as_mut().map(|e| e.judge(facts, episode, decisions));
        let bit = self.retransmit_bit.as_mut().map(|e| e.judge(facts, episode, decisions));
        first(timestamp, bit).unwrap_or(Finding::Wait)
    }
}

/// The finding of the two Eifel variants together; `None` if neither is in use.
fn first(timestamp: Option<Finding>, retransmit_bit: Option<Finding>) -> Option<Finding> {
    match (timestamp, retransmit_bit) {
        (Some(Finding::Spurious(by)), _) | (_, Some(Finding::Spurious(by))) => {
            Some(Finding::Spurious(by))
        }
        (Some(Finding::Wait), _) | (_, Some(Finding::Wait)) => Some(Finding::Wait),
        (Some(Finding::Done), _) | (_, Some(Finding::Done)) => Some(Finding::Done),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::SpuriousCause::EifelRetransmitBit;

    #[test]
    fn one_that_knows_decides_and_one_that_waits_keeps_it_open() {
        let spurious = Finding::Spurious(EifelRetransmitBit);
        assert_eq!(first(Some(Finding::Done), Some(spurious)), Some(spurious));
        assert_eq!(first(Some(Finding::Done), Some(Finding::Wait)), Some(Finding::Wait));
        assert_eq!(first(None, Some(Finding::Done)), Some(Finding::Done));
        assert_eq!(first(None, None), None);
    }
}
