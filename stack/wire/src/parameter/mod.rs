//! Optional and variable-length parameters of chunks (RFC 9260 §3.2.1, §3.3.2.1, §3.3.3.1).

pub(crate) mod address_configuration;
mod parameter_type;
mod raw;
pub(crate) mod reconfiguration;
mod writer;
mod zero_checksum;

use std::net::{Ipv4Addr, Ipv6Addr};

pub use parameter_type::ParameterType;
pub use raw::{ParameterTypes, Parameters, RawParameter, RawParameters};
pub use writer::ParameterWriter;
pub use zero_checksum::ErrorDetectionMethod;

use crate::tlv::validated;
use crate::{
    AddStreams, AddressRequest, ChunkError, ErrorIndication, HmacIdentifiers, IncomingSsnReset,
    OutgoingSsnReset, ReconfigurationResponse, RequestNumber,
};

validated! { "parameter": Parameters, RawParameters, Parameter, ParsedParameters }

/// A validated parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Parameter<'a> {
    /// Heartbeat Info (1): opaque to everyone but its sender (RFC 9260 §3.3.5).
    HeartbeatInfo(&'a [u8]),
    /// IPv4 Address (5) of the sender (RFC 9260 §3.3.2.1.1).
    Ipv4Address(Ipv4Addr),
    /// IPv6 Address (6) of the sender (RFC 9260 §3.3.2.1.2).
    Ipv6Address(Ipv6Addr),
    /// State Cookie (7) of an INIT ACK chunk (RFC 9260 §3.3.3.1.1).
    StateCookie(&'a [u8]),
    /// Unrecognized Parameter (8): a parameter of the INIT chunk its receiver did not know (RFC
    /// 9260 §3.3.3.1.2).
    UnrecognizedParameter(RawParameter<'a>),
    /// Cookie Preservative (9): a wish for a longer life of the cookie (RFC 9260 §3.3.2.1.3).
    CookiePreservative {
        /// Milliseconds to add.
        increment_ms: u32,
    },
    /// Host Name Address (11), deprecated: answered with an ABORT chunk (RFC 9260 §3.3.2.1.4).
    /// The name with its terminating zeros, unjudged.
    HostName(&'a [u8]),
    /// Supported Address Types (12): parameter types of addresses the sender can use (RFC 9260
    /// §3.3.2.1.5).
    SupportedAddressTypes(ParameterTypes<'a>),
    /// Outgoing SSN Reset Request (13) of a RE-CONFIG chunk (RFC 6525 §4.1).
    OutgoingSsnReset(OutgoingSsnReset<'a>),
    /// Incoming SSN Reset Request (14) of a RE-CONFIG chunk (RFC 6525 §4.2).
    IncomingSsnReset(IncomingSsnReset<'a>),
    /// SSN/TSN Reset Request (15) of a RE-CONFIG chunk (RFC 6525 §4.3): its number.
    SsnTsnReset(RequestNumber),
    /// Re-configuration Response (16) of a RE-CONFIG chunk (RFC 6525 §4.4).
    ReconfigurationResponse(ReconfigurationResponse),
    /// Add Outgoing Streams Request (17) of a RE-CONFIG chunk (RFC 6525 §4.5).
    AddOutgoingStreams(AddStreams),
    /// Add Incoming Streams Request (18) of a RE-CONFIG chunk (RFC 6525 §4.6).
    AddIncomingStreams(AddStreams),
    /// ECN Capable (0x8000), RFC 4960 Appendix A. Its value, if any, is ignored.
    EcnCapable,
    /// Zero Checksum Acceptable (0x8001): how the sender detects errors in packets with a checksum of zero (RFC 9653 §4).
    ZeroChecksumAcceptable(ErrorDetectionMethod),
    /// Forward-TSN-Supported (0xC000), RFC 3758 §3.1. Its value, if any, is ignored.
    ForwardTsnSupported,
    /// Random (0x8002): a number that keys are made of (RFC 4895 §3.1). Of which length it must be is left to the association.
    Random(&'a [u8]),
    /// Chunk List (0x8003): types of chunks that are to be authenticated, one byte each (RFC 4895 §3.2).
    ChunkList(&'a [u8]),
    /// Requested HMAC Algorithm (0x8004): the HMAC Identifiers that the peer may use (RFC 4895 §3.3).
    HmacAlgo(HmacIdentifiers<'a>),
    /// Supported Extensions (0x8008): chunk types, one byte each (RFC 5061 §4.2.7).
    SupportedExtensions(&'a [u8]),
    /// Retransmit Bit Supported (0x8100): the sender knows the R bits of DATA and SACK chunks
    /// (draft-proshin-tsvwg-sctp-rtx-bit-03 §4.1). Its value, if any, is ignored.
    RetransmitBitSupported,
    /// Add IP Address (0xC001) of an ASCONF chunk (RFC 5061 §4.2.1).
    AddIpAddress(AddressRequest),
    /// Delete IP Address (0xC002) of an ASCONF chunk (RFC 5061 §4.2.2).
    DeleteIpAddress(AddressRequest),
    /// Error Cause Indication (0xC003) of an ASCONF-ACK chunk (RFC 5061 §4.2.3).
    ErrorCauseIndication(ErrorIndication<'a>),
    /// Set Primary Address (0xC004) of an ASCONF, INIT or INIT ACK chunk (RFC 5061 §4.2.4).
    SetPrimaryAddress(AddressRequest),
    /// Success Indication (0xC005) of an ASCONF-ACK chunk (RFC 5061 §4.2.5): the request that was granted.
    SuccessIndication(u32),
    /// Adaptation Layer Indication (0xC006): which protocol the sender has above SCTP (RFC 5061
    /// §4.2.6).
    AdaptationLayerIndication(u32),
    /// Any other type; [`ParameterType::unknown_action`] tells what to do with it.
    Unknown(RawParameter<'a>),
}

impl<'a> Parameter<'a> {
    /// Validates a parameter.
    ///
    /// # Errors
    /// [`ChunkError::InvalidParameter`] when the length contradicts the type, or when an
    /// Unrecognized Parameter does not hold a parameter.
    pub fn parse(raw: RawParameter<'a>) -> Result<Self, ChunkError> {
        let parsed = match raw.parameter_type {
            ParameterType::HEARTBEAT_INFO => Some(Self::HeartbeatInfo(raw.value)),
            ParameterType::IPV4_ADDRESS => {
                <[u8; 4]>::try_from(raw.value).ok().map(|octets| Self::Ipv4Address(octets.into()))
            }
            ParameterType::IPV6_ADDRESS => {
                <[u8; 16]>::try_from(raw.value).ok().map(|octets| Self::Ipv6Address(octets.into()))
            }
            ParameterType::STATE_COOKIE => Some(Self::StateCookie(raw.value)),
            ParameterType::UNRECOGNIZED_PARAMETER => {
                // The copy may come with its padding; nothing else is looked for behind it.
                let quoted = Parameters::new(raw.value).iter().next();
                quoted.and_then(Result::ok).map(Self::UnrecognizedParameter)
            }
            ParameterType::COOKIE_PRESERVATIVE => <[u8; 4]>::try_from(raw.value)
                .ok()
                .map(|ms| Self::CookiePreservative { increment_ms: u32::from_be_bytes(ms) }),
            ParameterType::HOST_NAME_ADDRESS => Some(Self::HostName(raw.value)),
            ParameterType::SUPPORTED_ADDRESS_TYPES => {
                ParameterTypes::from_bytes(raw.value).map(Self::SupportedAddressTypes)
            }
            ParameterType::OUTGOING_SSN_RESET => {
                OutgoingSsnReset::parse(raw.value).map(Self::OutgoingSsnReset)
            }
            ParameterType::INCOMING_SSN_RESET => {
                IncomingSsnReset::parse(raw.value).map(Self::IncomingSsnReset)
            }
            ParameterType::SSN_TSN_RESET => {
                reconfiguration::number(raw.value).map(Self::SsnTsnReset)
            }
            ParameterType::RECONFIGURATION_RESPONSE => {
                ReconfigurationResponse::parse(raw.value).map(Self::ReconfigurationResponse)
            }
            ParameterType::ADD_OUTGOING_STREAMS => {
                AddStreams::parse(raw.value).map(Self::AddOutgoingStreams)
            }
            ParameterType::ADD_INCOMING_STREAMS => {
                AddStreams::parse(raw.value).map(Self::AddIncomingStreams)
            }
            ParameterType::ECN_CAPABLE => Some(Self::EcnCapable),
            //= RFC 9653 4-1
            ParameterType::ZERO_CHECKSUM_ACCEPTABLE => {
                <[u8; 4]>::try_from(raw.value).ok().map(|id| {
                    Self::ZeroChecksumAcceptable(ErrorDetectionMethod(u32::from_be_bytes(id)))
                })
            }
            ParameterType::FORWARD_TSN_SUPPORTED => Some(Self::ForwardTsnSupported),
            ParameterType::RANDOM => Some(Self::Random(raw.value)),
            ParameterType::CHUNK_LIST => Some(Self::ChunkList(raw.value)),
            ParameterType::HMAC_ALGO => HmacIdentifiers::from_bytes(raw.value).map(Self::HmacAlgo),
            ParameterType::SUPPORTED_EXTENSIONS => Some(Self::SupportedExtensions(raw.value)),
            ParameterType::RETRANSMIT_BIT_SUPPORTED => Some(Self::RetransmitBitSupported),
            ParameterType::ADD_IP_ADDRESS => {
                AddressRequest::parse(raw.value).map(Self::AddIpAddress)
            }
            ParameterType::DELETE_IP_ADDRESS => {
                AddressRequest::parse(raw.value).map(Self::DeleteIpAddress)
            }
            ParameterType::ERROR_CAUSE_INDICATION => {
                ErrorIndication::parse(raw.value).map(Self::ErrorCauseIndication)
            }
            ParameterType::SET_PRIMARY_ADDRESS => {
                AddressRequest::parse(raw.value).map(Self::SetPrimaryAddress)
            }
            ParameterType::SUCCESS_INDICATION => <[u8; 4]>::try_from(raw.value)
                .ok()
                .map(|id| Self::SuccessIndication(u32::from_be_bytes(id))),
            ParameterType::ADAPTATION_LAYER_INDICATION => <[u8; 4]>::try_from(raw.value)
                .ok()
                .map(|code| Self::AdaptationLayerIndication(u32::from_be_bytes(code))),
            _ => Some(Self::Unknown(raw)),
        };
        parsed.ok_or(raw.invalid())
    }
}

#[cfg(test)]
mod tests;
