//! CUBIC (RFC 9438).
//!
//! Idea: after a loss the window follows a cubic function of time, which rises steeply, is flat near the window of that
//! loss, and rises steeply again in search of more. As it is a function of time and not of round trips, a long path
//! is filled as soon as a short one; where Reno would take more than that, CUBIC takes what Reno would.
//!
//! Seconds and bytes, with S = PMDCS, C = 0.4 per cubed second, beta = 0.7:
//! ```text
//! W_cubic(t) = C S (t - K)^3 + W_max          t: in congestion avoidance          (1)
//! K = cbrt((W_max - cwnd_epoch) / (C S))                                          (2)
//! W_est += alpha S acked / cwnd                                                   (4)
//!   alpha = 3 (1 - beta) / (1 + beta) = 9/17 until W_est >= cwnd_prior, 1 afterwards
//! target = min(max(W_cubic(t + SRTT), cwnd), 1.5 cwnd)
//! W_cubic(t) < W_est:    cwnd = max(cwnd, W_est)
//! otherwise:             cwnd += (target - cwnd) acked / cwnd
//! loss:      W_max = cwnd (1 + beta) / 2 if cwnd < W_max, else cwnd               fast convergence, §4.7
//!            cwnd_prior = cwnd, ssthresh = max(beta cwnd, floor), cwnd = ssthresh
//! timeout:   the same ssthresh, cwnd = S; W_max = cwnd_prior = cwnd_epoch, K = 0  (§4.8)
//! spurious:  the curve from before goes on (§4.9)
//! ```
//! t stands still while the window is not used or a recovery goes on (§5.8: neither counts). Slow start below ssthresh,
//! idle paths and the first window are those of `rfc9260.rs`; a sender that leaves slow start without a loss has K = 0
//! and W_max = cwnd (§4.10).
//!
//! Differences: beta cwnd and not beta FlightSize, which is the same as no window grows here that is not used (§4.6);
//! the floor of ssthresh is that of the profile, 4 PMDCS in RFC 9260 §7.2.3 and not 2 (§4.6).

use std::time::Duration;

use super::rfc9260::{Rfc9260, Steps};
use super::{AckFacts, CongestionControl, Coupled};
use crate::time::Time;

/// C: packets per cubed second.
const C: f64 = 0.4;
/// What a loss leaves of the window.
const BETA: f64 = 0.7;
/// Growth of W_est in packets per window, while a Reno that fell to a half would still be below cwnd_prior.
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// One stage of congestion avoidance; bytes and seconds.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    w_max: f64,
    k: f64,
    w_est: f64,
    cwnd_prior: f64,
    /// Time spent in it.
    t: Duration,
    /// When the window grew last; `None` while t stands still.
    since: Option<Time>,
}

/// What the last loss was preceded by.
#[derive(Clone, Copy, Debug)]
struct Before {
    w_max: Option<f64>,
    epoch: Option<Epoch>,
}

#[derive(Debug)]
pub(crate) struct Cubic {
    base: Rfc9260,
    /// Of the last loss that SACKs showed; `None` before one and after a timeout.
    w_max: Option<f64>,
    cwnd_prior: f64,
    /// Congestion avoidance, from its first growth on.
    epoch: Option<Epoch>,
    /// The part of cwnd that is less than a byte.
    fraction: f64,
    before: Option<Before>,
}

impl Cubic {
    pub(super) fn new(base: Rfc9260) -> Cubic {
        Cubic { base, w_max: None, cwnd_prior: 0.0, epoch: None, fraction: 0.0, before: None }
    }

    fn window(&self) -> f64 {
        self.base.cwnd() as f64 + self.fraction
    }

    /// §4.2: a stage of congestion avoidance begins with the window as it is now.
    fn begin(&self) -> Epoch {
        let cwnd = self.window();
        let (w_max, cwnd_prior) = self.w_max.map_or((cwnd, cwnd), |w_max| (w_max, self.cwnd_prior));
        let k = ((w_max - cwnd).max(0.0) / (C * self.base.pmdcs() as f64)).cbrt();
        // Where the window is above W_max already the curve begins there.
        Epoch { w_max: w_max.max(cwnd), k, w_est: cwnd, cwnd_prior, t: Duration::ZERO, since: None }
    }

    /// Grows in congestion avoidance by what `bytes` acknowledged bytes bring.
    fn advance(&mut self, facts: &AckFacts<'_>) {
        let (cwnd, mss) = (self.window(), self.base.pmdcs() as f64);
        let mut epoch = self.epoch.unwrap_or_else(|| self.begin());
        epoch.t += epoch.since.map_or(Duration::ZERO, |since| facts.now.since(since));
        epoch.since = Some(facts.now);
        let t = epoch.t.as_secs_f64();
        let curve = |t: f64| C * mss * (t - epoch.k).powi(3) + epoch.w_max;
        let share = facts.bytes as f64 / cwnd;
        let alpha = if epoch.w_est >= epoch.cwnd_prior { 1.0 } else { ALPHA };
        epoch.w_est += alpha * mss * share;
        let grown = if curve(t) < epoch.w_est {
            cwnd.max(epoch.w_est)
        } else {
            let rtt = facts.srtt.unwrap_or_default().as_secs_f64();
            let target = curve(t + rtt).clamp(cwnd, 1.5 * cwnd);
            cwnd + (target - cwnd) * share.min(1.0)
        };
        self.epoch = Some(epoch);
        self.base.set_window(grown as usize, self.base.ssthresh());
        self.fraction = grown.fract();
    }

    fn pause(&mut self) {
        if let Some(epoch) = &mut self.epoch {
            epoch.since = None;
        }
    }

    /// ssthresh after a loss (§4.6).
    fn reduced(&self) -> usize {
        ((BETA * self.window()) as usize).max(self.base.floor())
    }

    /// Ends the stage, of which `undo` can make another beginning.
    fn end(&mut self) {
        self.before = Some(Before { w_max: self.w_max, epoch: self.epoch });
        self.epoch = None;
        self.fraction = 0.0;
    }
}

impl CongestionControl for Cubic {
    fn cwnd(&self) -> usize {
        self.base.cwnd()
    }

    fn ssthresh(&self) -> usize {
        self.base.ssthresh()
    }

    fn on_ack(&mut self, facts: &AckFacts<'_>) {
        let used = facts.flight_before >= self.base.cwnd();
        if self.base.cwnd() < self.base.ssthresh() {
            self.pause();
            let steps = Steps { slow_start: 1.0, avoidance: 0.0, slow_at_threshold: false };
            self.base.grow(facts, &steps);
        } else if used && !facts.in_fast_recovery {
            self.advance(facts);
        } else {
            self.pause();
        }
    }

    fn on_loss(&mut self, _: &Coupled<'_>) {
        let (cwnd, ssthresh) = (self.window(), self.reduced());
        self.end();
        let below = self.w_max.is_some_and(|w_max| cwnd < w_max);
        self.w_max = Some(if below { cwnd * (1.0 + BETA) / 2.0 } else { cwnd });
        self.cwnd_prior = cwnd;
        self.base.reduce(ssthresh);
    }

    fn on_timeout(&mut self, again: bool, _: &Coupled<'_>) {
        let ssthresh = self.reduced();
        if !again {
            self.end();
        }
        self.epoch = None;
        self.fraction = 0.0;
        self.w_max = None;
        self.base.restart(again, ssthresh);
    }

    fn on_idle(&mut self) {
        self.fraction = 0.0;
        self.pause();
        self.base.on_idle();
    }

    fn set_window(&mut self, cwnd: usize, ssthresh: usize) {
        self.fraction = 0.0;
        self.base.set_window(cwnd, ssthresh);
    }

    fn undo(&mut self, cwnd: usize, ssthresh: usize) {
        if let Some(Before { w_max, epoch }) = self.before.take() {
            self.w_max = w_max;
            self.epoch = epoch.map(|epoch| Epoch { since: None, ..epoch });
        }
        self.set_window(cwnd, ssthresh);
    }

    fn set_pmdcs(&mut self, pmdcs: usize) {
        self.fraction = 0.0;
        self.base.set_pmdcs(pmdcs);
    }

    fn initial_window(&self) -> usize {
        self.base.initial_window()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::congestion::tests::close;
    use crate::profile::CongestionParameters;

    const MSS: usize = 1000;

    /// In congestion avoidance with this many packets; the path and its clock.
    struct Flow {
        control: Cubic,
        now: Time,
        rtt: Duration,
    }

    impl Flow {
        fn new(packets: usize, rtt_ms: u64) -> Flow {
            let parameters = CongestionParameters::default();
            let mut control = Cubic::new(Rfc9260::new(&parameters, MSS, false));
            control.set_window(packets * MSS, packets * MSS);
            let rtt = Duration::from_millis(rtt_ms);
            Flow { control, now: Time::from_millis(1000), rtt }
        }

        fn lose(&mut self) {
            self.control.on_loss(&Coupled::default());
        }

        fn ack(&mut self, bytes: usize, used: bool) {
            self.control.on_ack(&AckFacts {
                now: self.now,
                srtt: Some(self.rtt),
                bytes,
                flight_before: if used { self.control.cwnd() } else { 0 },
                cumulative_advanced: true,
                ..AckFacts::default()
            });
        }

        /// A window is acknowledged, packet by packet, in the course of a round trip.
        fn round(&mut self, used: bool) {
            let packets = self.control.cwnd() / MSS;
            for _ in 0..packets {
                self.now += self.rtt / packets as u32;
                self.ack(MSS, used);
            }
        }

        fn packets(&self) -> f64 {
            self.control.window() / MSS as f64
        }
    }

    #[test]
    fn k_and_the_first_step_are_those_of_the_equations() {
        let mut flow = Flow::new(100, 500);
        flow.lose();
        assert_eq!((flow.control.cwnd(), flow.control.ssthresh()), (70_000, 70_000));
        flow.ack(0, true);
        flow.now += Duration::from_millis(500);
        flow.ack(7000, true);
        let epoch = flow.control.epoch.unwrap();
        // (2): cbrt((100 - 70) / 0.4) = cbrt(75) seconds.
        assert!((epoch.k - 4.217_163).abs() < 1e-6, "{}", epoch.k);
        // (1) after 0.5 s and another RTT: 0.4 (1 - 4.217163)^3 + 100 = 86.68076; a tenth of the window was acknowledged.
        assert!((flow.packets() - 71.66808).abs() < 1e-4, "{}", flow.packets());
        // (4): 70 + 9/17 / 10.
        assert!(close(epoch.w_est / 1000.0, 70.0 + 9.0 / 170.0));
    }

    #[test]
    fn the_window_follows_the_curve_through_w_max() {
        let mut flow = Flow::new(1000, 100);
        flow.lose();
        // K = cbrt(300 / 0.4) = 9.0856 s.
        let start = flow.now;
        for _ in 0..150 {
            flow.round(true);
            let t = flow.now.since(start).as_secs_f64();
            let curve = 0.4 * (t - 9.0856).powi(3) + 1000.0;
            assert!((flow.packets() / curve - 1.0).abs() < 0.03, "{t}: {} {curve}", flow.packets());
        }
    }

    #[test]
    fn where_reno_takes_more_the_window_is_as_large() {
        let mut flow = Flow::new(20, 1);
        flow.lose();
        for n in 1..=11 {
            // The whole window in one SACK: each adds 9/17 of a packet.
            flow.ack(flow.control.cwnd(), true);
            assert!((flow.packets() - (14.0 + 9.0 / 17.0 * f64::from(n))).abs() < 0.01);
        }
        flow.ack(flow.control.cwnd(), true);
        assert!(flow.packets() > 20.0);
        // cwnd_prior is reached: from now on as Reno.
        let reached = flow.packets();
        flow.ack(flow.control.cwnd(), true);
        assert!((flow.packets() - reached - 1.0).abs() < 0.01);
    }

    #[test]
    fn a_window_that_shrinks_from_loss_to_loss_gives_room() {
        let mut flow = Flow::new(100, 100);
        flow.lose();
        flow.lose();
        // §4.7: 70 (1 + 0.7) / 2.
        assert!(close(flow.control.w_max.unwrap(), 59_500.0));
        assert_eq!(flow.control.cwnd(), 49_000);
        for _ in 0..4 {
            flow.lose();
        }
        assert_eq!(flow.control.cwnd(), 11_764, "0.7^6 of it");
        flow.lose();
        flow.lose();
        assert!(flow.control.cwnd().abs_diff(5764) < 3, "0.7^8 of it");
        for _ in 0..3 {
            flow.lose();
        }
        assert_eq!(flow.control.cwnd(), 4000, "the floor of the profile");
    }

    #[test]
    fn time_without_use_does_not_count() {
        let (mut steady, mut paused) = (Flow::new(1000, 100), Flow::new(1000, 100));
        steady.lose();
        paused.lose();
        for round in 0..60 {
            steady.round(true);
            paused.round(true);
            if round % 10 == 0 {
                let before = paused.packets();
                for _ in 0..20 {
                    paused.round(false);
                }
                assert!(close(paused.packets(), before), "the window was not used");
            }
        }
        assert!((paused.packets() / steady.packets() - 1.0).abs() < 0.01);
    }

    #[test]
    fn after_a_timeout_the_curve_begins_where_slow_start_ends() {
        let mut flow = Flow::new(1000, 100);
        flow.lose();
        flow.round(true);
        let before = flow.control.cwnd();
        flow.control.on_timeout(false, &Coupled::default());
        assert_eq!(flow.control.cwnd(), MSS);
        assert!(flow.control.ssthresh().abs_diff(before * 7 / 10) < 2);
        while flow.control.cwnd() < flow.control.ssthresh() {
            flow.ack(MSS, true);
        }
        // §4.8: K = 0 and W_max = cwnd.
        let reached = flow.control.window();
        flow.ack(MSS, true);
        let epoch = flow.control.epoch.unwrap();
        assert!(close(epoch.k, 0.0) && close(epoch.w_max, reached));
    }

    #[test]
    fn a_spurious_loss_leaves_the_curve_as_it_was() {
        for timeout in [false, true] {
            let mut flow = Flow::new(1000, 100);
            flow.lose();
            for _ in 0..40 {
                flow.round(true);
            }
            let (window, epoch) = (flow.control.cwnd(), flow.control.epoch.unwrap());
            if timeout {
                flow.control.on_timeout(false, &Coupled::default());
                flow.control.on_timeout(true, &Coupled::default());
            } else {
                flow.lose();
            }
            assert!(flow.control.cwnd() < window);
            flow.control.undo(window, window);
            flow.now += Duration::from_secs(3);
            flow.ack(MSS, true);
            let after = flow.control.epoch.unwrap();
            assert!(close(after.k, epoch.k) && close(after.w_max, epoch.w_max));
            assert_eq!(after.t, epoch.t, "what the loss took does not count");
            assert!(flow.control.cwnd() >= window);
        }
    }

    #[test]
    fn slow_start_that_ends_without_a_loss_is_where_the_curve_begins() {
        let mut flow = Flow::new(100, 100);
        flow.ack(MSS, true);
        let epoch = flow.control.epoch.unwrap();
        assert!(close(epoch.k, 0.0) && close(epoch.w_max, 100_000.0));
        for _ in 0..50 {
            flow.round(true);
        }
        // 0.4 * 5^3 = 50 packets more.
        assert!((flow.packets() - 150.0).abs() < 6.0, "{}", flow.packets());
    }
}
