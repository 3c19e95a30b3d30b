//! One destination address of the peer and everything that belongs to it alone.

/// Number of a path within its association: the index of the peer's address, 0 for the first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PathId(pub u8);

/// Reachability of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PathState {
    /// Not yet verified by a heartbeat with a nonce; carries no data (RFC 9260 §5.4).
    Unconfirmed,
    /// Usable.
    Active,
    /// More than Path.Max.Retrans consecutive errors (RFC 9260 §8.2).
    Inactive,
}
