//! Timers: which are due, and what their expiration means.

use super::phase::Timer;
use super::{Association, path_mtu};
use crate::ids::PathId;
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
        let state = self.state();
        consider(self.sender.window_probe_deadline());
        consider(self.extras.reconfiguration.as_ref().and_then(|r| r.deadline(state)));
        consider(self.extras.changes.as_ref().and_then(|changes| changes.deadline(state)));
        if !self.is_closed() {
            consider(self.sender.deadline(&self.paths, &self.config, state));
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
            Some(Timer::End(timer)) => self.on_shutdown_timer(now, timer),
            None => {}
        }
        let state = self.state();
        if due(self.extras.reconfiguration.as_ref().and_then(|r| r.deadline(state))) {
            self.on_reconfiguration_timer(now);
        }
        let state = self.state();
        if due(self.extras.changes.as_ref().and_then(|changes| changes.deadline(state))) {
            self.on_changes_timer(now);
        }
        if due(self.receiver.deadline()) {
            self.receiver.on_timeout(now);
        }
        let (sender, mut cx) = self.sending(now);
        let asked = sender.on_timer(&mut cx);
        for (path, wait) in asked {
            let (mut cx, parts) = self.parts(now);
            parts.monitor.ask_silent(&mut cx, parts.halves.sender, path, wait);
        }
        for path in self.paths.ids() {
            if due(self.paths[path].mtu.due()) {
                let (mut cx, parts) = self.parts(now);
                path_mtu::on_timer(&mut cx, parts.halves.sender, path);
            }
            if self.paths[path].t3.is_due(now) {
                self.paths[path].t3.stop();
                self.on_t3(now, path);
            }
            if due(self.paths[path].heartbeat.deadline()) {
                let (mut cx, parts) = self.parts(now);
                let result = parts.monitor.on_timer(&mut cx, parts.halves.sender, path);
                self.goes_on(result);
            }
        }
        let (mut cx, parts) = self.parts(now);
        parts.monitor.verify(&mut cx, parts.halves.sender);
        self.after_giving_up(now);
    }

    /// T3-rtx expired for `path` (RFC 9260 §6.3.3).
    fn on_t3(&mut self, now: Time, path: PathId) {
        let (sender, mut cx) = self.sending(now);
        let Some(expired) = sender.on_t3(&mut cx, path) else { return };
        let (mut cx, parts) = self.parts(now);
        if expired.is_excused() {
            if let Some(closing) = parts.phase.closing_mut() {
                closing.guard_closed_window(now, cx.profile());
            }
        } else {
            cx.fail(path, expired.is_path_error());
            cx.paths[path].address.on_timeout();
            parts.monitor.doubt(&mut cx, path, expired.sent());
            if expired.is_error() {
                cx.errors.on_timeout();
                let result = cx.judge_errors();
                if !self.goes_on(result) {
                    return;
                }
            }
            path_mtu::suspect_black_hole(&mut self.parts(now).0, path);
        }
        let (sender, mut cx) = self.sending(now);
        sender.lose_expired(&mut cx, &expired);
    }

    /// The Re-configuration Timer has expired (RFC 6525 §5.1.1).
    fn on_reconfiguration_timer(&mut self, now: Time) {
        let (mut cx, parts) = self.parts(now);
        let Some(reconfiguration) = &mut parts.extras.reconfiguration else { return };
        let Some(expired) = reconfiguration.on_timer(&mut cx, &parts.halves) else { return };
        let mut path = expired.path;
        cx.paths[path].doubt_size(now);
        if expired.counts {
            if let Err(end) = parts.monitor.on_silence(&mut cx, path) {
                self.abort_with(end);
                return;
            }
            path = cx.paths.alternate(path);
        }
        reconfiguration.repeat(&mut cx, parts.halves.receiver, path);
    }

    /// The T-4 RTO timer has expired (RFC 5061 §5.1).
    fn on_changes_timer(&mut self, now: Time) {
        let (mut cx, parts) = self.parts(now);
        let Some(changes) = &mut parts.extras.changes else { return };
        let Some(last) = changes.expired() else { return };
        cx.paths[last].doubt_size(now);
        if let Err(end) = parts.monitor.on_silence(&mut cx, last) {
            self.abort_with(end);
            return;
        }
        let path = cx.paths.alternate(last);
        changes.repeat(&mut cx, parts.monitor.addresses(), path);
    }
}
