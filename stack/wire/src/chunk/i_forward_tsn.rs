//! Forward Cumulative TSN for I-DATA (I-FORWARD-TSN, 194), RFC 8260 §2.3.1.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 194  | Flags = 0x00  |      Length = Variable        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       New Cumulative TSN                      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Stream Identifier       |          Reserved           |U|
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Message Identifier                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                                                               \
//! /                                                               /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |       Stream Identifier       |          Reserved           |U|
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                      Message Identifier                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::emit as emit_chunk;
use crate::reader::Reader;
use crate::{ChunkError, ChunkType, MAX_CHUNK_LEN, Mid, RawChunk, StreamId, Tsn};

/// Length of the chunk in front of the first stream, in bytes.
const HEADER_LEN: usize = 8;

/// Length of a stream with its message identifier in an I-FORWARD-TSN chunk, in bytes.
pub const SKIPPED_MESSAGES_LEN: usize = 8;

/// Ordered or unordered messages of a stream that are passed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SkippedMessages {
    /// The stream.
    pub stream: StreamId,
    /// U bit: the identifier is one of unordered messages.
    pub unordered: bool,
    /// The largest Message Identifier that is passed over.
    pub mid: Mid,
}

/// An I-FORWARD-TSN chunk: what its sender will not send (again) is to be taken for received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IForwardTsn<'a> {
    /// All TSNs up to and including this one are taken for received.
    pub new_cumulative_tsn: Tsn,
    skipped: &'a [[u8; SKIPPED_MESSAGES_LEN]],
}

impl<'a> IForwardTsn<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let mut reader = Reader::new(raw.value);
        let tsn = reader.u32().ok_or(raw.invalid_length())?;
        match reader.rest().as_chunks() {
            (skipped, []) => Ok(Self { new_cumulative_tsn: Tsn(tsn), skipped }),
            _ => Err(raw.invalid_length()),
        }
    }

    //= RFC 8260 2.3.1-3 2.3.1-5
    /// Messages that are passed over, in the order of the chunk, unjudged.
    pub fn skipped(&self) -> impl ExactSizeIterator<Item = SkippedMessages> + Clone + use<'a> {
        self.skipped.iter().map(|[s0, s1, _, u, m0, m1, m2, m3]| SkippedMessages {
            stream: StreamId(u16::from_be_bytes([*s0, *s1])),
            unordered: u & 1 != 0,
            mid: Mid(u32::from_be_bytes([*m0, *m1, *m2, *m3])),
        })
    }
}

//= RFC 8260 2.3.1-2 2.3.1-4
/// Writes an I-FORWARD-TSN chunk; a list that is too long is shortened from the end.
pub(crate) fn emit(
    buffer: &mut Vec<u8>,
    new_cumulative_tsn: Tsn,
    skipped: impl Iterator<Item = SkippedMessages>,
) {
    let most = (MAX_CHUNK_LEN - HEADER_LEN) / SKIPPED_MESSAGES_LEN;
    let start = buffer.len();
    emit_chunk(buffer, ChunkType::I_FORWARD_TSN, 0, &new_cumulative_tsn.0.to_be_bytes(), &[]);
    for SkippedMessages { stream, unordered, mid } in skipped.take(most) {
        buffer.extend_from_slice(&stream.0.to_be_bytes());
        buffer.extend_from_slice(&[0, u8::from(unordered)]);
        buffer.extend_from_slice(&mid.0.to_be_bytes());
    }
    let length = u16::try_from(buffer.len() - start).unwrap_or(u16::MAX); // No more than `most`.
    buffer[start + 2..start + 4].copy_from_slice(&length.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    /// TSN 104; ordered messages of stream 1 up to 65543, unordered ones of stream 65535 up to 0.
    const BYTES: [u8; 24] =
        [0xc2, 0, 0, 0x18, 0, 0, 0, 0x68, 0, 1, 0, 0, 0, 1, 0, 7, 0xff, 0xff, 0, 1, 0, 0, 0, 0];

    const SKIPPED: [SkippedMessages; 2] = [
        SkippedMessages { stream: StreamId(1), unordered: false, mid: Mid(65_543) },
        SkippedMessages { stream: StreamId(65_535), unordered: true, mid: Mid(0) },
    ];

    fn read(bytes: &[u8]) -> (Tsn, Vec<SkippedMessages>) {
        let Ok(Chunk::IForwardTsn(chunk)) = parse(bytes) else { panic!("an I-FORWARD-TSN chunk") };
        (chunk.new_cumulative_tsn, chunk.skipped().collect())
    }

    //= RFC 8260 2.3.1-2 2.3.1-4
    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(read(&BYTES), (Tsn(104), SKIPPED.to_vec()));
        assert_eq!(emitted(|w| w.i_forward_tsn(Tsn(104), SKIPPED.into_iter())), BYTES);
    }

    //= RFC 8260 2.3.1-3 2.3.1-5
    #[test]
    fn what_is_reserved_is_ignored() {
        let mut bytes = BYTES;
        bytes[1] = 0xff;
        (bytes[10], bytes[11], bytes[18], bytes[19]) = (0xff, 0xfe, 0xff, 0xff);
        assert_eq!(read(&bytes), (Tsn(104), SKIPPED.to_vec()));
    }

    #[test]
    fn its_length_is_that_of_whole_entries() {
        for length in 4..=24 {
            let mut bytes = BYTES;
            bytes[3] = length;
            let sound = [8, 16, 24].contains(&length);
            assert_eq!(parse(&bytes).is_ok(), sound, "{length}");
        }
    }

    #[test]
    fn lists_beyond_the_chunk_length_are_shortened() {
        let written = emitted(|w| w.i_forward_tsn(Tsn(1), [SKIPPED[0]; 20_000].into_iter()));
        assert_eq!(written.len(), 65_528);
        assert_eq!(read(&written).1.len(), (65_528 - 8) / 8);
    }
}
