//! Which chunks are lost, as SACKs tell.

pub(super) mod early_retransmit_bytes;
pub(super) mod early_retransmit_packets;
pub(super) mod early_retransmit_switch_off;
pub(super) mod fast_retransmit;
pub(super) mod fast_retransmit_again;
pub(super) mod limited_transmit;
pub(super) mod rack;
pub(super) mod smart_fast_retransmit;
pub(super) mod split_fast_retransmit;
mod suspects;
pub(super) mod thin_fast_retransmit;
