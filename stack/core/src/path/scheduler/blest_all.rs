//! Blocking Estimation (Ferlin et al. 2016) over all paths: [`blest`](super::blest) asks what the fastest path would send while a packet
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

use super::correction::Correction;
use super::{PathScheduler, PathView, View};
use crate::ids::PathId;

/// Packets between two corrections at most: windows may be unlimited.
const MOST: usize = 10_000;

#[derive(Debug, Default)]
pub(crate) struct BlestAll {
    correction: Correction,
}

/// Whether a packet on `p` is acknowledged before the others have filled the window.
fn fits(lambda: f64, view: &View<'_>, p: &PathView) -> bool {
    let others: f64 = view.paths.iter().filter(|q| q.id != p.id).map(|q| q.rate).sum();
    let behind = (p.flight + view.mss) as f64;
    let takes = p.rtt().max(behind / p.rate.max(1.0));
    lambda * others * takes <= view.window as f64 - behind
}

impl PathScheduler for BlestAll {
    fn choose(&mut self, view: &View<'_>) -> Option<PathId> {
        let windows = view.paths.iter().map(|p| p.cwnd).fold(0, usize::saturating_add);
        let lambda = self.correction.factor(view, windows.min(MOST * view.mss));
        let most = view.paths.iter().max_by(|a, b| a.rate.total_cmp(&b.rate))?.id;
        view.fastest(|p| p.open && (p.id == most || fits(lambda, view, p))).map(|p| p.id)
    }
}
