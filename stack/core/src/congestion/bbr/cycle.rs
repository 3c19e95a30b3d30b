//! The cycle of ProbeBW (draft-ietf-ccwg-bbr-06 §5.3.3): slower than the path, as fast, faster.
//!
//! ```text
//! Down    until inflight <= min(bdp, 0.85 inflight_longterm): to Cruise
//! Cruise  (and Down) until 2 to 3 s, or min(packets in target inflight, 63) rounds, have passed since Down began: to Refill
//! Refill  for a round: to Up
//! Up      until the path is full, 2 % are lost, or, if the Up before was too high, inflight_longterm is in flight: to Down
//! ```
//! In Up `inflight_longterm` grows by 1, 2, 4, ... packets in a round while it is what limits.

use std::time::Duration;

use super::loss_response::is_safe;
use super::{Bbr, State};
use crate::congestion::AckFacts;
use crate::rng::Rng;
use crate::scoreboard::RateSample;
use crate::time::Time;

/// Headroom.
const HEADROOM: f64 = 0.15;
/// Most rounds between Down and the next Refill: NewReno's window would have grown by as many packets.
const RENO_ROUNDS: f64 = 63.0;
/// Shortest time between Down and the next Refill; up to one second is added to it.
const WAIT: Duration = Duration::from_secs(2);
/// Bound of the exponent of growth.
const MAX_UP_ROUNDS: u32 = 30;

/// What the acknowledgements that arrive now say about Up.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum AckPhase {
    /// Nothing.
    #[default]
    Init,
    Refilling,
    ProbeStarting,
    ProbeFeedback,
    /// Up is over, and the packets that it sent last are not acknowledged yet.
    ProbeStopping,
}

#[derive(Debug)]
pub(super) struct Cycle {
    phase: AckPhase,
    since: Time,
    wait: Duration,
    rounds: u64,
    up_rounds: u32,
    up_acked: f64,
    acked_per_packet: f64,
    /// What is lost was sent in an Up that has not been found too high yet.
    probe_sample: bool,
    too_high: bool,
    precautionary: bool,
    drain_round: u64,
    /// What came with the last acknowledgement: random numbers follow from that.
    now: Time,
    next: u64,
}

impl Default for Cycle {
    fn default() -> Cycle {
        Cycle {
            phase: AckPhase::Init,
            since: Time::ZERO,
            wait: Duration::ZERO,
            rounds: 0,
            up_rounds: 0,
            up_acked: 0.0,
            acked_per_packet: f64::INFINITY,
            probe_sample: false,
            too_high: false,
            precautionary: false,
            drain_round: 0,
            now: Time::ZERO,
            next: 0,
        }
    }
}

impl Cycle {
    pub(super) fn on_ack(&mut self, facts: &AckFacts<'_>) {
        (self.now, self.next) = (facts.now, facts.next);
    }

    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }

    pub(super) fn is_probe_sample(&self) -> bool {
        self.probe_sample
    }

    pub(super) fn note_too_high(&mut self) {
        self.too_high = true;
        self.probe_sample = false;
    }

    /// What Up sent is acknowledged within another round.
    pub(super) fn stop_probe(&mut self) {
        self.phase = AckPhase::ProbeStopping;
    }

    /// PickProbeWait. The association's random source has begun the sequence numbers, which begin this one.
    fn pick_wait(&mut self) {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.next.to_le_bytes());
        seed[8..16].copy_from_slice(&self.now.as_nanos().to_le_bytes());
        let mut rng = Rng::from_seed(seed);
        self.rounds = u64::from(rng.next_u32() % 2);
        self.wait = WAIT + Duration::from_secs_f64(rng.next_f64());
    }
}

impl Bbr {
    pub(super) fn start_drain(&mut self) {
        self.state = State::Drain;
        self.cycle.drain_round = self.rounds.count();
    }

    /// CheckDrainDone: after three rounds the bandwidth was overestimated.
    pub(super) fn check_drain_done(&mut self, in_flight: f64) {
        let long = self.rounds.count() > self.cycle.drain_round + 3;
        if self.state == State::Drain && (long || in_flight <= self.inflight(self.model.bw)) {
            self.start_down();
        }
    }

    pub(super) fn start_down(&mut self) {
        self.losses.forget();
        self.cycle.acked_per_packet = f64::INFINITY;
        self.cycle.pick_wait();
        self.cycle.since = self.cycle.now;
        self.cycle.stop_probe();
        self.rounds.begin();
        self.state = State::Down;
    }

    pub(super) fn start_refill(&mut self) {
        self.model.reset_shortterm();
        self.cycle.up_rounds = 0;
        self.cycle.up_acked = 0.0;
        self.cycle.precautionary = false;
        self.cycle.phase = AckPhase::Refilling;
        self.rounds.begin();
        self.state = State::Refill;
    }

    fn start_up(&mut self, rate: f64) {
        self.cycle.probe_sample = true;
        self.cycle.phase = AckPhase::ProbeStarting;
        self.rounds.begin();
        self.full.begin(rate);
        self.state = State::Up;
        self.raise_slope();
    }

    /// UpdateProbeBWCyclePhase.
    pub(super) fn update_cycle(&mut self, sample: &RateSample) {
        if !self.full.was_reached() || self.adapt_longterm(sample) {
            return;
        }
        let (state, in_flight) = (self.state, sample.in_flight as f64);
        match state {
            State::Down | State::Cruise if self.is_time_to_probe() => self.start_refill(),
            State::Down if self.is_time_to_cruise(in_flight) => self.state = State::Cruise,
            State::Refill if self.rounds.starts() => self.start_up(sample.rate),
            State::Up if self.is_time_to_go_down(sample) => {
                self.cycle.too_high = false;
                self.start_down();
            }
            _ => {}
        }
    }

    fn is_time_to_probe(&self) -> bool {
        let packets = (self.target_inflight() / self.mss()).floor();
        let reno = self.cycle.rounds as f64 >= packets.min(RENO_ROUNDS);
        reno || self.cycle.now > self.cycle.since + self.cycle.wait
    }

    fn is_time_to_cruise(&self, in_flight: f64) -> bool {
        in_flight <= self.inflight_with_headroom()
            && in_flight <= self.inflight(self.model.max_bw())
    }

    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        let longterm = self.model.inflight_longterm;
        if self.cycle.too_high && sample.in_flight as f64 >= longterm {
            self.cycle.precautionary = true;
            return true;
        }
        if self.is_cwnd_limited() && self.cwnd >= longterm {
            // The bound, and not the path, keeps the rate.
            self.full.begin(sample.rate);
            return false;
        }
        self.full.is_now()
    }

    /// What leaves room for others.
    pub(super) fn inflight_with_headroom(&self) -> f64 {
        let longterm = self.model.inflight_longterm;
        let headroom = (HEADROOM * longterm).max(self.mss());
        if longterm.is_infinite() { longterm } else { (longterm - headroom).max(self.least_cwnd()) }
    }

    fn raise_slope(&mut self) {
        let growth = f64::from(1u32 << self.cycle.up_rounds);
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MAX_UP_ROUNDS);
        self.cycle.acked_per_packet = (self.cwnd / growth).max(self.mss());
    }

    fn raise_longterm(&mut self, acked: f64) {
        if !self.is_cwnd_limited() || self.cwnd < self.model.inflight_longterm {
            return;
        }
        self.cycle.up_acked += acked;
        let packets = (self.cycle.up_acked / self.cycle.acked_per_packet).floor();
        if packets >= 1.0 {
            self.cycle.up_acked -= packets * self.cycle.acked_per_packet;
            self.model.inflight_longterm += packets * self.mss();
        }
        if self.rounds.starts() {
            self.raise_slope();
        }
    }

    /// AdaptLongTermModel; `true` if the state has changed.
    fn adapt_longterm(&mut self, sample: &RateSample) -> bool {
        if self.cycle.phase == AckPhase::ProbeStarting && self.rounds.starts() {
            self.cycle.phase = AckPhase::ProbeFeedback;
        }
        if self.cycle.phase == AckPhase::ProbeStopping && self.rounds.starts() {
            self.cycle.probe_sample = false;
            self.cycle.phase = AckPhase::Init;
            let probes = self.state.is_probe_bw();
            if probes && !sample.app_limited {
                self.model.advance();
            }
            if probes && self.cycle.precautionary && !self.cycle.too_high {
                self.start_refill();
                return true;
            }
        }
        if is_safe(sample) && self.model.inflight_longterm.is_finite() {
            let seen = sample.sent_in_flight as f64;
            self.model.inflight_longterm = self.model.inflight_longterm.max(seen);
            if self.state == State::Up {
                self.raise_longterm(sample.newly_acked as f64);
            }
        }
        false
    }
}
