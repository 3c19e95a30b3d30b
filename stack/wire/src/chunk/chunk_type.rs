//! Chunk Types and what to do with unknown ones (RFC 9260 §3.2, tables 1 and 2).

use crate::code_points::code_points;

code_points! {
    /// Chunk Type field (RFC 9260 §3.2).
    ChunkType(u8), "type {}";

    /// Payload data (RFC 9260 §3.3.1).
    DATA = 0, "DATA";
    /// Initiation (RFC 9260 §3.3.2).
    INIT = 1, "INIT";
    /// Initiation acknowledgement (RFC 9260 §3.3.3).
    INIT_ACK = 2, "INIT ACK";
    /// Selective acknowledgement (RFC 9260 §3.3.4).
    SACK = 3, "SACK";
    /// Heartbeat request (RFC 9260 §3.3.5).
    HEARTBEAT = 4, "HEARTBEAT";
    /// Heartbeat acknowledgement (RFC 9260 §3.3.6).
    HEARTBEAT_ACK = 5, "HEARTBEAT ACK";
    /// Abort (RFC 9260 §3.3.7).
    ABORT = 6, "ABORT";
    /// Shutdown (RFC 9260 §3.3.8).
    SHUTDOWN = 7, "SHUTDOWN";
    /// Shutdown acknowledgement (RFC 9260 §3.3.9).
    SHUTDOWN_ACK = 8, "SHUTDOWN ACK";
    /// Operation error (RFC 9260 §3.3.10).
    ERROR = 9, "ERROR";
    /// State cookie (RFC 9260 §3.3.11).
    COOKIE_ECHO = 10, "COOKIE ECHO";
    /// Cookie acknowledgement (RFC 9260 §3.3.12).
    COOKIE_ACK = 11, "COOKIE ACK";
    /// Explicit Congestion Notification Echo (RFC 4960 Appendix A), see [`Ecne`](crate::Ecne).
    ECNE = 12, "ECNE";
    /// Congestion Window Reduced (RFC 4960 Appendix A), see [`Cwr`](crate::Cwr).
    CWR = 13, "CWR";
    /// Shutdown complete (RFC 9260 §3.3.13).
    SHUTDOWN_COMPLETE = 14, "SHUTDOWN COMPLETE";
    /// Authentication (RFC 4895 §5.1), see [`Auth`](crate::Auth).
    AUTH = 15, "AUTH";
    /// Non-renegable selective acknowledgement (draft-natarajan-tsvwg-sctp-nrsack), see
    /// [`NrSack`](crate::NrSack).
    NR_SACK = 16, "NR-SACK";
    /// Payload data with message identifiers (RFC 8260 §2.1), see [`IData`](crate::IData).
    I_DATA = 64, "I-DATA";
    /// Address configuration acknowledgement (RFC 5061 §4.1.2), see [`AsconfAck`](crate::AsconfAck).
    ASCONF_ACK = 128, "ASCONF-ACK";
    /// Packet drop report (draft-stewart-sctp-pktdrprep), see [`PacketDrop`](crate::PacketDrop).
    PACKET_DROP = 129, "PKTDROP";
    /// Stream reconfiguration (RFC 6525 §3.1), see [`ReConfig`](crate::ReConfig).
    RE_CONFIG = 130, "RE-CONFIG";
    /// Padding (RFC 4820 §3), see [`Pad`](crate::Pad).
    PAD = 132, "PAD";
    /// Timestamp for the Eifel algorithm (Ladha et al.); not assigned by IANA but this project's own
    /// choice, see [`Timestamp`](crate::Timestamp).
    TIMESTAMP = 160, "TIMESTAMP";
    /// Forward cumulative TSN (RFC 3758 §3.2), see [`ForwardTsn`](crate::ForwardTsn).
    FORWARD_TSN = 192, "FORWARD TSN";
    /// Address configuration change (RFC 5061 §4.1.1), see [`Asconf`](crate::Asconf).
    ASCONF = 193, "ASCONF";
    /// Forward cumulative TSN for I-DATA (RFC 8260 §2.3.1), see [`IForwardTsn`](crate::IForwardTsn).
    I_FORWARD_TSN = 194, "I-FORWARD-TSN";
}

impl ChunkType {
    /// What the two highest bits ask of an endpoint that does not know the type.
    #[must_use]
    pub const fn unknown_action(self) -> UnknownAction {
        UnknownAction::from_high_bits(self.0 >> 6)
    }
}

/// What to do with a chunk or parameter of unknown type (RFC 9260 §3.2 table 2, §3.2.1 table 3).
///
/// For a chunk "stop" discards the chunk and the rest of the packet; for a parameter it ends the
/// processing of the parameters of this chunk, without undoing what was processed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnknownAction {
    /// 00: stop processing.
    Stop,
    /// 01: stop processing and report the unknown item to its sender.
    StopAndReport,
    /// 10: skip the item and go on.
    Skip,
    /// 11: skip the item, report it to its sender and go on.
    SkipAndReport,
}

impl UnknownAction {
    /// Reads the two highest bits of a type, moved to the lowest place.
    pub(crate) const fn from_high_bits(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::Stop,
            1 => Self::StopAndReport,
            2 => Self::Skip,
            _ => Self::SkipAndReport,
        }
    }

    /// Whether processing ends here.
    #[must_use]
    pub const fn stops(self) -> bool {
        matches!(self, Self::Stop | Self::StopAndReport)
    }

    /// Whether the sender is told.
    #[must_use]
    pub const fn reports(self) -> bool {
        matches!(self, Self::StopAndReport | Self::SkipAndReport)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn highest_bits_choose_the_action() {
        assert_eq!(ChunkType(0x3e).unknown_action(), UnknownAction::Stop);
        assert_eq!(ChunkType(0x7e).unknown_action(), UnknownAction::StopAndReport);
        assert_eq!(ChunkType::PAD.unknown_action(), UnknownAction::Skip);
        assert_eq!(ChunkType::FORWARD_TSN.unknown_action(), UnknownAction::SkipAndReport);
        assert!(UnknownAction::Stop.stops() && !UnknownAction::Stop.reports());
        assert!(UnknownAction::StopAndReport.stops() && UnknownAction::StopAndReport.reports());
        assert!(!UnknownAction::Skip.stops() && !UnknownAction::Skip.reports());
        assert!(!UnknownAction::SkipAndReport.stops() && UnknownAction::SkipAndReport.reports());
    }

    #[test]
    fn types_are_shown_by_name() {
        assert_eq!(ChunkType::INIT_ACK.to_string(), "INIT ACK");
        assert_eq!(ChunkType(99).to_string(), "type 99");
        assert_eq!(ChunkType(99).name(), None);
    }
}
