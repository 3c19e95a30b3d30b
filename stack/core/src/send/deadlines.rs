//! How long a timer runs, and when its expiration is an error, of a path or of the association: at the pace of RFC 9260
//! ([`StandardTimers`]).

use std::time::Duration;

use super::context::Context;
use super::outbound::Outbound;
use super::zero_window::ZeroWindow;
use crate::event::TraceEvent;
use crate::ids::PathId;
use crate::path::{Pace, StandardTimer, StandardTimers};
use crate::time::Time;

impl Context<'_> {
    //= RFC 9260 6.1-21 6.3.3-1
    /// T3-rtx of `path` starts, with its RTO; a probe of a closed window may wait longer.
    pub(super) fn arm_t3(&mut self, path: PathId, zero_window: &ZeroWindow) {
        let now = self.now;
        let undoubled = self.paths[path].t3.take_undoubled(now);
        let rto = undoubled.unwrap_or(self.paths[path].rto());
        // A probe of a closed window is owed an answer like anything else.
        let wait = self.start_wait(path, rto);
        let wait = zero_window.wait(rto, self.profile().rto.max()).unwrap_or(wait);
        let at = self.paths[path].rtt.expiry(now, now + wait);
        self.start_t3(path, at);
    }

    /// T3-rtx of `path` runs until then.
    pub(super) fn start_t3(&mut self, path: PathId, at: Time) {
        self.paths[path].t3.start(at);
        self.journal.trace(self.now, || TraceEvent::TimerArmed { path, at });
    }

    /// Errors count at the pace of RFC 9260, whatever expires sooner.
    fn keeps_pace(&self) -> bool {
        StandardTimers::count_errors(self.profile())
    }

    /// The association counts its errors at the pace of one timer of RFC 9260.
    fn counts_in_turn(&self) -> bool {
        self.keeps_pace() || (self.strategy.expires_side_by_side() && self.may_send_data())
    }

    fn standard_rto(&self, path: PathId, pace: Pace) -> Duration {
        self.paths[path].rtt.standard_rto(self.profile(), pace)
    }

    /// A timer starts on `path`, with RTO: how long it runs.
    pub(crate) fn start_wait(&mut self, path: PathId, rto: Duration) -> Duration {
        let now = self.now;
        if !self.counts_in_turn() {
            return rto;
        }
        if self.standard.due().is_none() {
            let due = Pace::BOTH.map(|pace| now + self.standard_rto(path, pace));
            self.standard.begin(|pace| StandardTimer { due: due[pace as usize], path });
        }
        if !self.keeps_pace() {
            return rto;
        }
        let srtt = self.paths[path].rtt.srtt();
        let wait = self.standard.wait(now, rto, srtt);
        let owed = self.paths[path].reachability.owes_since().filter(|_| self.has_refuge(path));
        // Whether that is an error of the path is looked at as soon as it is one.
        let until = owed.map(|since| since + self.standard_rto(path, Pace::Error));
        until.map_or(wait, |at| wait.min(at.since(now).max(2 * srtt.unwrap_or(rto))))
    }

    /// How long to wait on `path` after an answer, or when something else begins.
    pub(crate) fn restart_wait(&mut self, path: PathId, rto: Duration) -> Duration {
        self.standard.stop();
        self.start_wait(path, rto)
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
        if !self.counts_in_turn() {
            return true;
        }
        let on_time = self.takes_turn(Pace::Try);
        self.standard.on_expired(on_time);
        self.takes_turn(Pace::Error)
    }

    /// Whether the timer of RFC 9260 would have expired by now; then the next path has its turn.
    fn takes_turn(&mut self, pace: Pace) -> bool {
        let now = self.now;
        let Some(StandardTimer { due, path }) = self.standard.timer(pace) else { return true };
        if due > now {
            return false;
        }
        self.paths[path].back_off_standard(pace);
        let path = self.paths.next_in_turn(path, pace);
        let rto = self.standard_rto(path, pace);
        // A late expiration must not delay the deadline of the next path.
        let due = if due + rto > now { due + rto } else { now + rto };
        self.standard.pass_on(pace, StandardTimer { due, path });
        true
    }

    /// Whether what was sent at `sent` on `path`, and timed out, is an error of that path.
    pub(super) fn is_path_error(&mut self, path: PathId, sent: Time, error: bool) -> bool {
        let profile = self.profile();
        let on_time = self.standard.is_on_time();
        self.paths[path].is_timeout_error(self.now, sent, profile, error, on_time)
    }

    /// When the timer of RFC 9260 expires, if T3-rtx has done so before: what it sends is a guess.
    pub(super) fn premature_until(&self, data: &Outbound) -> Option<Time> {
        let now = self.now;
        let alone = self.keeps_pace()
            && !self.strategy.expires_side_by_side()
            && !data.peer_room().is_closed();
        self.standard.due().filter(|due| alone && *due > now)
    }

    /// T3-rtx expired on `path`, of which another one takes what was sent at `sent`, before the timer of RFC 9260, `due`:
    /// when that would have sent it again.
    pub(super) fn detour_due(&self, path: PathId, sent: Time, due: Time) -> Time {
        // The timer of one chunk that goes round the paths may be due later than that of this path.
        let elsewhere = self.standard.timer(Pace::Try).is_some_and(|t| t.path != path);
        let own = sent + self.standard_rto(path, Pace::Try);
        if elsewhere { due.min(own) } else { due }
    }

    /// The peer has shown that it lives: what is outstanding still is owed from now on.
    pub(super) fn renew_wait(&mut self, data: &Outbound) {
        self.standard.stop();
        let board = data.board();
        if let Some(path) = board.get(board.cumulative() + 1).map(|chunk| chunk.path) {
            self.start_wait(path, Duration::ZERO);
        }
    }
}
