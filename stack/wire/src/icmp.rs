//! What ICMP says of packets: a carrier reads it from the system, the core does what RFC 9260 §10 asks.

/// What is wrong with a packet that was sent, as an ICMP or ICMPv6 message has it (RFC 9260 §10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IcmpKind {
    /// "Fragmentation Needed" or "Packet Too Big", or this host itself found the packet too large.
    TooBig {
        /// The MTU of the link that the packet did not fit: bytes of the largest IP packet that passes, IP header
        /// included; 0 if a router did not say (RFC 1191 §5).
        mtu: usize,
    },
    /// "Protocol Unreachable" or "Unrecognized Next Header Type Encountered"; for encapsulated
    /// packets also "Port Unreachable" (RFC 6951 §5.5).
    NoSctp,
    /// "Destination Unreachable" of another kind.
    Unreachable,
}
