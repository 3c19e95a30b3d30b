//! The MTU of each path: what ICMP says (RFC 9260 §7.3), and what probes find (RFC 8899).

use std::time::Duration;

use bytes::Bytes;

use super::{Association, Control};
use crate::path::{HeartbeatInfo, PathId, PathState};
use crate::time::Time;

/// A path that cannot be reached is looked at again after this time.
const RECESS: Duration = Duration::from_secs(30);

impl Association {
    //= RFC 9260 7.3-1 7.3-2
    pub(super) fn lower_path_mtu(&mut self, now: Time, path: PathId, mtu: usize) {
        let Some(room) = self.paths[path].lower_mtu(now, mtu) else { return };
        // What cannot have arrived leaves again at once; RFC 8201 §5.4: that is no congestion.
        let (sender, mut cx) = self.sending(now);
        sender.lose_larger(&mut cx, path, room);
        self.after_giving_up(now);
    }

    /// What is set for the MTU of the path has changed.
    pub(super) fn configure_mtu(&mut self, now: Time, path: PathId) {
        let reached = self.is_monitored() && self.paths[path].is_confirmed();
        let p = &mut self.paths[path];
        p.configure_mtu(now);
        if reached {
            p.mtu.begin_search(now);
        }
    }

    /// A larger path MTU is to be tried, or the next probe is due.
    pub(super) fn on_mtu_timer(&mut self, now: Time, path: PathId) {
        let monitored = self.is_monitored();
        let p = &mut self.paths[path];
        if !p.mtu.is_searched() {
            p.raise_mtu();
        } else if !monitored {
            p.mtu.suspend_search(None);
        } else if p.state() != PathState::Active {
            p.mtu.suspend_search(Some(now + RECESS));
        } else if let Some(size) = p.search_mtu(now) {
            self.send_probe(now, path, size);
        }
    }

    //= RFC 8899 3-2 3-5 3-16 4.1-2 6.2-1 6.2-2 6.2.2-1
    /// A HEARTBEAT chunk in an IP packet of just this size.
    fn send_probe(&mut self, now: Time, path: PathId, size: usize) {
        let info = HeartbeatInfo { path, sent: now, nonce: self.rng.next_u64() };
        let rto = self.paths[path].error_rto(&self.config.profile);
        let times = [self.paths[path].rtt.srtt(), Some(rto)];
        let len = self.paths[path].packet_in(size);
        let bytes = Bytes::copy_from_slice(&info.encode());
        let queued = self.push_control(path, Control::Probe(bytes, len));
        let p = &mut self.paths[path];
        p.mtu.on_probe(now, info, size, times);
        p.counters.mtu_probes_sent += u64::from(queued);
    }

    //= RFC 8899 3-4 3-13
    /// The answer to a probe. RFC 8899 §6.2.1.2: "A successful probe updates the association and path counters, but an
    /// unsuccessful probe is discounted". Nor is its time taken: large packets take longer.
    pub(super) fn on_probe_answer(&mut self, now: Time, info: HeartbeatInfo) {
        let path = info.path;
        self.paths[path].on_mtu_answer(now, info);
        if self.paths[path].clear_errors(info.sent) {
            self.path_changed(path);
        }
        self.forgive_errors();
    }

    //= RFC 8899 4.3-1
    /// T3-rtx has expired. RFC 8899 §4.3: "black hole detection" of a protocol that acknowledges: nothing arrives any more, or
    /// what is larger than the base does not, again and again.
    pub(super) fn suspect_black_hole(&mut self, now: Time, path: PathId) {
        let p = &self.paths[path];
        let Some(room) = p.base_room() else { return };
        if p.reachability.failures() >= 2 || self.sender.repeats_larger(room) {
            self.paths[path].on_black_hole(now);
        }
    }
}
