//! Operation Error (ERROR, 9), RFC 9260 §3.3.10.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 9    |  Chunk Flags  |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                   one or more Error Causes                    /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::tlv::without_final_padding;
use crate::{Causes, ChunkError, ChunkType, RawChunk};

/// An ERROR chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ErrorChunk<'a> {
    /// What went wrong. The framing of the list is sound. A chunk with an empty list, which the RFC
    /// does not foresee, is accepted because it asks for nothing.
    pub causes: Causes<'a>,
}

impl<'a> ErrorChunk<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let causes = Causes::new(raw.value);
        causes.check()?;
        Ok(Self { causes })
    }
}

/// Writes an ERROR chunk; the padding of the last cause is not counted in the Chunk Length.
pub(crate) fn emit(buffer: &mut Vec<u8>, causes: &[u8]) {
    super::emit(buffer, ChunkType::ERROR, 0, &[], without_final_padding(causes));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Cause, CauseWriter, Chunk, StreamId};

    /// Invalid Stream Identifier with garbage in its reserved field, and an Unrecognized Chunk Type
    /// that quotes a chunk of five bytes.
    const BYTES: [u8; 24] = [
        0x09, 0x00, 0x00, 0x15, 0x00, 0x01, 0x00, 0x08, 0x00, 0x2a, 0xff, 0xff, 0x00, 0x06, 0x00,
        0x09, 0x7e, 0x00, 0x00, 0x05, 0xaa, 0x00, 0x00, 0x00,
    ];

    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::Error(error)) = parse(&BYTES) else { panic!("an ERROR chunk") };
        let stream = StreamId(42);
        let quoted = &[0x7e, 0, 0, 5, 0xaa];
        let causes: Vec<_> = error.causes.parsed().map(Result::unwrap).collect();
        assert_eq!(
            causes,
            [Cause::InvalidStreamIdentifier { stream }, Cause::UnrecognizedChunkType(quoted)]
        );
        let list = CauseWriter::new()
            .invalid_stream_identifier(stream)
            .unrecognized_chunk_type(quoted)
            .finish();
        let mut bytes = BYTES;
        bytes[10..12].fill(0);
        assert_eq!(emitted(|writer| writer.error(&list)), bytes);
    }

    #[test]
    fn an_empty_list_is_accepted() {
        let empty = ErrorChunk { causes: Causes::new(&[]) };
        assert_eq!(parse(&[9, 0, 0, 4]), Ok(Chunk::Error(empty)));
    }

    #[test]
    fn a_partial_cause_is_an_error() {
        let partial = parse(&[9, 0, 0, 6, 0, 4, 0, 0]);
        assert_eq!(partial, Err(ChunkError::PartialCause { available: 2 }));
    }
}
