//! Cookie Acknowledgement (COOKIE ACK, 11), RFC 9260 §3.3.12.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 11   |  Chunk Flags  |          Length = 4           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{ChunkError, ChunkType, RawChunk};

/// Checks that the chunk is nothing but its header.
pub(crate) const fn parse(raw: RawChunk<'_>) -> Result<(), ChunkError> {
    raw.expect_no_value()
}

/// Writes a COOKIE ACK chunk.
pub(crate) fn emit(buffer: &mut Vec<u8>) {
    super::emit(buffer, ChunkType::COOKIE_ACK, 0, &[], &[]);
}
