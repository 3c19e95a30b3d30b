//! User messages: queued and fragmented outbound; reassembled, ordered and delivered inbound.
//!
//! Inside, TSNs are unwrapped to `u64` ("seq"), so that their order is plain.

#![allow(dead_code)]

mod delivery;
mod fragmentation;
pub(crate) mod inbound;
mod reassembly;
pub(crate) mod send_queue;
mod table;
#[cfg(test)]
mod tests;
