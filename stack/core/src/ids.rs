//! What all modules may name: paths, their states, and why chunks are sent again.

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
    /// More than PotentiallyFailed.Max.Retrans consecutive errors: probed, and without data as long
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

/// Why a chunk was declared lost and is sent again, or why the sender probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum LossCause {
    /// Enough miss indications (RFC 9260 §7.2.4).
    FastRetransmit,
    /// Byte-based Early Retransmit (RFC 5827 §3.1).
    EarlyRetransmitBytes,
    /// Packet-based Early Retransmit (RFC 5827 §3.2; Hurtig & Brunstrom §2.3).
    EarlyRetransmitPackets,
    /// The T3-rtx timer expired (RFC 9260 §6.3.3).
    Timeout,
    /// Its path failed, was removed, or became too narrow for it.
    PathFailure,
    /// It was a probe of a closed window, which has opened since (RFC 9260 §6.1 A).
    ZeroWindowProbe,
    /// One miss indication in a thin stream (Pedersen 2006 §4.2.1).
    ThinFastRetransmit,
    /// A chunk sent later was acknowledged and the reordering window has passed (RFC 8985 §6).
    Rack,
    /// Not lost: the last chunk is sent again to elicit a SACK (RFC 8985 §7).
    TailLossProbe,
    /// Not lost: it fills up a packet that leaves anyway (Pedersen 2006 §4.2.2, §4.4).
    Bundled,
    /// Not known to be lost: it holds up the buffers (Sarnow 2017 §6.2.3), or its path is silent, and
    /// it leaves again over another one.
    Rescheduled,
    /// Not lost: a thin stream goes over all paths at once.
    Redundant,
}

impl LossCause {
    /// All causes, in the order in which statistics count them.
    pub const ALL: [LossCause; 12] = [
        LossCause::FastRetransmit,
        LossCause::EarlyRetransmitBytes,
        LossCause::EarlyRetransmitPackets,
        LossCause::Timeout,
        LossCause::PathFailure,
        LossCause::ZeroWindowProbe,
        LossCause::ThinFastRetransmit,
        LossCause::Rack,
        LossCause::TailLossProbe,
        LossCause::Bundled,
        LossCause::Rescheduled,
        LossCause::Redundant,
    ];

    /// Fewer miss indications than RFC 9260 §7.2.4 asks for were enough.
    pub(crate) const LOWERED_THRESHOLD: [LossCause; 3] = [
        LossCause::EarlyRetransmitBytes,
        LossCause::EarlyRetransmitPackets,
        LossCause::ThinFastRetransmit,
    ];

    /// SACKs that reported higher TSNs declared it lost: that is also what reordering looks like.
    pub(crate) const DECLARED_BY_SACKS: [LossCause; 5] = [
        LossCause::FastRetransmit,
        LossCause::EarlyRetransmitBytes,
        LossCause::EarlyRetransmitPackets,
        LossCause::ThinFastRetransmit,
        LossCause::Rack,
    ];

    /// What is sent again before T3-rtx would expire, so that a SACK tells what is missing.
    pub(crate) const PROBE: LossCause = LossCause::TailLossProbe;

    /// A copy of what is in flight takes another path.
    pub(crate) const ELSEWHERE: LossCause = LossCause::Redundant;

    /// What is sent again for it waits for its SACK; what only rides along, or takes another path too, does not.
    pub(crate) const fn awaits_sack(self) -> bool {
        !matches!(self, LossCause::Bundled | LossCause::Redundant)
    }

    /// What is sent again for it repairs a loss, or would.
    pub(crate) const fn is_repair(self) -> bool {
        !matches!(self, LossCause::Redundant | LossCause::ZeroWindowProbe | LossCause::PathFailure)
    }

    /// It was sent again on little or no evidence that it is lost, to be quick if it is.
    pub(crate) const fn is_guess(self) -> bool {
        matches!(
            self,
            LossCause::Bundled | LossCause::TailLossProbe | LossCause::ThinFastRetransmit
        )
    }

    /// What declares a chunk lost for it follows its retransmissions too: it sees when one of them is lost.
    pub(crate) const fn sees_retransmissions(self) -> bool {
        matches!(self, LossCause::Rack)
    }

    /// It says that the chunk did not arrive, and not that it was sent for nothing, or is better sent elsewhere.
    pub(crate) const fn is_loss(self) -> bool {
        !matches!(
            self,
            LossCause::PathFailure
                | LossCause::ZeroWindowProbe
                | LossCause::TailLossProbe
                | LossCause::Bundled
                | LossCause::Rescheduled
                | LossCause::Redundant
        )
    }

    /// Where statistics count it: its place in [`ALL`](Self::ALL).
    pub const fn index(self) -> usize {
        self as usize
    }

    /// A short name for tables, such as `fast-retransmit`.
    pub const fn name(self) -> &'static str {
        match self {
            LossCause::FastRetransmit => "fast-retransmit",
            LossCause::EarlyRetransmitBytes => "early-retransmit-bytes",
            LossCause::EarlyRetransmitPackets => "early-retransmit-packets",
            LossCause::Timeout => "timeout",
            LossCause::PathFailure => "path-failure",
            LossCause::ZeroWindowProbe => "zero-window-probe",
            LossCause::ThinFastRetransmit => "thin-fast-retransmit",
            LossCause::Rack => "rack",
            LossCause::TailLossProbe => "tail-loss-probe",
            LossCause::Bundled => "bundled",
            LossCause::Rescheduled => "rescheduled",
            LossCause::Redundant => "redundant",
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_counted_in_their_order() {
        for (n, cause) in LossCause::ALL.into_iter().enumerate() {
            assert_eq!(cause.index(), n, "{}", cause.name());
        }
    }
}
