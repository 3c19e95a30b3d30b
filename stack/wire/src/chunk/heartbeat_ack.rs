//! Heartbeat Acknowledgement (HEARTBEAT ACK, 5), RFC 9260 §3.3.6.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 5    |  Chunk Flags  |     Heartbeat Ack Length      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /          Heartbeat Information TLV (Variable-Length)          /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use super::heartbeat::find_info;
use crate::{ChunkError, ChunkType, RawChunk};

/// A HEARTBEAT ACK chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeartbeatAck<'a> {
    /// Value of the Heartbeat Info parameter, which the receiver of this chunk once sent: not to be
    /// believed before it has been compared with what was sent.
    pub info: &'a [u8],
    /// The whole chunk value.
    pub parameters: &'a [u8],
}

impl<'a> HeartbeatAck<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        Ok(Self { info: find_info(raw)?, parameters: raw.value })
    }
}

/// Writes a HEARTBEAT ACK chunk that returns the value of a HEARTBEAT chunk.
pub(crate) fn emit(buffer: &mut Vec<u8>, parameters: &[u8]) {
    super::emit(buffer, ChunkType::HEARTBEAT_ACK, 0, &[], parameters);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::chunk::test_support::{emitted, parse};

    const REQUEST: [u8; 16] = [
        0x04, 0x00, 0x00, 0x0e, 0x00, 0x01, 0x00, 0x0a, 0xde, 0xad, 0xbe, 0xef, 0x01, 0x02, 0x00,
        0x00,
    ];

    #[test]
    fn returns_what_the_request_carried() {
        let Ok(Chunk::Heartbeat(request)) = parse(&REQUEST) else { panic!("a HEARTBEAT chunk") };
        let written = emitted(|writer| writer.heartbeat_ack(request.parameters));
        let mut bytes = REQUEST;
        bytes[0] = 5;
        assert_eq!(written, bytes);
        let ack = HeartbeatAck { info: request.info, parameters: request.parameters };
        assert_eq!(parse(&written), Ok(Chunk::HeartbeatAck(ack)));
    }

    #[test]
    fn information_is_mandatory() {
        let missing = ChunkError::MissingParameter {
            chunk_type: ChunkType::HEARTBEAT_ACK,
            parameter_type: crate::ParameterType::HEARTBEAT_INFO,
        };
        assert_eq!(parse(&[5, 0, 0, 4]), Err(missing));
    }
}
