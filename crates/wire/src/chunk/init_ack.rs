//! Initiation Acknowledgement (INIT ACK, 2), RFC 9260 §3.3.3.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Type = 2    |  Chunk Flags  |         Chunk Length          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                         Initiate Tag                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               Advertised Receiver Window Credit               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |  Number of Outbound Streams   |   Number of Inbound Streams   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                          Initial TSN                          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /              Optional/Variable-Length Parameters              /
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::{ChunkError, InitFields, Parameters, RawChunk, Tsn, VerificationTag};

/// An INIT ACK chunk.
///
/// The State Cookie is mandatory; whether it is there is seen by walking the parameters, and the
/// answer to its absence is up to the association (RFC 9260 §3.3.10.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InitAck<'a> {
    /// Tag the receiver shall put into every packet of the association. May be 0 here, which the
    /// receiver of the chunk has to reject.
    pub initiate_tag: VerificationTag,
    /// Advertised Receiver Window Credit in bytes. May be below the 1500 the RFC demands.
    pub a_rwnd: u32,
    /// Number of streams the sender wishes to send on. May be 0, which is to be rejected.
    pub outbound_streams: u16,
    /// Largest number of streams the sender will receive on. May be 0, which is to be rejected.
    pub inbound_streams: u16,
    /// TSN of the first DATA chunk the sender will send.
    pub initial_tsn: Tsn,
    /// The parameters, not validated yet.
    pub parameters: Parameters<'a>,
}

impl<'a> InitAck<'a> {
    pub(crate) fn parse(raw: RawChunk<'a>) -> Result<Self, ChunkError> {
        let (fields, parameters) = InitFields::parse(raw)?;
        let InitFields { initiate_tag, a_rwnd, outbound_streams, inbound_streams, initial_tsn } =
            fields;
        Ok(Self {
            initiate_tag,
            a_rwnd,
            outbound_streams,
            inbound_streams,
            initial_tsn,
            parameters,
        })
    }

    /// The fixed fields.
    #[must_use]
    pub const fn fields(&self) -> InitFields {
        InitFields {
            initiate_tag: self.initiate_tag,
            a_rwnd: self.a_rwnd,
            outbound_streams: self.outbound_streams,
            inbound_streams: self.inbound_streams,
            initial_tsn: self.initial_tsn,
        }
    }
}
