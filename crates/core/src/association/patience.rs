//! Patience: a peer is given up at the pace of RFC 9260's own timers.
//!
//! Idea: mechanisms that let a timer expire early, or leave RTO undoubled, make the next try sooner.
//! But RFC 9260 counts expirations (§8.1, §8.2, §9.2, §5.1.4), and eleven of those are 363 s with its
//! own timers and 26 s with a thin stream's. So an early expiration is a probe: it sends again and
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

use std::sync::Arc;
use std::time::Duration;

use super::Association;
use crate::path::{Pace, PathId};
use crate::time::Time;

/// The timer of RFC 9260 for what the peer owes: T1, T2 or T3-rtx, of which one runs at a time.
#[derive(Clone, Copy, Debug)]
struct Turn {
    /// When it expires.
    due: Time,
    /// Where its chunk is.
    path: PathId,
}

/// How long the peer may still take.
#[derive(Debug, Default)]
pub(super) struct Patience {
    /// For each [`Pace`]; `None` while nothing is owed.
    turns: [Option<Turn>; 2],
    /// A timer has expired since the peer answered last.
    tried: bool,
    /// The last one did so no earlier than RFC 9260 would have tried again.
    on_time: bool,
}

impl Patience {
    pub(super) fn stop(&mut self) {
        *self = Patience::default();
    }

    fn due(&self) -> Option<Time> {
        self.turns[Pace::Try as usize].map(|turn| turn.due)
    }

    /// How long a timer runs that would run for `rto`.
    fn wait(&self, now: Time, rto: Duration, srtt: Option<Duration>) -> Duration {
        match self.due() {
            // What left just now has its chance of an answer.
            Some(due) if self.tried => rto.min(due.since(now).max(2 * srtt.unwrap_or(rto))),
            _ => rto,
        }
    }
}

impl Association {
    pub(super) fn is_patient(&self) -> bool {
        self.profile().limits.patience
    }

    /// The association counts its errors at the pace of one timer of RFC 9260.
    fn counts_patiently(&self) -> bool {
        self.is_patient() || (self.is_concurrent() && self.may_send_data())
    }

    /// The RTO after which something that is not answered on `path` is an error.
    pub(super) fn error_rto(&self, path: PathId) -> Duration {
        if self.is_patient() {
            self.patience_with(path, Pace::Error)
        } else {
            self.paths[path].rto()
        }
    }

    /// A heartbeat on a path that is probed more often than by RFC 9260: how long it waits for its answer, which
    /// is not delayed as a SACK may be. No longer than until it is an error of the path.
    pub(super) fn probe_wait(&self, now: Time, path: PathId, rto: Duration) -> Duration {
        if !self.is_patient() {
            return rto;
        }
        let p = &self.paths[path];
        let due = p.reachability.owes_since().unwrap_or(now) + self.patience_with(path, Pace::Try);
        rto.min(due.since(now).max(2 * p.rtt.srtt().unwrap_or(rto)))
    }

    /// A heartbeat that was sent at `sent` is not answered: whether that is an error of the path. It is one
    /// once the path has owed an answer for as long as RFC 9260 would have waited.
    pub(super) fn is_heartbeat_error(&mut self, now: Time, path: PathId, sent: Time) -> bool {
        let rto = self.patience_with(path, Pace::Try);
        let p = &mut self.paths[path];
        let overdue = p.reachability.owe(now, sent) >= rto;
        if overdue {
            p.lose_patience(Pace::Try);
            p.reachability.settle();
        }
        overdue
    }

    fn patience_with(&self, path: PathId, pace: Pace) -> Duration {
        self.paths[path].rtt.patience(self.profile(), pace)
    }

    /// A timer starts on `path`, with RTO: how long it runs.
    pub(super) fn start_patience(&mut self, now: Time, path: PathId, rto: Duration) -> Duration {
        if !self.counts_patiently() {
            return rto;
        }
        if self.patience.due().is_none() {
            let turn = |pace| Some(Turn { due: now + self.patience_with(path, pace), path });
            self.patience = Patience { turns: Pace::BOTH.map(turn), ..Patience::default() };
        }
        if !self.is_patient() {
            return rto;
        }
        self.patience.wait(now, rto, self.paths[path].rtt.srtt())
    }

    /// The same after an answer, or when something else begins.
    pub(super) fn restart_patience(&mut self, now: Time, path: PathId, rto: Duration) -> Duration {
        self.patience.stop();
        self.start_patience(now, path, rto)
    }

    /// When the timer of RFC 9260 expires, if T3-rtx has done so before: what it sends is a guess
    /// ([`budget`](crate::recovery::budget)).
    pub(super) fn early_until(&self, now: Time) -> Option<Time> {
        let alone = self.is_patient() && !self.is_concurrent() && !self.sender.is_window_closed();
        self.patience.due().filter(|due| alone && *due > now)
    }

    /// T1 or T2 expired on `path`: until when it waits if that was early. What it would send again is a guess
    /// of which no report ever tells whether it was in vain.
    pub(super) fn put_off_control(&self, now: Time, path: PathId) -> Option<Time> {
        let bounded = self.sender.recovery.budget.is_enabled() && !self.has_refuge(path);
        self.early_until(now).filter(|_| bounded)
    }

    /// What times out on `path` goes to another one that works: that is no load on the path that may be
    /// congested.
    pub(super) fn has_refuge(&self, path: PathId) -> bool {
        let other = self.paths.alternate(path);
        other != path && self.paths[other].preferred()
    }

    /// The peer has shown that it lives: what is outstanding still is owed from now on.
    pub(super) fn renew_patience(&mut self, now: Time) {
        self.patience.stop();
        let board = &self.sender.board;
        if let Some(path) = board.get(board.cumulative() + 1).map(|chunk| chunk.path) {
            self.start_patience(now, path, Duration::ZERO);
        }
    }

    //= RFC 7829 4-1
    /// A timer expired: whether that is an error of the association.
    pub(super) fn is_error(&mut self, now: Time) -> bool {
        if !self.counts_patiently() {
            return true;
        }
        self.patience.tried = true;
        self.patience.on_time = self.takes_turn(now, Pace::Try);
        self.takes_turn(now, Pace::Error)
    }

    /// Whether the timer of RFC 9260 would have expired by now; then the next path has its turn.
    fn takes_turn(&mut self, now: Time, pace: Pace) -> bool {
        let Some(Turn { due, path }) = self.patience.turns[pace as usize] else { return true };
        if due > now {
            return false;
        }
        self.paths[path].lose_patience(pace);
        let path = self.paths.next_in_turn(path, pace);
        let rto = self.patience_with(path, pace);
        // Who comes late does not make the next one late.
        let due = if due + rto > now { due + rto } else { now + rto };
        self.patience.turns[pace as usize] = Some(Turn { due, path });
        true
    }

    /// The same timer: whether it is an error of `path`, where the data was sent at `sent`. Each error of the
    /// association is. And so is one once the path has owed an answer for as long as RFC 9260 would have
    /// waited, to whatever was sent meanwhile, and even if other paths have answered: they must not keep one
    /// alive where nothing comes through.
    pub(super) fn is_path_error(
        &mut self,
        now: Time,
        path: PathId,
        sent: Time,
        error: bool,
    ) -> bool {
        let profile = Arc::clone(&self.config.profile);
        let on_time = self.patience.on_time;
        let p = &mut self.paths[path];
        if error || !profile.limits.patience {
            p.reachability.settle();
            return true;
        }
        let overdue = p.reachability.owe(now, sent) >= p.rtt.patience(&profile, Pace::Error);
        if overdue {
            p.lose_patience(Pace::Error);
            if !on_time {
                p.lose_patience(Pace::Try);
            }
            p.reachability.settle();
        }
        overdue
    }
}
