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
