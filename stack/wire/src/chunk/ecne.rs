//! Explicit Congestion Notification Echo (ECNE, 12), RFC 4960 Appendix A and draft-stewart-tsvwg-sctpecn.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 12   |  Flags = 0x00 |       Length = 8 or 12        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Lowest TSN Number                        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Number of packets that were marked since CWR           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! The chunk of RFC 4960, which Linux sends, ends in front of the number; the draft and FreeBSD have it.

use crate::{ChunkError, ChunkType, RawChunk, Tsn};

/// Length of an ECNE chunk with the number of packets, in bytes.
pub const ECNE_CHUNK_LEN: usize = 12;

/// An ECNE chunk: a packet with DATA arrived with the mark "congestion experienced" (RFC 3168 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ecne {
    /// A TSN of the marked packet: the lowest by RFC 4960, the highest from FreeBSD.
    pub lowest_tsn: Tsn,
    /// How many marked packets arrived since the last CWR chunk. `None`: the chunk of RFC 4960, which does not tell.
    pub packets: Option<u32>,
}

impl Ecne {
    pub(crate) fn parse(raw: RawChunk<'_>) -> Result<Self, ChunkError> {
        let (lowest_tsn, packets) = match *raw.value {
            [t0, t1, t2, t3] => ([t0, t1, t2, t3], None),
            [t0, t1, t2, t3, n0, n1, n2, n3] => ([t0, t1, t2, t3], Some([n0, n1, n2, n3])),
            _ => return Err(raw.invalid_length()),
        };
        let lowest_tsn = Tsn(u32::from_be_bytes(lowest_tsn));
        Ok(Self { lowest_tsn, packets: packets.map(u32::from_be_bytes) })
    }

    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        let packets = self.packets.map(u32::to_be_bytes);
        let variable = packets.as_ref().map_or(&[][..], |packets| packets);
        super::emit(buffer, ChunkType::ECNE, 0, &self.lowest_tsn.0.to_be_bytes(), variable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 12] = [12, 0, 0, 12, 0, 0, 1, 4, 0, 0, 0, 3];
    const OLD: [u8; 8] = [12, 0, 0, 8, 0, 0, 1, 4];

    #[test]
    fn reads_and_writes_both_forms() {
        let chunk = Ecne { lowest_tsn: Tsn(260), packets: Some(3) };
        assert_eq!(parse(&BYTES), Ok(Chunk::Ecne(chunk)));
        assert_eq!(emitted(|w| w.ecne(chunk)), BYTES);
        let old = Ecne { packets: None, ..chunk };
        assert_eq!(parse(&OLD), Ok(Chunk::Ecne(old)));
        assert_eq!(emitted(|w| w.ecne(old)), OLD);
    }

    #[test]
    fn flags_are_ignored() {
        let mut bytes = BYTES;
        bytes[1] = 0xff;
        assert_eq!(parse(&bytes), parse(&BYTES));
    }

    #[test]
    fn its_length_is_8_or_12() {
        let mut bytes = [0; 20];
        bytes[0] = 12;
        for length in 4..=20 {
            bytes[3] = length;
            let length = usize::from(length);
            let error = ChunkError::InvalidLength { chunk_type: ChunkType::ECNE, length };
            match length {
                8 | 12 => assert!(parse(&bytes).is_ok(), "{length}"),
                _ => assert_eq!(parse(&bytes), Err(error)),
            }
        }
    }
}
