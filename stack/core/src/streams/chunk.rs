//! What reassembly is given, and why it refuses.

use bytes::Bytes;
use tresse_wire::{Data, DataFlags, Fsn, IData, Mid, Ppid, StreamId, Tsn};

/// A DATA or I-DATA chunk that arrived for the first time.
#[derive(Clone, Debug)]
pub(crate) struct InChunk {
    /// Its TSN, unwrapped.
    pub(crate) seq: u64,
    pub(crate) tsn: Tsn,
    pub(crate) stream: StreamId,
    /// Which message of the stream; the SSN of a DATA chunk.
    pub(crate) mid: Mid,
    /// Which fragment of the message; 0 for a DATA chunk, whose TSN says that.
    pub(crate) fsn: Fsn,
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

/// A DATA chunk, as an I-DATA chunk with its SSN as MID: what takes chunks takes both.
pub(crate) fn widened<'a>(data: &Data<'a>) -> IData<'a> {
    let Data { tsn, stream, ssn, ppid, flags, payload } = *data;
    IData { tsn, stream, mid: Mid(ssn.0.into()), ppid, fsn: Fsn(0), flags, payload }
}
