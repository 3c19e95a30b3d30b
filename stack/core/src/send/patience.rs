//! Patience: a peer is given up at the pace of RFC 9260's own timers.
//!
//! Idea: mechanisms that let a timer expire prematurely, or leave RTO undoubled, make the next try sooner.
//! But RFC 9260 counts expirations (§8.1, §8.2, §9.2, §5.1.4), and eleven of those are 363 s with its
//! own timers and 26 s with a thin stream's. So a premature expiration only tries: it sends again and
//! shows that a path has potentially failed (RFC 7829), but it is an error only if the timer of
//! RFC 9260 would have expired by then, too. And a timer that has expired in vain runs no longer than
//! that one, so that whatever RFC 9260 would have tried is tried.
//!
//! ```text
//! due        = when the timer of RFC 9260 expires, for a single chunk that it sends round the paths
//! late       = the same, had the peer delayed its SACKs (`path/rtt.rs`)
//! RTO'       = SRTT + 4 RTTVAR within RTO.Min and RTO.Max (§6.3.1), of the path of that chunk;
//!              RTO' <- min(2 RTO', RTO.Max) at each of its expirations (§6.3.3 E2), until RTT is measured
//! expiration : now >= due, late: then the chunk takes another path (§6.4) and due, late += RTO' of each
//! error      : now >= late
//! timer      = min(RTO, max(due - now, 2 SRTT)) once something has expired in vain
//! ```
//!
//! Where several paths carry data at once, each with a T3-rtx of its own, the association counts its errors
//! in this way in any case. RFC 9260 §8.1 counts "consecutive retransmissions", of which one datum at a
//! time goes round the paths; four paths that are dead together would use up Association.Max.Retrans four
//! times as quickly, although a fifth one works. Their timers stay as they are, and so do the errors
//! of each path.
//!
//! RFC 7829 §4 has the same goal: "SCTP-PF shall provide the same level of disruption tolerance as a
//! standard SCTP implementation". Errors come no sooner than RFC 9260 would count them, which may
//! have several timers running where this follows one.

use std::time::Duration;

use crate::ids::PathId;
use crate::path::Pace;
use crate::time::Time;

/// The timer of RFC 9260 for what the peer owes: T1, T2 or T3-rtx, of which one runs at a time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turn {
    /// When it expires.
    pub(super) due: Time,
    /// Where its chunk is.
    pub(super) path: PathId,
}

/// How long the peer may still take.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    /// For each [`Pace`]; `None` while nothing is owed.
    turns: [Option<Turn>; 2],
    /// A timer has expired since the peer answered last.
    tried: bool,
    /// The last one did so no earlier than RFC 9260 would have tried again.
    on_time: bool,
}

impl Patience {
    pub(crate) fn stop(&mut self) {
        *self = Patience::default();
    }

    /// Something is owed from now on, with a turn for each pace.
    pub(super) fn begin(&mut self, turn: impl FnMut(Pace) -> Turn) {
        *self = Patience { turns: Pace::BOTH.map(turn).map(Some), ..Patience::default() };
    }

    /// Whose turn it is; `None` while nothing is owed.
    pub(super) const fn turn(&self, pace: Pace) -> Option<Turn> {
        self.turns[pace as usize]
    }

    /// The next one has its turn.
    pub(super) const fn pass_on(&mut self, pace: Pace, turn: Turn) {
        self.turns[pace as usize] = Some(turn);
    }

    /// A timer expired; `on_time`: no earlier than RFC 9260 would have tried again.
    pub(super) const fn on_expired(&mut self, on_time: bool) {
        self.tried = true;
        self.on_time = on_time;
    }

    /// The timer that expired last did so no earlier than RFC 9260 would have tried again.
    pub(super) const fn is_on_time(&self) -> bool {
        self.on_time
    }

    pub(super) fn due(&self) -> Option<Time> {
        self.turn(Pace::Try).map(|turn| turn.due)
    }

    /// How long a timer runs that would run for `rto`.
    pub(super) fn wait(&self, now: Time, rto: Duration, srtt: Option<Duration>) -> Duration {
        match self.due() {
            // What left just now has its chance of an answer.
            Some(due) if self.tried => rto.min(due.since(now).max(2 * srtt.unwrap_or(rto))),
            _ => rto,
        }
    }
}
