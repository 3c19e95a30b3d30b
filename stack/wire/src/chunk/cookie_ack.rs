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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 4] = [0x0b, 0x00, 0x00, 0x04];

    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::CookieAck));
        assert_eq!(emitted(|writer| writer.cookie_ack()), BYTES);
    }

    #[test]
    fn length_is_four() {
        let error = ChunkError::InvalidLength { chunk_type: ChunkType::COOKIE_ACK, length: 5 };
        assert_eq!(parse(&[0x0b, 0, 0, 5, 0, 0, 0, 0]), Err(error));
    }
}
