//! What all modules may name: associations, paths, their states, and why chunks are sent again.

mod loss_cause;
mod mtu;

pub use loss_cause::{LossCause, LossEvidence, LossPurpose};
pub use mtu::{MtuCause, MtuSearchState};

slotmap::new_key_type! {
    /// Handle of an association; never reused for another one.
    pub struct AssociationId;
}

/// Number of a path within its association: 0 for the peer's first address. It names this path as long as the address belongs
/// to the association; that of an address that was removed is given to another one some time later.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct PathId(pub u8);

impl PathId {
    /// Its bit in a set of paths.
    #[inline]
    pub(crate) const fn bit(self) -> u32 {
        1 << self.0
    }
}

/// Reachability of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum PathState {
    /// Not yet verified by a heartbeat with a nonce; carries no data (RFC 9260 §5.4).
    Unconfirmed,
    /// Usable.
    Active,
    /// More than PotentiallyFailed.Max.Retrans consecutive errors: asked by HEARTBEATs, and without data as long
    /// as another path is active (RFC 7829).
    PotentiallyFailed,
    /// More than Path.Max.Retrans consecutive errors (RFC 9260 §8.2).
    Inactive,
}

impl PathState {
    /// All states.
    pub const ALL: [PathState; 4] = [
        PathState::Unconfirmed,
        PathState::Active,
        PathState::PotentiallyFailed,
        PathState::Inactive,
    ];

    /// Its name in lower case, such as `potentially-failed`.
    pub const fn name(self) -> &'static str {
        match self {
            PathState::Unconfirmed => "unconfirmed",
            PathState::Active => "active",
            PathState::PotentiallyFailed => "potentially-failed",
            PathState::Inactive => "inactive",
        }
    }
}

/// What changed a congestion window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum WindowCause {
    /// Acknowledged data in slow start or congestion avoidance.
    Growth,
    /// Loss found by SACKs: fast recovery begins.
    Loss,
    /// The peer tells that packets were marked (ECN).
    Mark,
    /// Loss found by T3-rtx.
    Timeout,
    /// A loss turned out to be none (RFC 4015).
    Undo,
    /// Proportional Rate Reduction during fast recovery (RFC 6937).
    RateReduction,
    /// Nothing was sent for a while (RFC 9260 §7.2.1).
    Idle,
}

impl WindowCause {
    /// A short name for tables, such as `rate-reduction`.
    pub const fn name(self) -> &'static str {
        match self {
            WindowCause::Growth => "growth",
            WindowCause::Loss => "loss",
            WindowCause::Mark => "mark",
            WindowCause::Timeout => "timeout",
            WindowCause::Undo => "undo",
            WindowCause::RateReduction => "rate-reduction",
            WindowCause::Idle => "idle",
        }
    }
}
