//! Opportunistic Linked Increases (Khalili, Gast, Popovic, Le Boudec, "MPTCP is not
//! Pareto-Optimal", CoNEXT 2012; draft-khalili-mptcp-congestion-control-05).
//!
//! Idea: growth by Kelly and Voice's optimal rule pools all resources; a second term moves windows
//! towards paths that lose little but whose windows are small, so that they are tried at all and
//! the first term does not flap between them.
//!
//! Bytes and seconds, for path P of n paths i:
//! - congestion avoidance, each SACK:
//!   `cwnd_P += ((cwnd_P / RTT_P²) / (Σ cwnd_i / RTT_i)² + a_P / cwnd_P) * acked * PMDCS`
//! - `l_i`: bytes acknowledged since the last loss, or between the last two if those were more
//! - best: the paths of the largest `l_i / RTT_i²`, which is the square of the rate that TCP would
//!   have; M: those of the largest cwnd; collected: the best that are not in M
//! - `a_P`: `1 / (n |collected|)` for those collected, `-1 / (n |M|)` in M if there are any
//!   collected, else 0
//!
//! Over one window of acknowledged data, after which RFC 9260 §7.2.2 steps, that is
//! `cwnd_P += PMDCS * ((cwnd_P / RTT_P)² / (Σ cwnd_i / RTT_i)² + a_P)`, which may be negative.
//! The lowest ssthresh is one PMDCS when there are several paths, as in the draft.

use super::Coupled;
use super::CoupledPath;
use super::coupled::{Coupling, Limits};

#[derive(Debug, Default)]
pub(crate) struct Olia {
    /// Bytes acknowledged since the last loss.
    since_loss: usize,
    /// And between the two before.
    before: usize,
}

/// `a_P`.
fn shift(paths: &Coupled<'_>) -> f64 {
    let quality = |p: &CoupledPath| p.between_losses / (p.rtt * p.rtt);
    let (best, widest) = (paths.max(quality), paths.max(|p| p.cwnd));
    let is_widest = |p: &CoupledPath| p.cwnd >= widest;
    let is_collected = |p: &CoupledPath| !is_widest(p) && quality(p) >= best;
    let collected = paths.all().filter(|p| is_collected(p)).count();
    if collected == 0 {
        return 0.0;
    }
    let paths_used = paths.all().count() as f64;
    if is_collected(&paths.own) {
        1.0 / (paths_used * collected as f64)
    } else if is_widest(&paths.own) {
        -1.0 / (paths_used * paths.all().filter(|p| is_widest(p)).count() as f64)
    } else {
        0.0
    }
}

impl Coupling for Olia {
    fn avoidance(&self, paths: &Coupled<'_>) -> f64 {
        let part = paths.own.rate() / paths.sum(|p| p.rate()).max(f64::MIN_POSITIVE);
        part * part + shift(paths)
    }

    fn after_loss(&self, paths: &Coupled<'_>, limits: &Limits) -> usize {
        if paths.others.is_empty() { limits.halved() } else { (paths.own.cwnd / 2.0) as usize }
    }

    fn on_acked(&mut self, bytes: usize) {
        self.since_loss = self.since_loss.saturating_add(bytes);
    }

    fn on_lost(&mut self) {
        self.before = std::mem::take(&mut self.since_loss);
    }

    fn between_losses(&self) -> usize {
        self.since_loss.max(self.before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::{LIMITS, close, path};

    fn lossless(cwnd: f64, between_losses: f64) -> CoupledPath {
        CoupledPath { between_losses, ..path(cwnd, 1e6, 0.1) }
    }

    #[test]
    fn equal_paths_grow_by_a_quarter_each() {
        let paths = Coupled { own: lossless(20_000.0, 9e4), others: &[lossless(20_000.0, 9e4)] };
        assert!(close(Olia::default().avoidance(&paths), 0.25));
    }

    #[test]
    fn windows_move_to_the_path_that_loses_less() {
        // The narrow path is the best: collected = {it}, M = {the other}, n = 2.
        let (narrow, wide) = (lossless(10_000.0, 9e4), lossless(30_000.0, 2e4));
        let paths = Coupled { own: narrow, others: &[wide] };
        assert!(close(Olia::default().avoidance(&paths), 1.0 / 16.0 + 0.5));
        let paths = Coupled { own: wide, others: &[narrow] };
        assert!(close(Olia::default().avoidance(&paths), 9.0 / 16.0 - 0.5));
        // A third path that is neither the best nor the widest is left alone.
        let paths = Coupled { own: lossless(20_000.0, 1e4), others: &[narrow, wide] };
        assert!(close(Olia::default().avoidance(&paths), 1.0 / 9.0));
    }

    #[test]
    fn the_best_is_the_one_where_tcp_would_be_fastest() {
        // Twice the bytes between losses, but twice the RTT: a quarter of 2.
        let slow = CoupledPath { rtt: 0.2, ..lossless(10_000.0, 4e4) };
        let paths = Coupled { own: slow, others: &[lossless(30_000.0, 2e4)] };
        assert_eq!(shift(&paths), 0.0);
    }

    #[test]
    fn counts_bytes_between_losses() {
        let mut olia = Olia::default();
        olia.on_acked(5000);
        assert_eq!(olia.between_losses(), 5000);
        olia.on_lost();
        olia.on_acked(3000);
        assert_eq!(olia.between_losses(), 5000);
        olia.on_acked(3000);
        assert_eq!(olia.between_losses(), 6000);
        olia.on_lost();
        olia.on_lost();
        assert_eq!(olia.between_losses(), 0);
    }

    #[test]
    fn halves_to_less_than_four_packets_when_there_are_several_paths() {
        let own = path(5000.0, 1e6, 0.1);
        let olia = Olia::default();
        assert_eq!(olia.after_loss(&Coupled { own, others: &[own] }, &LIMITS), 2500);
        assert_eq!(olia.after_loss(&Coupled { own, others: &[] }, &LIMITS), LIMITS.halved());
    }
}
