//! Errors and endings. Each reads as one line.

use std::fmt;
use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use thiserror::Error;
use tresse_core::{CloseReason, NotOpened};

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
        match self {
            Closed::Driver(why) => write!(f, "the endpoint has ended: {why}"),
            Closed::Association(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for Closed {}

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

/// This host has no way to a peer: no route, no address of that family although the endpoint could have one
/// ([`ConnectError::OtherFamily`] if it could not), or a link-local address without its interface.
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
    /// What was asked for cannot be: no packet has left.
    #[error(transparent)]
    NotOpened(#[from] NotOpened),
    /// [`Endpoint::close`](crate::Endpoint::close) was called.
    #[error("the endpoint is closed")]
    EndpointClosed,
    /// The endpoint has no local address of the family, IPv4 or IPv6, of any address of the peer.
    #[error("{address} cannot be reached: the endpoint is not bound to an {} address", family(.address))]
    OtherFamily {
        /// The peer's address, the first one if it has several.
        address: IpAddr,
    },
    /// Nothing can leave this host for the peer now.
    #[error(transparent)]
    NoRoute(#[from] NoRoute),
    /// The association ended before it was established.
    #[error("{}", before_it_began(.0))]
    Closed(#[from] Closed),
}

impl ConnectError {
    /// Whether the peer's host answered that nobody is there for us: nobody listens on that SCTP port, or turns us away as if
    /// nobody did (RFC 9260 §8.4), or there is no SCTP at all, with UDP nobody on that port (RFC 6951 §5.5).
    #[must_use]
    pub fn is_refused(&self) -> bool {
        let ConnectError::Closed(Closed::Association(reason)) = self else { return false };
        is_answer_to_init(reason) || *reason == CloseReason::NoSctp
    }
}

/// Why a message was not accepted for sending.
pub type SendError = tresse_core::SendError<Closed>;

fn family(address: &IpAddr) -> &'static str {
    if address.is_ipv4() { "IPv4" } else { "IPv6" }
}

/// How an association ended that was not established yet.
fn before_it_began(closed: &Closed) -> String {
    match closed {
        Closed::Association(reason) if is_answer_to_init(reason) => {
            "the peer refused the association: nobody listens on that SCTP port, or not to us"
                .into()
        }
        closed => closed.to_string(),
    }
}

/// The ABORT without a cause that answers INIT where nobody listens (RFC 9260 §8.4).
fn is_answer_to_init(reason: &CloseReason) -> bool {
    matches!(reason, CloseReason::PeerAborted { cause: 0, value } if value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a task does that reads and writes.
    fn both(read: Result<(), Closed>, written: Result<(), SendError>) -> Result<(), SendError> {
        read?;
        written
    }

    #[test]
    fn errors_read_as_one_line_and_pass_on() {
        let closed = Closed::Driver("it was dropped".into());
        assert!(!closed.is_graceful());
        let error = both(Err(closed.clone()), Ok(())).unwrap_err();
        assert_eq!(error, SendError::Closed(closed));
        assert_eq!(error.to_string(), "the endpoint has ended: it was dropped");
        let refused = CloseReason::PeerAborted { cause: 0, value: Default::default() };
        let refused = ConnectError::from(Closed::Association(refused));
        assert!(refused.is_refused());
        let refused = refused.to_string();
        assert!(refused.contains("nobody listens on that SCTP port"), "{refused}");
        assert!(ConnectError::from(Closed::Association(CloseReason::NoSctp)).is_refused());
        let silent = ConnectError::from(Closed::Association(CloseReason::SetupFailed));
        assert!(!silent.is_refused());
        assert!(silent.to_string().starts_with("the peer does not answer"));
    }
}
