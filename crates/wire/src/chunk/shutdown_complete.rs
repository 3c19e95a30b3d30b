//! Shutdown Complete (SHUTDOWN COMPLETE, 14), RFC 9260 §3.3.13.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 14   |  Reserved   |T|          Length = 4           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::T_BIT;
use crate::{ChunkError, ChunkType, RawChunk};

/// A SHUTDOWN COMPLETE chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ShutdownComplete {
    /// T bit: the Verification Tag of the packet is the one its sender received, not the one its
    /// peer expects (RFC 9260 §8.5.1).
    pub tag_reflected: bool,
}

impl ShutdownComplete {
    pub(crate) fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        raw.expect_no_value()?;
        Ok(Self { tag_reflected: raw.flags & T_BIT != 0 })
    }

    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        let flags = if self.tag_reflected { T_BIT } else { 0 };
        super::emit(buffer, ChunkType::SHUTDOWN_COMPLETE, flags, &[], &[]);
    }
}
