//! What is asked of the peer about an address, and what became of it.

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
