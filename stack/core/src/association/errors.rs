//! The errors that the association counts (RFC 9260 §8.1).

/// "The total number of consecutive retransmissions to its peer [...], including the number of unacknowledged
/// HEARTBEAT chunks observed on the path that is currently used for data transfer."
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Errors {
    /// Expirations of T3-rtx since something was acknowledged.
    pub(super) timeouts: u32,
    /// Heartbeats without an answer since one was answered.
    pub(super) heartbeats: u32,
}

impl Errors {
    pub(super) const fn all(self) -> u32 {
        self.timeouts.saturating_add(self.heartbeats)
    }
}
