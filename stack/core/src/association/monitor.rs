//! Heartbeats and path verification (RFC 9260 §8.3, §5.4).

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use smallvec::SmallVec;

use super::addresses::Addresses;
use super::common::Common;
use super::errors::End;
use super::outbox::Control;
use super::path_mtu;
use super::verification::{HEARTBEAT_LEN, Verification};
use crate::ids::{PathId, PathState};
use crate::path::source::{Host, Sources};
use crate::path::{HeartbeatInfo, Pace, Path, Paths, StandardTimers, heartbeat_interval};
use crate::recovery::SilenceFacts;
use crate::send::Sender;
use crate::settings::PathSettings;
use crate::time::Time;

/// A peer that has answered is still there for so long: as long as a handshake may take.
const PRESENCE: Duration = Duration::from_secs(60);
/// Headers and padding of COOKIE ECHO, and of the ERROR that may follow it, at most.
const COOKIE_ECHO_LEN: usize = 2 * (4 + 3);

/// Keeps an eye on the paths: which of them work, from which of our addresses, and which are the peer's at all.
#[derive(Debug)]
pub(super) struct PathMonitor {
    addresses: Addresses,
    verification: Verification,
}

impl PathMonitor {
    pub(super) fn new(sources: Sources) -> PathMonitor {
        PathMonitor { addresses: Addresses::new(sources), verification: Verification::default() }
    }

    /// What it may use of our addresses and of the peer's.
    pub(super) const fn addresses(&self) -> &Addresses {
        &self.addresses
    }

    /// Our addresses and the peer's, to be told what has changed.
    pub(super) const fn addresses_mut(&mut self) -> &mut Addresses {
        &mut self.addresses
    }

    /// A heartbeat has an AUTH chunk of this many bytes before it.
    pub(super) fn set_auth_len(&mut self, bytes: usize) {
        self.verification.set_auth_len(bytes);
    }

    /// Starts monitoring when the association is established. Addresses that are not confirmed
    /// are asked first.
    pub(super) fn start(&self, cx: &mut Common<'_>, sender: &Sender) {
        let now = cx.now;
        for path in cx.paths.ids() {
            let at = if cx.paths[path].is_confirmed() {
                let heartbeats = cx.paths[path].settings.heartbeats;
                heartbeats.then(|| now + heartbeat_wait(cx, sender, path))
            } else {
                Some(now)
            };
            cx.paths[path].heartbeat.plan(at);
            cx.paths.search_mtu(path, now);
        }
    }

    /// §8.3 A to C: other settings of a path hold at once, those of its heartbeats included.
    pub(super) fn configure(
        &self,
        cx: &mut Common<'_>,
        sender: &Sender,
        path: PathId,
        settings: PathSettings,
    ) {
        let p = &mut cx.paths[path];
        let state = p.state();
        let before = p.configure(settings);
        if p.state() != state {
            cx.path_changed(path);
            cx.ask_failed(path);
        }
        //= RFC 9260 7.2.5.1-1
        if before.labels.dscp != settings.labels.dscp {
            cx.paths[path].restart_congestion_control(cx.config);
        }
        let sizes = |s: PathSettings| (s.mtu, s.mtu_discovery);
        if sizes(before) != sizes(settings) {
            path_mtu::configure(cx, path);
        }
        let p = &mut cx.paths[path];
        if !settings.heartbeats {
            // Nothing asks it any more, so data has to.
            p.reachability.end_silence();
        }
        let beats = |s: PathSettings| (s.heartbeats, s.heartbeat_interval);
        // The answer to a heartbeat is waited for in any case, and so is a confirmation.
        let waits = !p.is_confirmed() || p.heartbeat.is_awaited();
        if cx.state.is_monitored() && !waits && beats(before) != beats(settings) {
            plan_heartbeat(cx, sender, path);
        }
    }

    /// Whether the peer is still there, at its address and UDP port of `path`. It is asked by heartbeats:
    /// `None` as long as neither an answer has come nor two of them in a row were lost.
    pub(super) fn is_present(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        path: PathId,
    ) -> Option<bool> {
        if !cx.state.is_monitored() {
            return Some(true);
        }
        let now = cx.now;
        let Path { heartbeat, reachability, .. } = &mut cx.paths[path];
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
            self.send_heartbeat(cx, sender, path);
        }
        None
    }

    /// A path has fallen silent: it is asked now, if it is not asked already, and again after this time
    /// (`recovery/silent_path.rs`).
    pub(super) fn ask_silent(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        path: PathId,
        wait: Duration,
    ) {
        let now = cx.now;
        if !cx.paths[path].heartbeat.is_awaited() {
            self.send_heartbeat(cx, sender, path);
        }
        let p = &mut cx.paths[path];
        p.heartbeat.insist(now, SilenceFacts::next_wait(wait, p.rtt.fresh()));
    }

    /// It is time to ask a silent path once more. Nothing follows if that is not answered.
    fn insist(&self, cx: &mut Common<'_>, path: PathId) {
        let now = cx.now;
        let p = &mut cx.paths[path];
        let Some(wait) = p.heartbeat.insists(now) else { return };
        let asks = p.settings.heartbeats && cx.state.is_monitored();
        if !(p.reachability.is_silent() && p.reachability.is_usable() && asks) {
            p.heartbeat.relent();
            return;
        }
        p.heartbeat.insist(now, SilenceFacts::next_wait(2 * wait, p.rtt.fresh()));
        send_aside(cx, path);
    }

    //= RFC 9260 3.3.5-1 8.3-1 8.3-14
    /// The heartbeat timer of `path`: an answer is overdue, or a heartbeat is.
    pub(super) fn on_timer(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        path: PathId,
    ) -> Result<(), End> {
        let now = cx.now;
        self.insist(cx, path);
        if !cx.paths[path].heartbeat.is_due(now) {
            return Ok(());
        }
        let confirmed = cx.paths[path].is_confirmed();
        let monitored = if confirmed { cx.state.is_monitored() } else { cx.state.verifies() };
        cx.paths[path].heartbeat.plan(None);
        if !monitored {
            return Ok(());
        }
        let lost = cx.paths[path].heartbeat.take_awaited();
        if let Some(lost) = lost {
            self.on_lost(cx, sender, path, lost)?;
        }
        if cx.paths[path].is_confirmed() && !cx.paths[path].settings.heartbeats {
            return Ok(());
        }
        // §5.4: an active unconfirmed address is asked once per RTO, which has passed.
        let often = is_asked_often(cx, sender, path);
        let p = &cx.paths[path];
        // §8.3: idle is a path over which nothing that can measure the RTT was sent within the
        // heartbeat period; a heartbeat can, answered or not.
        let last = p.timed.measurable_at().max(lost.map_or(Time::ZERO, |info| info.sent));
        let wait = heartbeat_wait(cx, sender, path);
        let idle = now.since(last);
        if !often && last != Time::ZERO && idle < wait {
            cx.paths[path].heartbeat.plan(Some(now + (wait - idle)));
            self.addresses.ask_nearer(cx, path);
        } else if cx.paths[path].is_confirmed() {
            self.send_heartbeat(cx, sender, path);
        } else {
            // Its turn comes in `verify`.
            cx.paths[path].heartbeat.plan(Some(now));
        }
        Ok(())
    }

    /// Sends a heartbeat; the timer then waits one RTO for the answer.
    pub(super) fn send_heartbeat(&mut self, cx: &mut Common<'_>, sender: &Sender, path: PathId) {
        let now = cx.now;
        let info = HeartbeatInfo { path, sent: now, nonce: cx.rng.next_u64() };
        let mut rto = heartbeat_rto(cx, sender, path);
        if is_asked_often(cx, sender, path) {
            rto = cx.paths[path].asking_wait(now, rto, cx.profile());
        }
        if !cx.paths[path].is_confirmed() {
            self.verification.note(now, cx.paths, path, cx.profile());
        }
        let bytes = Bytes::copy_from_slice(&info.encode());
        let queued = cx.push(path, Control::Heartbeat(bytes, None));
        let heartbeat = &mut cx.paths[path].heartbeat;
        heartbeat.plan(Some(now + rto));
        // One that does not leave is not unanswered.
        if queued {
            heartbeat.on_sent(info);
        }
    }

    //= RFC 9260 8.3-3
    /// §8.3: not acknowledged within one RTO.
    fn on_lost(
        &mut self,
        cx: &mut Common<'_>,
        sender: &Sender,
        path: PathId,
        lost: HeartbeatInfo,
    ) -> Result<(), End> {
        let (now, profile) = (cx.now, cx.profile());
        let p = &mut cx.paths[path];
        let error = p.has_waited(now, lost.sent, profile);
        let path_error = p.is_heartbeat_error(now, lost.sent, profile);
        // RFC 9260 would not have sent this one yet.
        let premature = StandardTimers::count_errors(profile) && is_asked_often(cx, sender, path);
        let p = &mut cx.paths[path];
        let confirmed = p.is_confirmed();
        p.heartbeat.keep_late(lost);
        p.rtt.back_off(profile);
        if error {
            p.back_off_standard(Pace::Error);
        }
        cx.count_failure(path, path_error);
        self.addresses.doubt(cx, path, lost.sent);
        //= RFC 9260 8.1-2
        // §8.1: only heartbeats on the path that carries the data count for the association.
        // §5.4: those to unconfirmed addresses never do.
        // Where none is confirmed, since addresses have changed, these are all that tells of the peer.
        let counts = if cx.outbox.has_way(cx.paths) { confirmed && !premature } else { true };
        if counts && error && path == cx.paths.data_path() {
            cx.errors.on_lost_heartbeat();
            cx.judge_errors()?;
        }
        Ok(())
    }

    /// HEARTBEAT ACK: the nonce must be the one sent to the path that it names (§5.4).
    ///
    /// The path comes back whose address is confirmed by that.
    pub(super) fn on_heartbeat_ack(
        &self,
        cx: &mut Common<'_>,
        sender: &mut Sender,
        info: &[u8],
        local: IpAddr,
    ) -> Option<PathId> {
        let Some(info) = HeartbeatInfo::decode(info) else {
            cx.journal.stats.malformed_chunks += 1;
            return None;
        };
        let path = info.path;
        let p = cx.paths.get(path)?;
        if p.mtu.is_probed_by(info) {
            path_mtu::on_probe_answer(cx, sender, info);
            forgive_errors(cx, sender);
            return None;
        }
        if p.heartbeat.tries_source(info) {
            self.addresses.found(cx, path, local);
            return None;
        }
        //= RFC 9260 8.3-7 8.3-9
        // §8.3: "Whenever a HEARTBEAT ACK chunk arrives"; nor has §5.4 a time limit for the nonce. Where the
        // round trip takes longer than RTO, no answer would ever come in time.
        let p = &mut cx.paths[path];
        let in_time = p.heartbeat.awaits(info);
        if !p.heartbeat.take_answer(info) {
            return None;
        }
        let returns =
            p.reachability.is_silent() && in_time || p.reachability.is_silent_at(info.sent);
        if returns || p.heartbeat.measures_anew(info) {
            p.rtt.start_over(); // It may well be another path than it was.
            p.calm = Default::default();
        }
        let newly_confirmed = p.reachability.confirm();
        //= RFC 9260 8.3-12
        sender.sample_rtt(&mut cx.sending(), path, info.sent);
        let failed = cx.paths[path].state() == PathState::Inactive;
        if cx.paths[path].clear_errors(info.sent) || newly_confirmed {
            cx.path_changed(path);
            //= RFC 8899 3-24
            if newly_confirmed || failed {
                cx.paths.search_mtu(path, cx.now);
            }
        }
        forgive_errors(cx, sender);
        self.addresses.ask_nearer(cx, path);
        if returns {
            let next = send_aside(cx, path);
            cx.paths[path].heartbeat.measure_anew(next);
        }
        // One that was sent since is still to be answered within its RTO.
        if !cx.paths[path].heartbeat.is_awaited() {
            plan_heartbeat(cx, sender, path);
        }
        newly_confirmed.then_some(path)
    }

    //= RFC 9260 5.4-1
    /// Sends the heartbeats to unconfirmed addresses that are due, those first that were sent least.
    ///
    /// RFC 9260 §5.4: "The number of packets containing HEARTBEAT chunks sent at each RTO SHOULD be limited
    /// by the 'HB.Max.Burst' parameter." What a peer lists need not be its own.
    pub(super) fn verify(&mut self, cx: &mut Common<'_>, sender: &Sender) {
        if !cx.state.verifies() {
            return;
        }
        let now = cx.now;
        let due = |p: &&Path| {
            let beat = &p.heartbeat;
            !p.is_confirmed() && !beat.is_awaited() && beat.deadline().is_some_and(|at| at <= now)
        };
        let mut waiting: SmallVec<[PathId; 4]> =
            cx.paths.iter().filter(due).map(|p| p.id).collect();
        waiting.sort_by_key(|path| cx.paths[*path].heartbeat.sent());
        for path in waiting {
            match self.verification.waits(now, &cx.paths[path], cx.profile()) {
                Some(until) => cx.paths[path].heartbeat.plan(Some(until)),
                None => self.send_heartbeat(cx, sender, path),
            }
        }
    }

    //= RFC 9260 5.4-5 5.4-6
    /// T1-cookie has expired more than once: COOKIE ECHO, whose chunks have `echo` bytes, goes to the next address that is not
    /// confirmed, too. It may be that COOKIE ACK was lost, and the address that was called is gone since: then the peer, whose
    /// association is established, uses up Association.Max.Retrans before we would get through.
    ///
    /// RFC 9260 §5.4: "it MUST be bundled with a HEARTBEAT chunk including a nonce, and the size of the SCTP
    /// packet MUST NOT exceed the PMTU".
    pub(super) fn echo_unconfirmed(&mut self, cx: &mut Common<'_>, echo: usize) {
        let len = COOKIE_ECHO_LEN + echo + HEARTBEAT_LEN;
        let unconfirmed = cx.paths.iter().filter(|p| !p.is_confirmed());
        let Some(path) = unconfirmed.min_by_key(|p| p.heartbeat.sent()).map(|p| p.id) else {
            return;
        };
        let cost = len - HEARTBEAT_LEN + self.verification.cost(&cx.paths[path]);
        if len > cx.paths[path].mtu.max_packet() || !self.verification.draw(cost) {
            return;
        }
        if cx.paths[path].heartbeat.sent() > 0 {
            let now = cx.now;
            self.addresses.doubt(cx, path, now);
        }
        let info = HeartbeatInfo { path, sent: cx.now, nonce: cx.rng.next_u64() };
        cx.paths[path].heartbeat.on_sent_aside(info);
        let info = Bytes::copy_from_slice(&info.encode());
        cx.outbox.push_first(path, Control::Heartbeat(info, None));
        cx.outbox.push_first(path, Control::CookieEcho);
    }

    /// The peer has sent this many bytes, IP and UDP headers included.
    #[inline]
    pub(super) fn pay(&mut self, now: Time, paths: &mut Paths, bytes: usize) {
        if self.verification.pay(bytes) {
            for path in paths.iter_mut().filter(|p| !p.is_confirmed()) {
                if !path.heartbeat.is_awaited() {
                    path.heartbeat.plan(Some(now));
                }
            }
        }
    }

    /// Something that was sent on `path` at `sent` was not answered: it may be because of its source.
    pub(super) fn doubt(&self, cx: &mut Common<'_>, path: PathId, sent: Time) {
        self.addresses.doubt(cx, path, sent);
    }

    /// A packet of the peer arrived at `local` on a path.
    #[inline]
    pub(super) fn heard_at(&self, cx: &mut Common<'_>, path: PathId, local: IpAddr) {
        self.addresses.heard_at(cx, path, local);
    }

    /// The addresses of our host have changed.
    pub(super) fn on_host_change(&mut self, cx: &mut Common<'_>, host: &Arc<Host>) {
        self.addresses.on_host_change(cx, host);
    }

    /// A request was not answered on a path: that backs off its RTO, and counts for it and for the association.
    pub(super) fn on_silence(&self, cx: &mut Common<'_>, path: PathId) -> Result<(), End> {
        let error = cx.sending().is_error();
        let profile = cx.profile();
        cx.paths[path].rtt.back_off(profile);
        cx.fail(path, error);
        let now = cx.now;
        self.addresses.doubt(cx, path, now);
        cx.errors.on_lost_request(error);
        cx.judge_errors()
    }

    /// ICMP says that it cannot be reached.
    pub(super) fn on_unreachable(&self, cx: &mut Common<'_>, path: PathId) {
        let profile = cx.profile();
        let p = &mut cx.paths[path];
        let rto = p.error_rto(profile);
        if !cx.state.is_opening() && p.reachability.believes_unreachable(cx.now, rto) {
            cx.fail(path, true);
            let now = cx.now;
            self.addresses.doubt(cx, path, now);
        }
    }
}

//= RFC 9260 8.1-6 8.3-11
/// The peer has answered a heartbeat, or a probe of the path MTU.
///
/// RFC 9260 §8.3: the association error count SHOULD be cleared too; §8.1 allows not to while data is outstanding, so that
/// a path which drops only large packets is noticed. Of heartbeats it counts consecutive ones: those before one
/// that is answered are not.
fn forgive_errors(cx: &mut Common<'_>, sender: &Sender) {
    cx.errors.on_heartbeat_answered();
    if sender.data().outstanding() == 0 {
        cx.errors.clear();
    }
}

/// Sends a heartbeat for whose answer nobody waits.
fn send_aside(cx: &mut Common<'_>, path: PathId) -> Option<HeartbeatInfo> {
    let info = HeartbeatInfo { path, sent: cx.now, nonce: cx.rng.next_u64() };
    let bytes = Bytes::copy_from_slice(&info.encode());
    let queued = cx.push(path, Control::Heartbeat(bytes, None));
    queued.then(|| cx.paths[path].heartbeat.on_sent_aside(info))?;
    Some(info)
}

/// The idle period of a path begins now.
fn plan_heartbeat(cx: &mut Common<'_>, sender: &Sender, path: PathId) {
    let at = cx.now + heartbeat_wait(cx, sender, path);
    let p = &mut cx.paths[path];
    p.heartbeat.plan(p.settings.heartbeats.then_some(at));
}

/// A path that is to be found again quickly is asked at the pace of the mechanisms, any other one
/// at that of RFC 9260.
fn heartbeat_rto(cx: &Common<'_>, sender: &Sender, path: PathId) -> Duration {
    let p = &cx.paths[path];
    if is_asked_often(cx, sender, path) { p.rto() } else { p.error_rto(cx.profile()) }
}

fn heartbeat_wait(cx: &mut Common<'_>, sender: &Sender, path: PathId) -> Duration {
    let often = is_asked_often(cx, sender, path) || has_potentially_failed(cx.paths, path);
    let rto = heartbeat_rto(cx, sender, path);
    let interval = cx.paths[path].settings.heartbeat_interval;
    heartbeat_interval(interval, rto, often, cx.rng)
}

/// RFC 7829 §3.2 rule 6: it is asked once per RTO, rather than per HB.interval; where data is in flight, as
/// soon as it no longer is. With one path there is no such state.
fn has_potentially_failed(paths: &Paths, path: PathId) -> bool {
    paths.len() > 1 && paths[path].state() == PathState::PotentiallyFailed
}

//= RFC 7829 3.2-11 3.2-12
/// §5.4: an unconfirmed address is asked once per RTO. RFC 7829 §3.2 rule 5: so is one that has
/// potentially failed; rule 6: unless data is sent there, which tells as much.
fn is_asked_often(cx: &Common<'_>, sender: &Sender, path: PathId) -> bool {
    match cx.paths[path].state() {
        PathState::Unconfirmed => true,
        PathState::PotentiallyFailed => {
            has_potentially_failed(cx.paths, path) && sender.data().flight(path) == 0
        }
        PathState::Active => cx.paths[path].reachability.is_silent(),
        PathState::Inactive => false,
    }
}
