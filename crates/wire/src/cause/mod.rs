//! Error causes of ERROR and ABORT chunks (RFC 9260 §3.3.10).

mod cause_code;
mod writer;

pub use cause_code::CauseCode;
pub use writer::CauseWriter;

use crate::reader::Reader;
use crate::tlv::{RawTlv, TlvError, Tlvs};
use crate::{ChunkError, ParameterTypes, Parameters, StreamId, Tsn};

/// A list of error causes as it stands in a chunk: a cheap view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Causes<'a>(&'a [u8]);

impl<'a> Causes<'a> {
    /// A view of bytes that are, or claim to be, a list of error causes.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// The bytes of the list.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// Whether there is no cause.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Walks the causes in order, checking framing only.
    ///
    /// Ends after the first error ([`ChunkError::PartialCause`] or [`ChunkError::CauseLength`]);
    /// the list of a parsed chunk has none.
    #[must_use]
    pub const fn iter(&self) -> RawCauses<'a> {
        RawCauses(Tlvs(self.0))
    }

    /// Walks the causes in order, validating each with [`Cause::parse`].
    ///
    /// Ends after a framing error, but goes on after [`ChunkError::InvalidCause`].
    #[must_use]
    pub const fn parsed(&self) -> ParsedCauses<'a> {
        ParsedCauses(self.iter())
    }

    /// Checks the framing of the whole list at once.
    ///
    /// # Errors
    /// [`ChunkError::PartialCause`] or [`ChunkError::CauseLength`].
    pub fn check(&self) -> Result<(), ChunkError> {
        self.iter().try_for_each(|cause| cause.map(drop))
    }
}

impl<'a> IntoIterator for Causes<'a> {
    type Item = Result<RawCause<'a>, ChunkError>;
    type IntoIter = RawCauses<'a>;

    fn into_iter(self) -> RawCauses<'a> {
        self.iter()
    }
}

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

/// Iterator over error causes, made by [`Causes::iter`].
#[derive(Clone, Copy, Debug)]
pub struct RawCauses<'a>(Tlvs<'a>);

impl<'a> Iterator for RawCauses<'a> {
    type Item = Result<RawCause<'a>, ChunkError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(match self.0.next()? {
            Ok(RawTlv { kind, value, bytes }) => {
                Ok(RawCause { code: CauseCode(kind), value, bytes })
            }
            Err(TlvError::Partial { available }) => Err(ChunkError::PartialCause { available }),
            Err(TlvError::Length { kind, length, available }) => {
                Err(ChunkError::CauseLength { code: CauseCode(kind), length, available })
            }
        })
    }
}

impl std::iter::FusedIterator for RawCauses<'_> {}

/// Iterator over validated error causes, made by [`Causes::parsed`].
#[derive(Clone, Copy, Debug)]
pub struct ParsedCauses<'a>(RawCauses<'a>);

impl<'a> Iterator for ParsedCauses<'a> {
    type Item = Result<Cause<'a>, ChunkError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.0.next()?.and_then(Cause::parse))
    }
}

impl std::iter::FusedIterator for ParsedCauses<'_> {}

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
    /// Any other cause.
    Unknown(RawCause<'a>),
}

impl<'a> Cause<'a> {
    /// Validates an error cause. The quotations in causes 5, 6, 8 and 11 are not judged: they are
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
            CauseCode::OUT_OF_RESOURCE
            | CauseCode::INVALID_MANDATORY_PARAMETER
            | CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => return None,
            _ => Self::Unknown(raw),
        })
    }
}

#[cfg(test)]
mod tests;
