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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 4] = [0x0e, 0x01, 0x00, 0x04];

    #[test]
    fn reads_and_writes_its_bytes() {
        let reflected = ShutdownComplete { tag_reflected: true };
        assert_eq!(parse(&BYTES), Ok(Chunk::ShutdownComplete(reflected)));
        assert_eq!(emitted(|writer| writer.shutdown_complete(true)), BYTES);
        let own = ShutdownComplete { tag_reflected: false };
        assert_eq!(parse(&[0x0e, 0xfe, 0, 4]), Ok(Chunk::ShutdownComplete(own)));
        assert_eq!(emitted(|writer| writer.shutdown_complete(false)), [0x0e, 0, 0, 4]);
    }

    #[test]
    fn length_is_four() {
        let error =
            ChunkError::InvalidLength { chunk_type: ChunkType::SHUTDOWN_COMPLETE, length: 8 };
        assert_eq!(parse(&[0x0e, 0, 0, 8, 0, 0, 0, 0]), Err(error));
    }
}
