//! Figures that reports are made of: distributions of times, and amounts over a time.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

/// Durations, collected in nanoseconds.
#[derive(Debug)]
pub(crate) struct Durations(Histogram<u64>);

impl Durations {
    pub(crate) fn new() -> Durations {
        const HOUR: u64 = 3_600_000_000_000;
        // These bounds are legal, so the fallback is not met; it is legal too.
        let histogram = Histogram::new_with_bounds(1, HOUR, 3);
        Durations(histogram.unwrap_or_else(|_| unreachable!("1 to an hour with 3 digits")))
    }

    pub(crate) fn record(&mut self, nanos: u64) {
        self.0.saturating_record(nanos);
    }

    pub(crate) fn summary(&self) -> Option<Percentiles> {
        if self.0.is_empty() {
            return None;
        }
        let micros = |nanos: u64| nanos as f64 / 1e3;
        let quantile = |q| micros(self.0.value_at_quantile(q));
        Some(Percentiles {
            samples: self.0.len(),
            min_us: micros(self.0.min()),
            mean_us: self.0.mean() / 1e3,
            p50_us: quantile(0.5),
            p90_us: quantile(0.9),
            p99_us: quantile(0.99),
            p999_us: quantile(0.999),
            max_us: micros(self.0.max()),
        })
    }
}

/// A distribution of times, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Percentiles {
    pub(crate) samples: u64,
    pub(crate) min_us: f64,
    pub(crate) mean_us: f64,
    pub(crate) p50_us: f64,
    pub(crate) p90_us: f64,
    pub(crate) p99_us: f64,
    pub(crate) p999_us: f64,
    pub(crate) max_us: f64,
}

/// Amounts over a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Volume {
    pub(crate) messages: u64,
    /// User bytes.
    pub(crate) bytes: u64,
    pub(crate) seconds: f64,
    /// User bits a second.
    pub(crate) goodput_bit_s: f64,
    pub(crate) messages_per_s: f64,
}

impl Volume {
    pub(crate) fn new(messages: u64, bytes: u64, time: Duration) -> Volume {
        let seconds = time.as_secs_f64();
        let rate = |amount: f64| if seconds > 0.0 { amount / seconds } else { 0.0 };
        Volume {
            messages,
            bytes,
            seconds,
            goodput_bit_s: rate(bytes as f64 * 8.0),
            messages_per_s: rate(messages as f64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_within_a_thousandth() {
        let mut durations = Durations::new();
        assert_eq!(durations.summary(), None);
        (1..=1_000u64).for_each(|n| durations.record(n * 1_000));
        let p = durations.summary().unwrap();
        assert_eq!(p.samples, 1_000);
        for (got, expected) in [(p.p50_us, 500.0), (p.p99_us, 990.0), (p.max_us, 1_000.0)] {
            assert!((got / expected - 1.0_f64).abs() < 0.002, "{got} {expected}");
        }
    }
}
