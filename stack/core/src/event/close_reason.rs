//! How associations end.

use std::fmt;

use bytes::Bytes;
use tresse_wire::CauseCode;

/// Bytes of a peer's abort text that are shown.
const MAX_PEER_TEXT: usize = 200;

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

/// One line.
impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CloseReason::Shutdown => f.write_str("the association was shut down"),
            CloseReason::Aborted => f.write_str("the association was aborted here"),
            CloseReason::PeerAborted { cause: 0, .. } => {
                f.write_str("the peer aborted the association without a reason")
            }
            CloseReason::PeerAborted { cause, value } => {
                write!(f, "the peer aborted the association: {}", CauseCode(*cause))?;
                let text = match CauseCode(*cause) {
                    CauseCode::MISSING_MANDATORY_PARAMETER => missing(value),
                    _ => printable(value),
                };
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
        }
    }
}

impl std::error::Error for CloseReason {}

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

/// The types of the parameters that the peer missed (RFC 9260 §3.3.10.2), behind their number.
fn missing(value: &[u8]) -> String {
    let Some((number, types)) = value.split_first_chunk() else { return String::new() };
    let number = usize::try_from(u32::from_be_bytes(*number)).unwrap_or(usize::MAX);
    let types = types.chunks_exact(2).take(number.min(8));
    let types = types.map(|t| u16::from_be_bytes([t[0], t[1]]).to_string()).collect::<Vec<_>>();
    match &types[..] {
        [] => String::new(),
        [one] => format!("type {one}"),
        several => format!("types {}", several.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(cause: u16, value: &'static [u8]) -> String {
        CloseReason::PeerAborted { cause, value: Bytes::from_static(value) }.to_string()
    }

    #[test]
    fn endings_read_as_one_line() {
        assert_eq!(
            shown(12, b"going\nhome "),
            "the peer aborted the association: User-Initiated Abort (going home)"
        );
        assert_eq!(shown(4, b""), "the peer aborted the association: Out of Resource");
        assert!(shown(99, b"\x1b[2J\x00").ends_with("code 99 (5 bytes of data)"));
        let missing = shown(2, &[0, 0, 0, 2, 0, 7, 0x80, 8]);
        assert!(missing.ends_with("Missing Mandatory Parameter (types 7, 32776)"), "{missing}");
        assert!(shown(2, &[0, 0]).ends_with("Missing Mandatory Parameter"));
        assert!(shown(0, b"").ends_with("without a reason"));
    }
}
