//! Random early detection: packets are dropped before the queue is full, the more the longer it is.
//!
//! Source: Floyd & Jacobson, "Random Early Detection Gateways for Congestion Avoidance", IEEE/ACM
//! Transactions on Networking 1 (4), 1993 (§4, Figure 2); the gentle option is Floyd's of 2000
//! ("Recommendation on using the gentle_ variant of RED"). Idea: a moving average of the queue length
//! tells congestion from bursts, and drops are spread evenly by counting packets since the last one.
//!
//! ```text
//! avg <- (1 - w) avg + w q           at each packet; q packets wait, the one being serialised not
//! avg <- (1 - w)^m avg               after an idle time instead; m = idle time / time of a packet
//! p_b = max_p (avg - min) / (max - min)                     min <= avg < max
//!     = max_p + (1 - max_p) (avg - max) / max               max <= avg < 2 max, gentle
//!     = 1                                                   beyond
//! p_a = p_b / (1 - count p_b)        count: packets that passed since the last drop, so that the
//!                                    interval to the next one is uniform from 1 to 1 / p_b
//! ```
//!
//! Packets are counted, not bytes. With `ecn` those that may be marked are marked instead of dropped while p_b < 1
//! (RFC 3168 §5). What still exceeds the limits of the
//! queue is dropped as with drop tail, and counted so.

use serde::{Deserialize, Serialize};

use crate::error::{ConfigError, fault};
use crate::random::Random;
use crate::rate::Rate;
use crate::time::Nanos;

/// Random early detection: the table `red` of a [`LinkConfig`](crate::LinkConfig).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// Average length, in packets, from which on packets are dropped.
    pub min_threshold: f64,
    /// Average length, in packets, at which the probability has reached `max_probability`. Greater
    /// than `min_threshold`.
    pub max_threshold: f64,
    /// Drop probability at `max_threshold`, above 0 and up to 1. Default 0.1.
    #[serde(default = "default_probability")]
    pub max_probability: f64,
    /// Weight of the present length in the average, above 0 and up to 1. Default 0.002.
    #[serde(default = "default_weight")]
    pub weight: f64,
    /// Whether the probability rises from `max_probability` to 1 between `max_threshold` and twice
    /// as much, instead of jumping to 1. Default `true`.
    #[serde(default = "default_gentle")]
    pub gentle: bool,
    /// Size of the packets that an idle link is supposed to have sent meanwhile, in bytes with link
    /// overhead. Default 500.
    #[serde(default = "default_packet_bytes")]
    pub packet_bytes: u32,
    /// Packets of an ECN-capable transport are marked instead of dropped, until the probability is 1. Default `false`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ecn: bool,
}

const fn default_probability() -> f64 {
    0.1
}

const fn default_weight() -> f64 {
    0.002
}

const fn default_gentle() -> bool {
    true
}

const fn default_packet_bytes() -> u32 {
    500
}

impl RedConfig {
    /// Thresholds in packets; everything else has its default.
    pub const fn new(min_threshold: f64, max_threshold: f64) -> RedConfig {
        RedConfig {
            min_threshold,
            max_threshold,
            max_probability: default_probability(),
            weight: default_weight(),
            gentle: default_gentle(),
            packet_bytes: default_packet_bytes(),
            ecn: false,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        let RedConfig { min_threshold: min, max_threshold: max, .. } = *self;
        if !(0.0..=1e9).contains(&min) {
            let reason = format!("packets between 0 and 1e9 are needed, not {min}");
            return fault("red.min_threshold", reason);
        }
        if !(max > min && max <= 1e9) {
            let reason =
                format!("more than min_threshold = {min} and up to 1e9 is needed, not {max}");
            return fault("red.max_threshold", reason);
        }
        for (key, value) in
            [("red.max_probability", self.max_probability), ("red.weight", self.weight)]
        {
            if !(value > 0.0 && value <= 1.0) {
                return fault(key, format!("more than 0 and up to 1 is needed, not {value}"));
            }
        }
        if self.packet_bytes == 0 {
            return fault("red.packet_bytes", "at least 1 is needed".to_string());
        }
        Ok(())
    }

    /// p_b: the probability of a drop, before drops are spread.
    fn probability(&self, average: f64) -> f64 {
        let RedConfig { min_threshold: min, max_threshold: max, max_probability, .. } = *self;
        if average < min {
            0.0
        } else if average < max {
            max_probability * (average - min) / (max - min)
        } else if self.gentle && average < 2.0 * max {
            max_probability + (1.0 - max_probability) * (average - max) / max
        } else {
            1.0
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Pass,
    Mark,
    Drop,
}

/// The detector before one queue.
#[derive(Clone, Debug)]
pub(crate) struct Red {
    config: Option<RedConfig>,
    /// How long a packet of the supposed size takes.
    packet_time: Nanos,
    average: f64,
    /// Packets that passed since the last drop while the average was above the minimum.
    count: u64,
    random: Random,
}

impl Red {
    pub(crate) fn new(config: Option<RedConfig>, rate: Rate, random: Random) -> Red {
        let mut red =
            Red { config: None, packet_time: Nanos::ZERO, average: 0.0, count: 0, random };
        red.reconfigure(config, rate);
        red
    }

    /// The average goes on under new settings.
    pub(crate) fn reconfigure(&mut self, config: Option<RedConfig>, rate: Rate) {
        self.config = config;
        if let Some(red) = config {
            self.packet_time = rate.time_for(u64::from(red.packet_bytes));
        }
    }

    /// What becomes of a packet that finds `waiting` packets and may be marked if it is `ect`. `idle` is how long nothing has
    /// been serialised; `None` while the link is busy.
    pub(crate) fn judge(&mut self, waiting: usize, idle: Option<Nanos>, ect: bool) -> Judgement {
        let Some(config) = self.config else { return Judgement::Pass };
        self.average = match idle {
            Some(idle) => self.average * (1.0 - config.weight).powf(self.packets_in(idle)),
            None => (1.0 - config.weight) * self.average + config.weight * waiting as f64,
        };
        let probability = config.probability(self.average);
        if probability <= 0.0 {
            self.count = 0;
            return Judgement::Pass;
        }
        let spread = probability / (1.0 - self.count as f64 * probability).max(probability);
        // The interval ends after 1 / p_b packets, whatever rounding makes of it.
        let dropped = spread >= 1.0 || self.random.chance(spread);
        self.count = if dropped { 0 } else { self.count + 1 };
        match dropped {
            false => Judgement::Pass,
            true if config.ecn && ect && probability < 1.0 => Judgement::Mark,
            true => Judgement::Drop,
        }
    }

    /// m: packets of the supposed size that a link could have sent.
    fn packets_in(&self, idle: Nanos) -> f64 {
        if self.packet_time == Nanos::ZERO {
            return if idle == Nanos::ZERO { 0.0 } else { f64::INFINITY };
        }
        idle.get() as f64 / self.packet_time.get() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Stage;

    impl Red {
        fn drops(&mut self, waiting: usize, idle: Option<Nanos>) -> bool {
            self.judge(waiting, idle, false) == Judgement::Drop
        }
    }

    #[test]
    fn what_may_be_marked_is_marked_until_everything_is_dropped() {
        let config = RedConfig { weight: 1.0, gentle: false, ..RedConfig::new(1.0, 10.0) };
        let judge = |ecn, ect, waiting| {
            let mut red = red(RedConfig { ecn, ..config });
            let all = (0..1000).map(|_| red.judge(waiting, None, ect));
            all.filter(|judgement| *judgement != Judgement::Pass).collect::<Vec<_>>()
        };
        let dropped = judge(false, true, 9);
        assert!(dropped.len() > 50 && dropped.iter().all(|j| *j == Judgement::Drop));
        assert_eq!(judge(true, false, 9), dropped);
        let marked = judge(true, true, 9);
        assert!(marked.len() == dropped.len() && marked.iter().all(|j| *j == Judgement::Mark));
        assert!(judge(true, true, 10).iter().all(|j| *j == Judgement::Drop));
    }

    fn red(config: RedConfig) -> Red {
        config.validate().expect("valid");
        // 500 bytes take 4 ms.
        Red::new(Some(config), Rate::new(Some(1000.0)), Random::new(1, Stage::Red))
    }

    #[test]
    fn probability_is_piecewise_linear() {
        let gentle = RedConfig { max_probability: 0.2, ..RedConfig::new(5.0, 15.0) };
        let steep = RedConfig { gentle: false, ..gentle };
        for (average, expected) in [(0.0, 0.0), (4.9, 0.0), (5.0, 0.0), (10.0, 0.1)] {
            assert!((gentle.probability(average) - expected).abs() < 1e-12);
            assert!((steep.probability(average) - expected).abs() < 1e-12);
        }
        for (average, expected) in [(15.0, 0.2), (22.5, 0.6), (30.0, 1.0), (99.0, 1.0)] {
            assert!((gentle.probability(average) - expected).abs() < 1e-12);
            assert_eq!(steep.probability(average), 1.0);
        }
    }

    #[test]
    fn the_average_follows_the_queue_and_decays_when_idle() {
        let mut red = red(RedConfig { weight: 0.5, ..RedConfig::new(100.0, 200.0) });
        for (waiting, average) in [(8, 4.0), (8, 6.0), (0, 3.0)] {
            assert!(!red.drops(waiting, None));
            assert_eq!(red.average, average);
        }
        // Idle for 8 ms, the time of two packets.
        assert!(!red.drops(0, Some(Nanos::from_millis(8))));
        assert_eq!(red.average, 0.75);
        assert!(!red.drops(0, Some(Nanos::ZERO)));
        assert_eq!(red.average, 0.75);
    }

    #[test]
    fn drops_are_spread_evenly() {
        // p_b = 0.1 at a constant average: intervals are uniform between 1 and 10 packets.
        let config = RedConfig { max_probability: 0.2, weight: 1.0, ..RedConfig::new(0.0, 10.0) };
        let mut red = red(config);
        let mut intervals = Vec::new();
        let mut since = 0_u32;
        for _ in 0..55_000 {
            since += 1;
            if red.drops(5, None) {
                intervals.push(since);
                since = 0;
            }
        }
        assert!(intervals.iter().all(|interval| (1..=10).contains(interval)));
        for length in 1..=10 {
            let share = intervals.iter().filter(|interval| **interval == length).count() as f64
                / intervals.len() as f64;
            assert!((share - 0.1).abs() < 0.015, "{length}: {share}");
        }
    }

    #[test]
    fn beyond_the_maximum_everything_is_dropped() {
        let mut red = red(RedConfig { gentle: false, weight: 1.0, ..RedConfig::new(1.0, 3.0) });
        assert!((0..100).all(|_| red.drops(3, None)));
        assert!((0..100).all(|_| !red.drops(0, None)), "and nothing below the minimum");
    }
}
