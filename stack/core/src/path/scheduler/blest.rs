//! Blocking Estimation (Ferlin, Alay, Mehani, Boreli: *BLEST: Blocking Estimation-based MPTCP
//! Scheduler for Heterogeneous Networks*, IFIP Networking 2016, §III).
//!
//! Idea: while a packet is under way on a slow path the fast one sends on, and all of it must fit
//! the send window. If it would not, the slow path is not used.
//!
//! With `f` the fastest path, `s` the fastest open one:
//! ```text
//! r = RTT_s / RTT_f
//! X = mss (cwnd_f / mss + (r - 1) / 2) r        what f sends during one RTT_s, growing
//! lambda X > window - (flight_s + mss)  =>  wait for f
//! ```
//! `lambda`, 1 at first, grows by 0.05 when the window blocked f although X had fitted, and shrinks
//! by as much in a round without.
//!
//! Difference: it never falls below 1. The paper lets it, and then the slow path is used until it
//! blocks, again and again, which in small buffers costs more than it brings.

use super::correction::Correction;
use super::{PathScheduler, View};
use crate::ids::PathId;

#[derive(Debug, Default)]
pub(crate) struct Blest {
    correction: Correction,
}

impl PathScheduler for Blest {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let fast = view.fastest(|_| true)?;
        // Once in about a window of the fast path.
        let lambda = self.correction.factor(view, fast.cwnd);
        let slow = view.fastest(|p| p.open)?;
        if fast.open {
            return Some(fast.id);
        }
        let (mss, ratio) = (view.mss as f64, slow.rtt() / fast.rtt());
        let sends = mss * (fast.cwnd as f64 / mss + (ratio - 1.0) / 2.0) * ratio;
        let room = view.window as f64 - (slow.flight + view.mss) as f64;
        (lambda * sends <= room).then_some(slow.id)
    }
}
