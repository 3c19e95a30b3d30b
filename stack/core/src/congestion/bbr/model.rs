//! What BBR knows of a path (draft-ietf-ccwg-bbr-06 §5.5): rounds, its bandwidth, whether it is full, and how SACKs are
//! aggregated.
//!
//! Bytes and seconds:
//! ```text
//! round       ends when something is acknowledged that left after its beginning
//! max_bw      largest rate sample of this cycle of ProbeBW and of the one before
//! bw          min(max_bw, bw_shortterm)
//! full        three rounds, not limited by the application, in which the rate grew by less than a quarter
//! extra_acked most of acked - bw t that was seen within 10 rounds (1 in Startup), t since acked was last below bw t
//! ```

use std::time::Duration;

use crate::scoreboard::RateSample;
use crate::time::Time;

/// Growth of the rate that shows that the path is not full.
const FULL_BW_GROWTH: f64 = 1.25;
/// Rounds without it.
const FULL_BW_ROUNDS: u32 = 3;
/// ExtraAckedFilterLen.
const EXTRA_ACKED_ROUNDS: usize = 10;

/// Packet-timed round trips (§5.5.1).
#[derive(Debug, Default)]
pub(super) struct Rounds {
    count: u64,
    /// The last acknowledgement began one.
    starts: bool,
    /// It ends with the acknowledgement of what leaves after this many bytes were delivered.
    end: u64,
    total: u64,
}

impl Rounds {
    pub(super) fn on_ack(&mut self, sample: &RateSample) {
        self.total = sample.total;
        self.starts = sample.prior >= self.end;
        if self.starts {
            self.begin();
            self.count += 1;
        }
    }

    /// What leaves from now on is of a new round.
    pub(super) fn begin(&mut self) {
        self.end = self.total;
    }

    pub(super) fn starts(&self) -> bool {
        self.starts
    }

    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Bytes delivered so far.
    pub(super) fn total(&self) -> u64 {
        self.total
    }
}

/// Whether more is sent than the path takes (§5.3.1.2).
#[derive(Debug, Default)]
pub(super) struct FullPipe {
    /// It was, since the association began.
    reached: bool,
    /// It is, since it was last asked.
    now: bool,
    bw: f64,
    count: u32,
}

impl FullPipe {
    /// It was, since the association began, or is said to have been.
    pub(super) fn was_reached(&self) -> bool {
        self.reached
    }

    /// It is, since it was last asked.
    pub(super) fn is_now(&self) -> bool {
        self.now
    }

    /// Losses show that it was (§5.3.1.3), or that they did was wrong.
    pub(super) fn set_reached(&mut self, reached: bool) {
        self.reached = reached;
    }

    /// Looks again, from this rate on.
    pub(super) fn begin(&mut self, rate: f64) {
        (self.now, self.bw, self.count) = (false, rate, 0);
    }

    pub(super) fn on_ack(&mut self, rounds: &Rounds, sample: &RateSample) {
        if self.now || !rounds.starts() || sample.app_limited {
            return;
        }
        if sample.rate >= self.bw * FULL_BW_GROWTH {
            self.begin(sample.rate);
            return;
        }
        self.count += 1;
        self.now = self.count >= FULL_BW_ROUNDS;
        self.reached |= self.now;
    }
}

/// The largest rate samples of the cycle before, and of this one (§5.5.5), in bytes per second.
#[derive(Debug, Default)]
pub(super) struct MaxBw([f64; 2]);

impl MaxBw {
    fn get(&self) -> f64 {
        self.0[0].max(self.0[1])
    }

    fn on_ack(&mut self, sample: &RateSample) {
        if sample.rate >= self.get() || !sample.app_limited {
            self.0[1] = self.0[1].max(sample.rate);
        }
    }

    /// A cycle of ProbeBW is over: the one before it is forgotten, unless nothing was measured since.
    fn advance(&mut self) {
        if self.0[1] > 0.0 {
            self.0 = [self.0[1], 0.0];
        }
    }
}

/// Bandwidth and bounds, in bytes per second and bytes.
#[derive(Debug)]
pub(super) struct Model {
    pub(super) max_bw: MaxBw,
    /// What may be sent: the bandwidth, or less after losses.
    pub(super) bw: f64,
    pub(super) bw_shortterm: f64,
    pub(super) inflight_shortterm: f64,
    pub(super) inflight_longterm: f64,
}

impl Default for Model {
    fn default() -> Model {
        let none = f64::INFINITY;
        Model {
            max_bw: MaxBw::default(),
            bw: 0.0,
            bw_shortterm: none,
            inflight_shortterm: none,
            inflight_longterm: none,
        }
    }
}

impl Model {
    pub(super) fn max_bw(&self) -> f64 {
        self.max_bw.get()
    }

    pub(super) fn on_ack(&mut self, sample: &RateSample) {
        self.max_bw.on_ack(sample);
    }

    /// A cycle of ProbeBW is over.
    pub(super) fn advance(&mut self) {
        self.max_bw.advance();
    }

    pub(super) fn bound(&mut self) {
        self.bw = self.max_bw().min(self.bw_shortterm);
    }

    /// Forgets the bounds that losses have set outside of Startup, Refill and Up.
    pub(super) fn reset_shortterm(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (f64::INFINITY, f64::INFINITY);
    }
}

/// How much more is acknowledged at once than the bandwidth explains (§5.5.9).
#[derive(Debug, Default)]
pub(super) struct Aggregation {
    since: Option<Time>,
    delivered: f64,
    /// Round, most of it.
    most: [(u64, f64); EXTRA_ACKED_ROUNDS],
}

impl Aggregation {
    /// Counts from now on.
    pub(super) fn begin(&mut self, now: Time) {
        self.since = Some(now);
        self.delivered = 0.0;
    }

    pub(super) fn on_ack(&mut self, now: Time, round: u64, bw: f64, acked: f64, cwnd: f64) {
        let since = *self.since.get_or_insert(now);
        let mut expected = bw * now.since(since).as_secs_f64();
        if self.delivered <= expected {
            self.begin(now);
            expected = 0.0;
        }
        self.delivered += acked;
        let extra = (self.delivered - expected).min(cwnd);
        let slot = &mut self.most[(round % EXTRA_ACKED_ROUNDS as u64) as usize];
        *slot = (round, if slot.0 == round { slot.1.max(extra) } else { extra });
    }

    /// The most of the last ten rounds, or of this one.
    pub(super) fn extra(&self, round: u64, one: bool) -> f64 {
        let rounds = if one { 1 } else { EXTRA_ACKED_ROUNDS as u64 };
        let recent = self.most.iter().filter(|(of, _)| of + rounds > round);
        recent.map(|(_, extra)| *extra).fold(0.0, f64::max)
    }
}

/// Bytes that a path of this bandwidth holds.
pub(super) fn bdp(bw: f64, rtt: Duration) -> f64 {
    bw * rtt.as_secs_f64()
}
