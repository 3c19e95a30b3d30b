//! Encoding of parameter lists.

use std::net::{Ipv4Addr, Ipv6Addr};

use super::ParameterType;
use crate::tlv;
use crate::{
    AddStreams, AddressRequest, ErrorDetectionMethod, HmacIdentifier, MAX_CHUNK_LEN,
    ReconfigurationResponse, RequestNumber, StreamId, Tsn,
};

/// Longest list of parameters an INIT or INIT ACK chunk can hold, in bytes: its Chunk Length also
/// counts 20 bytes of fixed fields.
const MAX_PARAMETERS_LEN: usize = MAX_CHUNK_LEN - 20;

/// Builds the parameters of an INIT, INIT ACK, RE-CONFIG, ASCONF or ASCONF-ACK chunk, each padded to a multiple of four bytes.
///
/// A parameter that does not fit into the largest possible chunk any more is left out and counted
/// by [`left_out`](Self::left_out), so mandatory ones go first. The methods can be chained.
///
/// ```
/// use tresse_wire::{ParameterType, ParameterWriter};
///
/// let parameters = ParameterWriter::new()
///     .supported_address_types(&[ParameterType::IPV4_ADDRESS.0])
///     .cookie_preservative(1000)
///     .finish();
/// assert_eq!(parameters, [0, 12, 0, 6, 0, 5, 0, 0, 0, 9, 0, 8, 0, 0, 3, 232]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct ParameterWriter {
    list: Vec<u8>,
    left_out: usize,
}

impl ParameterWriter {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: Vec::new(), left_out: 0 }
    }

    /// Adds a parameter of any type (RFC 9260 §3.2.1).
    pub fn raw(&mut self, parameter_type: ParameterType, value: &[u8]) -> &mut Self {
        if !tlv::push(&mut self.list, MAX_PARAMETERS_LEN, parameter_type.0, &[value]) {
            self.left_out += 1;
        }
        self
    }

    /// Adds an IPv4 Address (RFC 9260 §3.3.2.1.1).
    pub fn ipv4(&mut self, address: Ipv4Addr) -> &mut Self {
        self.raw(ParameterType::IPV4_ADDRESS, &address.octets())
    }

    //= RFC 9260 3.3.2.1.2-1
    /// Adds an IPv6 Address (RFC 9260 §3.3.2.1.2). An IPv4-mapped address, which the RFC forbids
    /// here, is written as the IPv4 Address it stands for.
    pub fn ipv6(&mut self, address: Ipv6Addr) -> &mut Self {
        match address.to_ipv4_mapped() {
            // RFC 9260 §3.3.2.1.2: a sender "SHOULD instead use an IPv4 Address parameter".
            Some(mapped) => self.ipv4(mapped),
            None => self.raw(ParameterType::IPV6_ADDRESS, &address.octets()),
        }
    }

    /// Adds the State Cookie of an INIT ACK chunk (RFC 9260 §3.3.3.1.1).
    pub fn state_cookie(&mut self, cookie: &[u8]) -> &mut Self {
        self.raw(ParameterType::STATE_COOKIE, cookie)
    }

    /// Adds an Unrecognized Parameter to an INIT ACK chunk (RFC 9260 §3.3.3.1.2): `parameter` is the
    /// one of the INIT chunk with type, length and value, as in
    /// [`RawParameter::bytes`](crate::RawParameter::bytes).
    pub fn unrecognized(&mut self, parameter: &[u8]) -> &mut Self {
        self.raw(ParameterType::UNRECOGNIZED_PARAMETER, parameter)
    }

    /// Adds a Cookie Preservative (RFC 9260 §3.3.2.1.3): a wish to lengthen the cookie's life by so
    /// many milliseconds.
    pub fn cookie_preservative(&mut self, increment_ms: u32) -> &mut Self {
        self.raw(ParameterType::COOKIE_PRESERVATIVE, &increment_ms.to_be_bytes())
    }

    /// Adds Supported Address Types (RFC 9260 §3.3.2.1.5): parameter types of addresses, 5 for IPv4
    /// and 6 for IPv6.
    pub fn supported_address_types(&mut self, types: &[u16]) -> &mut Self {
        let value: Vec<u8> = types.iter().flat_map(|number| number.to_be_bytes()).collect();
        self.raw(ParameterType::SUPPORTED_ADDRESS_TYPES, &value)
    }

    /// Adds Supported Extensions (RFC 5061 §4.2.7): chunk types, one byte each.
    pub fn supported_extensions(&mut self, chunk_types: &[u8]) -> &mut Self {
        self.raw(ParameterType::SUPPORTED_EXTENSIONS, chunk_types)
    }

    /// Adds Forward-TSN-Supported (RFC 3758 §3.1).
    pub fn forward_tsn_supported(&mut self) -> &mut Self {
        self.raw(ParameterType::FORWARD_TSN_SUPPORTED, &[])
    }

    /// Adds Retransmit Bit Supported (draft-proshin-tsvwg-sctp-rtx-bit-03 §4.1).
    pub fn retransmit_bit_supported(&mut self) -> &mut Self {
        self.raw(ParameterType::RETRANSMIT_BIT_SUPPORTED, &[])
    }

    /// Adds Adaptation Layer Indication (RFC 5061 §4.2.6): a code point.
    pub fn adaptation_layer_indication(&mut self, code: u32) -> &mut Self {
        self.raw(ParameterType::ADAPTATION_LAYER_INDICATION, &code.to_be_bytes())
    }

    /// Adds an Add IP Address request (RFC 5061 §4.2.1).
    pub fn add_ip_address(&mut self, request: AddressRequest) -> &mut Self {
        self.raw(ParameterType::ADD_IP_ADDRESS, &request.value())
    }

    /// Adds a Delete IP Address request (RFC 5061 §4.2.2).
    pub fn delete_ip_address(&mut self, request: AddressRequest) -> &mut Self {
        self.raw(ParameterType::DELETE_IP_ADDRESS, &request.value())
    }

    /// Adds an Error Cause Indication (RFC 5061 §4.2.3) with a list of encoded causes, see
    /// [`CauseWriter`](crate::CauseWriter), for the request with this correlation.
    pub fn error_cause_indication(&mut self, correlation: u32, causes: &[u8]) -> &mut Self {
        let value = [&correlation.to_be_bytes(), tlv::without_final_padding(causes)].concat();
        self.raw(ParameterType::ERROR_CAUSE_INDICATION, &value)
    }

    /// Adds a Set Primary Address request (RFC 5061 §4.2.4).
    pub fn set_primary_address(&mut self, request: AddressRequest) -> &mut Self {
        self.raw(ParameterType::SET_PRIMARY_ADDRESS, &request.value())
    }

    /// Adds a Success Indication (RFC 5061 §4.2.5) for the request with this correlation.
    pub fn success_indication(&mut self, correlation: u32) -> &mut Self {
        self.raw(ParameterType::SUCCESS_INDICATION, &correlation.to_be_bytes())
    }

    //= RFC 6525 4.1-1
    /// Adds an Outgoing SSN Reset Request (RFC 6525 §4.1) for these streams, for all if there are none.
    pub fn outgoing_ssn_reset(
        &mut self,
        request: RequestNumber,
        response: RequestNumber,
        last_tsn: Tsn,
        streams: impl IntoIterator<Item = StreamId>,
    ) -> &mut Self {
        let words = [request.0, response.0, last_tsn.0].map(u32::to_be_bytes);
        self.raw(ParameterType::OUTGOING_SSN_RESET, &with_streams(words.as_flattened(), streams))
    }

    //= RFC 6525 4.2-1
    /// Adds an Incoming SSN Reset Request (RFC 6525 §4.2) for these streams, for all if there are none.
    pub fn incoming_ssn_reset(
        &mut self,
        request: RequestNumber,
        streams: impl IntoIterator<Item = StreamId>,
    ) -> &mut Self {
        let value = with_streams(&request.0.to_be_bytes(), streams);
        self.raw(ParameterType::INCOMING_SSN_RESET, &value)
    }

    //= RFC 6525 4.3-1
    /// Adds an SSN/TSN Reset Request (RFC 6525 §4.3).
    pub fn ssn_tsn_reset(&mut self, request: RequestNumber) -> &mut Self {
        self.raw(ParameterType::SSN_TSN_RESET, &request.0.to_be_bytes())
    }

    //= RFC 6525 4.4-1 4.4-2
    /// Adds a Re-configuration Response (RFC 6525 §4.4).
    pub fn reconfiguration_response(&mut self, response: &ReconfigurationResponse) -> &mut Self {
        let ReconfigurationResponse { request, result, next_tsns } = *response;
        let head = [request.0, result.0];
        let tsns = next_tsns.map(|(sender, receiver)| [sender.0, receiver.0]);
        let words = head.into_iter().chain(tsns.into_iter().flatten());
        let value: Vec<u8> = words.flat_map(u32::to_be_bytes).collect();
        self.raw(ParameterType::RECONFIGURATION_RESPONSE, &value)
    }

    //= RFC 6525 4.5-1 4.5-2
    /// Adds an Add Outgoing Streams Request (RFC 6525 §4.5).
    pub fn add_outgoing_streams(&mut self, add: AddStreams) -> &mut Self {
        self.raw(ParameterType::ADD_OUTGOING_STREAMS, &add.to_bytes())
    }

    //= RFC 6525 4.6-1 4.6-2
    /// Adds an Add Incoming Streams Request (RFC 6525 §4.6).
    pub fn add_incoming_streams(&mut self, add: AddStreams) -> &mut Self {
        self.raw(ParameterType::ADD_INCOMING_STREAMS, &add.to_bytes())
    }

    //= RFC 4895 3.1-1 3.1-2 3.1-3
    /// Adds Random (RFC 4895 §3.1).
    pub fn random(&mut self, number: &[u8]) -> &mut Self {
        self.raw(ParameterType::RANDOM, number)
    }

    //= RFC 4895 3.2-1 3.2-2 3.2-3
    /// Adds Chunk List (RFC 4895 §3.2): chunk types, one byte each.
    pub fn chunk_list(&mut self, chunk_types: &[u8]) -> &mut Self {
        self.raw(ParameterType::CHUNK_LIST, chunk_types)
    }

    //= RFC 4895 3.3-2 3.3-3 3.3-4
    /// Adds Requested HMAC Algorithm (RFC 4895 §3.3), the most preferable one first.
    pub fn hmac_algo(&mut self, algorithms: &[HmacIdentifier]) -> &mut Self {
        let value: Vec<u8> = algorithms.iter().flat_map(|one| one.0.to_be_bytes()).collect();
        self.raw(ParameterType::HMAC_ALGO, &value)
    }

    //= RFC 9653 4-1
    /// Adds Zero Checksum Acceptable (RFC 9653 §4): once at most, and in INIT and INIT ACK chunks only.
    pub fn zero_checksum_acceptable(&mut self, method: ErrorDetectionMethod) -> &mut Self {
        self.raw(ParameterType::ZERO_CHECKSUM_ACCEPTABLE, &method.0.to_be_bytes())
    }

    /// Adds ECN Capable (RFC 4960 Appendix A).
    pub fn ecn_capable(&mut self) -> &mut Self {
        self.raw(ParameterType::ECN_CAPABLE, &[])
    }

    //= RFC 4820 4-1
    /// Adds Padding (RFC 4820 §4) of `len` bytes in all, its header included: at least 4.
    pub fn padding(&mut self, len: usize) -> &mut Self {
        self.raw(ParameterType::PADDING, &vec![0; len.saturating_sub(4)])
    }

    /// How many parameters were left out because the chunk would have become too long.
    #[must_use]
    pub const fn left_out(&self) -> usize {
        self.left_out
    }

    /// Bytes in the list so far, padding included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the list holds no parameter.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes the encoded list and leaves an empty one behind.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        self.left_out = 0;
        std::mem::take(&mut self.list)
    }
}

/// A fixed part, and the numbers of streams behind it.
fn with_streams(fixed: &[u8], streams: impl IntoIterator<Item = StreamId>) -> Vec<u8> {
    let mut value = fixed.to_vec();
    value.extend(streams.into_iter().flat_map(|stream| stream.0.to_be_bytes()));
    value
}
