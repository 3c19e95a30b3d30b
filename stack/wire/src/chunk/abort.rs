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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Cause, CauseCode, CauseWriter, Chunk};

    /// A reflected tag, Out of Resource, and a User-Initiated Abort with a reason of three bytes.
    const BYTES: [u8; 16] = [
        0x06, 0x01, 0x00, 0x0f, 0x00, 0x04, 0x00, 0x04, 0x00, 0x0c, 0x00, 0x07, b'b', b'y', b'e',
        0x00,
    ];

    //= RFC 9260 3.2-1 3.2-2 3.2-3 3.3.1-8 3.3.1-9 3.3.1-10
    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::Abort(abort)) = parse(&BYTES) else { panic!("an ABORT chunk") };
        assert!(abort.tag_reflected);
        let causes: Vec<_> = abort.causes.parsed().map(Result::unwrap).collect();
        assert_eq!(causes, [Cause::OutOfResource, Cause::UserInitiatedAbort(b"bye")]);
        let list = CauseWriter::new().out_of_resource().user_initiated_abort(b"bye").finish();
        assert_eq!(emitted(|writer| writer.abort(true, &list)), BYTES);
    }

    #[test]
    fn causes_are_optional_and_reserved_flags_ignored() {
        let Ok(Chunk::Abort(abort)) = parse(&[6, 0xfe, 0, 4]) else { panic!("an ABORT chunk") };
        assert!(!abort.tag_reflected && abort.causes.is_empty());
        assert_eq!(emitted(|writer| writer.abort(false, &[])), [6, 0, 0, 4]);
    }

    #[test]
    fn malformed_causes_are_a_format_error() {
        let mut bytes = BYTES;
        bytes[11] = 9;
        let code = CauseCode::USER_INITIATED_ABORT;
        let error = ChunkError::CauseLength { code, length: 9, available: 7 };
        assert_eq!(parse(&bytes), Err(error));
    }
}
