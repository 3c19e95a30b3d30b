//! Messages, as they are sent and as they are handed over.

use bytes::Bytes;
use tresse_wire::{Ppid, Ssn, StreamId, Tsn};

use crate::time::Time;

/// A user message, as sent or as delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The stream it travels on.
    pub stream: StreamId,
    /// Payload protocol identifier, opaque to SCTP (RFC 9260 §3.3.1).
    pub ppid: Ppid,
    /// Delivered without regard to order (U flag).
    pub unordered: bool,
    /// The user data, never empty.
    pub payload: Bytes,
}

/// A message handed to the application, with what the protocol knows of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReceivedMessage {
    /// The stream it came on.
    pub stream: StreamId,
    /// Payload protocol identifier, opaque to SCTP (RFC 9260 §3.3.1).
    pub ppid: Ppid,
    /// Delivered without regard to order (U flag).
    pub unordered: bool,
    /// The user data; empty only if it is [`Aborted`](MessagePart::Aborted).
    pub payload: Bytes,
    /// Stream sequence number; meaningless if unordered.
    pub ssn: Ssn,
    /// TSN of its first fragment.
    pub tsn: Tsn,
    /// When the last missing fragment arrived of what is handed over.
    pub completed_at: Time,
    /// Which part of the message: all, without [`AssociationConfig::partial_delivery_point`](crate::AssociationConfig::partial_delivery_point).
    pub part: MessagePart,
}

/// Which part of a message is handed over (RFC 9260 §6.9, RFC 6458 §8.1.21). The parts of a message come one after the
/// other, between those of messages of other streams with I-DATA chunks and between nothing else with DATA chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MessagePart {
    /// All of it.
    #[default]
    Whole,
    /// Its beginning. More comes, or [`Aborted`](Self::Aborted).
    First,
    /// What follows, and more comes.
    Middle,
    /// What follows, to the end of the message.
    Last,
    /// Nothing: the rest will not come (SCTP_PARTIAL_DELIVERY_ABORTED, RFC 6458 §6.1.7). The peer gave it up, or its order has ended.
    Aborted,
}

impl MessagePart {
    /// Nothing more comes of the message.
    #[must_use]
    pub const fn ends(self) -> bool {
        matches!(self, MessagePart::Whole | MessagePart::Last | MessagePart::Aborted)
    }
}

impl ReceivedMessage {
    /// What its sender gave, without what the protocol knows of its way.
    pub fn into_message(self) -> Message {
        let ReceivedMessage { stream, ppid, unordered, payload, .. } = self;
        Message { stream, ppid, unordered, payload }
    }
}

/// What is read next, as far as it has come (SCTP_NXTINFO, RFC 6458 §5.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct NextMessage {
    /// The stream it came on.
    pub stream: StreamId,
    /// Payload protocol identifier, opaque to SCTP (RFC 9260 §3.3.1).
    pub ppid: Ppid,
    /// Delivered without regard to order (U flag).
    pub unordered: bool,
    /// Bytes that can be read now: 0 only if it is [`Aborted`](MessagePart::Aborted).
    pub len: usize,
    /// Which part of the message these are.
    pub part: MessagePart,
}

impl NextMessage {
    /// Whether it ends what it is of: the whole message, or the last part of one (SCTP_COMPLETE).
    #[must_use]
    pub const fn is_complete(self) -> bool {
        matches!(self.part, MessagePart::Whole | MessagePart::Last)
    }
}

impl From<&ReceivedMessage> for NextMessage {
    fn from(message: &ReceivedMessage) -> NextMessage {
        let ReceivedMessage { stream, ppid, unordered, part, .. } = *message;
        NextMessage { stream, ppid, unordered, len: message.payload.len(), part }
    }
}
