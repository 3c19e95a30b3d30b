//! Heartbeat Request (HEARTBEAT, 4), RFC 9260 §3.3.5.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 4    |  Chunk Flags  |       Heartbeat Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Heartbeat Info Type = 1    |        HB Info Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                Sender-Specific Heartbeat Info                 /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::tlv::TLV_HEADER_LEN;
use crate::{ChunkError, ChunkType, ParameterType, Parameters, RawChunk};

/// A HEARTBEAT chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Heartbeat<'a> {
    /// Value of the Heartbeat Info parameter, understood only by its sender.
    pub info: &'a [u8],
    /// The whole chunk value: what a HEARTBEAT ACK returns unchanged.
    pub parameters: &'a [u8],
}

impl<'a> Heartbeat<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { info: find_info(raw)?, parameters: raw.value })
    }
}

/// The value of the first Heartbeat Info parameter of a HEARTBEAT or HEARTBEAT ACK chunk, in which
/// it is mandatory. All parameters have to be framed soundly.
pub(crate) fn find_info(raw: RawChunk<'_>) -> Result<&[u8], ChunkError> {
    let mut info = None;
    for parameter in Parameters::new(raw.value).iter() {
        let parameter = parameter?;
        if parameter.parameter_type == ParameterType::HEARTBEAT_INFO && info.is_none() {
            info = Some(parameter.value);
        }
    }
    info.ok_or(ChunkError::MissingParameter {
        chunk_type: raw.chunk_type,
        parameter_type: ParameterType::HEARTBEAT_INFO,
    })
}

/// Writes a HEARTBEAT chunk around the information.
pub(crate) fn emit(buffer: &mut Vec<u8>, info: &[u8]) {
    let [t0, t1] = ParameterType::HEARTBEAT_INFO.0.to_be_bytes();
    // A length that does not fit is refused below, where the whole chunk is even longer.
    let length = u16::try_from(info.len().saturating_add(TLV_HEADER_LEN)).unwrap_or(u16::MAX);
    let [l0, l1] = length.to_be_bytes();
    super::emit(buffer, ChunkType::HEARTBEAT, 0, &[t0, t1, l0, l1], info);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const BYTES: [u8; 16] = [
        0x04, 0x00, 0x00, 0x0d, 0x00, 0x01, 0x00, 0x09, 0xde, 0xad, 0xbe, 0xef, 0x01, 0x00, 0x00,
        0x00,
    ];

    #[test]
    fn reads_and_writes_its_bytes() {
        let info = &[0xde, 0xad, 0xbe, 0xef, 0x01];
        let heartbeat = Heartbeat { info, parameters: &BYTES[4..13] };
        assert_eq!(parse(&BYTES), Ok(Chunk::Heartbeat(heartbeat)));
        assert_eq!(emitted(|writer| writer.heartbeat(info)), BYTES);
    }

    #[test]
    fn information_is_mandatory() {
        let missing = ChunkError::MissingParameter {
            chunk_type: ChunkType::HEARTBEAT,
            parameter_type: ParameterType::HEARTBEAT_INFO,
        };
        assert_eq!(parse(&[4, 0, 0, 4]), Err(missing));
        assert_eq!(parse(&[4, 0, 0, 8, 0, 2, 0, 4]), Err(missing));
        let empty = parse(&[4, 0, 0, 8, 0, 1, 0, 4]);
        assert_eq!(empty, Ok(Chunk::Heartbeat(Heartbeat { info: &[], parameters: &[0, 1, 0, 4] })));
    }

    #[test]
    fn every_parameter_is_framed_soundly() {
        let bytes = [4, 0, 0, 16, 0, 1, 0, 4, 0, 9, 0, 9, 1, 2, 3, 4];
        let parameter_type = ParameterType::COOKIE_PRESERVATIVE;
        let error = ChunkError::ParameterLength { parameter_type, length: 9, available: 8 };
        assert_eq!(parse(&bytes), Err(error));
        let partial = parse(&[4, 0, 0, 11, 0, 1, 0, 4, 0, 1, 0, 0]);
        assert_eq!(partial, Err(ChunkError::PartialParameter { available: 3 }));
        // The first one counts.
        let twice = [4, 0, 0, 20, 0, 2, 0, 4, 0, 1, 0, 5, 7, 0, 0, 0, 0, 1, 0, 4];
        let Ok(Chunk::Heartbeat(heartbeat)) = parse(&twice) else { panic!("a HEARTBEAT chunk") };
        assert_eq!(heartbeat.info, [7]);
    }
}
