//! BBR, version 3 (draft-ietf-ccwg-bbr-06).
//!
//! Idea: what is lost says little of what a path holds; how fast it delivers, and its shortest round trip, say it. BBR
//! measures both, leaves at that rate with little more in flight than their product, and looks in turn for more
//! bandwidth and for a shorter round trip.
//!
//! Bytes and seconds, on each SACK:
//! ```text
//! bw            = min(max_bw, bw_shortterm)                          `model.rs`, `loss_response.rs`
//! pacing rate   = pacing_gain 0.99 bw            at first 2.77 first window / SRTT, and no less until the path was full
//! max_inflight  = max(cwnd_gain bw min_rtt + extra_acked, quantum, 4 PMDCS), in Up 2 PMDCS more
//! cwnd          = min(cwnd + acked, max_inflight, bound of the state)
//!
//! state         pacing_gain  cwnd_gain  bound                              until
//! Startup       2.77         2                                             the path is full, or many losses
//! Drain         0.5          2          short term                         inflight <= bdp
//! Down          0.9          2          long term, short term              `cycle.rs`
//! Cruise        1            2          0.85 long term, short term
//! Refill        1            2          long term
//! Up            1.25         2.25       long term
//! ProbeRTT      1            0.5        0.85 long term, short term         `probe_rtt.rs`
//! ```
//! T3-rtx leaves one packet, from which cwnd grows by what is acknowledged; after a round without a loss, as after Fast
//! Recovery, it is what it was.
//!
//! Differences: an idle path keeps its window, which leaves at the rate that was measured (§5.4), although RFC 9260 §7.2.1
//! lets it decay. The quantum is that of one sender without offload. Losses that a SACK shows are counted after its
//! rate sample. The draft does not say what a mark (ECN) is: here it is a loss that is certain, once per round trip
//! (`loss_response.rs`). Random numbers follow from the sequence numbers, that the association's random source begins, and the time.

mod cycle;
mod loss_response;
mod model;
mod probe_rtt;
mod state;
mod window;

use std::time::Duration;

use self::cycle::Cycle;
use self::loss_response::Losses;
use self::model::{Aggregation, FullPipe, Model, Rounds};
use self::probe_rtt::MinRtt;
use self::state::{STARTUP_GAIN, State};
use super::rfc9260::Rfc9260;
use super::{AckFacts, CongestionControl, Coupled};
use crate::scoreboard::{LossSample, RateSample};
use crate::time::Time;

/// 1 - PacingMarginPercent.
const PACING_MARGIN: f64 = 0.99;
/// MinPipeCwnd, in packets.
const LEAST_CWND: f64 = 4.0;
/// What the first window is taken to last before anything was measured.
const FIRST_RTT: Duration = Duration::from_millis(1);

/// Whether the window was used up, in this round and in the one before.
#[derive(Clone, Copy, Debug, Default)]
struct Use {
    now: bool,
    before: bool,
}

/// Of one path.
#[derive(Debug)]
pub(crate) struct Bbr {
    /// The first window, and what a packet holds.
    base: Rfc9260,
    state: State,
    cwnd: f64,
    prior_cwnd: f64,
    pacing_rate: f64,
    measured: bool,
    rounds: Rounds,
    model: Model,
    full: FullPipe,
    aggregation: Aggregation,
    cycle: Cycle,
    min_rtt: MinRtt,
    losses: Losses,
    used: Use,
    idle_restart: bool,
}

impl Bbr {
    pub(super) fn new(base: Rfc9260) -> Bbr {
        let first = base.initial_window() as f64;
        Bbr {
            base,
            state: State::Startup,
            cwnd: first,
            prior_cwnd: first,
            pacing_rate: STARTUP_GAIN * first / FIRST_RTT.as_secs_f64(),
            measured: false,
            rounds: Rounds::default(),
            model: Model::default(),
            full: FullPipe::default(),
            aggregation: Aggregation::default(),
            cycle: Cycle::default(),
            min_rtt: MinRtt::default(),
            losses: Losses::default(),
            used: Use::default(),
            idle_restart: false,
        }
    }

    fn note_use(&mut self, facts: &AckFacts<'_>) {
        if self.rounds.starts() {
            self.used = Use { before: self.used.now, now: false };
            self.cycle.on_round();
        }
        self.used.now |= facts.flight_before as f64 + self.mss() > self.cwnd;
    }

    /// UpdateModelAndState.
    fn update_model(&mut self, facts: &AckFacts<'_>, sample: &RateSample) {
        self.cycle.on_ack(facts);
        self.losses.on_ack(sample);
        self.rounds.on_ack(sample);
        self.note_use(facts);
        self.model.on_ack(sample);
        self.end_old_recovery();
        self.adapt_lower_bounds();
        let (round, acked) = (self.rounds.count(), sample.newly_acked as f64);
        self.aggregation.on_ack(facts.now, round, self.model.bw, acked, self.cwnd);
        self.full.on_ack(&self.rounds, sample);
        self.check_startup_losses(sample);
        if self.state == State::Startup && self.full.was_reached() {
            self.start_drain();
        }
        self.check_drain_done(sample.in_flight as f64);
        self.update_cycle(sample);
        self.min_rtt.on_ack(facts.now, facts.rtt);
        self.check_probe_rtt(facts, sample);
        self.losses.advance(sample);
        self.model.bound();
    }

    /// SetPacingRateWithGain.
    fn set_rate(&mut self, gain: f64) {
        let rate = gain * PACING_MARGIN * self.model.bw;
        if rate > 0.0 && (self.full.was_reached() || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// InitPacingRate, once there is a round trip.
    fn begin_rate(&mut self, srtt: Option<Duration>) {
        if let Some(srtt) = srtt.filter(|_| !self.measured) {
            self.measured = true;
            let srtt = srtt.as_secs_f64().max(1e-6);
            self.pacing_rate = STARTUP_GAIN * self.first_window() / srtt;
        }
    }

    /// SetCwnd.
    fn set_cwnd(&mut self, sample: &RateSample) {
        let extra = self.aggregation.extra(self.rounds.count(), !self.full.was_reached());
        let most = self.quantized(self.bdp(self.state.cwnd_gain()) + extra);
        let grown = self.cwnd + sample.newly_acked as f64;
        if self.full.was_reached() {
            self.cwnd = grown.min(most);
        } else if self.cwnd < most || (sample.total as f64) < self.first_window() {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.least_cwnd());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        let bound = match self.state {
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Down | State::Refill | State::Up => self.model.inflight_longterm,
            State::Startup | State::Drain => f64::INFINITY,
        };
        let bound = bound.min(self.model.inflight_shortterm).max(self.least_cwnd());
        self.cwnd = self.cwnd.min(bound);
    }
}

impl CongestionControl for Bbr {
    fn cwnd(&self) -> usize {
        (self.cwnd as usize).max(self.base.pmdcs())
    }

    /// There is none.
    fn ssthresh(&self) -> usize {
        usize::MAX
    }

    fn on_ack(&mut self, facts: &AckFacts<'_>) {
        self.begin_rate(facts.srtt);
        let Some(sample) = facts.rate else { return };
        self.update_model(facts, sample);
        self.set_rate(self.state.pacing_gain());
        self.set_cwnd(sample);
    }

    fn on_loss(&mut self, _: &Coupled<'_>) {
        self.begin_recovery();
    }

    /// It says nothing of the window of its round, which no recovery has to give back.
    fn on_mark(&mut self, _: &Coupled<'_>) {
        self.note_mark();
    }

    fn on_timeout(&mut self, _again: bool, _: &Coupled<'_>) {
        self.begin_recovery();
        self.rounds.begin();
        self.cwnd = self.mss();
    }

    fn on_lost(&mut self, lost: &LossSample) {
        self.note_lost(lost);
    }

    fn on_recovered(&mut self) {
        self.end_recovery();
    }

    /// HandleRestartFromIdle.
    fn on_restart(&mut self, now: Time) {
        self.idle_restart = true;
        self.aggregation.begin(now);
        if self.state.is_probe_bw() {
            self.set_rate(1.0);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    fn on_idle(&mut self) {}

    fn set_window(&mut self, cwnd: usize, _ssthresh: usize) {
        self.cwnd = (cwnd as f64).max(self.mss());
    }

    fn undo(&mut self, _cwnd: usize, _ssthresh: usize) {
        self.undo_losses();
    }

    fn set_pmdcs(&mut self, pmdcs: usize) {
        self.base.set_pmdcs(pmdcs);
        let nothing_known = self.rounds.total() == 0;
        self.cwnd = if nothing_known { self.first_window() } else { self.cwnd.max(self.mss()) };
    }

    fn initial_window(&self) -> usize {
        self.base.initial_window()
    }

    fn samples_rate(&self) -> bool {
        true
    }

    fn pacing_rate(&self) -> Option<f64> {
        Some(self.pacing_rate)
    }

    fn is_model_based(&self) -> bool {
        true
    }

    fn holds_back(&self) -> bool {
        self.state == State::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
