//! How reliable a message is: when its sender may give it up (RFC 3758 §4, RFC 7496 §3).

use std::time::Duration;

/// When a message is given up: it is not sent (again), and the peer passes over it. Each needs that both ends offer
/// [`partial_reliability`](crate::Extensions::partial_reliability); without, see below.
///
/// A message is given up as a whole: the peer gets all of it or nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reliability {
    /// Never (SCTP_PR_SCTP_NONE).
    #[default]
    Full,
    /// When so much time has passed since `send`, as soon as a part of it would have to be sent then, or sent again
    /// (SCTP_PR_SCTP_TTL, RFC 3758 §4.1). What is in flight at that moment may still arrive. Without the extension:
    /// only as long as nothing of it was sent, as [`SendOptions::lifetime`](crate::SendOptions::lifetime).
    Timed(Duration),
    /// When a part of it would have to be sent again more often than that (SCTP_PR_SCTP_RTX, RFC 7496 §3.1); 0: it is
    /// sent once, as by UDP. Without the extension never.
    Retransmissions(u32),
    /// When the send buffer has no room for another message that matters more: one with a lower number, or one with
    /// another policy or none (SCTP_PR_SCTP_PRIO, RFC 7496 §3.2). 0 matters most. The highest number goes first, of equal
    /// ones those that were not sent yet, and of these the oldest. Without the extension never.
    Priority(u32),
}

impl Reliability {
    //= RFC 7496 3-1
    /// The policy, if there is one.
    pub const fn policy(self) -> Option<AbandonPolicy> {
        match self {
            Reliability::Full => None,
            Reliability::Timed(_) => Some(AbandonPolicy::Timed),
            Reliability::Retransmissions(_) => Some(AbandonPolicy::Retransmissions),
            Reliability::Priority(_) => Some(AbandonPolicy::Priority),
        }
    }
}

/// Why messages are given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum AbandonPolicy {
    /// [`Reliability::Timed`].
    Timed,
    /// [`Reliability::Retransmissions`].
    Retransmissions,
    /// [`Reliability::Priority`].
    Priority,
}

impl AbandonPolicy {
    /// A short name for tables, such as `retransmissions`.
    pub const fn name(self) -> &'static str {
        match self {
            AbandonPolicy::Timed => "timed",
            AbandonPolicy::Retransmissions => "retransmissions",
            AbandonPolicy::Priority => "priority",
        }
    }
}

/// How many messages were given up (RFC 7496 §4.3, §4.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbandonedMessages {
    /// Before any part of them was sent.
    pub unsent: u64,
    /// After a part of them was sent.
    pub sent: u64,
}
