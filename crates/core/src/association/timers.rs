//! Timers: which are due, and what their expiration means.

use super::{Association, State};
use crate::event::{LossCause, TraceEvent, WindowCause};
use crate::path::PathId;
use crate::receive::Receiver;
use crate::recovery::timer::thin_no_backoff;
use crate::send::Expiry;
use crate::time::Time;

impl Association {
    /// The earliest deadline of all timers.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let mut next = self.setup.t1;
        let mut consider = |t: Option<Time>| {
            if let Some(t) = t {
                next = Some(next.map_or(t, |n| n.min(t)));
            }
        };
        consider(self.shutdown.t2);
        consider(self.shutdown.t5);
        consider(self.sender.zero_window.deadline());
        if !self.is_closed() {
            consider(self.sender.recovery.deadline());
            consider(self.probe_deadline());
            consider(self.pacing_deadline());
            consider(self.silence_deadline());
            consider(self.sender.queue.deadline());
        }
        if !self.is_closed() {
            consider(self.receiver.as_ref().and_then(Receiver::deadline));
        }
        for path in self.paths.iter() {
            consider(path.t3.deadline());
            consider(path.heartbeat.next);
            consider(path.mtu.raise_at().filter(|_| !self.is_closed()));
        }
        next
    }

    /// Runs every timer that is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        let due = |t: Option<Time>| t.is_some_and(|t| t <= now);
        self.expire_messages(now);
        if due(self.setup.t1) {
            self.setup.t1 = None;
            self.on_t1(now);
        }
        if due(self.shutdown.t5) {
            self.shutdown.t5 = None;
            self.on_t5();
        }
        if due(self.shutdown.t2) {
            self.shutdown.t2 = None;
            self.on_t2(now);
        }
        if due(self.sender.zero_window.deadline()) {
            self.sender.zero_window.on_timer();
            self.opportunity();
        }
        if let Some(receiver) = &mut self.receiver
            && due(receiver.deadline())
        {
            receiver.on_timeout(now);
        }
        if due(self.sender.recovery.deadline()) || due(self.probe_deadline()) {
            self.on_recovery_timer(now);
        }
        if due(self.silence_deadline()) {
            self.leave_silent_paths(now);
        }
        if due(self.pacing_deadline()) {
            for path in self.paths.iter_mut() {
                path.bursts.wake();
            }
        }
        for i in 0..self.paths.len() {
            let path = PathId(i as u8);
            if due(self.paths[path].mtu.raise_at()) {
                self.paths[path].raise_mtu(self.config.mtu);
            }
            if self.paths[path].t3.is_due(now) {
                self.paths[path].t3.stop();
                self.on_t3(now, path);
            }
            if due(self.paths[path].heartbeat.next) {
                self.on_heartbeat_timer(now, path);
            }
        }
        self.probe_unconfirmed(now);
    }

    //= RFC 6951 5.5-2
    /// T3-rtx expired for `path` (RFC 9260 §6.3.3).
    fn on_t3(&mut self, now: Time, path: PathId) {
        let open = matches!(
            self.state,
            State::Established | State::ShutdownPending | State::ShutdownReceived
        );
        let board = &self.sender.board;
        let Some(earliest) = board.earliest(path).filter(|_| open) else { return };
        let Some(sent) = board.get(earliest).map(|chunk| chunk.last_sent) else { return };
        let early = self.early_until(now).filter(|_| !self.has_refuge(path));
        let guess_at = self.guess_at(now, path, earliest);
        if let Some(at) = early.map(|due| guess_at.map_or(due, |at| at.min(due)))
            && at > now
        {
            self.paths[path].t3.start(at);
            self.journal.trace(now, || TraceEvent::TimerArmed { path, at });
            return;
        }
        let profile = std::sync::Arc::clone(&self.config.profile);
        self.journal.stats.timeouts += 1;
        self.paths[path].t3.on_expired();
        let closed = self.sender.is_window_closed();
        let Expiry { closed, probe_answered } = self.sender.zero_window.on_timeout(closed);
        if !probe_answered {
            let thin = self.sender.is_thin();
            let p = &mut self.paths[path];
            p.t3.on_unanswered();
            p.window.abandon_reduction();
            self.note_timeout(path);
            let p = &mut self.paths[path];
            if guess_at.is_some() && thin_no_backoff::keeps_rto(&profile, thin, p.t3.in_a_row()) {
                p.t3.on_spared(self.sender.board.next_seq() - 1);
            } else {
                // E2
                p.t3.on_doubled(now, profile.t3_rtx.backs_off_late.then(|| p.rtt.rto()));
                p.rtt.back_off(&profile);
            }
        }
        let error = self.is_error(now);
        let rto = self.paths[path].rto();
        self.journal.trace(now, || TraceEvent::TimerExpired { path, rto });
        if probe_answered {
            // Nor does probing affect cwnd; the probes alone become rarer.
            self.sender.zero_window.back_off();
        } else {
            // E1
            let again = self.paths[path].t3.in_a_row() > 1;
            self.tell_control(now, path, |control, coupled| control.on_timeout(again, &coupled));
            self.paths[path].window.on_timeout(profile.congestion.one_packet_after_timeout);
            self.trace_window(now, path, WindowCause::Timeout);
        }
        if probe_answered || closed {
            self.renew_patience(now);
            self.guard_closed_window(now);
        } else {
            let of_path = self.is_path_error(now, path, sent, error);
            if self.paths[path].count_failure(of_path) {
                self.path_changed(path);
                self.probe_failed(now, path);
            }
            self.paths[path].address.on_timeout();
            self.doubt_source(now, path, sent);
            if error {
                self.errors.timeouts += 1;
                self.judge_errors();
            }
            if self.is_closed() {
                return;
            }
        }
        self.sender.recovery.on_timeout();
        let concurrent = self.is_concurrent();
        for p in self.paths.iter_mut().filter(|p| !concurrent || p.id == path) {
            p.window.abandon_recovery();
        }
        self.paths[path].timed.cancel();
        //= RFC 9260 6.3.3-2
        // E3: everything outstanding on the path is lost; one packet of it leaves at once.
        for seq in self.sender.in_flight(path) {
            // RFC 8985 §6.3: what was sent just now is not lost yet. What left with the earliest chunk, in
            // one packet perhaps, shares its fate.
            let left = self.sender.board.get(seq).map_or(now, |c| c.last_sent);
            if left == sent || !self.sender.recovery.spares(now, path, left) {
                let lost = self.lose(now, seq, LossCause::Timeout) != 0;
                if lost && early.is_some() {
                    self.sender.recovery.budget.on_early_timeout(seq);
                }
            }
        }
        self.sender.retransmit_now(&profile);
        self.opportunity();
    }

    /// Declares everything in flight lost: the packets that carried it are known to be void.
    pub(super) fn lose_all(&mut self, now: Time, cause: LossCause) {
        for i in 0..self.paths.len() {
            let path = PathId(i as u8);
            for seq in self.sender.in_flight(path) {
                self.lose(now, seq, cause);
            }
            self.paths[path].timed.cancel();
        }
    }
}
