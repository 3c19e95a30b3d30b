//! A side in numbers.

use tresse_sim::apps::TransferTime;

use crate::recorder::Recorder;
use crate::story::{LostBy, Summary};

/// `transmissions`: those of user data, those sent before, those in vain.
pub(crate) fn summarise(
    times: &[TransferTime],
    [chunks, again, needless]: [u64; 3],
    recorder: &Recorder,
) -> Summary {
    let millis = |time: &TransferTime| Some(time.duration()?.as_secs_f64() * 1e3);
    let mut taken: Vec<f64> = times.iter().filter_map(millis).collect();
    taken.sort_by(f64::total_cmp);
    let mean = (!taken.is_empty()).then(|| taken.iter().sum::<f64>() / taken.len() as f64);
    Summary {
        messages: times.len() as u64,
        delivered: taken.len() as u64,
        mean_ms: mean,
        p99_ms: nearest_rank(&taken, 0.99),
        max_ms: taken.last().copied(),
        goodput_kbps: goodput(times),
        chunks,
        again,
        needless,
        timeouts: recorder.decisions.timeouts,
        lost_by_events: recorder.lost[LostBy::Event as usize],
        lost_in_queue: recorder.lost[LostBy::Queue as usize],
        lost_by_chance: recorder.lost[LostBy::Chance as usize],
    }
}

/// The smallest of the sorted values that a share of them does not exceed.
fn nearest_rank(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied()
}

/// kbit/s of user data between the first message and the last delivery.
fn goodput(times: &[TransferTime]) -> f64 {
    let Some(first) = times.first() else { return 0.0 };
    let Some(last) = times.iter().filter_map(|time| time.delivered).max() else { return 0.0 };
    let delivered = times.iter().filter(|time| time.delivered.is_some());
    let bits = delivered.map(|time| time.size as f64 * 8.0).sum::<f64>();
    let seconds = last.since(first.sent).as_secs_f64();
    if seconds > 0.0 { bits / seconds / 1e3 } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_hundred_the_99th_is_the_percentile() {
        let values: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(nearest_rank(&values, 0.99), Some(99.0));
        assert_eq!(nearest_rank(&values[..3], 0.99), Some(3.0));
        assert_eq!(nearest_rank(&[], 0.99), None);
    }
}
