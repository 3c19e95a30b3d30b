//! Paths that stop answering ([`silent_path`](crate::recovery::silent_path)).

use super::Association;
use crate::event::LossCause;
use crate::path::PathId;
use crate::recovery::silent_path::PathFacts;
use crate::time::Time;

impl Association {
    fn watches_silence(&self) -> bool {
        // §8.3: no HEARTBEAT before the association is established, where T1-cookie is in charge. A peer
        // that keeps its window closed answers, and nothing can leave over another path.
        self.may_send_data()
            && self.is_concurrent()
            && self.profile().multipath.silent_path
            && !self.sender.is_window_closed()
    }

    fn silence_facts(&self, path: PathId) -> PathFacts {
        let (p, flight) = (&self.paths[path], self.sender.board.flight(path));
        PathFacts {
            srtt: p.rtt.srtt(),
            rttvar: p.rtt.rttvar(),
            in_flight: flight > 0,
            one_packet: flight <= p.mtu.max_packet(),
            answered: p.reachability.answered(),
        }
    }

    fn silence_deadline_of(&self, path: PathId) -> Option<Time> {
        let delay = self.profile().tail_loss_probe.max_sack_delay();
        // Only its HEARTBEAT can bring it back.
        let p = &self.paths[path];
        if p.reachability.is_silent() || !p.settings.heartbeats {
            None
        } else {
            self.silence_facts(path).deadline(delay)
        }
    }

    /// When the next path will have been silent for too long.
    pub(super) fn silence_deadline(&self) -> Option<Time> {
        if !self.watches_silence() {
            return None;
        }
        self.paths.iter().filter_map(|p| self.silence_deadline_of(p.id)).min()
    }

    /// Takes what is in flight off the paths that have been silent for too long.
    pub(super) fn leave_silent_paths(&mut self, now: Time) {
        for i in 0..self.paths.len() {
            let path = PathId(i as u8);
            if self.silence_deadline_of(path).is_none_or(|at| at > now) {
                continue;
            }
            let since = self.paths[path].reachability.answered();
            let vouches = |id: PathId| {
                id != path && self.paths[id].preferred() && self.silence_facts(id).vouches(since)
            };
            let alive = self.paths.iter().any(|p| vouches(p.id));
            if alive {
                self.leave_silent_path(now, path);
            } else {
                // Looked at again if it stays silent: a peer that stops altogether is for T3-rtx.
                self.paths[path].reachability.owes_from(now);
            }
        }
    }

    fn leave_silent_path(&mut self, now: Time, path: PathId) {
        self.paths[path].reachability.fall_silent();
        for seq in self.sender.in_flight(path) {
            self.lose(now, seq, LossCause::Rescheduled);
        }
        if self.paths[path].heartbeat.outstanding.is_none() {
            self.send_heartbeat(now, path);
        }
        self.opportunity();
    }
}
