//! Dynamic address reconfiguration (RFC 5061), as far as it knows no association: what this end asks of its peer, one ASCONF
//! chunk at a time (`requests.rs`), and what it has answered to those of the peer (`answers.rs`). What the changes mean is for
//! `association/asconf/`.

mod answers;
mod change;
mod requests;

use tresse_wire::ChunkType;

pub(crate) use answers::{AsconfAckCache, SequenceCheck};
pub use change::{AddressChange, AddressOutcome};
pub(crate) use requests::{AsconfRequests, Meaning, Request};

/// What an end has to authenticate, and takes only so (RFC 5061 §4.1.1, §4.1.2).
pub(crate) const AUTHENTICATED: [ChunkType; 2] = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];
