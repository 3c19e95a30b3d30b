//! Shutdown Association (SHUTDOWN, 7), RFC 9260 §3.3.8.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 7    |  Chunk Flags  |          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Cumulative TSN Ack                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{ChunkError, ChunkType, RawChunk, Tsn};

/// A SHUTDOWN chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shutdown {
    /// All TSNs up to and including this one have been received. It says nothing about what was
    /// received beyond it.
    pub cumulative_tsn_ack: Tsn,
}

impl Shutdown {
    pub(crate) fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        // RFC 9260 §3.3.8: Length is "Set to 8".
        let value = <[u8; 4]>::try_from(raw.value).map_err(|_| raw.invalid_length())?;
        Ok(Self { cumulative_tsn_ack: Tsn(u32::from_be_bytes(value)) })
    }

    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        let fixed = self.cumulative_tsn_ack.0.to_be_bytes();
        super::emit(buffer, ChunkType::SHUTDOWN, 0, &fixed, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 8] = [0x07, 0x00, 0x00, 0x08, 0x8d, 0x1c, 0x22, 0x04];

    #[test]
    fn reads_and_writes_its_bytes() {
        let cumulative_tsn_ack = Tsn(0x8d1c_2204);
        assert_eq!(parse(&BYTES), Ok(Chunk::Shutdown(Shutdown { cumulative_tsn_ack })));
        assert_eq!(emitted(|writer| writer.shutdown(cumulative_tsn_ack)), BYTES);
    }

    #[test]
    fn length_is_eight() {
        let mut bytes = [0; 12];
        bytes[0] = 7;
        for length in [4, 5, 6, 7, 9, 12] {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::SHUTDOWN, length };
            assert_eq!(parse(&bytes), Err(error));
        }
    }
}
