//! Earliest Completion First (Lim, Nahum, Towsley, Gibbens: *ECF: An MPTCP Path Scheduler to Manage
//! Heterogeneous Paths*, CoNEXT 2017, Algorithm 1).
//!
//! Idea: when the fastest path is full, what waits might be done sooner by waiting for it than by
//! using a slower one now.
//!
//! With `f` the fastest path, `s` the fastest open one, `k` the bytes that wait and
//! `delta = max(RTTVAR_f, RTTVAR_s)`:
//! ```text
//! n = 1 + k / cwnd_f
//! n RTT_f < (1 + waiting beta) (RTT_s + delta)  and  k / cwnd_s RTT_s >= 2 RTT_f + delta
//!     => wait, waiting = 1
//! n RTT_f >= ...  => waiting = 0
//! otherwise use s
//! ```

use super::{PathScheduler, View};
use crate::ids::PathId;

/// Hysteresis of waiting (§4.1 of the paper).
const BETA: f64 = 0.25;

#[derive(Debug, Default)]
pub(crate) struct Ecf {
    waiting: bool,
}

impl PathScheduler for Ecf {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let fast = view.fastest(|_| true)?;
        let slow = view.fastest(|p| p.open)?;
        if fast.open {
            return Some(fast.id);
        }
        let delta = fast.rttvar.max(slow.rttvar).as_secs_f64();
        let waiting_bytes = view.queued as f64;
        let rounds = 1.0 + waiting_bytes / fast.cwnd.max(1) as f64;
        let margin = if self.waiting { 1.0 + BETA } else { 1.0 };
        if rounds * fast.rtt() < margin * (slow.rtt() + delta) {
            if waiting_bytes / slow.cwnd.max(1) as f64 * slow.rtt() >= 2.0 * fast.rtt() + delta {
                self.waiting = true;
                return None;
            }
        } else {
            self.waiting = false;
        }
        Some(slow.id)
    }
}
