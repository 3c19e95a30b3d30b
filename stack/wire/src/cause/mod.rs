//! Error causes of ERROR and ABORT chunks (RFC 9260 §3.3.10).

mod cause_code;
mod writer;

pub use cause_code::CauseCode;
pub use writer::CauseWriter;

use crate::reader::Reader;
use crate::tlv::{tlv_list, validated};
use crate::{ChunkError, HmacIdentifier, ParameterTypes, Parameters, StreamId, Tsn};

tlv_list! { "error cause": Causes, RawCause { code: CauseCode }, RawCauses, PartialCause, CauseLength }

validated! { "error cause": Causes, RawCauses, Cause, ParsedCauses }

/// An error cause whose framing is sound; its content has not been looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawCause<'a> {
    /// Cause Code.
    pub code: CauseCode,
    /// Cause-Specific Information, without header and padding.
    pub value: &'a [u8],
    /// The whole cause with its header, without padding.
    pub bytes: &'a [u8],
}

/// A validated error cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause<'a> {
    /// A DATA chunk named a stream that does not exist (1, RFC 9260 §3.3.10.1).
    InvalidStreamIdentifier {
        /// Stream Identifier of that DATA chunk.
        stream: StreamId,
    },
    /// An INIT or INIT ACK chunk lacked parameters (2, RFC 9260 §3.3.10.2).
    MissingMandatoryParameter {
        /// Their types.
        types: ParameterTypes<'a>,
    },
    /// A valid State Cookie has expired (3, RFC 9260 §3.3.10.3).
    StaleCookie {
        /// By how many microseconds; 0 if the sender does not tell.
        measure_us: u32,
    },
    /// The sender is out of resource (4, RFC 9260 §3.3.10.4).
    OutOfResource,
    /// An address could not be resolved (5, RFC 9260 §3.3.10.5): the whole address parameter.
    UnresolvableAddress(&'a [u8]),
    /// A chunk type was not understood (6, RFC 9260 §3.3.10.6): the whole chunk.
    UnrecognizedChunkType(&'a [u8]),
    /// A mandatory field of an INIT or INIT ACK chunk was invalid (7, RFC 9260 §3.3.10.7).
    InvalidMandatoryParameter,
    /// Parameters of an INIT ACK chunk were not understood (8, RFC 9260 §3.3.10.8): a list of whole
    /// parameters.
    UnrecognizedParameters(&'a [u8]),
    /// A DATA chunk carried no user data (9, RFC 9260 §3.3.10.9).
    NoUserData {
        /// TSN of that DATA chunk.
        tsn: Tsn,
    },
    /// A COOKIE ECHO chunk arrived in SHUTDOWN-ACK-SENT state (10, RFC 9260 §3.3.10.10).
    CookieReceivedWhileShuttingDown,
    /// An INIT chunk would have added addresses to an existing association (11, RFC 9260
    /// §3.3.10.11): the new addresses.
    RestartWithNewAddresses(Parameters<'a>),
    /// The application of the peer aborted (12, RFC 9260 §3.3.10.12): its reason, opaque.
    UserInitiatedAbort(&'a [u8]),
    /// A protocol violation that no other cause covers (13, RFC 9260 §3.3.10.13): additional
    /// information, unspecified.
    ProtocolViolation(&'a [u8]),
    /// A request of an ASCONF chunk to delete the last address was refused (0x00A0, RFC 5061 §4.3.1): the whole request.
    RequestToDeleteLastAddress(&'a [u8]),
    /// A request of an ASCONF chunk was refused for want of resources (0x00A1, RFC 5061 §4.3.2): the whole request.
    ResourceShortage(&'a [u8]),
    /// A request of an ASCONF chunk to delete the address that it came from was refused (0x00A2, RFC 5061 §4.3.3): the
    /// whole request.
    RequestToDeleteSourceAddress(&'a [u8]),
    /// An ASCONF-ACK chunk answered what had not been sent (0x00A3, RFC 5061 §4.3.4).
    IllegalAsconfAck,
    /// A request of an ASCONF chunk was refused by a policy (0x00A4, RFC 5061 §4.3.5): the whole request.
    NoAuthorization(&'a [u8]),
    /// An AUTH chunk came with an HMAC Identifier that its receiver has not asked for (0x0105, RFC 4895 §4.1).
    UnsupportedHmacIdentifier {
        /// HMAC Identifier of that AUTH chunk.
        algorithm: HmacIdentifier,
    },
    /// Any other cause.
    Unknown(RawCause<'a>),
}

impl<'a> Cause<'a> {
    /// Validates an error cause. The quotations in causes 5, 6, 8, 11 and those of ASCONF are not judged: they are
    /// what the peer says it received.
    ///
    /// # Errors
    /// [`ChunkError::InvalidCause`] when the length contradicts the code, or the count of a Missing
    /// Mandatory Parameter its length.
    pub fn parse(raw: RawCause<'a>) -> Result<Self, ChunkError> {
        let length = raw.bytes.len();
        Self::read(raw).ok_or(ChunkError::InvalidCause { code: raw.code, length })
    }

    fn read(raw: RawCause<'a>) -> Option<Self> {
        let value = raw.value;
        let number = || <[u8; 4]>::try_from(value).ok().map(u32::from_be_bytes);
        Some(match raw.code {
            CauseCode::INVALID_STREAM_IDENTIFIER => {
                // RFC 9260 §3.3.10.1: the second half is reserved and ignored on receipt.
                let [s0, s1, _, _] = <[u8; 4]>::try_from(value).ok()?;
                let stream = StreamId(u16::from_be_bytes([s0, s1]));
                Self::InvalidStreamIdentifier { stream }
            }
            CauseCode::MISSING_MANDATORY_PARAMETER => {
                let mut reader = Reader::new(value);
                let count = usize::try_from(reader.u32()?).ok()?;
                let types = ParameterTypes::from_bytes(reader.rest())?;
                // RFC 9260 §3.3.10.2: Cause Length = 8 + N * 2.
                if types.len() != count {
                    return None;
                }
                Self::MissingMandatoryParameter { types }
            }
            CauseCode::STALE_COOKIE => Self::StaleCookie { measure_us: number()? },
            CauseCode::OUT_OF_RESOURCE if value.is_empty() => Self::OutOfResource,
            CauseCode::UNRESOLVABLE_ADDRESS => Self::UnresolvableAddress(value),
            CauseCode::UNRECOGNIZED_CHUNK_TYPE => Self::UnrecognizedChunkType(value),
            CauseCode::INVALID_MANDATORY_PARAMETER if value.is_empty() => {
                Self::InvalidMandatoryParameter
            }
            CauseCode::UNRECOGNIZED_PARAMETERS => Self::UnrecognizedParameters(value),
            CauseCode::NO_USER_DATA => Self::NoUserData { tsn: Tsn(number()?) },
            CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN if value.is_empty() => {
                Self::CookieReceivedWhileShuttingDown
            }
            CauseCode::RESTART_WITH_NEW_ADDRESSES => {
                Self::RestartWithNewAddresses(Parameters::new(value))
            }
            CauseCode::USER_INITIATED_ABORT => Self::UserInitiatedAbort(value),
            CauseCode::PROTOCOL_VIOLATION => Self::ProtocolViolation(value),
            CauseCode::REQUEST_TO_DELETE_LAST_ADDRESS => Self::RequestToDeleteLastAddress(value),
            CauseCode::RESOURCE_SHORTAGE => Self::ResourceShortage(value),
            CauseCode::REQUEST_TO_DELETE_SOURCE_ADDRESS => {
                Self::RequestToDeleteSourceAddress(value)
            }
            CauseCode::ILLEGAL_ASCONF_ACK if value.is_empty() => Self::IllegalAsconfAck,
            CauseCode::NO_AUTHORIZATION => Self::NoAuthorization(value),
            CauseCode::UNSUPPORTED_HMAC_IDENTIFIER => {
                // RFC 4895 §4.1: Cause Length = 6; peers have counted the padding, too.
                let &[h0, h1] = value.first_chunk().filter(|_| matches!(value.len(), 2 | 4))?;
                let algorithm = HmacIdentifier(u16::from_be_bytes([h0, h1]));
                Self::UnsupportedHmacIdentifier { algorithm }
            }
            CauseCode::OUT_OF_RESOURCE
            | CauseCode::INVALID_MANDATORY_PARAMETER
            | CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN
            | CauseCode::ILLEGAL_ASCONF_ACK => return None,
            _ => Self::Unknown(raw),
        })
    }
}

#[cfg(test)]
mod tests;
