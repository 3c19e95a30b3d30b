//! Detection by duplicate TSN reports (RFC 3708 §3; Ladha et al. §2).
//!
//! Idea: a receiver that reports a retransmitted TSN as a duplicate had the original. If it does
//! so for every TSN retransmitted since loss recovery began, all of it was unnecessary.
//!
//! `spurious <=> every retransmitted TSN was reported, and the Cumulative TSN Ack covers them`
//!
//! It needs no help from the receiver beyond RFC 9260 §6.2, but decides only after loss recovery is
//! over, and a single lost SACK hides a report, which is sent once.

use super::Episode;
use super::cover_ack::is_cover_ack;
use crate::recovery::SackFacts;

/// Whether everything retransmitted in `episode` has been reported as a duplicate.
pub(super) fn is_spurious(facts: &SackFacts<'_>, episode: &Episode) -> bool {
    !facts.duplicates.is_empty()
        && episode.unreported.first().is_none()
        && is_cover_ack(facts.board.cumulative(), episode)
}
