//! Parameters of the RE-CONFIG chunk (RFC 6525 §4): requests to change streams, and the response.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 13       | Parameter Length = 16 + 2 * N |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Re-configuration Request Sequence Number            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |           Re-configuration Response Sequence Number           |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                Sender's Last Assigned TSN                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Stream Number 1 (optional)   |    Stream Number 2 (optional) |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                            ......                             /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//!
//! Type = 14, Length = 8 + 2 * N: Request Sequence Number, Stream Numbers
//! Type = 15, Length = 8:         Request Sequence Number
//! Type = 16, Length = 12 or 20:  Response Sequence Number, Result [, Sender's and Receiver's Next TSN]
//! Type = 17 and 18, Length = 12: Request Sequence Number, Number of new streams (16 bits), Reserved (16 bits)
//! ```

use crate::code_points::code_points;
use crate::list::List;
use crate::reader::Reader;
use crate::{RequestNumber, StreamId, Tsn};

/// Streams, as a request lists them; none means all of them (RFC 6525 §4.1).
pub type StreamIds<'a> = List<'a, StreamId>;

/// Outgoing SSN Reset Request (RFC 6525 §4.1): the sender resets some or all of its outgoing streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OutgoingSsnReset<'a> {
    /// Which request this is.
    pub request: RequestNumber,
    /// The incoming request that it answers; otherwise the last one that was received.
    pub response: RequestNumber,
    /// Sender's Last Assigned TSN.
    pub last_tsn: Tsn,
    /// The streams; none for all.
    pub streams: StreamIds<'a>,
}

impl<'a> OutgoingSsnReset<'a> {
    pub(super) fn parse(value: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(value);
        Some(Self {
            request: RequestNumber(reader.u32()?),
            response: RequestNumber(reader.u32()?),
            last_tsn: Tsn(reader.u32()?),
            streams: List::from_bytes(reader.rest())?,
        })
    }
}

/// Incoming SSN Reset Request (RFC 6525 §4.2): the peer shall reset some or all of its outgoing streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct IncomingSsnReset<'a> {
    /// Which request this is.
    pub request: RequestNumber,
    /// The streams; none for all.
    pub streams: StreamIds<'a>,
}

impl<'a> IncomingSsnReset<'a> {
    pub(super) fn parse(value: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(value);
        Some(Self {
            request: RequestNumber(reader.u32()?),
            streams: List::from_bytes(reader.rest())?,
        })
    }
}

code_points! {
    /// Result of a Re-configuration Response (RFC 6525 §4.4, table 3).
    ReconfigurationResult(u32), "result {}";

    /// Success: what was asked for is so already.
    NOTHING_TO_DO = 0, "nothing to do";
    /// Success: it was done.
    PERFORMED = 1, "performed";
    /// The endpoint does not want to.
    DENIED = 2, "denied";
    /// A stream does not exist.
    WRONG_SSN = 3, "wrong SSN";
    /// Another request is being processed.
    ALREADY_IN_PROGRESS = 4, "request already in progress";
    /// The request does not follow the one before.
    BAD_SEQUENCE_NUMBER = 5, "bad sequence number";
    /// It will be done: the request is to be repeated.
    IN_PROGRESS = 6, "in progress";
}

/// Re-configuration Response (RFC 6525 §4.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReconfigurationResponse {
    /// The request that it answers.
    pub request: RequestNumber,
    /// What became of it.
    pub result: ReconfigurationResult,
    /// Sender's Next TSN and Receiver's Next TSN: in answers to SSN/TSN Reset Requests.
    pub next_tsns: Option<(Tsn, Tsn)>,
}

impl ReconfigurationResponse {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(value);
        let request = RequestNumber(reader.u32()?);
        let result = ReconfigurationResult(reader.u32()?);
        //= RFC 6525 4.4-2
        // RFC 6525 §4.4: "Either both optional fields (Sender's Next TSN and Receiver's Next TSN) MUST be
        // present, or no field."
        let next_tsns = match reader.rest().len() {
            0 => None,
            8 => Some((Tsn(reader.u32()?), Tsn(reader.u32()?))),
            _ => return None,
        };
        Some(Self { request, result, next_tsns })
    }
}

/// Add Outgoing or Add Incoming Streams Request (RFC 6525 §4.5, §4.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AddStreams {
    /// Which request this is.
    pub request: RequestNumber,
    /// How many streams are to be added.
    pub streams: u16,
}

impl AddStreams {
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(value);
        let (request, streams) = (RequestNumber(reader.u32()?), reader.u16()?);
        let _reserved = reader.u16()?;
        reader.rest().is_empty().then_some(Self { request, streams })
    }

    pub(super) fn to_bytes(self) -> [u8; 8] {
        let [r0, r1, r2, r3] = self.request.0.to_be_bytes();
        let [n0, n1] = self.streams.to_be_bytes();
        [r0, r1, r2, r3, n0, n1, 0, 0]
    }
}

/// The value of a parameter that has a request's number and nothing else.
pub(super) fn number(value: &[u8]) -> Option<RequestNumber> {
    let mut reader = Reader::new(value);
    let request = RequestNumber(reader.u32()?);
    reader.rest().is_empty().then_some(request)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ChunkError, Parameter, ParameterType, ParameterWriter, Parameters};

    fn all(list: &[u8]) -> Vec<Result<Parameter<'_>, ChunkError>> {
        Parameters::new(list).parsed().collect()
    }

    //= RFC 6525 4.1-1 4.2-1
    #[test]
    fn requests_list_their_streams() {
        let list = ParameterWriter::new()
            .outgoing_ssn_reset(RequestNumber(7), RequestNumber(4), Tsn(99), [3, 9].map(StreamId))
            .incoming_ssn_reset(RequestNumber(8), [StreamId(1)])
            .finish();
        let bytes = [
            0, 13, 0, 20, 0, 0, 0, 7, 0, 0, 0, 4, 0, 0, 0, 99, 0, 3, 0, 9, 0, 14, 0, 10, 0, 0, 0,
            8, 0, 1, 0, 0,
        ];
        assert_eq!(list, bytes);
        let [Ok(Parameter::OutgoingSsnReset(out)), Ok(Parameter::IncomingSsnReset(inbound))] =
            all(&list)[..]
        else {
            panic!("two requests")
        };
        assert_eq!(
            (out.request, out.response, out.last_tsn.0),
            (RequestNumber(7), RequestNumber(4), 99)
        );
        assert_eq!(out.streams.iter().collect::<Vec<_>>(), [StreamId(3), StreamId(9)]);
        assert_eq!((inbound.request.0, inbound.streams.len()), (8, 1));
        let none = ParameterWriter::new().incoming_ssn_reset(RequestNumber(8), []).finish();
        assert!(
            matches!(&all(&none)[..], [Ok(Parameter::IncomingSsnReset(r))] if r.streams.is_empty())
        );
    }

    //= RFC 6525 4.3-1 4.4-1 4.4-2 4.5-1 4.5-2 4.6-1 4.6-2
    #[test]
    fn the_others_have_their_lengths() {
        let (request, result) = (RequestNumber(1), ReconfigurationResult::PERFORMED);
        let short = ReconfigurationResponse { request, result, next_tsns: None };
        let long = ReconfigurationResponse { next_tsns: Some((Tsn(5), Tsn(6))), ..short };
        let add = AddStreams { request, streams: 300 };
        let list = ParameterWriter::new()
            .ssn_tsn_reset(request)
            .reconfiguration_response(&short)
            .reconfiguration_response(&long)
            .add_outgoing_streams(add)
            .add_incoming_streams(add)
            .finish();
        let expected = [
            Parameter::SsnTsnReset(request),
            Parameter::ReconfigurationResponse(short),
            Parameter::ReconfigurationResponse(long),
            Parameter::AddOutgoingStreams(add),
            Parameter::AddIncomingStreams(add),
        ];
        assert_eq!(all(&list), expected.map(Ok));
        let lengths: Vec<usize> =
            Parameters::new(&list).iter().map(|raw| raw.unwrap().bytes.len()).collect();
        assert_eq!(lengths, [8, 12, 20, 12, 12]);
        assert_eq!(list[list.len() - 2..], [0, 0], "reserved");
    }

    #[test]
    fn other_lengths_are_malformed() {
        // For each type the lengths of values that are right, up to 20 bytes.
        let right = |kind, len: usize| match kind {
            13 => len >= 12 && len.is_multiple_of(2),
            14 => len >= 4 && len.is_multiple_of(2),
            15 => len == 4,
            16 => len == 8 || len == 16,
            _ => len == 8,
        };
        for kind in 13..=18 {
            for len in 0..=20 {
                let list = ParameterWriter::new().raw(ParameterType(kind), &vec![1; len]).finish();
                assert_eq!(all(&list)[0].is_ok(), right(kind, len), "type {kind}, {len} bytes");
            }
        }
    }

    #[test]
    fn results_have_names() {
        assert_eq!(ReconfigurationResult::DENIED.to_string(), "denied");
        assert_eq!(ReconfigurationResult(9).to_string(), "result 9");
    }
}
