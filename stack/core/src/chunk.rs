//! What a DATA or I-DATA chunk carries.

use bytes::Bytes;
use tresse_wire::{DataFlags, Fsn, Mid, Ppid, StreamId};

/// A DATA or I-DATA chunk to be sent for the first time, but for its TSN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewChunk {
    /// Stream identifier.
    pub stream: StreamId,
    /// Message identifier: in its low bits the stream sequence number of a DATA chunk, 0 and without meaning when
    /// unordered.
    pub mid: Mid,
    /// Fragment sequence number; a DATA chunk does not carry it.
    pub fsn: Fsn,
    /// Payload protocol identifier.
    pub ppid: Ppid,
    /// U, B, E and I bits.
    pub flags: DataFlags,
    /// What the application wants back if its message fails.
    pub context: u32,
    /// Number of the shared key to authenticate it with; `None` for the active one.
    pub key: Option<u16>,
    /// User data: a slice of the message, not a copy.
    pub payload: Bytes,
}
