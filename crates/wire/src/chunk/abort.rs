//! Abort Association (ABORT, 6), RFC 9260 §3.3.7.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 6    |  Reserved   |T|            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                   zero or more Error Causes                   /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::T_BIT;
use crate::tlv::without_final_padding;
use crate::{Causes, ChunkError, ChunkType, RawChunk};

/// An ABORT chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Abort<'a> {
    /// T bit: the Verification Tag of the packet is the one the sender of the ABORT received, not
    /// the one its peer expects (RFC 9260 §8.5.1).
    pub tag_reflected: bool,
    /// Why; may be empty. The framing of the list is sound.
    pub causes: Causes<'a>,
}

impl<'a> Abort<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let causes = Causes::new(raw.value);
        // RFC 9260 §3.3.7: an ABORT chunk "with a format error" is silently discarded.
        causes.check()?;
        Ok(Self { tag_reflected: raw.flags & T_BIT != 0, causes })
    }
}

/// Writes an ABORT chunk; the padding of the last cause is not counted in the Chunk Length.
pub(crate) fn emit(buffer: &mut Vec<u8>, tag_reflected: bool, causes: &[u8]) {
    let flags = if tag_reflected { T_BIT } else { 0 };
    super::emit(buffer, ChunkType::ABORT, flags, &[], without_final_padding(causes));
}
