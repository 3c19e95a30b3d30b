//! Extensions of the protocol that an application lets an endpoint offer to its peers.
//!
//! What recovery needs of the peer (TIMESTAMP, R bits, NR-SACK) is part of a [`Profile`](crate::Profile).

/// Extensions that are offered in INIT and INIT ACK. Each is used in an association if both ends offer it, and silently
/// left out otherwise; [`AssociationInfo::extensions`](crate::AssociationInfo::extensions) tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// The FORWARD TSN chunk (RFC 3758). Default `false`: no message can be given up yet.
    pub partial_reliability: bool,
    /// The RE-CONFIG chunk (RFC 6525): streams are reset and added while the association goes on. What a peer may ask
    /// for is in [`ReconfigurationPolicy`](crate::ReconfigurationPolicy). Default `true`.
    pub stream_reconfiguration: bool,
}

impl Extensions {
    /// None at all.
    pub const NONE: Extensions =
        Extensions { partial_reliability: false, stream_reconfiguration: false };

    /// What both ends offer.
    pub(crate) fn and(self, other: Extensions) -> Extensions {
        Extensions {
            partial_reliability: self.partial_reliability && other.partial_reliability,
            stream_reconfiguration: self.stream_reconfiguration && other.stream_reconfiguration,
        }
    }
}

impl Default for Extensions {
    fn default() -> Self {
        Extensions { stream_reconfiguration: true, ..Extensions::NONE }
    }
}
