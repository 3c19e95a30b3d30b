//! Cover acks (Ladha et al. §4, Figures 5 and 6).
//!
//! Idea: SCTP bundles several retransmitted chunks into one packet, and only one of them may have
//! been lost. A SACK that advances the Cumulative TSN Ack Point past some of them says nothing
//! about the others; one that covers all of them does.
//!
//! `cover ack <=> Cumulative TSN Ack >= MaxRetransmit`

use super::Episode;

/// Whether a SACK with this Cumulative TSN Ack covers everything retransmitted.
pub(super) fn is_cover_ack(cumulative: u64, episode: &Episode) -> bool {
    episode.max_retransmit.is_some_and(|max| cumulative >= max)
}

/// Whether a SACK is judged: a cover ack, or without that extension the first SACK that advances
/// the Cumulative TSN Ack Point ("acceptable ack", RFC 3522 §3.2).
pub(super) fn is_judged(
    cumulative: u64,
    advanced: bool,
    episode: &Episode,
    cover_ack: bool,
) -> bool {
    if cover_ack {
        is_cover_ack(cumulative, episode)
    } else {
        advanced && episode.max_retransmit.is_some()
    }
}
