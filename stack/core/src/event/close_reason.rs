//! How associations end.

use bytes::Bytes;

/// Why an association ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// Both sides shut down gracefully; all data was delivered.
    Shutdown,
    /// We aborted it.
    Aborted,
    /// The peer sent ABORT, with this cause code (0 if none) and its text or data.
    PeerAborted {
        /// First error cause of the ABORT.
        cause: u16,
        /// Its value.
        value: Bytes,
    },
    /// More than `Association.Max.Retrans` consecutive losses (RFC 9260 §8.1).
    Unreachable,
    /// No answer to INIT or COOKIE ECHO after `Max.Init.Retransmits` (RFC 9260 §5.1).
    SetupFailed,
    /// ICMP says that the peer's host does not speak SCTP, or over UDP that nobody uses the port
    /// (RFC 9260 §10, RFC 6951 §5.5).
    NoSctp,
    /// The peer has called us while we called it, and the association that came of its call remains: two
    /// ends have one association (RFC 9260 §1.3). What was to be sent here was not.
    Crossed,
    /// The shutdown took longer than the T5-shutdown-guard (RFC 9260 §9.2).
    ShutdownTimeout,
    /// The endpoint needed its memory ([`EndpointConfig::memory`](crate::EndpointConfig::memory)), and it held the
    /// most: the peer was sent ABORT with Out of Resource (RFC 9260 §3.3.10.4). What had not been read is
    /// gone, and the messages of `SendFailed` come without their user data.
    OutOfMemory,
    /// The peer broke the protocol and was sent ABORT; says how.
    ProtocolViolation(&'static str),
}
