//! Heartbeats and path verification (RFC 9260 §8.3, §5.4).

use std::net::IpAddr;
use std::time::Duration;

use bytes::Bytes;

use super::errors::Errors;
use super::{Association, Control, State};
use crate::path::{HeartbeatInfo, Pace, Path, PathId, PathSettings, PathState, heartbeat_interval};
use crate::time::Time;

/// A peer that has answered is still there for so long: as long as a handshake may take.
const PRESENCE: Duration = Duration::from_secs(60);

impl Association {
    /// Starts monitoring when the association is established. Addresses that are not confirmed
    /// are asked first.
    pub(super) fn start_heartbeats(&mut self, now: Time) {
        for path in self.paths.ids() {
            let at = if self.paths[path].is_confirmed() {
                self.paths[path].settings.heartbeats.then(|| now + self.heartbeat_wait(path))
            } else {
                Some(now)
            };
            self.paths[path].heartbeat.plan(at);
            if self.paths[path].is_confirmed() {
                self.paths[path].mtu.begin_search(now);
            }
        }
    }

    /// §8.3: from ESTABLISHED on; "discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK
    /// chunk".
    pub(super) fn is_monitored(&self) -> bool {
        matches!(
            self.state(),
            State::Established | State::ShutdownPending | State::ShutdownReceived
        )
    }

    /// §8.3 A to C: other settings of a path hold at once, those of its heartbeats included.
    pub(crate) fn configure_path(&mut self, now: Time, path: PathId, settings: PathSettings) {
        let p = &mut self.paths[path];
        let state = p.state();
        let before = p.configure(settings);
        if p.state() != state {
            self.path_changed(path);
            self.ask_failed(now, path);
        }
        let sizes = |s: PathSettings| (s.mtu, s.mtu_discovery);
        if sizes(before) != sizes(settings) {
            self.configure_mtu(now, path);
        }
        let p = &self.paths[path];
        let beats = |s: PathSettings| (s.heartbeats, s.heartbeat_interval);
        // The answer to a heartbeat is waited for in any case, and so is a confirmation.
        let waits = !p.is_confirmed() || p.heartbeat.is_awaited();
        if self.is_monitored() && !waits && beats(before) != beats(settings) {
            self.plan_heartbeat(now, path);
        }
    }

    /// Whether the peer is still there, at its address and UDP port of `path`. It is asked by heartbeats:
    /// `None` as long as neither an answer has come nor two of them in a row were lost.
    pub(crate) fn is_present(&mut self, now: Time, path: PathId) -> Option<bool> {
        if !self.is_monitored() {
            return Some(true);
        }
        let Path { heartbeat, reachability, .. } = &mut self.paths[path];
        match heartbeat.asked() {
            Some(_) if heartbeat.is_unanswered() => {
                if reachability.failures() >= 2 {
                    return Some(false);
                }
            }
            Some(asked) if now.since(asked) < PRESENCE => return Some(true),
            _ => heartbeat.ask(now),
        }
        if !heartbeat.is_awaited() {
            self.send_heartbeat(now, path);
        }
        None
    }

    /// The idle period of a path begins now.
    fn plan_heartbeat(&mut self, now: Time, path: PathId) {
        let wait = self.heartbeat_wait(path);
        let p = &mut self.paths[path];
        p.heartbeat.plan(p.settings.heartbeats.then(|| now + wait));
    }

    /// A path that is to be found again quickly is asked at the pace of the mechanisms, any other one
    /// at that of RFC 9260.
    fn heartbeat_rto(&self, path: PathId) -> Duration {
        let p = &self.paths[path];
        if self.is_asked_often(path) { p.rto() } else { p.error_rto(self.profile()) }
    }

    fn heartbeat_wait(&mut self, path: PathId) -> Duration {
        let often = self.is_asked_often(path) || self.has_potentially_failed(path);
        let rto = self.heartbeat_rto(path);
        let interval = self.paths[path].settings.heartbeat_interval;
        heartbeat_interval(interval, rto, often, &mut self.rng)
    }

    /// RFC 7829 §3.2 rule 6: it is asked once per RTO, rather than per HB.interval; where data is in flight, as
    /// soon as it no longer is. With one path there is no such state.
    fn has_potentially_failed(&self, path: PathId) -> bool {
        self.paths.len() > 1 && self.paths[path].state() == PathState::PotentiallyFailed
    }

    //= RFC 7829 3.2-11 3.2-12
    /// §5.4: an unconfirmed address is asked once per RTO. RFC 7829 §3.2 rule 5: so is one that has
    /// potentially failed; rule 6: unless data is sent there, which tells as much.
    fn is_asked_often(&self, path: PathId) -> bool {
        match self.paths[path].state() {
            PathState::Unconfirmed => true,
            PathState::PotentiallyFailed => {
                self.has_potentially_failed(path) && self.sender.flight(path) == 0
            }
            PathState::Active => self.paths[path].reachability.is_silent(),
            PathState::Inactive => false,
        }
    }

    /// RFC 7829 §3.2 rule 6: "HEARTBEATs are sent when a destination address reaches the PF state."
    pub(super) fn ask_failed(&mut self, now: Time, path: PathId) {
        let alone = self.paths.len() == 1;
        let p = &mut self.paths[path];
        let failed = p.state() == PathState::PotentiallyFailed;
        //= RFC 7829 3.2-13
        if failed && !alone && p.settings.heartbeats && !p.heartbeat.is_awaited() {
            p.heartbeat.plan(Some(now));
        }
    }

    //= RFC 9260 3.3.5-1 8.3-1 8.3-14
    /// The heartbeat timer of `path`: an answer is overdue, or a heartbeat is.
    pub(super) fn on_heartbeat_timer(&mut self, now: Time, path: PathId) {
        let confirmed = self.paths[path].is_confirmed();
        let monitored = if confirmed { self.is_monitored() } else { self.verifies() };
        self.paths[path].heartbeat.plan(None);
        if !monitored {
            return;
        }
        let lost = self.paths[path].heartbeat.take_awaited();
        if let Some(lost) = lost {
            self.heartbeat_lost(now, path, lost);
            if self.is_closed() {
                return;
            }
        }
        if self.paths[path].is_confirmed() && !self.paths[path].settings.heartbeats {
            return;
        }
        // §5.4: an active unconfirmed address is asked once per RTO, which has passed.
        let often = self.is_asked_often(path);
        let p = &self.paths[path];
        // §8.3: idle is a path over which nothing that can measure the RTT was sent within the
        // heartbeat period; a heartbeat can, answered or not.
        let last = p.timed.measurable_at().max(lost.map_or(Time::ZERO, |info| info.sent));
        let wait = self.heartbeat_wait(path);
        let idle = now.since(last);
        if !often && last != Time::ZERO && idle < wait {
            self.paths[path].heartbeat.plan(Some(now + (wait - idle)));
        } else if self.paths[path].is_confirmed() {
            self.send_heartbeat(now, path);
        } else {
            // Its turn comes in `verify_unconfirmed`.
            self.paths[path].heartbeat.plan(Some(now));
        }
    }

    /// Sends a heartbeat; the timer then waits one RTO for the answer.
    pub(super) fn send_heartbeat(&mut self, now: Time, path: PathId) {
        let info = HeartbeatInfo { path, sent: now, nonce: self.rng.next_u64() };
        let mut rto = self.heartbeat_rto(path);
        if self.is_asked_often(path) {
            rto = self.paths[path].asking_wait(now, rto, self.profile());
        }
        if !self.paths[path].is_confirmed() {
            self.note_verification(now, path);
        }
        let bytes = Bytes::copy_from_slice(&info.encode());
        let queued = self.push_control(path, Control::Heartbeat(bytes, None));
        let heartbeat = &mut self.paths[path].heartbeat;
        heartbeat.plan(Some(now + rto));
        // One that does not leave is not unanswered.
        if queued {
            heartbeat.on_sent(info);
        }
    }

    //= RFC 9260 8.3-3
    /// §8.3: not acknowledged within one RTO.
    fn heartbeat_lost(&mut self, now: Time, path: PathId, lost: HeartbeatInfo) {
        let waited = now.since(lost.sent);
        let profile = std::sync::Arc::clone(&self.config.profile);
        let patient = profile.limits.patience;
        let p = &mut self.paths[path];
        let error = !patient || waited >= p.error_rto(&profile);
        let path_error = !patient || p.is_heartbeat_error(now, lost.sent, &profile);
        // RFC 9260 would not have sent this one yet.
        let early = patient && self.is_asked_often(path);
        let p = &mut self.paths[path];
        let confirmed = p.is_confirmed();
        p.heartbeat.keep_late(lost);
        p.rtt.back_off(&profile);
        if error {
            p.lose_patience(Pace::Error);
        }
        self.count_failure(path, path_error);
        self.doubt_source(now, path, lost.sent);
        //= RFC 9260 8.1-2
        // §8.1: only heartbeats on the path that carries the data count for the association.
        // §5.4: those to unconfirmed addresses never do.
        // Where none is confirmed, since addresses have changed, these are all that tells of the peer.
        let counts = if self.has_confirmed_path() { confirmed && !early } else { true };
        if counts && error && path == self.paths.data_path() {
            self.errors.heartbeats += 1;
            self.judge_errors();
        }
    }

    /// HEARTBEAT ACK: the nonce must be the one sent to the path that it names (§5.4).
    pub(super) fn on_heartbeat_ack(&mut self, now: Time, info: &[u8], local: IpAddr) {
        let Some(info) = HeartbeatInfo::decode(info) else {
            self.journal.stats.malformed_chunks += 1;
            return;
        };
        let path = info.path;
        if self.paths.get(path).is_some_and(|p| p.mtu.is_probed_by(info)) {
            self.on_probe_answer(now, info);
            return;
        }
        if self.paths.get(path).is_some_and(|p| p.heartbeat.searches(info)) {
            self.found_source(now, path, local);
            return;
        }
        //= RFC 9260 8.3-7 8.3-9
        // §8.3: "Whenever a HEARTBEAT ACK chunk arrives"; nor has §5.4 a time limit for the nonce. Where the
        // round trip takes longer than RTO, no answer would ever come in time.
        if self.paths.get(path).is_none() {
            return;
        }
        let p = &mut self.paths[path];
        let in_time = p.heartbeat.awaits(info);
        if !p.heartbeat.take_answer(info) {
            return;
        }
        if p.reachability.is_silent() && in_time {
            p.rtt.start_over(); // It may well be another path than it was.
            p.calm = Default::default();
        }
        let newly_confirmed = p.reachability.confirm();
        //= RFC 9260 8.3-12
        let (sender, mut cx) = self.sending(now);
        sender.sample_rtt(&mut cx, path, info.sent);
        let reactivated = self.paths[path].clear_errors(info.sent);
        if newly_confirmed || reactivated {
            self.path_changed(path);
            //= RFC 8899 3-24
            self.paths[path].mtu.begin_search(now);
        }
        if newly_confirmed {
            self.on_confirmed(path);
        }
        self.forgive_errors();
        // One that was sent since is still to be answered within its RTO.
        if !self.paths[path].heartbeat.is_awaited() {
            self.plan_heartbeat(now, path);
        }
    }

    //= RFC 9260 8.1-6 8.3-11
    /// The peer has answered a heartbeat, or a probe of the path MTU.
    ///
    /// RFC 9260 §8.3: the association error count SHOULD be cleared too; §8.1 allows not to while data is outstanding, so that
    /// a path which drops only large packets is noticed. Of heartbeats it counts consecutive ones: those before one
    /// that is answered are not.
    pub(super) fn forgive_errors(&mut self) {
        self.errors.heartbeats = 0;
        if self.sender.outstanding() == 0 {
            self.errors = Errors::default();
        }
    }
}
