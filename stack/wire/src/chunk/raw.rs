//! What all types of chunks have in common: the header, and how a chunk is framed and written (RFC 9260 §3.2).

use super::ChunkType;
use crate::ChunkError;

/// Length of type, flags and length in front of a chunk's value, in bytes (RFC 9260 §3.2).
pub const CHUNK_HEADER_LEN: usize = 4;

/// The longest chunk a 16-bit Chunk Length can describe, in bytes without padding.
pub const MAX_CHUNK_LEN: usize = 65_535;

/// The T bit of ABORT and SHUTDOWN COMPLETE chunks (RFC 9260 §3.3.7, §3.3.13).
pub(crate) const T_BIT: u8 = 0x01;

/// A chunk whose framing is sound; its value has not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawChunk<'a> {
    /// Chunk Type.
    pub chunk_type: ChunkType,
    /// Chunk Flags, meaning depends on the type.
    pub flags: u8,
    /// Chunk Value, without header and padding.
    pub value: &'a [u8],
    /// The whole chunk with its header, without padding: what error causes quote.
    pub bytes: &'a [u8],
}

impl RawChunk<'_> {
    /// The error for a chunk whose length does not suit its type.
    pub(crate) const fn invalid_length(&self) -> ChunkError {
        ChunkError::InvalidLength { chunk_type: self.chunk_type, length: self.bytes.len() }
    }

    /// Checks that a chunk defined without a value has none.
    pub(crate) const fn expect_no_value(&self) -> Result<(), ChunkError> {
        if self.value.is_empty() { Ok(()) } else { Err(self.invalid_length()) }
    }
}

/// Appends a chunk made of a fixed part and a variable part, and pads it with zeros.
///
/// A chunk longer than [`MAX_CHUNK_LEN`] cannot be described by a Chunk Length: rather than a
/// wrapped length nothing is written, and builds with debug assertions stop, because the caller has
/// not kept to the size its path allows.
#[inline]
pub(crate) fn emit(
    buffer: &mut Vec<u8>,
    chunk_type: ChunkType,
    flags: u8,
    fixed: &[u8],
    variable: &[u8],
) {
    let length = CHUNK_HEADER_LEN.saturating_add(fixed.len()).saturating_add(variable.len());
    let Ok(length) = u16::try_from(length) else {
        debug_assert!(false, "{chunk_type} chunk of {length} bytes");
        return;
    };
    let [l0, l1] = length.to_be_bytes();
    buffer.extend_from_slice(&[chunk_type.0, flags, l0, l1]);
    buffer.extend_from_slice(fixed);
    buffer.extend_from_slice(variable);
    pad(buffer);
}

//= RFC 9260 3.2-1 3.2-2 3.2-3 3.3.1-8 3.3.1-9 3.3.1-10
/// Pads to the next multiple of four. The common header is 12 bytes long, so chunks begin at one.
pub(crate) fn pad(buffer: &mut Vec<u8>) {
    while !buffer.len().is_multiple_of(4) {
        buffer.push(0);
    }
}
