//! HyStart++ (RFC 9406): the first slow start ends before the queue overflows.
//!
//! Idea: a queue that begins to fill shows in the shortest round trip of a round; slow start then goes on at a quarter of
//! its pace for five rounds (conservative slow start, CSS) and ends, unless the round trip falls again, which says that
//! it was no queue.
//!
//! A round ends when something is acknowledged that was sent after its beginning. Seconds and bytes:
//! ```text
//! thresh = max(4 ms, min(last / 8, 16 ms))        last, current: shortest RTT of the round before and of this one
//! slow start: cwnd += min(acked, L PMDCS);        to CSS, with base = current, if current >= last + thresh
//! CSS:        cwnd += min(acked, L PMDCS) / 4;    back if current < base; ssthresh = cwnd after 5 rounds
//! ```
//! A round counts from eight samples on. L is infinite where packets are paced, 8 otherwise (§4.3), in the place of RFC 9260's.
//!
//! It is for the slow start in which ssthresh is still "arbitrarily high" (§4.3), of any controller that grows as `rfc9260.rs`.
//! The round in which CSS begins counts as one of the five. Differences: a SACK gives one sample, of the chunk sent last,
//! and none if that was sent twice. A delayed SACK lengthens its sample, but not the shortest one of a round.

use std::time::Duration;

use super::{AckFacts, SlowStart};
use crate::profile::CongestionParameters;

/// MIN_RTT_THRESH and MAX_RTT_THRESH.
const MIN_THRESHOLD: Duration = Duration::from_millis(4);
const MAX_THRESHOLD: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u32 = 8;
/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// L where nothing is paced, in PMDCS.
const UNPACED_LIMIT: usize = 8;

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    baseline: Duration,
    /// Rounds, this one included.
    rounds: u32,
}

/// The first slow start of a path.
#[derive(Debug, Default)]
pub(super) struct SlowStartExit {
    /// First sequence number of the next round.
    round_end: Option<u64>,
    last: Option<Duration>,
    current: Option<Duration>,
    samples: u32,
    conservative: Option<Conservative>,
}

impl SlowStartExit {
    /// One, if it is asked for.
    pub(super) fn new(parameters: &CongestionParameters) -> Option<SlowStartExit> {
        parameters.hystart_plus_plus.then(SlowStartExit::default)
    }

    /// Something was acknowledged in slow start.
    pub(super) fn on_ack(&mut self, facts: &AckFacts<'_>, pmdcs: usize) -> SlowStart {
        let newest = facts.newest.unwrap_or(0);
        if self.round_end.is_none_or(|end| newest >= end) {
            self.begin_round(facts.next);
        }
        if let Some(rtt) = facts.rtt {
            self.current = Some(self.current.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        if self.conservative.is_some_and(|css| css.rounds > CSS_ROUNDS) {
            return SlowStart::Done;
        }
        let weight = if self.conservative.is_some() { 1.0 / CSS_GROWTH_DIVISOR } else { 1.0 };
        let limit = if facts.paced { usize::MAX } else { UNPACED_LIMIT * pmdcs };
        SlowStart::Grow { limit, weight }
    }

    fn begin_round(&mut self, next: u64) {
        self.round_end = Some(next);
        self.last = self.current.take();
        self.samples = 0;
        if let Some(css) = &mut self.conservative {
            css.rounds += 1;
        }
    }

    /// Looks at the shortest round trip of this round, once it has enough samples.
    fn judge(&mut self) {
        let Some(current) = self.current.filter(|_| self.samples >= SAMPLES) else { return };
        if let Some(css) = self.conservative {
            if current < css.baseline {
                self.conservative = None;
            }
        } else if let Some(last) = self.last {
            let threshold = (last / MIN_RTT_DIVISOR).clamp(MIN_THRESHOLD, MAX_THRESHOLD);
            if current >= last + threshold {
                self.conservative = Some(Conservative { baseline: current, rounds: 1 });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: usize = 1000;

    /// Rounds of ten SACKs each; returns how each went on at its end.
    fn play(rtts_ms: &[u64]) -> Vec<SlowStart> {
        let mut exit = SlowStartExit::default();
        let mut next = 1;
        let mut play_round = |ms: &u64| {
            let first = next;
            next += 10;
            let acks = (first..next).map(|seq| {
                // What is sent in this round has higher numbers.
                exit.on_ack(
                    &AckFacts {
                        rtt: Some(Duration::from_millis(*ms)),
                        newest: Some(seq),
                        next: seq + 10,
                        ..AckFacts::default()
                    },
                    MSS,
                )
            });
            acks.last().unwrap()
        };
        rtts_ms.iter().map(&mut play_round).collect()
    }

    const FAST: SlowStart = SlowStart::Grow { limit: 8 * MSS, weight: 1.0 };
    const SLOW: SlowStart = SlowStart::Grow { limit: 8 * MSS, weight: 0.25 };

    #[test]
    fn a_longer_round_trip_slows_growth_down_and_ends_it_after_five_rounds() {
        // An eighth of 40 ms is 5 ms.
        assert_eq!(play(&[40, 44, 48, 52]), [FAST; 4]);
        let ended = play(&[40, 45, 45, 45, 45, 45, 45]);
        assert_eq!(ended, [FAST, SLOW, SLOW, SLOW, SLOW, SLOW, SlowStart::Done]);
    }

    #[test]
    fn the_threshold_is_from_4_to_16_ms() {
        assert_eq!(play(&[1, 4]), [FAST, FAST]);
        assert_eq!(play(&[1, 5]), [FAST, SLOW]);
        assert_eq!(play(&[800, 815]), [FAST, FAST]);
        assert_eq!(play(&[800, 816]), [FAST, SLOW]);
    }

    #[test]
    fn a_round_trip_that_falls_again_was_no_queue() {
        assert_eq!(play(&[40, 45, 45, 44, 44, 50]), [FAST, SLOW, SLOW, FAST, FAST, SLOW]);
    }

    #[test]
    fn a_round_of_few_samples_says_nothing() {
        let mut exit = SlowStartExit::default();
        for (round, ms) in [40, 90, 90].into_iter().enumerate() {
            for sack in 0..7 {
                let newest = Some(round as u64 * 10 + sack);
                let next = (round as u64 + 1) * 10;
                let rtt = Some(Duration::from_millis(ms));
                let facts = AckFacts { rtt, newest, next, ..AckFacts::default() };
                assert_eq!(exit.on_ack(&facts, MSS), FAST);
            }
        }
    }

    #[test]
    fn paced_packets_need_no_limit() {
        let mut exit = SlowStartExit::default();
        let facts = AckFacts { paced: true, ..AckFacts::default() };
        let unlimited = SlowStart::Grow { limit: usize::MAX, weight: 1.0 };
        assert_eq!(exit.on_ack(&facts, MSS), unlimited);
    }
}
