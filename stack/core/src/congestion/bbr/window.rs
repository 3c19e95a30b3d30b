//! What BBR makes of its model: how much is in flight (draft-ietf-ccwg-bbr-06 §5.6.4).

use super::{Bbr, LEAST_CWND, State, model};
use crate::congestion::CongestionControl;

impl Bbr {
    pub(super) fn mss(&self) -> f64 {
        self.base.pmdcs() as f64
    }

    pub(super) fn first_window(&self) -> f64 {
        self.base.initial_window() as f64
    }

    pub(super) fn least_cwnd(&self) -> f64 {
        LEAST_CWND * self.mss()
    }

    /// BDPMultiple.
    pub(super) fn bdp(&self, gain: f64) -> f64 {
        let rtt = self.min_rtt.get();
        rtt.map_or(self.first_window(), |rtt| gain * model::bdp(self.model.bw, rtt))
    }

    /// TargetInflight.
    pub(super) fn target_inflight(&self) -> f64 {
        self.bdp(1.0).min(self.cwnd)
    }

    /// QuantizationBudget.
    pub(super) fn quantized(&self, inflight: f64) -> f64 {
        // One millisecond's worth leaves in a burst.
        let quantum = (self.pacing_rate * 1e-3).min(65_536.0).max(2.0 * self.mss());
        let more = if self.state == State::Up { 2.0 * self.mss() } else { 0.0 };
        inflight.max(quantum).max(self.least_cwnd()) + more
    }

    /// Inflight(1.0) at this bandwidth.
    pub(super) fn inflight(&self, bw: f64) -> f64 {
        let rtt = self.min_rtt.get();
        self.quantized(rtt.map_or(self.first_window(), |rtt| model::bdp(bw, rtt)))
    }

    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.used.now || self.used.before
    }

    pub(super) fn save_cwnd(&mut self) {
        let modulated = self.losses.is_recovering() || self.state == State::ProbeRtt;
        self.prior_cwnd = if modulated { self.prior_cwnd.max(self.cwnd) } else { self.cwnd };
    }

    pub(super) fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }
}
