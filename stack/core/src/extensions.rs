//! Extensions of the protocol that an application lets an endpoint offer to its peers.
//!
//! What recovery needs of the peer (TIMESTAMP, R bits, NR-SACK) is part of a [`Profile`](crate::Profile).

/// Extensions that are offered in INIT and INIT ACK. Each is used in an association if both ends offer it, and silently
/// left out otherwise; [`AssociationInfo::extensions`](crate::AssociationInfo::extensions) tells which.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extensions {
    /// The FORWARD TSN chunk (RFC 3758). Default `false`: no message can be given up yet.
    pub partial_reliability: bool,
}

impl Extensions {
    /// None at all.
    pub const NONE: Extensions = Extensions { partial_reliability: false };

    /// What both ends offer.
    pub(crate) fn and(self, other: Extensions) -> Extensions {
        Extensions { partial_reliability: self.partial_reliability && other.partial_reliability }
    }
}

impl Default for Extensions {
    fn default() -> Self {
        Extensions::NONE
    }
}
