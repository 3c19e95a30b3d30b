//! Errors and endings. Each reads as one line.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use thiserror::Error;
use tresse_core::CloseReason;
use tresse_wire::CauseCode;

/// Bytes of a peer's abort text that are shown.
const MAX_PEER_TEXT: usize = 200;

/// How an association ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Closed {
    /// By the protocol.
    Association(CloseReason),
    /// Its endpoint's driver ended first: dropped with its runtime, or the socket failed.
    Driver(Arc<str>),
}

impl Closed {
    /// Whether it was a graceful shutdown, after which every message has been delivered.
    #[must_use]
    pub fn is_graceful(&self) -> bool {
        matches!(self, Closed::Association(CloseReason::Shutdown))
    }
}

impl Closed {
    /// A handle keeps its slot, so this is not seen; it is an answer all the same.
    pub(crate) fn unknown() -> Closed {
        Closed::Driver("the association is unknown".into())
    }
}

impl fmt::Display for Closed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reason = match self {
            Closed::Driver(why) => return write!(f, "the endpoint has ended: {why}"),
            Closed::Association(reason) => reason,
        };
        match reason {
            CloseReason::Shutdown => f.write_str("the association was shut down"),
            CloseReason::Aborted => f.write_str("the association was aborted here"),
            CloseReason::PeerAborted { cause: 0, .. } => {
                f.write_str("the peer aborted the association without a reason")
            }
            CloseReason::PeerAborted { cause, value } => {
                write!(f, "the peer aborted the association: {}", CauseCode(*cause))?;
                let text = printable(value);
                if text.is_empty() { Ok(()) } else { write!(f, " ({text})") }
            }
            CloseReason::Unreachable => f.write_str(
                "the peer does not answer any more: Association.Max.Retrans was exceeded",
            ),
            CloseReason::SetupFailed => {
                f.write_str("the peer does not answer: Max.Init.Retransmits was exceeded")
            }
            CloseReason::NoSctp => f.write_str(
                "the peer's host does not speak SCTP there (ICMP: protocol or port unreachable)",
            ),
            CloseReason::Crossed => {
                f.write_str("the peer called at the same time, and that association remains")
            }
            CloseReason::ShutdownTimeout => {
                f.write_str("the shutdown did not finish: T5-shutdown-guard expired")
            }
            CloseReason::OutOfMemory => {
                f.write_str("the endpoint's memory was used up, and this association held the most")
            }
            CloseReason::ProtocolViolation(how) => {
                write!(f, "the peer violated the protocol: {how}")
            }
            other => write!(f, "the association ended: {other:?}"),
        }
    }
}

impl std::error::Error for Closed {}

/// A peer's text, made harmless: one line, no control characters, not too long. Bytes that are no
/// text are not shown.
fn printable(value: &[u8]) -> String {
    let value = &value[..value.len().min(MAX_PEER_TEXT)];
    let text = String::from_utf8_lossy(value);
    if text.chars().any(|c| c.is_control() && !c.is_whitespace()) {
        return format!("{} bytes of data", value.len());
    }
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    tresse_wire::printable(&words).into_owned()
}

/// Why no association will come any more from [`accept`](crate::Endpoint::accept).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// [`Endpoint::close`](crate::Endpoint::close) was called.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// Its driver has ended: dropped with its runtime, or the socket failed.
    #[error("the endpoint has ended: {0}")]
    Driver(Arc<str>),
}

/// This host has no way to a peer: no route, no address of that family, or a link-local address without its
/// interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoRoute {
    /// The peer's address, the first one if it has several.
    pub address: IpAddr,
    /// The error number of the system, such as that of `ENETUNREACH`.
    pub errno: i32,
}

impl fmt::Display for NoRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let error = io::Error::from_raw_os_error(self.errno);
        write!(f, "no packet can leave this host for {}: {error}", self.address)
    }
}

impl std::error::Error for NoRoute {}

/// Why [`connect`](crate::Endpoint::connect) failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// The peer has no address.
    #[error("no peer address was given")]
    NoAddress,
    /// The peer's SCTP port is 0, which RFC 9260 §3.1 forbids.
    #[error("SCTP port 0 cannot be used")]
    ZeroPort,
    /// An association with one of these addresses and this port exists (RFC 9260 §11.1.2).
    #[error("an association with this peer exists already")]
    Exists,
    /// The endpoint has as many associations as
    /// [`max_associations`](tresse_core::EndpointConfig::max_associations) allows.
    #[error("the endpoint has its maximum number of associations")]
    TooManyAssociations,
    /// Seven eighths of the endpoint's memory are used up.
    #[error("the endpoint has no memory for another association")]
    OutOfMemory,
    /// A setting is outside its range.
    #[error("unusable setting: {0}")]
    Config(String),
    /// [`Endpoint::close`](crate::Endpoint::close) was called.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// Nothing can leave this host for the peer now.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    /// The association ended before it was established.
    #[error(transparent)]
    Closed(Closed),
}

impl From<tresse_core::ConnectError> for ConnectError {
    fn from(error: tresse_core::ConnectError) -> ConnectError {
        match error {
            tresse_core::ConnectError::NoAddress => ConnectError::NoAddress,
            tresse_core::ConnectError::ZeroPort => ConnectError::ZeroPort,
            tresse_core::ConnectError::Exists => ConnectError::Exists,
            tresse_core::ConnectError::TooManyAssociations => ConnectError::TooManyAssociations,
            tresse_core::ConnectError::OutOfMemory => ConnectError::OutOfMemory,
            tresse_core::ConnectError::Config(what) => ConnectError::Config(what),
        }
    }
}

/// Why a message was not accepted for sending.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// The association has ended.
    #[error(transparent)]
    Closed(Closed),
    /// The send buffer is full. Of [`try_send`](crate::Association::try_send) only.
    #[error("the send buffer is full")]
    WouldBlock,
    /// The association is shutting down (RFC 9260 §9.2: no new data is accepted).
    #[error("the association is shutting down")]
    ShuttingDown,
    /// The stream number is not below the number of negotiated outbound streams.
    #[error("stream {stream} does not exist: there are {streams} outbound streams")]
    NoStream {
        /// The stream asked for.
        stream: u16,
        /// How many outbound streams there are.
        streams: u16,
    },
    /// The message is empty (RFC 9260 §6.2: a DATA chunk always carries user data).
    #[error("an empty message cannot be sent")]
    Empty,
    /// The message is longer than [`max_message_size`](tresse_core::AssociationConfig::max_message_size), or needs
    /// fragmentation, which is off.
    #[error("the message has {size} bytes; the limit is {limit}")]
    TooLarge {
        /// Bytes of the message.
        size: usize,
        /// The limit that it exceeds.
        limit: usize,
    },
    /// [`SendOptions::key`](tresse_core::SendOptions::key) is not there, or was deactivated.
    #[error("there is no shared key {key} to authenticate with")]
    NoKey {
        /// Its number.
        key: u16,
    },
    /// [`SendOptions::destination`](tresse_core::SendOptions::destination) is no address of the peer.
    #[error("{address} is no address of the peer")]
    NoAddress {
        /// The address.
        address: IpAddr,
    },
}

impl From<tresse_core::SendError> for SendError {
    fn from(error: tresse_core::SendError) -> SendError {
        match error {
            tresse_core::SendError::NoAssociation => SendError::Closed(Closed::unknown()),
            tresse_core::SendError::WouldBlock => SendError::WouldBlock,
            tresse_core::SendError::ShuttingDown => SendError::ShuttingDown,
            tresse_core::SendError::NoStream { stream, streams } => {
                SendError::NoStream { stream, streams }
            }
            tresse_core::SendError::Empty => SendError::Empty,
            tresse_core::SendError::TooLarge { size, limit } => SendError::TooLarge { size, limit },
            tresse_core::SendError::NoKey { key } => SendError::NoKey { key },
            tresse_core::SendError::NoAddress { address } => SendError::NoAddress { address },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    fn shown(cause: u16, value: &'static [u8]) -> String {
        let value = Bytes::from_static(value);
        Closed::Association(CloseReason::PeerAborted { cause, value }).to_string()
    }

    #[test]
    fn endings_read_as_one_line() {
        assert_eq!(
            shown(12, b"going\nhome "),
            "the peer aborted the association: User-Initiated Abort (going home)"
        );
        assert_eq!(shown(4, b""), "the peer aborted the association: Out of Resource");
        assert!(shown(99, b"\x1b[2J\x00").ends_with("code 99 (5 bytes of data)"));
        assert!(shown(0, b"").ends_with("without a reason"));
        assert!(!Closed::Driver("it was dropped".into()).is_graceful());
    }
}
