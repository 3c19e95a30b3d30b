//! What all coupled controllers have in common: RFC 9260 §7.2 with other steps.
//!
//! When the window may grow, what counts as acknowledged, timeouts, idle paths and the first
//! window are those of `rfc9260.rs`; a [`Coupling`] says by how much it grows and how far it falls.
//! Beside other coupled paths, a window that is exactly ssthresh is in congestion avoidance.

use super::rfc9260::{Rfc9260, Steps};
use super::{AckFacts, CongestionControl, Coupled};

/// What couples the window of a path to those of the others. With a single path each answer is
/// that of RFC 9260.
pub(crate) trait Coupling: Default {
    /// Growth in slow start, as a multiple of that of RFC 9260 §7.2.1.
    fn slow_start(&self, _: &Coupled<'_>) -> f64 {
        1.0
    }

    /// Growth in congestion avoidance: PMDCS per window of acknowledged data.
    fn avoidance(&self, paths: &Coupled<'_>) -> f64;

    /// ssthresh after a loss, in bytes: half, and the floor of RFC 9260 §7.2.3 divided among the
    /// paths, or n of them would hold n times what a single flow does where little is left.
    fn after_loss(&self, paths: &Coupled<'_>, limits: &Limits) -> usize {
        limits.half.max(limits.floor / paths.all().count())
    }

    /// This many bytes were acknowledged.
    fn on_acked(&mut self, _bytes: usize) {}

    /// A loss, or T3-rtx expired for the first time in a row.
    fn on_lost(&mut self) {}

    /// As [`CongestionControl::between_losses`].
    fn between_losses(&self) -> usize {
        0
    }
}

/// What RFC 9260 says of a loss, in bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Half of the window.
    pub(super) half: usize,
    /// The lowest ssthresh.
    pub(super) floor: usize,
}

impl Limits {
    /// Its new ssthresh.
    pub(super) fn halved(&self) -> usize {
        self.half.max(self.floor)
    }
}

/// A controller of RFC 9260 that is coupled to those of the other paths.
#[derive(Debug)]
pub(crate) struct CoupledControl<C> {
    base: Rfc9260,
    coupling: C,
}

impl<C: Coupling> CoupledControl<C> {
    pub(super) fn new(base: Rfc9260) -> CoupledControl<C> {
        CoupledControl { base, coupling: C::default() }
    }

    fn after_loss(&self, paths: &Coupled<'_>) -> usize {
        let base = &self.base;
        let limits = Limits { half: base.cwnd() / 2, floor: base.floor() };
        self.coupling.after_loss(paths, &limits).max(base.pmdcs())
    }
}

impl<C: Coupling> CongestionControl for CoupledControl<C> {
    fn cwnd(&self) -> usize {
        self.base.cwnd()
    }

    fn ssthresh(&self) -> usize {
        self.base.ssthresh()
    }

    fn on_ack(&mut self, facts: &AckFacts<'_>) {
        self.coupling.on_acked(facts.bytes);
        let paths = &facts.coupled;
        let steps = Steps {
            slow_start: self.coupling.slow_start(paths),
            avoidance: self.coupling.avoidance(paths),
            // RFC 5681 §3.1: "When cwnd and ssthresh are equal, the sender may use either slow
            // start or congestion avoidance." With several paths the latter: the former, of
            // RFC 9260 §7.2.1, would add a whole packet after every loss that nothing couples.
            slow_at_threshold: paths.others.is_empty(),
        };
        self.base.grow(facts, &steps);
    }

    fn on_loss(&mut self, paths: &Coupled<'_>) {
        let ssthresh = self.after_loss(paths);
        self.coupling.on_lost();
        self.base.reduce(ssthresh);
    }

    fn on_timeout(&mut self, again: bool, paths: &Coupled<'_>) {
        let ssthresh = self.after_loss(paths);
        if !again {
            self.coupling.on_lost();
        }
        self.base.restart(again, ssthresh);
    }

    fn on_idle(&mut self) {
        self.base.on_idle();
    }

    fn set_window(&mut self, cwnd: usize, ssthresh: usize) {
        self.base.set_window(cwnd, ssthresh);
    }

    fn set_pmdcs(&mut self, pmdcs: usize) {
        self.base.set_pmdcs(pmdcs);
    }

    fn initial_window(&self) -> usize {
        self.base.initial_window()
    }

    fn is_coupled(&self) -> bool {
        true
    }

    fn between_losses(&self) -> usize {
        self.coupling.between_losses()
    }
}
