//! Dynamic address reconfiguration (RFC 5061), as far as it knows no association: what this end asks of its peer, one ASCONF
//! chunk at a time (`requests.rs`), and what it has answered to those of the peer (`answers.rs`). What the changes mean is for
//! `association/asconf/`.

mod answers;
mod change;
mod requests;

use tresse_wire::{ChunkType, Tsn};

pub(crate) use answers::{AsconfAckCache, SequenceCheck};
pub use change::{AddressChange, AddressOutcome};
pub(crate) use requests::{AsconfRequests, Meaning, Request};

/// What an end has to authenticate, and takes only so (RFC 5061 §4.1.1, §4.1.2).
pub(crate) const AUTHENTICATED: [ChunkType; 2] = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];

/// Changes of addresses, in an association whose ends have agreed on them.
#[derive(Debug)]
pub(crate) struct Changes {
    pub(crate) requests: AsconfRequests,
    pub(crate) answers: AsconfAckCache,
}

impl Changes {
    /// Sequence numbers begin with the initial TSNs of both ends.
    pub(crate) fn new(initial_tsn: Tsn, peer_initial_tsn: Tsn) -> Changes {
        Changes {
            requests: AsconfRequests::new(initial_tsn),
            answers: AsconfAckCache::new(peer_initial_tsn),
        }
    }

    /// Bytes of memory.
    pub(crate) fn memory(&self) -> usize {
        size_of::<Changes>() + self.requests.memory() + self.answers.memory()
    }
}
