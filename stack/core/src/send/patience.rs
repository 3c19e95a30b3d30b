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

use super::{Context, Sender};
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

impl Context<'_> {
    fn is_patient(&self) -> bool {
        self.profile().limits.patience
    }

    /// The association counts its errors at the pace of one timer of RFC 9260.
    fn counts_patiently(&self) -> bool {
        self.is_patient() || (self.strategy.expires_side_by_side() && self.may_send_data())
    }

    fn patience_with(&self, path: PathId, pace: Pace) -> Duration {
        self.paths[path].rtt.standard_rto(self.profile(), pace)
    }

    /// A timer starts on `path`, with RTO: how long it runs.
    pub(crate) fn start_patience(&mut self, path: PathId, rto: Duration) -> Duration {
        let now = self.now;
        if !self.counts_patiently() {
            return rto;
        }
        if self.patience.due().is_none() {
            let turn = |pace| Some(Turn { due: now + self.patience_with(path, pace), path });
            *self.patience = Patience { turns: Pace::BOTH.map(turn), ..Patience::default() };
        }
        if !self.is_patient() {
            return rto;
        }
        let srtt = self.paths[path].rtt.srtt();
        let wait = self.patience.wait(now, rto, srtt);
        let owed = self.paths[path].reachability.owes_since().filter(|_| self.has_refuge(path));
        // Whether that is an error of the path is looked at as soon as it is one.
        let until = owed.map(|since| since + self.patience_with(path, Pace::Error));
        until.map_or(wait, |at| wait.min(at.since(now).max(2 * srtt.unwrap_or(rto))))
    }

    /// The same after an answer, or when something else begins.
    pub(crate) fn restart_patience(&mut self, path: PathId, rto: Duration) -> Duration {
        self.patience.stop();
        self.start_patience(path, rto)
    }

    /// What times out on `path` goes to another one that works: that is no load on the path that may be
    /// congested.
    pub(crate) fn has_refuge(&self, path: PathId) -> bool {
        let other = self.paths.alternate(path);
        other != path && self.paths[other].preferred()
    }

    //= RFC 7829 4-1
    /// A timer expired: whether that is an error of the association.
    pub(crate) fn is_error(&mut self) -> bool {
        if !self.counts_patiently() {
            return true;
        }
        self.patience.tried = true;
        self.patience.on_time = self.takes_turn(Pace::Try);
        self.takes_turn(Pace::Error)
    }

    /// Whether the timer of RFC 9260 would have expired by now; then the next path has its turn.
    fn takes_turn(&mut self, pace: Pace) -> bool {
        let now = self.now;
        let Some(Turn { due, path }) = self.patience.turns[pace as usize] else { return true };
        if due > now {
            return false;
        }
        self.paths[path].back_off_standard(pace);
        let path = self.paths.next_in_turn(path, pace);
        let rto = self.patience_with(path, pace);
        // A late expiration must not delay the deadline of the next path.
        let due = if due + rto > now { due + rto } else { now + rto };
        self.patience.turns[pace as usize] = Some(Turn { due, path });
        true
    }

    /// Whether what was sent at `sent` on `path`, and timed out, is an error of that path.
    pub(super) fn is_path_error(&mut self, path: PathId, sent: Time, error: bool) -> bool {
        let profile = self.profile();
        let on_time = self.patience.on_time;
        self.paths[path].is_timeout_error(self.now, sent, profile, error, on_time)
    }
}

impl Sender {
    /// When the timer of RFC 9260 expires, if T3-rtx has done so before: what it sends is a guess.
    pub(super) fn premature_until(&self, cx: &Context<'_>) -> Option<Time> {
        let now = cx.now;
        let alone =
            cx.is_patient() && !cx.strategy.expires_side_by_side() && !self.peer_room().is_closed();
        cx.patience.due().filter(|due| alone && *due > now)
    }

    /// T3-rtx expired on `path` for what was sent at `sent`: until when it waits unless a guess is allowed; `None` if
    /// RFC 9260 would send it again by now, or if it had expired before and another path works.
    pub(super) fn bounded_until(&self, cx: &Context<'_>, path: PathId, sent: Time) -> Option<Time> {
        let due = self.premature_until(cx)?;
        if !cx.has_refuge(path) {
            return Some(due);
        }
        // The timer of one chunk that goes round the paths may be due later than that of this path.
        let elsewhere = cx.patience.turns[Pace::Try as usize].is_some_and(|turn| turn.path != path);
        let own = sent + cx.patience_with(path, Pace::Try);
        let bounded = self.recovery.bounds_guesses() && cx.paths[path].t3.in_a_row() == 0;
        let at = if elsewhere { due.min(own) } else { due };
        Some(at).filter(|at| bounded && *at > cx.now)
    }

    /// From when the budget allows a premature retransmission on `path`. Where it takes another path that is as near, that
    /// lengthens no queue on this one.
    pub(super) fn premature_guess_at(
        &self,
        cx: &Context<'_>,
        path: PathId,
        seq: u64,
    ) -> Option<Time> {
        if !cx.has_refuge(path) {
            return self.guess_at(cx, path, seq);
        }
        let srtt = |path: PathId| cx.paths[path].rtt.srtt();
        let near = srtt(cx.paths.alternate(path))
            .zip(srtt(path))
            .is_some_and(|(other, own)| other <= 2 * own);
        (near && self.recovery.affords_detour()).then_some(cx.now)
    }

    /// T1 or T2 expired on `path`: until when it waits if that was premature. What it would send again is a guess
    /// of which no report ever tells whether it was in vain.
    pub(crate) fn put_off_control(&self, cx: &Context<'_>, path: PathId) -> Option<Time> {
        let bounded = self.recovery.bounds_guesses() && !cx.has_refuge(path);
        self.premature_until(cx).filter(|_| bounded)
    }

    /// The peer has shown that it lives: what is outstanding still is owed from now on.
    pub(super) fn renew_patience(&mut self, cx: &mut Context<'_>) {
        cx.patience.stop();
        let board = &self.board;
        if let Some(path) = board.get(board.cumulative() + 1).map(|chunk| chunk.path) {
            cx.start_patience(path, Duration::ZERO);
        }
    }
}
