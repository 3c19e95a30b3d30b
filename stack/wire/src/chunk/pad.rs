//! Padding (PAD, 132), RFC 4820 §3: makes a packet as long as it is to be.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Type = 132   |    Flags=0    |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                         Padding Data                          \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The highest bits of its type are 10: an endpoint that does not know it skips it without a report (RFC 9260 §3.2), so it
//! is sent without being agreed on.

use crate::{CHUNK_HEADER_LEN, ChunkType, MAX_CHUNK_LEN, RawChunk};

/// A PAD chunk (RFC 4820 §3). Whoever receives one passes over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pad {
    /// Bytes of the chunk, its header included, padding to a multiple of four not.
    pub len: usize,
}

impl Pad {
    //= RFC 4820 3-2 3-3 3-4
    /// "This value SHOULD be set to zero on transmit and MUST be ignored on receipt", and so are flags and Padding Data.
    pub(crate) const fn parse(raw: RawChunk<'_>) -> Pad {
        Pad { len: CHUNK_HEADER_LEN + raw.value.len() }
    }

    //= RFC 4820 3-1 3-2
    /// Writes zeros; no less than a header, and no more than a chunk can be.
    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        let len = self.len.clamp(CHUNK_HEADER_LEN, MAX_CHUNK_LEN);
        super::emit(buffer, ChunkType::PAD, 0, &[], &[]);
        if let Some(length) = buffer.last_chunk_mut::<2>() {
            *length = (len as u16).to_be_bytes();
        }
        buffer.resize(buffer.len() + crate::padded(len) - CHUNK_HEADER_LEN, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, UnknownAction};

    const BYTES: [u8; 8] = [0x84, 0, 0, 8, 0, 0, 0, 0];

    //= RFC 4820 3-1 3-2
    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::Pad(Pad { len: 8 })));
        assert_eq!(emitted(|writer| writer.pad(8)), BYTES);
        assert_eq!(
            emitted(|writer| writer.pad(0)),
            BYTES[..4].iter().map(|b| if *b == 8 { 4 } else { *b }).collect::<Vec<_>>()
        );
        let most = emitted(|writer| writer.pad(usize::MAX));
        assert_eq!((most.len(), &most[2..4]), (65_536, &[255, 255][..]));
    }

    //= RFC 4820 3-3 3-4
    #[test]
    fn flags_and_contents_do_not_matter() {
        assert_eq!(parse(&[0x84, 0xff, 0, 7, 1, 2, 3, 0]), Ok(Chunk::Pad(Pad { len: 7 })));
    }

    /// RFC 4820 §3: "this is also the required processing behavior for any unknown chunk having the same highest-order two
    /// bits".
    #[test]
    fn who_does_not_know_it_skips_it() {
        assert_eq!(ChunkType::PAD.unknown_action(), UnknownAction::Skip);
    }
}
