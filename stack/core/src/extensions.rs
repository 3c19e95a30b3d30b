//! Extensions of the protocol that an application lets an endpoint offer to its peers.
//!
//! What recovery needs of the peer (TIMESTAMP, R bits, NR-SACK) is part of a [`Profile`](crate::Profile);
//! [`AssociationInfo::nr_sack`](crate::AssociationInfo::nr_sack) tells whether the peer has that one.

/// Extensions that are offered in INIT and INIT ACK. Each is used in an association if both ends offer it, and silently
/// left out otherwise; [`AssociationInfo::extensions`](crate::AssociationInfo::extensions) tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// Messages may be given up (PR-SCTP, RFC 3758 and 7496), and the peer passes over what is not sent (again): see
    /// [`Reliability`](crate::Reliability). Default `true`. It costs 12 bytes in INIT and INIT ACK, and nothing else as long as
    /// no message has a policy. `false` is for those who must be sure that the peer skips nothing.
    pub partial_reliability: bool,
    /// The RE-CONFIG chunk (RFC 6525): streams are reset and added while the association goes on. What a peer may ask
    /// for is in [`ReconfigurationPolicy`](crate::ReconfigurationPolicy). Default `true`.
    pub stream_reconfiguration: bool,
    /// Chunks are authenticated (AUTH, RFC 4895): which ones, and with which keys, is in
    /// [`Authentication`](crate::Authentication). Default `false`.
    pub authentication: bool,
    /// User messages are interleaved (I-DATA, RFC 8260): a large one no longer holds up those of other streams, if the
    /// profile has a stream scheduler that lets them come in between
    /// ([`StreamParameters::scheduler`](crate::profile::StreamParameters::scheduler)). Default `false`. Each chunk has 4 bytes
    /// more then, and the receiver holds a message of each stream at a time: all that are incomplete together may hold four
    /// times [`max_message_size`](crate::AssociationConfig::max_message_size), or as much as
    /// [`receive_buffer`](crate::AssociationConfig::receive_buffer) if that is more, and a peer that sends more ends the
    /// association (out of resource). `docs/library.md` has a program.
    pub interleaving: bool,
    /// Packets leave with a checksum of zero, and nobody computes a CRC32c (RFC 9653). Default `false`. **Only where the
    /// application carries each packet in DTLS** ([RFC 8261](https://www.rfc-editor.org/rfc/rfc8261)), which finds more errors
    /// than a CRC32c: elsewhere damaged packets are taken for good ones, and others on the way drop them. A packet with INIT or
    /// COOKIE ECHO, and what answers a packet of no association, always has its CRC32c.
    pub zero_checksum: bool,
    /// Addresses come and go while the association goes on (ASCONF, RFC 5061), also of their own when those of the host change
    /// ([`follow_host_addresses`](crate::AssociationConfig::follow_host_addresses)). It needs `authentication`, or anybody who
    /// sees the packets could take the association over; with keys that are empty, whoever sees the handshake still can. Default
    /// `false`. A peer that offers it without authentication is refused, as the RFC has it.
    pub address_reconfiguration: bool,
    /// Explicit congestion notification (ECN; RFC 3168, RFC 4960 Appendix A and draft-stewart-tsvwg-sctpecn, as FreeBSD has
    /// it): routers mark packets of new data before their queues overflow, and a window is reduced without a loss. Default
    /// `false`. Where a link drops what it could mark, or clears the marks, everything is as without; where packets that may be
    /// marked vanish, ECN is given up on that path. The carrier must set and read the ECN field.
    pub ecn: bool,
    /// Packets that arrive with a wrong checksum are sent back to the peer, which sends what was in them again at once, without
    /// reducing a window (packet drop reports, draft-stewart-sctp-pktdrprep, as FreeBSD has them). Default `false`. It helps on
    /// links that damage packets, such as radio, and costs a packet for each that is damaged; elsewhere nothing. Who can forge
    /// packets of the peer can have as many sent to it: `docs/security.md`.
    pub packet_drop_reports: bool,
}

impl Extensions {
    /// None at all.
    pub const NONE: Extensions = Extensions {
        partial_reliability: false,
        stream_reconfiguration: false,
        authentication: false,
        interleaving: false,
        zero_checksum: false,
        address_reconfiguration: false,
        ecn: false,
        packet_drop_reports: false,
    };

    //= RFC 3758 3.3.2-4
    /// What both ends offer.
    pub(crate) fn and(self, other: Extensions) -> Extensions {
        Extensions {
            partial_reliability: self.partial_reliability && other.partial_reliability,
            stream_reconfiguration: self.stream_reconfiguration && other.stream_reconfiguration,
            authentication: self.authentication && other.authentication,
            interleaving: self.interleaving && other.interleaving,
            zero_checksum: self.zero_checksum && other.zero_checksum,
            address_reconfiguration: self.address_reconfiguration && other.address_reconfiguration,
            ecn: self.ecn && other.ecn,
            packet_drop_reports: self.packet_drop_reports && other.packet_drop_reports,
        }
    }
}

impl Default for Extensions {
    fn default() -> Self {
        Extensions { partial_reliability: true, stream_reconfiguration: true, ..Extensions::NONE }
    }
}
