//! The sending half: what waits, what is outstanding, and what may leave.
//!
//! A [`Sender`] is made of parts that never see it:
//!
//! | part | what it is |
//! |---|---|
//! | [`Outbound`](outbound::Outbound) | user data: what waits, what is outstanding, how much the peer takes |
//! | [`Gate`](gate::Gate) | what may leave now, and where; a view of the others |
//! | [`ZeroWindow`](zero_window::ZeroWindow), [`CwndOverrides`](cwnd_overrides::CwndOverrides) | a closed window, and packets that leave whatever cwnd says |
//! | [`Abandonment`](abandon::Abandonment) | messages that are given up, and how the peer passes over them |
//! | [`Distribution`](distribution::Distribution) | which path carries what, while several do at once |
//! | [`Contradictions`](contradictions::Contradictions) | SACKs that take back what none has a reason to |
//! | [`Recovery`](crate::recovery::Recovery) | what the mechanisms decide |
//!
//! What they need and is not the half's own, the paths above all, comes as a [`Context`], whose methods see to the congestion
//! windows of the paths. The [`StandardTimers`](crate::path::StandardTimers) are the association's: when its errors count. The chapters of `Sender` itself (`sender/`) put SACKs, timers and packets together of these.

mod abandon;
mod concurrent;
mod context;
mod contradictions;
mod coupling;
mod cwnd_overrides;
mod deadlines;
mod distribution;
mod gate;
mod marks;
mod outbound;
mod sender;
mod single;
mod strategy;
mod strikes;
mod windows;
mod zero_window;

pub(crate) use context::Context;
pub(crate) use sender::{DataPacket, Effects, Plan, Sender};
