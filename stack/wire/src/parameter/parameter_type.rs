//! Parameter Types (RFC 9260 §3.2.1 and the IANA registry).

use crate::UnknownAction;
use crate::code_points::code_points;

//= RFC 9260 3.2.1-4 3.2.1-5
code_points! {
    /// Parameter Type field (RFC 9260 §3.2.1). Types are unique across all chunks.
    ParameterType(u16), "type {:#06x}";

    /// Heartbeat Info (RFC 9260 §3.3.5).
    HEARTBEAT_INFO = 1, "Heartbeat Info";
    /// IPv4 Address (RFC 9260 §3.3.2.1.1).
    IPV4_ADDRESS = 5, "IPv4 Address";
    /// IPv6 Address (RFC 9260 §3.3.2.1.2).
    IPV6_ADDRESS = 6, "IPv6 Address";
    /// State Cookie (RFC 9260 §3.3.3.1.1).
    STATE_COOKIE = 7, "State Cookie";
    /// Unrecognized Parameter (RFC 9260 §3.3.3.1.2).
    UNRECOGNIZED_PARAMETER = 8, "Unrecognized Parameter";
    /// Cookie Preservative (RFC 9260 §3.3.2.1.3).
    COOKIE_PRESERVATIVE = 9, "Cookie Preservative";
    /// Host Name Address, deprecated (RFC 9260 §3.3.2.1.4).
    HOST_NAME_ADDRESS = 11, "Host Name Address";
    /// Supported Address Types (RFC 9260 §3.3.2.1.5).
    SUPPORTED_ADDRESS_TYPES = 12, "Supported Address Types";
    /// Outgoing SSN Reset Request (RFC 6525 §4.1).
    OUTGOING_SSN_RESET = 13, "Outgoing SSN Reset Request";
    /// Incoming SSN Reset Request (RFC 6525 §4.2).
    INCOMING_SSN_RESET = 14, "Incoming SSN Reset Request";
    /// SSN/TSN Reset Request (RFC 6525 §4.3).
    SSN_TSN_RESET = 15, "SSN/TSN Reset Request";
    /// Re-configuration Response (RFC 6525 §4.4).
    RECONFIGURATION_RESPONSE = 16, "Re-configuration Response";
    /// Add Outgoing Streams Request (RFC 6525 §4.5).
    ADD_OUTGOING_STREAMS = 17, "Add Outgoing Streams Request";
    /// Add Incoming Streams Request (RFC 6525 §4.6).
    ADD_INCOMING_STREAMS = 18, "Add Incoming Streams Request";
    /// ECN Capable (RFC 4960 Appendix A).
    ECN_CAPABLE = 0x8000, "ECN Capable";
    /// Zero Checksum Acceptable (RFC 9653 §4).
    ZERO_CHECKSUM_ACCEPTABLE = 0x8001, "Zero Checksum Acceptable";
    /// Random (RFC 4895 §3.1).
    RANDOM = 0x8002, "Random";
    /// Chunk List (RFC 4895 §3.2).
    CHUNK_LIST = 0x8003, "Chunk List";
    /// Requested HMAC Algorithm (RFC 4895 §3.3).
    HMAC_ALGO = 0x8004, "Requested HMAC Algorithm";
    /// Padding (RFC 4820 §4).
    PADDING = 0x8005, "Padding";
    /// Supported Extensions (RFC 5061 §4.2.7).
    SUPPORTED_EXTENSIONS = 0x8008, "Supported Extensions";
    /// Retransmit Bit Supported (draft-proshin-tsvwg-sctp-rtx-bit-03 §4.1).
    RETRANSMIT_BIT_SUPPORTED = 0x8100, "Retransmit Bit Supported";
    /// Forward-TSN-Supported (RFC 3758 §3.1).
    FORWARD_TSN_SUPPORTED = 0xc000, "Forward-TSN-Supported";
    /// Add IP Address (RFC 5061 §4.2.1).
    ADD_IP_ADDRESS = 0xc001, "Add IP Address";
    /// Delete IP Address (RFC 5061 §4.2.2).
    DELETE_IP_ADDRESS = 0xc002, "Delete IP Address";
    /// Error Cause Indication (RFC 5061 §4.2.3).
    ERROR_CAUSE_INDICATION = 0xc003, "Error Cause Indication";
    /// Set Primary Address (RFC 5061 §4.2.4).
    SET_PRIMARY_ADDRESS = 0xc004, "Set Primary Address";
    /// Success Indication (RFC 5061 §4.2.5).
    SUCCESS_INDICATION = 0xc005, "Success Indication";
    /// Adaptation Layer Indication (RFC 5061 §4.2.6).
    ADAPTATION_LAYER_INDICATION = 0xc006, "Adaptation Layer Indication";
}

impl ParameterType {
    /// What the two highest bits ask of an endpoint that does not know the type.
    #[must_use]
    pub const fn unknown_action(self) -> UnknownAction {
        let [high, _] = self.0.to_be_bytes();
        UnknownAction::from_high_bits(high >> 6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= RFC 9653 4-4
    #[test]
    fn highest_bits_choose_the_action() {
        assert_eq!(ParameterType(0x3fff).unknown_action(), UnknownAction::Stop);
        assert_eq!(ParameterType(0x4000).unknown_action(), UnknownAction::StopAndReport);
        assert_eq!(ParameterType::ECN_CAPABLE.unknown_action(), UnknownAction::Skip);
        // Announcements to a peer that does not know them go unnoticed.
        let extensions = ParameterType::SUPPORTED_EXTENSIONS;
        assert_eq!(extensions.unknown_action(), UnknownAction::Skip);
        let retransmit_bit = ParameterType::RETRANSMIT_BIT_SUPPORTED;
        assert_eq!(retransmit_bit.unknown_action(), UnknownAction::Skip);
        // RFC 4895 §3: "ignore the parameter and continue processing if the parameter is not understood".
        for of_auth in [ParameterType::RANDOM, ParameterType::CHUNK_LIST, ParameterType::HMAC_ALGO]
        {
            assert_eq!(of_auth.unknown_action(), UnknownAction::Skip);
        }
        let zero = ParameterType::ZERO_CHECKSUM_ACCEPTABLE;
        assert_eq!(zero.unknown_action(), UnknownAction::Skip);
        let forward = ParameterType::FORWARD_TSN_SUPPORTED;
        assert_eq!(forward.unknown_action(), UnknownAction::SkipAndReport);
    }

    //= RFC 9260 3.2.1-4 3.2.1-5
    #[test]
    fn numbers_are_unique() {
        let named: Vec<_> = (0..=u16::MAX).filter_map(|n| ParameterType(n).name()).collect();
        // As many numbers as names, and 5 is an IPv4 address (RFC 9260 §3.2.1).
        let distinct: std::collections::BTreeSet<_> = named.iter().collect();
        assert_eq!((named.len(), distinct.len()), (29, 29));
        assert_eq!(ParameterType(5), ParameterType::IPV4_ADDRESS);
    }

    #[test]
    fn types_are_shown_by_name() {
        assert_eq!(ParameterType::STATE_COOKIE.to_string(), "State Cookie");
        assert_eq!(ParameterType(0xc00f).to_string(), "type 0xc00f");
    }
}
