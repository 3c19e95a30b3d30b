//! Forward Cumulative TSN (FORWARD TSN, 192), RFC 3758 §3.2.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 192  |  Flags = 0x00 |        Length = Variable      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      New Cumulative TSN                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Stream-1              |       Stream Sequence-1       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                                                               /
//! /                                                               \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |         Stream-N              |       Stream Sequence-N       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::emit as emit_chunk;
use crate::reader::Reader;
use crate::{ChunkError, ChunkType, MAX_CHUNK_LEN, RawChunk, Ssn, StreamId, Tsn};

/// Length of the chunk in front of the first stream, in bytes.
pub const FORWARD_TSN_HEADER_LEN: usize = 8;

/// Length of a stream with its sequence number, in bytes.
const ENTRY_LEN: usize = 4;

/// A stream of which ordered messages are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SkippedStream {
    /// The stream.
    pub stream: StreamId,
    /// The largest Stream Sequence Number that is passed over.
    pub ssn: Ssn,
}

/// A FORWARD TSN chunk: what its sender will not send (again) is to be taken for received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ForwardTsn<'a> {
    /// All TSNs up to and including this one are taken for received.
    pub new_cumulative_tsn: Tsn,
    skipped: &'a [[u8; ENTRY_LEN]],
}

impl<'a> ForwardTsn<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(raw.value);
        let tsn = reader.u32().ok_or(raw.invalid_length())?;
        match reader.rest().as_chunks() {
            (skipped, []) => Ok(Self { new_cumulative_tsn: Tsn(tsn), skipped }),
            _ => Err(raw.invalid_length()),
        }
    }

    /// Streams of which ordered messages are passed over, in the order of the chunk, unjudged.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = SkippedStream> + Clone + use<'a> {
        self.skipped.iter().map(|[s0, s1, n0, n1]| SkippedStream {
            stream: StreamId(u16::from_be_bytes([*s0, *s1])),
            ssn: Ssn(u16::from_be_bytes([*n0, *n1])),
        })
    }
}

//= RFC 3758 3.2-3 3.2-4
/// Writes a FORWARD TSN chunk; a list that is too long is shortened from the end.
pub(crate) fn emit(
    buffer: &mut Vec<u8>,
    new_cumulative_tsn: Tsn,
    skipped: impl Iterator<Item = SkippedStream>,
) {
    let most = (MAX_CHUNK_LEN - FORWARD_TSN_HEADER_LEN) / ENTRY_LEN;
    let start = buffer.len();
    emit_chunk(buffer, ChunkType::FORWARD_TSN, 0, &new_cumulative_tsn.0.to_be_bytes(), &[]);
    for SkippedStream { stream, ssn } in skipped.take(most) {
        buffer.extend_from_slice(&stream.0.to_be_bytes());
        buffer.extend_from_slice(&ssn.0.to_be_bytes());
    }
    let length = u16::try_from(buffer.len() - start).unwrap_or(u16::MAX); // No more than `most`.
    buffer[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    /// TSN 104; stream 1 up to 7, stream 65535 up to 0.
    const BYTES: [u8; 16] = [0xc0, 0, 0, 0x10, 0, 0, 0, 0x68, 0, 1, 0, 7, 0xff, 0xff, 0, 0];

    const SKIPPED: [SkippedStream; 2] = [
        SkippedStream { stream: StreamId(1), ssn: Ssn(7) },
        SkippedStream { stream: StreamId(65_535), ssn: Ssn(0) },
    ];

    //= RFC 3758 3.2-3 3.2-4
    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::ForwardTsn(chunk)) = parse(&BYTES) else { panic!("a FORWARD TSN chunk") };
        assert_eq!(chunk.new_cumulative_tsn, Tsn(104));
        assert_eq!(chunk.skipped().collect::<Vec<_>>(), SKIPPED);
        let written = emitted(|w| w.forward_tsn(Tsn(104), SKIPPED.into_iter()));
        assert_eq!(written, BYTES);
    }

    #[test]
    fn flags_are_ignored() {
        let mut bytes = BYTES;
        bytes[1] = 0xff;
        assert_eq!(parse(&bytes), parse(&BYTES));
    }

    #[test]
    fn its_length_is_that_of_whole_entries() {
        for length in 4..=16 {
            let mut bytes = BYTES;
            bytes[3] = length;
            let sound = [8, 12, 16].contains(&length);
            assert_eq!(parse(&bytes).is_ok(), sound, "{length}");
        }
    }

    #[test]
    fn lists_beyond_the_chunk_length_are_shortened() {
        let written = emitted(|w| w.forward_tsn(Tsn(1), [SKIPPED[0]; 20_000].into_iter()));
        assert_eq!(written.len(), 65_532);
        let Ok(Chunk::ForwardTsn(chunk)) = parse(&written) else { panic!("a FORWARD TSN chunk") };
        assert_eq!(chunk.skipped().len(), (65_532 - 8) / 4);
    }
}
