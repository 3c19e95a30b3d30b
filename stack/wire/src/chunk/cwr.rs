//! Congestion Window Reduced (CWR, 13), RFC 4960 Appendix A and draft-stewart-tsvwg-sctpecn.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 13   | Reserved  |S|R|          Length = 8           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Lowest TSN Number                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! RFC 4960 has no flags; R and S are those of FreeBSD.

use crate::{ChunkError, ChunkType, RawChunk, Tsn};

/// Length of a CWR chunk in bytes.
pub const CWR_CHUNK_LEN: usize = 8;

const OVERRIDE: u8 = 0x01;
const SAME_WINDOW: u8 = 0x02;

/// A CWR chunk: an ECNE chunk has been heard, and a congestion window was reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cwr {
    /// The TSN of the ECNE chunk that it answers; earlier ones are answered, too.
    pub lowest_tsn: Tsn,
    /// R: it answers what was marked on any path, since the sender no longer knows where the TSN went. Without it, the chunk
    /// is about the path that it comes by.
    pub any_path: bool,
    /// S: the window had been reduced for an earlier mark of the same round trip.
    pub same_window: bool,
}

impl Cwr {
    pub(crate) fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        let tsn = <[u8; 4]>::try_from(raw.value).map_err(|_| raw.invalid_length())?;
        Ok(Self {
            lowest_tsn: Tsn(u32::from_be_bytes(tsn)),
            any_path: raw.flags & OVERRIDE != 0,
            same_window: raw.flags & SAME_WINDOW != 0,
        })
    }

    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        let any_path = if self.any_path { OVERRIDE } else { 0 };
        let flags = any_path | if self.same_window { SAME_WINDOW } else { 0 };
        super::emit(buffer, ChunkType::CWR, flags, &self.lowest_tsn.0.to_be_bytes(), &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 8] = [13, 0, 0, 8, 0, 0, 1, 4];

    #[test]
    fn reads_and_writes_its_bytes() {
        for (flags, any_path, same_window) in
            [(0, false, false), (1, true, false), (2, false, true), (3, true, true)]
        {
            let chunk = Cwr { lowest_tsn: Tsn(260), any_path, same_window };
            let mut bytes = BYTES;
            bytes[1] = flags;
            assert_eq!(parse(&bytes), Ok(Chunk::Cwr(chunk)));
            assert_eq!(emitted(|w| w.cwr(chunk)), bytes);
            bytes[1] |= 0xfc;
            assert_eq!(parse(&bytes), Ok(Chunk::Cwr(chunk)));
        }
    }

    #[test]
    fn length_is_eight() {
        let mut bytes = [0; 16];
        bytes[0] = 13;
        for length in [4, 5, 6, 7, 9, 12, 16] {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::CWR, length };
            assert_eq!(parse(&bytes), Err(error));
        }
    }
}
