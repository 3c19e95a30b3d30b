//! The T3-rtx retransmission timer (RFC 9260 §6.3.2, §6.3.3, §7.2.4 rule 4).
//!
//! Idea: one timer per path runs while data sent there is unacknowledged; it restarts when the
//! earliest such chunk is acknowledged or sent again. At expiration everything in flight on the
//! path is lost, and RTO doubles.
//!
//! Difference: without `fast_retransmit.restart_t3` the timer keeps running when the earliest
//! chunk is fast-retransmitted, as in Linux 2.6.15 (Pedersen 2006, §3.3).

use std::time::Duration;

use crate::ids::LossCause;
use crate::profile::Profile;

/// What to do with the timer of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TimerAction {
    /// Leave it as it is.
    Keep,
    /// Start it again with the path's RTO.
    Restart,
    /// Turn it off.
    Stop,
}

/// After a SACK: `outstanding` chunks remain on the path, `earliest_acked` says that the earliest
/// one was acknowledged by it, `running` that the timer runs.
pub(crate) fn after_sack(outstanding: bool, earliest_acked: bool, running: bool) -> TimerAction {
    match (outstanding, earliest_acked) {
        // R2: all outstanding data sent to an address have been acknowledged.
        (false, _) if running => TimerAction::Stop,
        (false, _) => TimerAction::Keep,
        // R3: the earliest outstanding TSN for that address was acknowledged.
        (true, true) => TimerAction::Restart,
        // R4: the receiver reneged, and no timer runs.
        (true, false) if !running => TimerAction::Restart,
        (true, false) => TimerAction::Keep,
    }
}

/// After a DATA chunk left: `again` says why if it is a retransmission, `earliest` that it is the
/// earliest outstanding chunk on the path.
pub(crate) fn after_transmission(
    profile: &Profile,
    again: Option<LossCause>,
    earliest: bool,
    running: bool,
) -> TimerAction {
    match again {
        //= RFC 9260 6.1-18
        // R1: if the timer of that address is not running, start it.
        _ if !running => TimerAction::Restart,
        //= RFC 9260 6.1-19 6.1-20
        // §6.1: restart if the earliest outstanding chunk is being retransmitted.
        Some(cause) if earliest && cause.begins_again() => TimerAction::Restart,
        // §7.2.4 rule 4, the same for fast retransmits.
        Some(_) if earliest && profile.fast_retransmit.restart_t3 => TimerAction::Restart,
        _ => TimerAction::Keep,
    }
}

/// Rule E2: RTO after an expiration, at most RTO.Max.
pub(crate) fn back_off(profile: &Profile, rto: Duration) -> Duration {
    rto.mul_f64(profile.t3_rtx.backoff).min(profile.rto.max())
}
