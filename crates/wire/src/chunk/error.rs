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
