//! Shutdown Acknowledgement (SHUTDOWN ACK, 8), RFC 9260 §3.3.9.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 8    |  Chunk Flags  |          Length = 4           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{ChunkError, ChunkType, RawChunk};

/// Checks that the chunk is nothing but its header.
pub(crate) const fn parse(raw: RawChunk<'_>) -> Result<(), ChunkError> {
    raw.expect_no_value()
}

/// Writes a SHUTDOWN ACK chunk.
pub(crate) fn emit(buffer: &mut Vec<u8>) {
    super::emit(buffer, ChunkType::SHUTDOWN_ACK, 0, &[], &[]);
}
