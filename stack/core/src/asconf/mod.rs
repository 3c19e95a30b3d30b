//! Dynamic address reconfiguration (RFC 5061), as far as it knows no association: what this end asks of its peer, one ASCONF
//! chunk at a time (`requests.rs`), and what it has answered to those of the peer (`answers.rs`). What the changes mean is for
//! `association/asconf/`.

mod answers;
mod requests;

use tresse_wire::{ChunkType, Tsn};

pub(crate) use answers::{AsconfAckCache, SequenceCheck};
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

/// A change of addresses that the peer is asked for (RFC 5061 §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressChange {
    /// One of ours is added (§4.2.1).
    Add,
    /// One of ours is deleted (§4.2.2).
    Delete,
    /// The peer sends to this one by default (§4.2.4).
    SetPrimary,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum AddressOutcome {
    /// The peer has done it.
    Done,
    /// The peer has refused it.
    Refused {
        /// The first error cause that it gave (RFC 5061 §4.3), 0 if none.
        cause: u16,
    },
    /// The peer does not know such requests: it is asked no more.
    NotSupported,
    /// Another one of the same chunk was refused and this one with it, or the association ended or began again before the peer
    /// had answered.
    Failed,
}
