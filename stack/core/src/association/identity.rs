//! What names an association in packets, and its peer among those of an endpoint.

use std::net::IpAddr;

use tresse_wire::{CommonHeader, VerificationTag};

//= RFC 9260 1.3-2 5.3.1-2
/// Ports and tags: how packets find this association.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Identity {
    pub(crate) local_port: u16,
    pub(crate) remote_port: u16,
    /// What the peer puts into its packets.
    pub(crate) local_tag: VerificationTag,
    /// What we put into ours; 0 while unknown.
    pub(crate) peer_tag: VerificationTag,
    //= RFC 9260 5.1.3-6
    /// Random stand-ins for the two tags in cookies (RFC 9260 §5.2.2), so that a cookie never
    /// shows the tags of a running association.
    pub(crate) local_tie_tag: u32,
    pub(crate) peer_tie_tag: u32,
}

impl Identity {
    //= RFC 9260 3.1-3 3.3.2-6 3.3.3-4 5.1-4 8.5-1 8.5.1-12
    /// The header of a packet that leaves.
    pub(super) fn header(&self, tag: VerificationTag) -> CommonHeader {
        CommonHeader {
            source_port: self.local_port,
            destination_port: self.remote_port,
            verification_tag: tag,
        }
    }
}

/// What tells the peers of an endpoint apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerKey {
    /// Our SCTP port.
    pub local_port: u16,
    /// An address of the peer.
    pub address: IpAddr,
    /// The peer's SCTP port.
    pub remote_port: u16,
    /// The peer's UDP port if it is reached through UDP (RFC 6951).
    pub encapsulation: Option<u16>,
}
