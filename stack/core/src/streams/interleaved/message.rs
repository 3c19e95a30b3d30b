//! A message that is put together, and its fragments.

use bytes::Bytes;
use tresse_wire::{Ppid, Ssn, StreamId, Tsn};

use super::super::chunk::InChunk;
use crate::event::{MessagePart, ReceivedMessage};
use crate::time::Time;

/// What an open message counts beside its fragments, in bytes.
pub(super) const OPEN_CHARGE: usize = 128;

/// What a fragment that waits counts at least, in bytes: it stands in two lists.
pub(super) const PIECE_CHARGE: usize = 128;

/// The largest distance of two serial numbers of 32 bits of which one is the later one.
pub(super) const HALF: u32 = 1 << 31;

/// Names a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) stream: u16,
    pub(super) unordered: bool,
    pub(super) mid: u32,
}

impl Key {
    pub(super) fn of(chunk: &InChunk) -> Key {
        Key { stream: chunk.stream.0, unordered: chunk.flags.unordered, mid: chunk.mid.0 }
    }
}

/// A message that was not handed over yet.
#[derive(Debug, Default)]
pub(super) struct OpenMessage {
    /// What its first fragment says.
    pub(super) tsn: Tsn,
    pub(super) ppid: Ppid,
    /// The first fragments, this many, but for what was handed over.
    pub(super) buffer: Vec<u8>,
    pub(super) next: u64,
    /// Fragments that are there.
    pub(super) count: u64,
    /// The number of the last one.
    pub(super) last: Option<u64>,
    /// User bytes that are there.
    pub(super) bytes: usize,
    /// When the last of them came.
    pub(super) at: Time,
    /// Since when it is complete.
    pub(super) completed_at: Option<Time>,
}

/// A fragment that waits.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) seq: u64,
    pub(super) payload: Bytes,
}

pub(super) fn message(
    key: Key,
    (tsn, ppid): (Tsn, Ppid),
    (payload, part): (Bytes, MessagePart),
    completed_at: Time,
) -> ReceivedMessage {
    let Key { stream, unordered, mid } = key;
    // RFC 8260 §4.1: "the lower-order 16 bits of the MID are used as the SSN".
    let (stream, ssn) = (StreamId(stream), Ssn(mid as u16));
    ReceivedMessage { stream, ppid, unordered, payload, ssn, tsn, completed_at, part }
}

pub(super) fn piece_charge(len: usize) -> usize {
    len.max(PIECE_CHARGE)
}
