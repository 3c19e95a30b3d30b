//! Blocking Estimation over all paths: [`blest`](super::blest) asks what the fastest path would send while a packet
//! is under way on a slow one. Here all the others do, at the rates that they have.
//!
//! Idea: the path with the shortest RTT need not be the one that carries most. Beside a path of 0.5 Mbit/s and 5 ms one
//! of 40 Mbit/s and 30 ms is the slow one for BLEST, and neither is ever left out, although what stands in the narrow
//! one's queue blocks the wide one.
//!
//! For an open path `p`, the fastest first, while `q` are the other ones:
//! ```text
//! T_p = max(RTT_p, (flight_p + mss) / rate_p)        until what is sent now is acknowledged
//! X   = T_p sum(rate_q)                               what all others send meanwhile
//! lambda X > window - (flight_p + mss)  =>  not on p, unless it carries most
//! ```
//! `lambda` is corrected as in BLEST, once in about a window of all paths.

use super::{PathScheduler, PathView, View};
use crate::path::PathId;

const STEP: f64 = 0.05;
/// Bounds of the correction: a bad phase is forgotten, a good one makes nobody careless.
const LAMBDA: (f64, f64) = (1.0, 4.0);

#[derive(Debug)]
pub(crate) struct BlestAll {
    lambda: f64,
    /// `blocked` of the view when lambda was last corrected.
    blocked: u64,
    /// Packets until it is corrected again.
    countdown: usize,
}

impl Default for BlestAll {
    fn default() -> Self {
        BlestAll { lambda: 1.0, blocked: 0, countdown: 0 }
    }
}

impl BlestAll {
    fn correct(&mut self, view: &View<'_>) {
        if self.countdown > 0 {
            self.countdown -= 1;
            return;
        }
        let cwnd: usize = view.paths.iter().map(|p| p.cwnd).fold(0, usize::saturating_add);
        self.countdown = (cwnd / view.mss.max(1)).min(10_000);
        let step = if view.blocked > self.blocked { STEP } else { -STEP };
        self.lambda = (self.lambda + step).clamp(LAMBDA.0, LAMBDA.1);
        self.blocked = view.blocked;
    }

    /// Whether a packet on `p` is acknowledged before the others have filled the window.
    fn fits(&self, view: &View<'_>, p: &PathView) -> bool {
        let others: f64 = view.paths.iter().filter(|q| q.id != p.id).map(|q| q.rate).sum();
        let behind = (p.flight + view.mss) as f64;
        let takes = p.rtt().max(behind / p.rate.max(1.0));
        self.lambda * others * takes <= view.window as f64 - behind
    }
}

impl PathScheduler for BlestAll {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        self.correct(view);
        let most = view.paths.iter().max_by(|a, b| a.rate.total_cmp(&b.rate))?.id;
        view.fastest(|p| p.open && (p.id == most || self.fits(view, p))).map(|p| p.id)
    }
}
