//! Where an association stands in the lists of its endpoint, which keeps them in step (`endpoint/upkeep.rs`, `endpoint/agenda.rs`,
//! `endpoint/index.rs`, `endpoint/account.rs`). The association itself only says that a port or an address of the peer
//! has changed.

use std::net::IpAddr;

use tresse_wire::VerificationTag;

use super::PeerKey;
use crate::time::Time;

/// One association in the lists of its endpoint.
#[derive(Debug)]
pub(crate) struct Listing {
    /// What the endpoint finds the association by.
    pub(crate) indexed: Vec<PeerKey>,
    pub(crate) indexed_tag: VerificationTag,
    /// The peer's UDP port, or one of its addresses, has changed since.
    pub(crate) moved: bool,
    /// Among those that may have something to send.
    pub(crate) queued: bool,
    /// Its last event was polled: it goes once everything has left and was read.
    pub(crate) leaving: bool,
    /// The deadline that is on the list of deadlines.
    pub(crate) registered: Option<Time>,
    /// The confirmed address of the peer that opened it: it counts among the associations of that source.
    pub(crate) claimed_by: Option<IpAddr>,
    /// Bytes of memory as they stand in the account.
    pub(crate) held: usize,
    /// That is no longer right.
    pub(crate) touched: bool,
    /// Where it stands among the largest; 0 if not at all.
    pub(crate) size_class: u16,
}

impl Default for Listing {
    /// In no list.
    fn default() -> Listing {
        Listing {
            indexed: Vec::new(),
            indexed_tag: VerificationTag(0),
            moved: false,
            queued: false,
            leaving: false,
            registered: None,
            claimed_by: None,
            held: 0,
            touched: false,
            size_class: 0,
        }
    }
}
