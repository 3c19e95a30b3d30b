//! What reassembly is given, and why it refuses.

use bytes::Bytes;
use tresse_wire::{DataFlags, Ppid, Ssn, StreamId, Tsn};

/// A DATA chunk that arrived for the first time.
#[derive(Clone, Debug)]
pub(crate) struct InChunk {
    /// Its TSN, unwrapped.
    pub(crate) seq: u64,
    pub(crate) tsn: Tsn,
    pub(crate) stream: StreamId,
    pub(crate) ssn: Ssn,
    pub(crate) ppid: Ppid,
    pub(crate) flags: DataFlags,
    pub(crate) payload: Bytes,
}

/// Why the association must be aborted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InboundError {
    /// A message exceeds `max_message_size`: Out of Resource (RFC 9260 §3.3.10.4).
    MessageTooLarge,
    /// Chunks contradict each other: Protocol Violation (RFC 9260 §3.3.10.13), and how.
    Inconsistent(&'static str),
}
