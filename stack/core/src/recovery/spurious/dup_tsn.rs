//! Detection by duplicate TSN reports (RFC 3708 §3; Ladha et al. §2).
//!
//! Idea: a receiver that reports a retransmitted TSN as a duplicate had the original. If it does
//! so for every TSN retransmitted since loss recovery began, all of it was unnecessary.
//!
//! `spurious <=> every retransmitted TSN was reported, and the Cumulative TSN Ack covers them`
//!
//! It needs no help from the receiver beyond RFC 9260 §6.2, but decides only after loss recovery is
//! over, and a single lost SACK hides a report, which is sent once.

use super::cover_ack::is_cover_ack;
use super::{Detector, Episode, Finding, PeerHelp};
use crate::event::SpuriousCause;
use crate::profile::Profile;
use crate::recovery::{Decisions, SackFacts};

/// The detector; the episode has what it looks at.
#[derive(Debug)]
pub(super) struct DupTsn;

impl Detector for DupTsn {
    fn of(profile: &Profile, _: PeerHelp) -> Option<DupTsn> {
        profile.dup_tsn.enabled.then_some(DupTsn)
    }

    fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        episode: Option<&Episode>,
        _: &mut Decisions,
    ) -> Finding {
        let found = episode.is_some_and(|episode| is_spurious(facts, episode));
        if found { Finding::Spurious(SpuriousCause::DupTsn) } else { Finding::Wait }
    }

    fn keeps_open(&self) -> bool {
        true
    }
}

/// Whether everything retransmitted in `episode` has been reported as a duplicate.
fn is_spurious(facts: &SackFacts<'_>, episode: &Episode) -> bool {
    !facts.duplicates.is_empty()
        && episode.unreported.first().is_none()
        && is_cover_ack(facts.board.cumulative(), episode)
}
