//! The shortest round trip, and ProbeRTT, in which the queue is drained so that it shows (draft-ietf-ccwg-bbr-06 §5.3.4).
//!
//! ```text
//! min_rtt   shortest of 10 s
//! ProbeRTT  unless a round trip as short was seen within 5 s: cwnd = max(bdp / 2, 4 PMDCS) for 200 ms and a round
//! ```

use std::time::Duration;

use super::{Bbr, State};
use crate::congestion::AckFacts;
use crate::scoreboard::RateSample;
use crate::time::Time;

/// MinRTTFilterLen, ProbeRTTInterval, ProbeRTTDuration.
const MIN_RTT_FILTER: Duration = Duration::from_secs(10);
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);
/// ProbeRTTCwndGain.
const PROBE_RTT_GAIN: f64 = 0.5;

#[derive(Debug, Default)]
pub(super) struct MinRtt {
    shortest: Option<(Duration, Time)>,
    /// The shortest of the present ProbeRTTInterval.
    recent: Option<(Duration, Time)>,
    expired: bool,
    done_at: Option<Time>,
    round_done: bool,
}

impl MinRtt {
    pub(super) fn get(&self) -> Option<Duration> {
        self.shortest.map(|(rtt, _)| rtt)
    }

    /// UpdateMinRTT.
    pub(super) fn on_ack(&mut self, now: Time, sample: Option<Duration>) {
        let old = |at: Time, length: Duration| now > at + length;
        self.expired = self.recent.is_some_and(|(_, at)| old(at, PROBE_RTT_INTERVAL));
        if let Some(rtt) = sample
            && (self.expired || self.recent.is_none_or(|(recent, _)| rtt < recent))
        {
            self.recent = Some((rtt, now));
        }
        let forgotten = self.shortest.is_none_or(|(_, at)| old(at, MIN_RTT_FILTER));
        if let Some((recent, at)) = self.recent
            && (forgotten || self.shortest.is_none_or(|(shortest, _)| recent < shortest))
        {
            self.shortest = Some((recent, at));
        }
    }
}

impl Bbr {
    /// CheckProbeRTT.
    pub(super) fn check_probe_rtt(&mut self, facts: &AckFacts<'_>, sample: &RateSample) {
        if self.state != State::ProbeRtt && self.min_rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.min_rtt.done_at = None;
            self.cycle.stop_probe();
            self.rounds.begin();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(facts.now, sample.in_flight as f64);
        }
        if sample.delivered() > 0 {
            self.idle_restart = false;
        }
    }

    fn handle_probe_rtt(&mut self, now: Time, in_flight: f64) {
        if self.min_rtt.done_at.is_some() {
            self.min_rtt.round_done |= self.rounds.starts();
            if self.min_rtt.round_done {
                self.check_probe_rtt_done(now);
            }
        } else if in_flight <= self.probe_rtt_cwnd() {
            self.min_rtt.done_at = Some(now + PROBE_RTT_DURATION);
            self.min_rtt.round_done = false;
            self.rounds.begin();
        }
    }

    /// CheckProbeRTTDone.
    pub(super) fn check_probe_rtt_done(&mut self, now: Time) {
        if self.min_rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        if let Some((_, at)) = &mut self.min_rtt.recent {
            *at = now;
        }
        self.restore_cwnd();
        self.model.reset_shortterm();
        if self.full.was_reached() {
            self.start_down();
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    pub(super) fn probe_rtt_cwnd(&self) -> f64 {
        self.bdp(PROBE_RTT_GAIN).max(self.least_cwnd())
    }
}
