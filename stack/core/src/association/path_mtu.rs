//! The MTU of each path: what ICMP says (RFC 9260 §7.3), and what probes find (RFC 8899).

use std::time::Duration;

use bytes::Bytes;

use super::common::Common;
use super::outbox::Control;
use crate::event::TraceEvent;
use crate::ids::{PathId, PathState};
use crate::journal::Journal;
use crate::path::{HeartbeatInfo, Paths};
use crate::send::Sender;
use crate::time::Time;

/// A path that cannot be reached is looked at again after this time.
const RECESS: Duration = Duration::from_secs(30);

//= RFC 9260 7.3-1 7.3-2
/// ICMP says that no packet of more than `mtu` bytes gets through. `false` if that is no news.
pub(super) fn lower(cx: &mut Common<'_>, sender: &mut Sender, path: PathId, mtu: usize) -> bool {
    let Some(room) = cx.paths[path].lower_mtu(cx.now, mtu) else { return false };
    // What cannot have arrived leaves again at once; RFC 8201 §5.4: that is no congestion.
    sender.lose_larger(&mut cx.sending(), path, room, Duration::ZERO);
    true
}

/// What is set for the MTU of the path has changed.
pub(super) fn configure(cx: &mut Common<'_>, path: PathId) {
    cx.paths[path].configure_mtu(cx.now);
    if cx.state.is_monitored() {
        cx.paths.search_mtu(path, cx.now);
    }
}

/// Traces what has changed since it was asked last.
pub(super) fn trace_changes(journal: &mut Journal, paths: &mut Paths, now: Time) {
    for p in paths.iter_mut() {
        let Some((before, told, cause)) = p.mtu.news() else { continue };
        let (path, old, new) = (p.id, before.bytes, told.bytes);
        if old != new {
            journal.trace(now, || TraceEvent::Mtu { path, old, new, cause });
        }
        if before.state != told.state {
            let (state, mtu) = (told.state, new);
            journal.trace(now, || TraceEvent::MtuSearch { path, state, mtu });
        }
    }
}

/// A larger path MTU is to be tried, or the next probe is due.
pub(super) fn on_timer(cx: &mut Common<'_>, sender: &mut Sender, path: PathId) {
    let p = &mut cx.paths[path];
    let before = p.mtu.bytes();
    if !p.mtu.is_searched() {
        p.raise_mtu();
    } else if !cx.state.is_monitored() {
        p.mtu.suspend_search(None);
    } else if p.state() == PathState::Inactive {
        p.mtu.suspend_search(Some(cx.now + RECESS));
    } else if let Some(size) = p.search_mtu(cx.now) {
        send_mtu_probe(cx, path, size);
    }
    // What is not answered leaves in packets that may get through: T3-rtx may have been doubled meanwhile.
    let p = &cx.paths[path];
    if p.mtu.is_searched() && p.mtu.bytes() < before {
        let (room, round_trip) = (p.pmdcs(), p.round_trip(cx.now).unwrap_or_default());
        sender.lose_larger(&mut cx.sending(), path, room, round_trip);
    }
}

//= RFC 8899 3-2 3-5 3-16 4.1-2 6.2-1 6.2-2 6.2.2-1
/// A HEARTBEAT chunk in an IP packet of just this size.
fn send_mtu_probe(cx: &mut Common<'_>, path: PathId, size: usize) {
    let info = HeartbeatInfo { path, sent: cx.now, nonce: cx.rng.next_u64() };
    // Doubled timers are for the data.
    let rto = cx.paths[path].rtt.fresh();
    let times = [cx.paths[path].rtt.srtt(), Some(rto)];
    let (len, padding) = (cx.paths[path].packet_in(size), cx.paths[path].mtu.padding());
    let bytes = Bytes::copy_from_slice(&info.encode());
    let queued = cx.push(path, Control::MtuProbe(bytes, len, padding));
    let p = &mut cx.paths[path];
    if queued {
        p.mtu.on_probe(cx.now, info, size, times);
        p.counters.mtu_probes_sent += 1;
    } else {
        p.mtu.postpone_probe(cx.now, rto);
    }
}

//= RFC 8899 3-4 3-13
/// The answer to a probe. RFC 8899 §6.2.1.2: "A successful probe updates the association and path counters, but an
/// unsuccessful probe is discounted". Nor is its time taken: large packets take longer.
pub(super) fn on_probe_answer(cx: &mut Common<'_>, sender: &mut Sender, info: HeartbeatInfo) {
    let path = info.path;
    let was_doubtful = cx.paths[path].mtu.is_doubtful();
    cx.paths[path].on_mtu_answer(cx.now, info);
    // The path lives, and takes what was doubted: nor does the data wait for a doubled timer.
    if was_doubtful && !cx.paths[path].mtu.is_doubtful() {
        sender.resend_overdue(&mut cx.sending(), Some(path));
    }
    if cx.paths[path].clear_errors(info.sent) {
        cx.path_changed(path);
    }
}

//= RFC 8899 4.3-1
/// T3-rtx has expired. RFC 8899 §4.3: "black hole detection" of a protocol that acknowledges: nothing arrives any more. Of what is lost
/// again and again the sender thinks itself.
pub(super) fn suspect_black_hole(cx: &mut Common<'_>, path: PathId) {
    let p = &mut cx.paths[path];
    if p.reachability.failures() >= 2 {
        p.doubt_size(cx.now);
    }
}
