//! Encoding of error cause lists.

use super::CauseCode;
use crate::tlv::{self, TLV_HEADER_LEN};
use crate::{CHUNK_HEADER_LEN, HmacIdentifier, MAX_CHUNK_LEN, ParameterType, StreamId, Tsn};

/// Longest list of causes an ERROR or ABORT chunk can hold, in bytes.
const MAX_CAUSES_LEN: usize = MAX_CHUNK_LEN - CHUNK_HEADER_LEN;

/// Builds the error causes of an ERROR or ABORT chunk, each padded to a multiple of four bytes.
///
/// The list never grows beyond what the largest chunk can hold, whatever a peer or an application
/// hands over to be quoted: free text and quoted chunks are cut, any other cause that does not fit
/// is left out. The methods can be chained.
///
/// ```
/// use tresse_wire::{Causes, Cause, CauseWriter};
///
/// let causes = CauseWriter::new().out_of_resource().user_initiated_abort(b"bye").finish();
/// let parsed: Result<Vec<_>, _> = Causes::new(&causes).parsed().collect();
/// assert_eq!(parsed, Ok(vec![Cause::OutOfResource, Cause::UserInitiatedAbort(b"bye")]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct CauseWriter {
    list: Vec<u8>,
}

impl CauseWriter {
    /// An empty list.
    #[must_use]
    pub const fn new() -> Self {
        Self { list: Vec::new() }
    }

    /// Adds a cause of any code (RFC 9260 §3.3.10).
    pub fn raw(&mut self, code: CauseCode, value: &[u8]) -> &mut Self {
        self.push(code, &[value])
    }

    /// Adds Invalid Stream Identifier (RFC 9260 §3.3.10.1).
    pub fn invalid_stream_identifier(&mut self, stream: StreamId) -> &mut Self {
        self.push(CauseCode::INVALID_STREAM_IDENTIFIER, &[&stream.0.to_be_bytes(), &[0, 0]])
    }

    /// Adds Missing Mandatory Parameter (RFC 9260 §3.3.10.2).
    pub fn missing_mandatory_parameter(&mut self, types: &[ParameterType]) -> &mut Self {
        let count = u32::try_from(types.len()).unwrap_or(u32::MAX);
        let value: Vec<u8> = types.iter().flat_map(|t| t.0.to_be_bytes()).collect();
        self.push(CauseCode::MISSING_MANDATORY_PARAMETER, &[&count.to_be_bytes(), &value])
    }

    /// Adds Stale Cookie (RFC 9260 §3.3.10.3): how many microseconds ago the cookie expired, 0 not
    /// to tell.
    pub fn stale_cookie(&mut self, measure_us: u32) -> &mut Self {
        self.raw(CauseCode::STALE_COOKIE, &measure_us.to_be_bytes())
    }

    /// Adds Out of Resource (RFC 9260 §3.3.10.4).
    pub fn out_of_resource(&mut self) -> &mut Self {
        self.raw(CauseCode::OUT_OF_RESOURCE, &[])
    }

    /// Adds Unresolvable Address (RFC 9260 §3.3.10.5): the whole address parameter.
    pub fn unresolvable_address(&mut self, parameter: &[u8]) -> &mut Self {
        self.raw(CauseCode::UNRESOLVABLE_ADDRESS, parameter)
    }

    /// Adds Unrecognized Chunk Type (RFC 9260 §3.3.10.6): the whole chunk, cut if it does not fit.
    pub fn unrecognized_chunk_type(&mut self, chunk: &[u8]) -> &mut Self {
        let chunk = self.cut(chunk);
        self.raw(CauseCode::UNRECOGNIZED_CHUNK_TYPE, chunk)
    }

    /// Adds Invalid Mandatory Parameter (RFC 9260 §3.3.10.7).
    pub fn invalid_mandatory_parameter(&mut self) -> &mut Self {
        self.raw(CauseCode::INVALID_MANDATORY_PARAMETER, &[])
    }

    /// Adds Unrecognized Parameters (RFC 9260 §3.3.10.8): a list of whole parameters of an INIT ACK
    /// chunk, each but the last padded to a multiple of four bytes.
    pub fn unrecognized_parameters(&mut self, parameters: &[u8]) -> &mut Self {
        self.raw(CauseCode::UNRECOGNIZED_PARAMETERS, parameters)
    }

    /// Adds No User Data (RFC 9260 §3.3.10.9).
    pub fn no_user_data(&mut self, tsn: Tsn) -> &mut Self {
        self.raw(CauseCode::NO_USER_DATA, &tsn.0.to_be_bytes())
    }

    /// Adds Cookie Received While Shutting Down (RFC 9260 §3.3.10.10).
    pub fn cookie_received_while_shutting_down(&mut self) -> &mut Self {
        self.raw(CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN, &[])
    }

    /// Adds Restart of an Association with New Addresses (RFC 9260 §3.3.10.11): a list of whole
    /// address parameters, see [`ParameterWriter`](crate::ParameterWriter).
    pub fn restart_with_new_addresses(&mut self, addresses: &[u8]) -> &mut Self {
        self.raw(CauseCode::RESTART_WITH_NEW_ADDRESSES, addresses)
    }

    /// Adds User-Initiated Abort (RFC 9260 §3.3.10.12) with the application's reason, cut if it
    /// does not fit.
    pub fn user_initiated_abort(&mut self, reason: &[u8]) -> &mut Self {
        let reason = self.cut(reason);
        self.raw(CauseCode::USER_INITIATED_ABORT, reason)
    }

    /// Adds Protocol Violation (RFC 9260 §3.3.10.13) with additional information, cut if it does
    /// not fit.
    pub fn protocol_violation(&mut self, information: &[u8]) -> &mut Self {
        let information = self.cut(information);
        self.raw(CauseCode::PROTOCOL_VIOLATION, information)
    }

    /// Adds Request to Delete Last Remaining IP Address (RFC 5061 §4.3.1): the whole request.
    pub fn request_to_delete_last_address(&mut self, request: &[u8]) -> &mut Self {
        self.raw(CauseCode::REQUEST_TO_DELETE_LAST_ADDRESS, request)
    }

    /// Adds Operation Refused Due to Resource Shortage (RFC 5061 §4.3.2): the whole request.
    pub fn resource_shortage(&mut self, request: &[u8]) -> &mut Self {
        self.raw(CauseCode::RESOURCE_SHORTAGE, request)
    }

    /// Adds Request to Delete Source IP Address (RFC 5061 §4.3.3): the whole request.
    pub fn request_to_delete_source_address(&mut self, request: &[u8]) -> &mut Self {
        self.raw(CauseCode::REQUEST_TO_DELETE_SOURCE_ADDRESS, request)
    }

    /// Adds Association Aborted Due to Illegal ASCONF-ACK (RFC 5061 §4.3.4).
    pub fn illegal_asconf_ack(&mut self) -> &mut Self {
        self.raw(CauseCode::ILLEGAL_ASCONF_ACK, &[])
    }

    /// Adds Request Refused - No Authorization (RFC 5061 §4.3.5): the whole request.
    pub fn no_authorization(&mut self, request: &[u8]) -> &mut Self {
        self.raw(CauseCode::NO_AUTHORIZATION, request)
    }

    //= RFC 4895 4.1-1 4.1-2 4.1-3 4.1-4
    /// Adds Unsupported HMAC Identifier (RFC 4895 §4.1).
    pub fn unsupported_hmac_identifier(&mut self, algorithm: HmacIdentifier) -> &mut Self {
        self.raw(CauseCode::UNSUPPORTED_HMAC_IDENTIFIER, &algorithm.0.to_be_bytes())
    }

    /// Bytes in the list so far, padding included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether the list holds no cause.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Takes the encoded list and leaves an empty one behind.
    #[must_use]
    pub fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.list)
    }

    /// As much from the front of `value` as still fits.
    fn cut<'v>(&self, value: &'v [u8]) -> &'v [u8] {
        let room = MAX_CAUSES_LEN.saturating_sub(self.list.len()).saturating_sub(TLV_HEADER_LEN);
        value.get(..room).unwrap_or(value)
    }

    fn push(&mut self, code: CauseCode, value: &[&[u8]]) -> &mut Self {
        // A cause that does not fit is left out, as the type documents.
        let _fits = tlv::push(&mut self.list, MAX_CAUSES_LEN, code.0, value);
        self
    }
}
