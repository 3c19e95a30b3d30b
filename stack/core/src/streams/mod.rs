//! User messages: queued and fragmented outbound; reassembled, ordered and delivered inbound.
//!
//! Inside, TSNs are unwrapped to `u64` ("seq"), so that their order is plain.

pub(crate) mod chunk;
mod delivery;
mod fragmentation;
pub(crate) mod inbound;
mod interleaved;
mod lines;
mod reassembly;
mod renewal;
mod ring;
pub(crate) mod send_queue;
mod slots;
mod stream_scheduler;
pub(crate) mod stream_set;
mod table;
#[cfg(test)]
mod tests;

use bytes::Bytes;

/// What the smallest chunk or message counts as held, in bytes. A real one costs up to three times
/// its count in memory, not more.
///
/// Larger ones count their user data alone, so that the advertised window shrinks by just what the
/// peer has sent, as RFC 9260 §6.2 B describes.
const MIN_CHARGE: usize = 64;

/// What keeping one piece of user data costs beside its bytes: its header as shared bytes, what the allocator
/// adds, and its place in a list of those that wait for their turn.
const PIECE: usize = 48;

/// With this many messages waiting for the application, small ones are copied out of their packets:
/// a slow reader must not keep much more memory alive than the window counts.
const BACKLOG: usize = 256;

/// A payload, a slice of a packet of that length, copied if keeping it would keep alive more than twice its length.
fn detach(payload: Bytes, packet_len: usize) -> Bytes {
    if payload.len() * 2 < packet_len { Bytes::copy_from_slice(&payload) } else { payload }
}

/// User data that was put together, without much unused memory behind it.
fn trimmed(mut buffer: Vec<u8>) -> Bytes {
    if buffer.capacity() - buffer.len() > buffer.len() / 4 {
        buffer.shrink_to_fit();
    }
    buffer.into()
}

/// What `len` bytes of user data in one piece count as held.
pub(crate) fn charge(len: usize) -> usize {
    len.max(MIN_CHARGE)
}
