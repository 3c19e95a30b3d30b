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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 12] = [0x0a, 0x00, 0x00, 0x0a, b'c', b'o', b'o', b'k', b'i', b'e', 0, 0];

    #[test]
    fn reads_and_writes_its_bytes() {
        assert_eq!(parse(&BYTES), Ok(Chunk::CookieEcho(CookieEcho { cookie: b"cookie" })));
        assert_eq!(emitted(|writer| writer.cookie_echo(b"cookie")), BYTES);
    }

    #[test]
    fn an_empty_cookie_is_a_value() {
        assert_eq!(parse(&[10, 0, 0, 4]), Ok(Chunk::CookieEcho(CookieEcho { cookie: &[] })));
    }
}
