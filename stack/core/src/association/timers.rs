//! Timers: which are due, and what their expiration means.

use super::Association;
use super::phase::Timer;
use crate::path::PathId;
use crate::time::Time;

impl Association {
    /// The earliest deadline of all timers.
    pub(crate) fn next_timeout(&self) -> Option<Time> {
        let mut next = self.phase.deadline();
        let mut consider = |t: Option<Time>| {
            if let Some(t) = t {
                next = Some(next.map_or(t, |n| n.min(t)));
            }
        };
        consider(self.sender.probe_deadline());
        consider(self.reconfiguration_deadline());
        consider(self.changes_deadline());
        if !self.is_closed() {
            consider(self.sender.deadline(&self.paths, &self.config, self.state()));
            consider(self.receiver.deadline());
        }
        for path in self.paths.iter() {
            consider(path.t3.deadline());
            consider(path.heartbeat.deadline());
            consider(path.mtu.due().filter(|_| !self.is_closed()));
        }
        next
    }

    /// Runs every timer that is due.
    pub(crate) fn handle_timeout(&mut self, now: Time) {
        let due = |t: Option<Time>| t.is_some_and(|t| t <= now);
        self.expire_messages(now);
        match self.phase.take_due(now) {
            Some(Timer::T1) => self.on_t1(now),
            Some(Timer::T2) => self.on_t2(now),
            Some(Timer::T5) => self.on_t5(),
            None => {}
        }
        if due(self.reconfiguration_deadline()) {
            self.on_reconfiguration_timer(now);
        }
        if due(self.changes_deadline()) {
            self.on_changes_timer(now);
        }
        if due(self.receiver.deadline()) {
            self.receiver.on_timeout(now);
        }
        let (sender, mut cx) = self.sending(now);
        for path in sender.on_timer(&mut cx) {
            self.send_heartbeat(now, path);
        }
        for path in self.paths.ids() {
            if due(self.paths[path].mtu.due()) {
                self.on_mtu_timer(now, path);
            }
            if self.paths[path].t3.is_due(now) {
                self.paths[path].t3.stop();
                self.on_t3(now, path);
            }
            if due(self.paths[path].heartbeat.deadline()) {
                self.on_heartbeat_timer(now, path);
            }
        }
        self.verify_unconfirmed(now);
        self.after_giving_up(now);
    }

    /// T3-rtx expired for `path` (RFC 9260 §6.3.3).
    fn on_t3(&mut self, now: Time, path: PathId) {
        let (sender, mut cx) = self.sending(now);
        let Some(expired) = sender.on_t3(&mut cx, path) else { return };
        if expired.is_excused() {
            self.guard_closed_window(now);
        } else {
            if self.count_failure(path, expired.is_path_error()) {
                self.ask_failed(now, path);
            }
            self.paths[path].address.on_timeout();
            self.doubt_source(now, path, expired.sent());
            if expired.is_error() {
                self.errors.timeouts += 1;
                self.judge_errors();
            }
            if self.is_closed() {
                return;
            }
            self.suspect_black_hole(now, path);
        }
        let (sender, mut cx) = self.sending(now);
        sender.lose_expired(&mut cx, &expired);
    }
}
