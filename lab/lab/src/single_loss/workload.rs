//! From a workload and a seed to the exact messages of one run.

use std::time::Duration;

use tresse_core::Rng;

use super::{Bursts, Gap, RandomGap, RandomSize, Size};
use crate::seed;

/// One message of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduledMessage {
    /// Its index in the flow, counted from 0.
    pub index: u32,
    /// Its number in the paper's counting.
    pub tsn: u32,
    /// Its burst, counted from 1.
    pub burst: u32,
    /// Its place in the burst, counted from 1.
    pub position: u32,
    /// When the application sends it, after the association is up.
    pub at: Duration,
    /// Whether it is measured: not in one of the first, ignored bursts.
    pub measured: bool,
}

/// The messages of one replication, in the order of sending. The same seed and replication give
/// the same messages, whatever the profile and the network.
pub fn schedule(bursts: &Bursts, seed: u64, replication: u32) -> Vec<ScheduledMessage> {
    let mut rng = Rng::from_seed(seed::derive(seed, replication, "traffic"));
    let mut messages = Vec::new();
    let mut at_ms = 0.0;
    for burst in 1..=bursts.count {
        if burst > 1 {
            at_ms += gap(bursts.gap_ms, &mut rng);
        }
        let size = size(bursts.size, &mut rng);
        for position in 1..=size {
            if position > 1 {
                at_ms += bursts.spacing_ms;
            }
            let index = messages.len() as u32;
            messages.push(ScheduledMessage {
                index,
                tsn: bursts.first_tsn.saturating_add(index),
                burst,
                position,
                at: Duration::from_nanos((at_ms * 1e6).round() as u64),
                measured: burst > bursts.ignore,
            });
        }
    }
    messages
}

fn size(size: Size, rng: &mut Rng) -> u32 {
    match size {
        Size::Fixed(n) => n,
        Size::Random(RandomSize::Uniform([low, high])) => {
            low + (rng.next_f64() * f64::from(high - low + 1)) as u32
        }
    }
}

fn gap(gap: Gap, rng: &mut Rng) -> f64 {
    match gap {
        Gap::Fixed(ms) => ms,
        // The inverse of F(x) = 1 − e^(−x/mean); 1 − u is never 0.
        Gap::Random(RandomGap::Exponential(mean)) => -mean * (1.0 - rng.next_f64()).ln(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bursts(size: Size, gap_ms: Gap) -> Bursts {
        Bursts {
            count: 2000,
            ignore: 2,
            size,
            gap_ms,
            message_bytes: 200,
            spacing_ms: 0.0,
            first_tsn: 2,
        }
    }

    #[test]
    fn fixed_bursts() {
        let b = Bursts { count: 12, ..bursts(Size::Fixed(4), Gap::Fixed(200.0)) };
        let messages = schedule(&b, 1, 0);
        assert_eq!(messages.len(), 48);
        assert_eq!(messages.iter().filter(|m| m.measured).count(), 40);
        let m = messages[10];
        assert_eq!((m.index, m.tsn, m.burst, m.position), (10, 12, 3, 3));
        assert_eq!(m.at, Duration::from_millis(400));
    }

    #[test]
    fn spacing_comes_before_the_gap() {
        let b = Bursts { spacing_ms: 5.0, ..bursts(Size::Fixed(2), Gap::Fixed(100.0)) };
        let at: Vec<u128> = schedule(&b, 1, 0)[..4].iter().map(|m| m.at.as_millis()).collect();
        assert_eq!(at, [0, 5, 105, 110]);
    }

    #[test]
    fn random_bursts_have_their_distribution_and_replay() {
        let size = Size::Random(RandomSize::Uniform([1, 7]));
        let b = bursts(size, Gap::Random(RandomGap::Exponential(200.0)));
        let messages = schedule(&b, 9, 3);
        assert_eq!(messages, schedule(&b, 9, 3));
        assert_ne!(messages, schedule(&b, 9, 4));

        let sizes: Vec<u32> = (1..=b.count)
            .map(|n| messages.iter().filter(|m| m.burst == n).count() as u32)
            .collect();
        for n in 1..=7 {
            let share = sizes.iter().filter(|s| **s == n).count() as f64 / sizes.len() as f64;
            assert!((share - 1.0 / 7.0).abs() < 0.03, "size {n}: {share}");
        }
        let mean_gap = messages.last().unwrap().at.as_secs_f64() * 1e3 / f64::from(b.count - 1);
        assert!((mean_gap - 200.0).abs() < 15.0, "mean gap {mean_gap}");
    }
}
