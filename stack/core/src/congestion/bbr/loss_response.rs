//! What BBR makes of losses (draft-ietf-ccwg-bbr-06 §5.5.10, §5.5.11).
//!
//! Idea: of what was sent in Up, a loss rate above 2 % of what was in flight shows how much is too much, which is
//! remembered (`inflight_longterm`). At other times a round with a loss lowers what may be sent to what was delivered
//! in it, but by 30 % at most, until the next Refill.
//!
//! ```text
//! of Up:      lost > 0.02 in_flight:  inflight_longterm = max(in_flight at which that began, 0.7 target), to Down
//! otherwise, once per round with a loss:
//!             bw_shortterm       = max(bw_latest, 0.7 bw_shortterm)                  latest: most in a round
//!             inflight_shortterm = max(inflight_latest, 0.7 inflight_shortterm)
//! marked:     as a round with a loss; Startup, Refill and Up, which look away from that, end with
//!             inflight_longterm = max(bdp, inflight_latest)                          of Startup
//!             inflight_longterm = 0.7 target                                         of the others, to Down
//! spurious:   the bounds from before, and back to Startup, or to Refill, if the loss had ended Startup or Up
//! ```
//!
//! RFC 3168 §5 has a mark answered as "a *single* dropped packet" is: whoever follows no loss rate would end its slow start, and take
//! some tens of percent off. So it is here, with the numbers that BBR has for it. The draft has no text on marks.

use super::{Bbr, State};
use crate::scoreboard::{LossSample, RateSample};

/// LossThresh, and Beta.
const LOSS_THRESHOLD: f64 = 0.02;
const BETA: f64 = 0.7;
/// Runs of lost chunks in a round that end Startup.
const STARTUP_FULL_LOSSES: u32 = 6;

/// What was in force before the losses of an episode.
#[derive(Clone, Copy, Debug)]
struct Undo {
    /// The state that they have ended.
    state: Option<State>,
    bw_shortterm: f64,
    inflight_shortterm: f64,
    inflight_longterm: f64,
}

/// Losses, and what was delivered meanwhile.
#[derive(Debug, Default)]
pub(super) struct Losses {
    in_round: bool,
    /// The round in which losses are counted ends when this is delivered.
    round_end: u64,
    round_starts: bool,
    bw_latest: f64,
    inflight_latest: f64,
    /// Runs of lost chunks in this round, and the end of the last one.
    runs: u32,
    last: u64,
    recovering: bool,
    undo: Option<Undo>,
}

impl Losses {
    /// Near the start of each acknowledgement (UpdateLatestDeliverySignals).
    pub(super) fn on_ack(&mut self, sample: &RateSample) {
        self.bw_latest = self.bw_latest.max(sample.rate);
        self.inflight_latest = self.inflight_latest.max(sample.delivered() as f64);
        self.round_starts = sample.prior >= self.round_end;
        if self.round_starts {
            self.round_end = sample.total;
        }
    }

    /// Near its end (AdvanceLatestDeliverySignals).
    pub(super) fn advance(&mut self, sample: &RateSample) {
        if self.round_starts {
            self.bw_latest = sample.rate;
            self.inflight_latest = sample.delivered() as f64;
            self.runs = 0;
        }
    }

    /// ResetCongestionSignals.
    pub(super) fn forget(&mut self) {
        self.in_round = false;
        self.bw_latest = 0.0;
        self.inflight_latest = 0.0;
    }

    pub(super) fn is_recovering(&self) -> bool {
        self.recovering
    }
}

/// More was lost than a full queue excuses.
fn is_too_high(lost: u64, in_flight: usize) -> bool {
    lost as f64 > LOSS_THRESHOLD * in_flight as f64
}

pub(super) fn is_safe(sample: &RateSample) -> bool {
    !is_too_high(sample.lost, sample.sent_in_flight)
}

/// What was in flight when losses exceeded the threshold, in the middle of the chunk perhaps.
fn inflight_at_loss(lost: &LossSample) -> f64 {
    let size = lost.bytes as f64;
    let in_flight = (lost.sent_in_flight as f64 - size).max(0.0);
    let before = (lost.lost as f64 - size).max(0.0);
    in_flight + (LOSS_THRESHOLD * in_flight - before) / (1.0 - LOSS_THRESHOLD)
}

impl Bbr {
    /// A recovery begins, or a round with a loss.
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.losses.undo = Some(Undo {
            state: None,
            bw_shortterm: self.model.bw_shortterm,
            inflight_shortterm: self.model.inflight_shortterm,
            inflight_longterm: self.model.inflight_longterm,
        });
    }

    pub(super) fn begin_recovery(&mut self) {
        self.save_state();
        self.losses.recovering = true;
    }

    pub(super) fn end_recovery(&mut self) {
        if std::mem::take(&mut self.losses.recovering) {
            self.restore_cwnd();
        }
    }

    /// A round without a loss ends the episode where nothing else does: after T3-rtx, and without Fast Recovery.
    pub(super) fn end_old_recovery(&mut self) {
        if self.losses.round_starts && !self.losses.in_round {
            self.end_recovery();
        }
    }

    /// HandleLostPacket.
    pub(super) fn note_lost(&mut self, lost: &LossSample) {
        if !self.losses.in_round {
            self.losses.round_end = lost.total;
            self.save_state();
        }
        self.losses.in_round = true;
        self.losses.runs += u32::from(lost.seq != self.losses.last + 1);
        self.losses.last = lost.seq;
        if self.cycle.is_probe_sample() && is_too_high(lost.lost, lost.sent_in_flight) {
            let in_flight = inflight_at_loss(lost);
            self.handle_too_high(in_flight, lost.app_limited);
        }
    }

    /// A packet was marked (ECN): told once per round trip.
    pub(super) fn note_mark(&mut self) {
        if !self.losses.in_round {
            self.losses.round_end = self.rounds.total();
            self.save_state();
        }
        self.losses.in_round = true;
        match self.state {
            State::Startup => {
                let inflight = self.bdp(1.0).max(self.losses.inflight_latest);
                self.full.set_reached(true);
                self.model.inflight_longterm = inflight.max(self.least_cwnd());
            }
            State::Refill | State::Up => {
                self.handle_too_high(0.0, false);
                self.start_down();
            }
            State::Drain | State::Down | State::Cruise | State::ProbeRtt => {}
        }
    }

    fn handle_too_high(&mut self, in_flight: f64, app_limited: bool) {
        self.cycle.note_too_high();
        if !app_limited {
            self.model.inflight_longterm = in_flight.max(BETA * self.target_inflight());
        }
        if self.state == State::Up {
            self.note_ended(State::Up);
            self.start_down();
        }
    }

    /// A loss has ended this state.
    fn note_ended(&mut self, state: State) {
        if let Some(undo) = &mut self.losses.undo {
            undo.state = Some(state);
        }
    }

    /// Once per round (UpdateCongestionSignals, AdaptLowerBoundsFromCongestion).
    pub(super) fn adapt_lower_bounds(&mut self) {
        if !self.losses.round_starts {
            return;
        }
        let lossy = std::mem::take(&mut self.losses.in_round);
        if !lossy || self.state.probes_bandwidth() {
            return;
        }
        let (max_bw, cwnd) = (self.model.max_bw(), self.cwnd);
        let lower = |bound: f64, first: f64, latest: f64| {
            let bound = if bound.is_infinite() { first } else { bound };
            latest.max(BETA * bound)
        };
        let (losses, model) = (&self.losses, &mut self.model);
        model.bw_shortterm = lower(model.bw_shortterm, max_bw, losses.bw_latest);
        model.inflight_shortterm = lower(model.inflight_shortterm, cwnd, losses.inflight_latest);
    }

    /// CheckStartupHighLoss.
    pub(super) fn check_startup_losses(&mut self, sample: &RateSample) {
        let losses = &self.losses;
        let many = losses.round_starts && losses.runs >= STARTUP_FULL_LOSSES;
        if self.full.was_reached() || !many || !losses.recovering || is_safe(sample) {
            return;
        }
        let inflight = self.bdp(1.0).max(losses.inflight_latest);
        self.note_ended(State::Startup);
        self.full.set_reached(true);
        self.model.inflight_longterm = inflight;
    }

    /// HandleSpuriousLossDetection.
    pub(super) fn undo_losses(&mut self) {
        self.losses.recovering = false;
        self.restore_cwnd();
        self.losses.in_round = false;
        self.full.begin(0.0);
        let Some(undo) = self.losses.undo.take() else { return };
        let model = &mut self.model;
        model.bw_shortterm = model.bw_shortterm.max(undo.bw_shortterm);
        model.inflight_shortterm = model.inflight_shortterm.max(undo.inflight_shortterm);
        model.inflight_longterm = model.inflight_longterm.max(undo.inflight_longterm);
        match undo.state {
            Some(State::Startup) if self.state != State::Startup => {
                self.full.set_reached(false);
                if self.state != State::ProbeRtt {
                    self.state = State::Startup;
                }
            }
            Some(State::Up) if !matches!(self.state, State::Up | State::ProbeRtt) => {
                self.start_refill();
            }
            _ => {}
        }
    }
}
