//! How errors are found in packets whose checksum is zero (RFC 9653 §3, §8).

use crate::code_points::code_points;

code_points! {
    /// Error Detection Method Identifier of a Zero Checksum Acceptable parameter (RFC 9653 §4).
    ErrorDetectionMethod(u32), "method {}";

    /// Reserved: none (RFC 9653 §8).
    NONE = 0, "none";
    /// SCTP over DTLS (RFC 9653 §6, RFC 8261).
    DTLS = 1, "SCTP over DTLS";
}
