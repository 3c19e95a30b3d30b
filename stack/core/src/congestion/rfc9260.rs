//! The congestion control of RFC 9260 §7.2, and with other parameters that of RFC 2960 §7.2.
//!
//! Idea: Reno with byte counting. Slow start below ssthresh, afterwards one PMDCS per window of
//! acknowledged data; halve on loss found by SACKs, restart from one PMDCS on a timeout.
//!
//! Bytes, per path:
//! - start: `cwnd = min(4 PMDCS, max(2 PMDCS, 4404))` (4344 for IPv6)
//! - `cwnd <= ssthresh`, window used: `cwnd += min(acked, L PMDCS)` (where packets are paced, all that was acknowledged, up to ssthresh)
//! - `cwnd > ssthresh`: `pba += acked`; once `pba >= cwnd` with the window used:
//!   `pba -= cwnd`, `cwnd += PMDCS`
//! - loss: `ssthresh = max(cwnd / 2, 4 PMDCS)`, `cwnd = ssthresh`, `pba = 0`
//! - timeout: `ssthresh = max(cwnd / 2, 4 PMDCS)`, `cwnd = PMDCS`, `pba = 0`; a second one in a row
//!   may hold ssthresh (RFC 5681 §3.1)
//! - idle, once per RTO: first `ssthresh = cwnd`, then `cwnd = max(cwnd / 2, 4 PMDCS)`

use super::{AckFacts, CongestionControl, Coupled, SlowStart, SlowStartExit};
use crate::profile::{CongestionParameters, InitialWindow};

#[derive(Debug)]
pub(crate) struct Rfc9260 {
    parameters: CongestionParameters,
    pmdcs: usize,
    ipv6: bool,
    cwnd: usize,
    ssthresh: usize,
    partial_bytes_acked: usize,
    /// The path has decayed since it was last used.
    idle: bool,
    /// What may end the first slow start before a loss does.
    exit: Option<SlowStartExit>,
}

/// By how much a window grows, as multiples of what RFC 9260 says.
pub(super) struct Steps {
    pub(super) slow_start: f64,
    pub(super) avoidance: f64,
    /// A window that is ssthresh, as after a loss, is in slow start (§7.2.1).
    pub(super) slow_at_threshold: bool,
}

impl Rfc9260 {
    pub(super) fn new(parameters: &CongestionParameters, pmdcs: usize, ipv6: bool) -> Rfc9260 {
        Rfc9260 {
            parameters: parameters.clone(),
            pmdcs,
            ipv6,
            cwnd: initial_window(parameters, pmdcs, ipv6),
            //= RFC 9260 7.2.1-3
            // RFC 9260 §7.2.1: ssthresh SHOULD be arbitrarily high at first.
            ssthresh: usize::MAX,
            partial_bytes_acked: 0,
            idle: false,
            exit: SlowStartExit::new(parameters),
        }
    }

    /// Path MTU Data Chunk Size.
    pub(super) fn pmdcs(&self) -> usize {
        self.pmdcs
    }

    /// The lowest ssthresh after a loss.
    pub(super) fn floor(&self) -> usize {
        (self.parameters.ssthresh_floor * self.pmdcs as f64) as usize
    }

    /// ssthresh after a loss.
    pub(super) fn halved(&self) -> usize {
        (self.cwnd / 2).max(self.floor())
    }

    /// Grows as §7.2.1 and §7.2.2 say, by other steps.
    pub(super) fn grow(&mut self, facts: &AckFacts<'_>, steps: &Steps) {
        self.idle = false;
        let used = facts.flight_before >= self.cwnd;
        let allowed = facts.cumulative_advanced || !self.parameters.growth_needs_cumulative_advance;
        if self.cwnd < self.ssthresh || (self.cwnd == self.ssthresh && steps.slow_at_threshold) {
            //= RFC 9260 7.2.1-5 7.2.1-6 7.2.1-7 7.2.1-8
            // §7.2.1: only if the window is fully utilised and not in Fast Recovery.
            match self.slow_start(facts) {
                SlowStart::Done => self.ssthresh = self.cwnd,
                SlowStart::Grow { limit, weight } => {
                    if used && !facts.in_fast_recovery && allowed {
                        self.step(facts.bytes.min(limit), weight * steps.slow_start);
                    }
                }
            }
        } else if allowed {
            //= RFC 9260 7.2.2-1 7.2.2-2 7.2.2-3
            // §7.2.2
            self.partial_bytes_acked += facts.bytes;
            if self.partial_bytes_acked >= self.cwnd {
                if !used {
                    self.partial_bytes_acked = self.cwnd;
                } else if !facts.in_fast_recovery {
                    self.partial_bytes_acked -= self.cwnd;
                    self.step(self.pmdcs, steps.avoidance);
                }
            }
        }
        if facts.all_acked {
            self.partial_bytes_acked = 0;
        }
    }

    /// How slow start goes on: as §7.2.1 says, unless something may end the first one.
    fn slow_start(&mut self, facts: &AckFacts<'_>) -> SlowStart {
        let first = self.ssthresh == usize::MAX;
        match self.exit.as_mut().filter(|_| first) {
            Some(exit) => exit.on_ack(facts, self.pmdcs),
            None => {
                let limit = (self.parameters.slow_start_limit * self.pmdcs as f64) as usize;
                // The limit is there for bursts; and SACKs for one path come back over others as well, a few for a
                // window. Beyond ssthresh it holds in any case, or one of them would undo what a loss has cut.
                let room = if facts.paced { self.ssthresh - self.cwnd } else { 0 };
                SlowStart::Grow { limit: limit.max(room), weight: 1.0 }
            }
        }
    }

    /// Changes cwnd by `bytes` times `weight`, which may be negative: at least by one byte if it
    /// is to grow at all, and to no less than one PMDCS.
    fn step(&mut self, bytes: usize, weight: f64) {
        let least = if weight > 0.0 { 1 } else { isize::MIN };
        let change = ((bytes as f64 * weight).round() as isize).max(least);
        self.cwnd = self.cwnd.saturating_add_signed(change).max(self.pmdcs);
    }

    //= RFC 9260 7.2.3-1
    /// Losses were found by SACKs.
    pub(super) fn reduce(&mut self, ssthresh: usize) {
        self.ssthresh = ssthresh;
        self.cwnd = ssthresh;
        self.partial_bytes_acked = 0;
    }

    //= RFC 9260 7.2.1-2 7.2.3-2
    //= RFC 7829 3.2-15
    /// T3-rtx expired; `again` as in [`CongestionControl::on_timeout`].
    pub(super) fn restart(&mut self, again: bool, ssthresh: usize) {
        if !again || self.parameters.halve_at_every_timeout {
            self.ssthresh = ssthresh;
        }
        self.cwnd = self.pmdcs;
        self.partial_bytes_acked = 0;
    }
}

//= RFC 9260 7.2.1-1
fn initial_window(parameters: &CongestionParameters, pmdcs: usize, ipv6: bool) -> usize {
    match parameters.initial_window {
        InitialWindow::Rfc9260 => {
            let floor = if ipv6 { 4344 } else { 4404 };
            (4 * pmdcs).min((2 * pmdcs).max(floor))
        }
        InitialWindow::Rfc2960 => 2 * pmdcs,
    }
}

impl CongestionControl for Rfc9260 {
    fn cwnd(&self) -> usize {
        self.cwnd
    }

    fn ssthresh(&self) -> usize {
        self.ssthresh
    }

    fn on_ack(&mut self, facts: &AckFacts<'_>) {
        self.grow(facts, &Steps { slow_start: 1.0, avoidance: 1.0, slow_at_threshold: true });
    }

    fn on_loss(&mut self, _: &Coupled<'_>) {
        self.reduce(self.halved());
    }

    fn on_timeout(&mut self, again: bool, _: &Coupled<'_>) {
        self.restart(again, self.halved());
    }

    fn set_window(&mut self, cwnd: usize, ssthresh: usize) {
        self.cwnd = cwnd.max(self.pmdcs);
        self.ssthresh = ssthresh;
        self.partial_bytes_acked = self.partial_bytes_acked.min(self.cwnd);
    }

    /// Bytes stay bytes: the path holds as many as before. A first window that nothing has filled yet
    /// is that of the new size (RFC 5681 §3.1: if the segments turn out to be too large, it "SHOULD be
    /// reduced to prevent large bursts of smaller segments").
    fn set_pmdcs(&mut self, pmdcs: usize) {
        let first = self.cwnd == self.initial_window() && self.ssthresh == usize::MAX;
        self.pmdcs = pmdcs;
        //= RFC 8899 3-14
        // "An update to the PLPMTU (or MPS) MUST NOT increase the congestion window measured in bytes".
        let initial = self.initial_window().min(self.cwnd).max(pmdcs);
        self.cwnd = if first { initial } else { self.cwnd.max(pmdcs) };
        self.partial_bytes_acked = self.partial_bytes_acked.min(self.cwnd);
    }

    fn initial_window(&self) -> usize {
        initial_window(&self.parameters, self.pmdcs, self.ipv6)
    }

    //= RFC 9260 7.1-1 7.2.1-10 7.2.1-11 7.2.2-4
    fn on_idle(&mut self) {
        if !self.parameters.idle_decay {
            return;
        }
        let decayed = (self.cwnd / 2).max(4 * self.pmdcs);
        if decayed < self.cwnd {
            if !self.idle {
                // Before the first adjustment, ssthresh SHOULD be set to the cwnd.
                self.ssthresh = self.cwnd;
                self.idle = true;
            }
            self.cwnd = decayed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PMDCS: usize = 1468;

    fn control() -> Rfc9260 {
        Rfc9260::new(&CongestionParameters::default(), PMDCS, false)
    }

    fn ack(bytes: usize, flight_before: usize) -> AckFacts<'static> {
        AckFacts { bytes, flight_before, cumulative_advanced: true, ..AckFacts::default() }
    }

    //= RFC 9260 7.2.1-1
    #[test]
    fn initial_window_follows_section_7_2_1() {
        assert_eq!(control().cwnd(), 4404);
        assert_eq!(Rfc9260::new(&CongestionParameters::default(), 1448, true).cwnd(), 4344);
        assert_eq!(Rfc9260::new(&CongestionParameters::default(), 500, false).cwnd(), 2000);
        assert_eq!(Rfc9260::new(&CongestionParameters::default(), 9000, false).cwnd(), 18_000);
    }

    //= RFC 9260 7.2-1 7.2-2 7.2.1-5 7.2.1-6 7.2.1-7 7.2.1-8
    #[test]
    fn slow_start_grows_by_acked_bytes_up_to_one_pmdcs_and_only_when_used() {
        let mut c = control();
        c.on_ack(&ack(1000, 4404));
        assert_eq!(c.cwnd(), 5404);
        c.on_ack(&ack(5000, 5404));
        assert_eq!(c.cwnd(), 5404 + PMDCS);
        c.on_ack(&ack(1000, 100));
        assert_eq!(c.cwnd(), 5404 + PMDCS, "the window was not used");
        c.on_ack(&AckFacts { in_fast_recovery: true, ..ack(1000, 99_999) });
        assert_eq!(c.cwnd(), 5404 + PMDCS, "in fast recovery");
    }

    #[test]
    fn one_sack_of_a_paced_window_doubles_it_at_first_and_undoes_no_loss() {
        let paced = |bytes, flight| AckFacts { paced: true, ..ack(bytes, flight) };
        let mut c = control();
        c.on_ack(&paced(4404, 4404));
        assert_eq!(c.cwnd(), 8808);
        c.set_window(100 * PMDCS, usize::MAX);
        c.on_loss(&Coupled::default());
        c.on_ack(&paced(50 * PMDCS, 50 * PMDCS));
        assert_eq!(c.cwnd(), 51 * PMDCS, "exactly ssthresh: as if nothing was paced");
        c.on_timeout(false, &Coupled::default());
        c.on_ack(&paced(50 * PMDCS, 50 * PMDCS));
        assert_eq!(c.cwnd(), c.ssthresh());
    }

    //= RFC 9260 7.2.1-3
    #[test]
    fn ssthresh_is_high_at_first() {
        // Higher than any window that a SACK can advertise.
        assert!(control().ssthresh() > u32::MAX as usize);
    }

    //= RFC 9260 7.2-1 7.2-2 7.2.2-1 7.2.2-2 7.2.2-3
    #[test]
    fn congestion_avoidance_adds_one_pmdcs_per_window() {
        let mut c = control();
        c.cwnd = 20_000;
        c.ssthresh = 10_000;
        c.on_ack(&ack(12_000, 20_000));
        assert_eq!(c.cwnd(), 20_000);
        c.on_ack(&ack(9_000, 20_000));
        assert_eq!(c.cwnd(), 20_000 + PMDCS);
        assert_eq!(c.partial_bytes_acked, 1_000);
        c.on_ack(&ack(30_000, 5_000));
        assert_eq!(c.partial_bytes_acked, c.cwnd(), "unused window: capped at cwnd");
        c.on_ack(&AckFacts { all_acked: true, ..ack(1, 1) });
        assert_eq!(c.partial_bytes_acked, 0);
    }

    #[test]
    fn rfc_2960_counts_bytes_only_when_the_cumulative_tsn_advances() {
        let parameters =
            CongestionParameters { growth_needs_cumulative_advance: true, ..Default::default() };
        let mut c = Rfc9260::new(&parameters, PMDCS, false);
        c.set_window(20_000, 10_000);
        c.on_ack(&AckFacts { cumulative_advanced: false, ..ack(15_000, 20_000) });
        assert_eq!((c.cwnd(), c.partial_bytes_acked), (20_000, 0));
        c.on_ack(&ack(15_000, 19_000));
        assert_eq!((c.cwnd(), c.partial_bytes_acked), (20_000, 15_000));
        c.on_ack(&ack(6_000, 20_000));
        assert_eq!((c.cwnd(), c.partial_bytes_acked), (20_000 + PMDCS, 1_000));
    }

    //= RFC 9260 7.2.3-1
    #[test]
    fn loss_halves_and_timeout_restarts() {
        let mut c = control();
        c.cwnd = 20_000;
        c.on_loss(&Coupled::default());
        assert_eq!((c.cwnd(), c.ssthresh()), (10_000, 10_000));
        c.on_timeout(false, &Coupled::default());
        assert_eq!((c.cwnd(), c.ssthresh()), (PMDCS, 4 * PMDCS));
    }

    //= RFC 8899 3-14
    #[test]
    fn another_path_mtu_is_another_unit_of_growth_and_another_floor() {
        let mut c = control();
        c.set_pmdcs(500);
        assert_eq!((c.cwnd(), c.initial_window()), (2000, 2000), "nothing has filled it yet");
        c.set_pmdcs(8960);
        assert_eq!(c.cwnd(), 8960, "one packet, and no more");
        c.set_pmdcs(500);
        c.set_window(20_000, 10_000);
        c.set_pmdcs(1000);
        assert_eq!((c.cwnd(), c.ssthresh()), (20_000, 10_000), "the path holds as much as before");
        c.on_ack(&ack(20_000, 20_000));
        assert_eq!(c.cwnd(), 21_000);
        c.on_timeout(false, &Coupled::default());
        assert_eq!((c.cwnd(), c.ssthresh()), (1000, 10_500));
        c.set_pmdcs(PMDCS);
        assert_eq!(c.cwnd(), PMDCS, "at least one packet");
    }

    #[test]
    fn repeated_timeouts_hold_ssthresh_if_asked_to() {
        let parameters =
            CongestionParameters { halve_at_every_timeout: false, ..Default::default() };
        let mut c = Rfc9260::new(&parameters, PMDCS, false);
        c.cwnd = 40_000;
        c.on_timeout(false, &Coupled::default());
        c.on_timeout(true, &Coupled::default());
        assert_eq!((c.cwnd(), c.ssthresh()), (PMDCS, 20_000));
        let mut c = control();
        c.cwnd = 40_000;
        c.on_timeout(false, &Coupled::default());
        c.on_timeout(true, &Coupled::default());
        assert_eq!(c.ssthresh(), 4 * PMDCS);
    }

    //= RFC 9260 7.1-1 7.2.1-10 7.2.1-11 7.2.2-4
    #[test]
    fn idle_paths_decay_to_four_pmdcs() {
        let mut c = control();
        c.cwnd = 40_000;
        c.on_idle();
        assert_eq!((c.cwnd(), c.ssthresh()), (20_000, 40_000));
        c.on_idle();
        assert_eq!((c.cwnd(), c.ssthresh()), (10_000, 40_000));
        c.on_idle();
        c.on_idle();
        assert_eq!((c.cwnd(), c.ssthresh()), (4 * PMDCS, 40_000));
    }
}
