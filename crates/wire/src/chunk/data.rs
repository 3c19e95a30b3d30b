//! Payload Data (DATA, 0), RFC 9260 §3.3.1; I bit from RFC 7053.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 0    |  Res  |I|U|B|E|            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                              TSN                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |      Stream Identifier S      |   Stream Sequence Number n    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                  Payload Protocol Identifier                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                 User Data (seq n of Stream S)                 /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::reader::Reader;
use crate::{ChunkError, ChunkType, Ppid, RawChunk, Ssn, StreamId, Tsn, padded};

/// Length of a DATA chunk in front of its user data, in bytes (RFC 9260 §3.3.1).
pub const DATA_HEADER_LEN: usize = 16;

/// Bytes that a DATA chunk with this much user data takes in a packet, padding included.
#[must_use]
pub const fn data_chunk_len(payload: usize) -> usize {
    DATA_HEADER_LEN.saturating_add(padded(payload))
}

/// Flags of a DATA chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct DataFlags {
    /// I bit: the sender asks for a SACK without delay (RFC 7053).
    pub immediate: bool,
    /// U bit: unordered, the Stream Sequence Number means nothing.
    pub unordered: bool,
    /// B bit: first fragment of a user message.
    pub beginning: bool,
    /// E bit: last fragment of a user message.
    pub ending: bool,
}

impl DataFlags {
    /// An ordered user message in one piece: B and E set.
    pub const UNFRAGMENTED: Self =
        Self { immediate: false, unordered: false, beginning: true, ending: true };

    /// Reads the Chunk Flags; the reserved bits are ignored.
    #[must_use]
    pub const fn from_bits(bits: u8) -> Self {
        Self {
            immediate: bits & 8 != 0,
            unordered: bits & 4 != 0,
            beginning: bits & 2 != 0,
            ending: bits & 1 != 0,
        }
    }

    /// The Chunk Flags with the reserved bits 0.
    #[must_use]
    pub const fn bits(self) -> u8 {
        (self.immediate as u8) << 3
            | (self.unordered as u8) << 2
            | (self.beginning as u8) << 1
            | self.ending as u8
    }
}

/// A DATA chunk: a user message or a fragment of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data<'a> {
    /// Transmission Sequence Number.
    pub tsn: Tsn,
    /// Stream the message belongs to.
    pub stream: StreamId,
    /// Position in the stream; meaningless when the unordered flag is set.
    pub ssn: Ssn,
    /// Payload Protocol Identifier, for the application.
    pub ppid: Ppid,
    /// Flags.
    pub flags: DataFlags,
    /// User data, never empty when parsed.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let data = Self::fields(raw).ok_or(raw.invalid_length())?;
        // RFC 9260 §3.3.1: L "MUST be greater than 0".
        if data.payload.is_empty() {
            return Err(ChunkError::NoUserData { tsn: data.tsn });
        }
        Ok(data)
    }

    fn fields(raw: RawChunk<'a>) -> Option<Self> {
        let mut reader = Reader::new(raw.value);
        Some(Self {
            tsn: Tsn(reader.u32()?),
            stream: StreamId(reader.u16()?),
            ssn: Ssn(reader.u16()?),
            ppid: Ppid(reader.u32()?),
            flags: DataFlags::from_bits(raw.flags),
            payload: reader.rest(),
        })
    }

    pub(crate) fn emit(&self, buffer: &mut Vec<u8>) {
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [i0, i1] = self.stream.0.to_be_bytes();
        let [n0, n1] = self.ssn.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.0.to_be_bytes();
        let fixed = [t0, t1, t2, t3, i0, i1, n0, n1, p0, p1, p2, p3];
        super::emit(buffer, ChunkType::DATA, self.flags.bits(), &fixed, self.payload);
    }
}
