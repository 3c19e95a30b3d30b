//! Capacity like that of a cellular link: a synthetic trace, from a seed.
//!
//! Source: Winstein, Sivaraman & Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over
//! Cellular Networks", NSDI 2013 (§3.1): the rate of a link wanders in Brownian motion, and outages, once they began,
//! tend to last. Idea: the logarithm of the rate is drawn back to its median while it wanders, and at times
//! there is next to no service.
//!
//! ```text
//! x[0] ~ N(0, 1)
//! x[n + 1] = a x[n] + sqrt(1 - a²) N(0, 1)              a = exp(-step / memory)
//! rate[n]  = min(median exp(spread x[n]), peak)         spread: standard deviation of ln(rate)
//! outages begin with probability step / between for each step, and last Exp(outage), no less than a step;
//! in them, and below it, rate[n] = floor
//! ```
//!
//! The paper's rate has no median and wanders without bound; here it is that of an Ornstein–Uhlenbeck process of
//! the logarithm, so that a trace of any length has the same distribution. In outages the rate is `floor_kbps`, not 0,
//! so that the packet under way still leaves.

use crate::changes::LinkChange;
use crate::random::{Random, Stage};

/// A cellular link. [`Self::changes`] makes the list `changes` of a [`LinkConfig`](crate::LinkConfig) of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellularConfig {
    /// Median of the bandwidth without outages, kbit/s.
    pub median_kbps: f64,
    /// The most that the link can do, kbit/s.
    pub peak_kbps: f64,
    /// The least, and the bandwidth in outages, kbit/s. Default 64: a packet of 1500 bytes takes 190 ms.
    pub floor_kbps: f64,
    /// Standard deviation of the natural logarithm of the bandwidth. Default 0.5.
    pub spread: f64,
    /// Milliseconds for which the bandwidth stays as it is, at least 1. Default 100.
    pub step_ms: f64,
    /// Milliseconds after which the correlation has fallen to 1 / e. Default 1000.
    pub memory_ms: f64,
    /// Milliseconds between the beginnings of outages, on average; 0: none. Default 0.
    pub between_outages_ms: f64,
    /// Milliseconds that an outage lasts, on average. Default 300.
    pub outage_ms: f64,
}

impl CellularConfig {
    /// A link with this median and this peak in kbit/s; everything else has its default.
    pub const fn new(median_kbps: f64, peak_kbps: f64) -> CellularConfig {
        CellularConfig {
            median_kbps,
            peak_kbps,
            floor_kbps: 64.0,
            spread: 0.5,
            step_ms: 100.0,
            memory_ms: 1000.0,
            between_outages_ms: 0.0,
            outage_ms: 300.0,
        }
    }

    /// The changes of bandwidth from time zero until `until_ms`: one for each step in which it changes. They follow
    /// from `seed` alone.
    pub fn changes(&self, seed: u64, until_ms: f64) -> Vec<LinkChange> {
        let mut random = Random::new(seed, Stage::Cellular);
        let step = self.step_ms.max(1.0);
        let kept = (-step / self.memory_ms.max(step * 0.01)).exp();
        let mut x = normal(&mut random);
        let mut outage_until = 0.0;
        let mut changes: Vec<LinkChange> = Vec::new();
        let mut at_ms = 0.0;
        while at_ms < until_ms {
            let begins = self.between_outages_ms > 0.0
                && random.chance((step / self.between_outages_ms).min(1.0));
            if begins && at_ms >= outage_until {
                outage_until = at_ms + (self.outage_ms * -(1.0 - random.unit()).ln()).max(step);
            }
            let rate = (self.median_kbps * (self.spread * x).exp()).min(self.peak_kbps);
            let rate = if at_ms < outage_until { 0.0 } else { rate }.max(self.floor_kbps);
            if changes.last().is_none_or(|last| last.bandwidth_kbps != Some(rate)) {
                let bandwidth_kbps = Some(rate);
                changes.push(LinkChange { at_ms, bandwidth_kbps, ..LinkChange::default() });
            }
            x = kept * x + (1.0 - kept * kept).sqrt() * normal(&mut random);
            at_ms += step;
        }
        changes
    }
}

/// A number of the standard normal distribution (Box & Muller 1958).
fn normal(random: &mut Random) -> f64 {
    let radius = (-2.0 * (1.0 - random.unit()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bandwidth of every step of ten thousand.
    fn trace(config: &CellularConfig, seed: u64) -> Vec<f64> {
        let changes = config.changes(seed, 10_000.0 * config.step_ms);
        let mut rates = Vec::new();
        for (n, change) in changes.iter().enumerate() {
            let end = changes.get(n + 1).map_or(10_000.0 * config.step_ms, |next| next.at_ms);
            let steps = ((end - change.at_ms) / config.step_ms).round() as usize;
            rates.extend(std::iter::repeat_n(change.bandwidth_kbps.unwrap(), steps));
        }
        assert_eq!(rates.len(), 10_000);
        rates
    }

    #[test]
    fn median_spread_and_memory_are_those_asked_for() {
        let config = CellularConfig::new(8000.0, f64::INFINITY);
        let logs: Vec<f64> = trace(&config, 1).iter().map(|r| (r / 8000.0).ln()).collect();
        let n = logs.len() as f64;
        let mean = logs.iter().sum::<f64>() / n;
        let variance = logs.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / n;
        // 10 000 steps are 500 independent ones: standard errors 0.022 and 0.016.
        assert!(mean.abs() < 0.07 && (variance.sqrt() - 0.5).abs() < 0.05, "{mean}, {variance}");
        let lag = 10;
        let pairs = logs.windows(lag + 1).map(|w| (w[0] - mean) * (w[lag] - mean));
        let correlation = pairs.sum::<f64>() / (n - lag as f64) / variance;
        assert!((correlation - (-1.0f64).exp()).abs() < 0.12, "{correlation}");
    }

    #[test]
    fn outages_have_their_share_and_nothing_leaves_its_bounds() {
        let config = CellularConfig {
            between_outages_ms: 5000.0,
            outage_ms: 500.0,
            ..CellularConfig::new(4000.0, 6000.0)
        };
        let rates = trace(&config, 2);
        assert!(rates.iter().all(|rate| (64.0..=6000.0).contains(rate)));
        let out = rates.iter().filter(|rate| **rate == 64.0).count() as f64 / 10_000.0;
        // About 0.55 s after 5 s without any.
        assert!((out - 0.1).abs() < 0.025, "{out}");
        assert_eq!(config.changes(2, 1e5), config.changes(2, 1e5));
        assert_ne!(config.changes(2, 1e5), config.changes(3, 1e5));
    }
}
