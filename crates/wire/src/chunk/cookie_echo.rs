//! Cookie Echo (COOKIE ECHO, 10), RFC 9260 §3.3.11.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 10   |  Chunk Flags  |            Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                            Cookie                             /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{ChunkError, ChunkType, RawChunk};

/// A COOKIE ECHO chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CookieEcho<'a> {
    /// Value of the State Cookie parameter of the INIT ACK, or a forgery: any bytes, even none.
    pub cookie: &'a [u8],
}

impl<'a> CookieEcho<'a> {
    #[expect(clippy::unnecessary_wraps, reason = "every chunk parser has the same shape")]
    pub(crate) const fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { cookie: raw.value })
    }

    pub(crate) fn emit(self, buffer: &mut Vec<u8>) {
        super::emit(buffer, ChunkType::COOKIE_ECHO, 0, &[], self.cookie);
    }
}
