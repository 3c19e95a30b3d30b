//! Re-configuration (RE-CONFIG, 130), RFC 6525 §3.1.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Type = 130    |  Chunk Flags  |      Chunk Length             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                  Re-configuration Parameter                   \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \             Re-configuration Parameter (optional)             \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::tlv::without_final_padding;
use crate::{ChunkError, ChunkType, Parameters, RawChunk};

/// A RE-CONFIG chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReConfig<'a> {
    /// Requests and responses: one parameter at least, each of them sound. Which may stand together (RFC
    /// 6525 §3.1) is left to the association, which answers others.
    pub parameters: Parameters<'a>,
}

impl<'a> ReConfig<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let parameters = Parameters::new(raw.value);
        if parameters.is_empty() {
            return Err(raw.invalid_length());
        }
        parameters.parsed().try_for_each(|parsed| parsed.map(drop))?;
        Ok(Self { parameters })
    }
}

//= RFC 6525 4.1-2 4.2-2 4.3-2 4.4-3 4.5-3 4.6-3
/// Writes a RE-CONFIG chunk; the padding of the last parameter is not counted in the Chunk Length.
pub(crate) fn emit(buffer: &mut Vec<u8>, parameters: &[u8]) {
    super::emit(buffer, ChunkType::RE_CONFIG, 0, &[], without_final_padding(parameters));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chunk::test_support::{emitted, parse};
    use crate::{Chunk, ParameterType, ParameterWriter, RequestNumber, StreamId, UnknownAction};

    /// An Incoming SSN Reset Request for stream 1.
    const BYTES: [u8; 16] = [0x82, 0, 0, 14, 0, 14, 0, 10, 0, 0, 0, 8, 0, 1, 0, 0];

    #[test]
    fn reads_and_writes_its_bytes() {
        let Ok(Chunk::ReConfig(chunk)) = parse(&BYTES) else { panic!("a RE-CONFIG chunk") };
        assert_eq!(chunk.parameters.parsed().count(), 1);
        let list =
            ParameterWriter::new().incoming_ssn_reset(RequestNumber(8), [StreamId(1)]).finish();
        assert_eq!(emitted(|writer| writer.re_config(&list)), BYTES);
    }

    /// RFC 6525 §3: "the receiver ignore the chunk if it is not understood and continue processing".
    #[test]
    fn who_does_not_know_it_skips_it() {
        assert_eq!(ChunkType::RE_CONFIG.unknown_action(), UnknownAction::Skip);
        assert_eq!(ParameterType::SSN_TSN_RESET.unknown_action(), UnknownAction::Stop);
    }

    #[test]
    fn nothing_and_what_is_malformed_are_errors() {
        assert!(matches!(parse(&[0x82, 0, 0, 4]), Err(ChunkError::InvalidLength { .. })));
        let odd = [0x82, 0, 0, 13, 0, 14, 0, 9, 0, 0, 0, 8, 0, 0, 0, 0];
        assert!(matches!(parse(&odd), Err(ChunkError::InvalidParameter { .. })));
        let partial = [0x82, 0, 0, 6, 0, 14, 0, 0];
        assert_eq!(parse(&partial), Err(ChunkError::PartialParameter { available: 2 }));
    }
}
