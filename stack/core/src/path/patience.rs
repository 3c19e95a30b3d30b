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

use super::{Pace, Path};
use crate::ids::PathId;
use crate::profile::Profile;
use crate::time::Time;

/// The timer of RFC 9260 for what the peer owes: T1, T2 or T3-rtx, of which one runs at a time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StandardTimer {
    /// When it expires.
    pub(crate) due: Time,
    /// Where its chunk is.
    pub(crate) path: PathId,
}

/// How long the peer may still take: the timers that RFC 9260 would have.
#[derive(Debug, Default)]
pub(crate) struct StandardTimers {
    /// For each [`Pace`]; `None` while nothing is owed.
    timers: [Option<StandardTimer>; 2],
    /// A timer has expired since the peer answered last.
    tried: bool,
    /// The last one did so no earlier than RFC 9260 would have tried again.
    on_time: bool,
}

impl StandardTimers {
    /// Errors count when these expire, where others expire sooner.
    pub(crate) fn count_errors(profile: &Profile) -> bool {
        profile.limits.patience
    }

    pub(crate) fn stop(&mut self) {
        *self = StandardTimers::default();
    }

    /// Something is owed from now on, with a timer for each pace.
    pub(crate) fn begin(&mut self, timer: impl FnMut(Pace) -> StandardTimer) {
        *self =
            StandardTimers { timers: Pace::BOTH.map(timer).map(Some), ..StandardTimers::default() };
    }

    /// The one that runs; `None` while nothing is owed.
    pub(crate) const fn timer(&self, pace: Pace) -> Option<StandardTimer> {
        self.timers[pace as usize]
    }

    /// It has expired: this one runs now.
    pub(crate) const fn pass_on(&mut self, pace: Pace, next: StandardTimer) {
        self.timers[pace as usize] = Some(next);
    }

    /// A timer expired; `on_time`: no earlier than RFC 9260 would have tried again.
    pub(crate) const fn on_expired(&mut self, on_time: bool) {
        self.tried = true;
        self.on_time = on_time;
    }

    /// The timer that expired last did so no earlier than RFC 9260 would have tried again.
    pub(crate) const fn is_on_time(&self) -> bool {
        self.on_time
    }

    pub(crate) fn due(&self) -> Option<Time> {
        self.timer(Pace::Try).map(|timer| timer.due)
    }

    /// How long a timer runs that would run for `rto`.
    pub(crate) fn wait(&self, now: Time, rto: Duration, srtt: Option<Duration>) -> Duration {
        match self.due() {
            // What left just now has its chance of an answer.
            Some(due) if self.tried => rto.min(due.since(now).max(2 * srtt.unwrap_or(rto))),
            _ => rto,
        }
    }
}

impl Path {
    /// The RTO after which something that is not answered is an error.
    pub(crate) fn error_rto(&self, profile: &Profile) -> Duration {
        if StandardTimers::count_errors(profile) {
            self.rtt.standard_rto(profile, Pace::Error)
        } else {
            self.rto()
        }
    }

    /// How long nothing is sent until cwnd decays: RTO. Where timers are shorter than RFC 9260's, that is RTO as
    /// RFC 9260 has it: otherwise a thin stream would have lost its window by the time a queue builds up.
    pub(crate) fn idle_after(&self, profile: &Profile) -> Duration {
        if StandardTimers::count_errors(profile) {
            self.rtt.standard_rto(profile, Pace::Try)
        } else {
            self.rto()
        }
    }

    /// A heartbeat on a path that is asked more often than by RFC 9260: how long it waits for its answer, which
    /// is not delayed as a SACK may be. No longer than until it is an error of the path.
    pub(crate) fn asking_wait(&self, now: Time, rto: Duration, profile: &Profile) -> Duration {
        if !StandardTimers::count_errors(profile) {
            return rto;
        }
        let since = self.reachability.owes_since().unwrap_or(now);
        let due = since + self.rtt.standard_rto(profile, Pace::Try);
        rto.min(due.since(now).max(2 * self.rtt.srtt().unwrap_or(rto)))
    }

    /// A heartbeat that was sent at `sent` is not answered: whether RFC 9260 would have waited no longer for it.
    pub(crate) fn has_waited(&self, now: Time, sent: Time, profile: &Profile) -> bool {
        !StandardTimers::count_errors(profile) || now.since(sent) >= self.error_rto(profile)
    }

    /// A heartbeat that was sent at `sent` is not answered: whether that is an error of the path. It is one once the
    /// path has owed an answer for as long as RFC 9260 would have waited.
    pub(crate) fn is_heartbeat_error(&mut self, now: Time, sent: Time, profile: &Profile) -> bool {
        if !StandardTimers::count_errors(profile) {
            return true;
        }
        let rto = self.rtt.standard_rto(profile, Pace::Try);
        let late = self.reachability.owe(now, sent) >= rto;
        if late {
            self.back_off_standard(Pace::Try);
            self.reachability.settle();
        }
        late
    }

    /// T3-rtx expired for data that was sent at `sent`: whether it is an error of the path. Each `error` of the
    /// association is. And so is one once the path has owed an answer for as long as RFC 9260 would have
    /// waited, to whatever was sent meanwhile, and even if other paths have answered: they must not keep one
    /// alive where nothing comes through. `on_time`: RFC 9260 would have tried again by now.
    pub(crate) fn is_timeout_error(
        &mut self,
        now: Time,
        sent: Time,
        profile: &Profile,
        error: bool,
        on_time: bool,
    ) -> bool {
        if error || !StandardTimers::count_errors(profile) {
            self.reachability.settle();
            return true;
        }
        let late = self.reachability.owe(now, sent) >= self.rtt.standard_rto(profile, Pace::Error);
        if late {
            self.back_off_standard(Pace::Error);
            if !on_time {
                self.back_off_standard(Pace::Try);
            }
            self.reachability.settle();
        }
        late
    }
}
