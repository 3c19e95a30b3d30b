//! SACKs asked for without delay (RFC 7053 §4).
//!
//! Idea: when a packet takes the last of what waits, no second one follows that would bring the
//! SACK, and the sender measures the delay of the receiver as part of the RTT (Pedersen 2006
//! §4.3.2). The I bit of its last chunk asks for the SACK at once. Unlike removing the delay at the
//! receiver it needs nothing but RFC 7053 there, and a bulk transfer keeps one SACK for two packets.
//!
//! `I bit <=> the chunk empties the send queue, or is a tail loss probe`
//!
//! Difference: RFC 7053 §4 leaves the condition to the sender; this is the one it gives for "the
//! sending of the last DATA chunk".

use crate::profile::Profile;

/// Whether the chunk that empties the queue asks for a SACK.
pub(crate) fn asks(profile: &Profile) -> bool {
    profile.sack.ask_when_idle
}
