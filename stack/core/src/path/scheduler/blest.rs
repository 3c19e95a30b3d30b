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

use super::{PathScheduler, View};
use crate::path::PathId;

const STEP: f64 = 0.05;
/// Bounds of the correction: a bad phase is forgotten, a good one makes nobody careless.
const LAMBDA: (f64, f64) = (1.0, 4.0);

#[derive(Debug)]
pub(crate) struct Blest {
    lambda: f64,
    /// `blocked` of the view when lambda was last corrected.
    blocked: u64,
    /// Packets until it is corrected again: about one window of the fast path.
    countdown: usize,
}

impl Default for Blest {
    fn default() -> Self {
        Blest { lambda: 1.0, blocked: 0, countdown: 0 }
    }
}

impl Blest {
    fn correct(&mut self, view: &View<'_>, fast_cwnd: usize) {
        if self.countdown > 0 {
            self.countdown -= 1;
            return;
        }
        self.countdown = fast_cwnd / view.mss.max(1);
        let step = if view.blocked > self.blocked { STEP } else { -STEP };
        self.lambda = (self.lambda + step).clamp(LAMBDA.0, LAMBDA.1);
        self.blocked = view.blocked;
    }
}

impl PathScheduler for Blest {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let fast = view.fastest(|_| true)?;
        self.correct(view, fast.cwnd);
        let slow = view.fastest(|p| p.open)?;
        if fast.open {
            return Some(fast.id);
        }
        let (mss, ratio) = (view.mss as f64, slow.rtt() / fast.rtt());
        let sends = mss * (fast.cwnd as f64 / mss + (ratio - 1.0) / 2.0) * ratio;
        let room = view.window as f64 - (slow.flight + view.mss) as f64;
        (self.lambda * sends <= room).then_some(slow.id)
    }
}
