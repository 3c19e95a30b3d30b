//! Tests of the schedule of spikes.

use super::*;
use crate::random::Stage;

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn random_spikes(interval: [f64; 2], length: [f64; 2]) -> SpikesConfig {
    SpikesConfig { interval_s: Some(interval), length_s: Some(length), ..SpikesConfig::default() }
}

fn spikes(config: &SpikesConfig, seed: u64) -> Spikes {
    config.validate().expect("valid");
    Spikes::new(Some(config), Random::new(seed, Stage::Spikes))
}

fn listed(list: &[(u64, u64)]) -> Spikes {
    let list = list
        .iter()
        .map(|(start, length)| Spike { start_ms: *start as f64, length_ms: *length as f64 })
        .collect();
    spikes(&SpikesConfig { list, ..SpikesConfig::default() }, 1)
}

/// The first `count` spells.
fn spells(spikes: &mut Spikes, count: usize) -> Vec<Spell> {
    let mut at = Nanos::ZERO;
    let next = |_| {
        let spell = spikes.spell_after(at).expect("endless");
        at = spell.end;
        spell
    };
    (0..count).map(next).collect()
}

#[test]
fn listed_spells_stop_what_falls_into_them() {
    let mut spikes = listed(&[(500, 100), (100, 50), (120, 60), (180, 20), (300, 0)]);
    for (at, calm) in [(0, 0), (99, 99), (100, 200), (199, 200), (200, 200), (300, 300), (599, 600)]
    {
        assert_eq!(spikes.next_calm(MS(at)), MS(calm), "{at}");
    }
    assert_eq!(spikes.next_calm(MS(10_000)), MS(10_000));
    assert_eq!(spikes.next_calm(Nanos::MAX), Nanos::MAX);
}

#[test]
fn work_rests_during_spells() {
    let mut spikes = listed(&[(100, 50), (200, 50)]);
    for (start, span, end) in [
        (0, 100, 100), // Just in time.
        (0, 101, 151),
        (0, 150, 200),
        (0, 151, 251),
        (120, 10, 160),
        (150, 0, 150),
        (100, 0, 150),
        (260, 40, 300),
    ] {
        assert_eq!(spikes.finish(MS(start), MS(span)), MS(end), "{start} {span}");
    }
}

#[test]
fn intervals_and_lengths_are_uniform_in_their_bounds() {
    let mut spikes = spikes(&random_spikes([10.0, 20.0], [3.0, 10.0]), 7);
    let spells = spells(&mut spikes, 4000);
    let mut last = Nanos::ZERO;
    let (mut intervals, mut lengths) = (Vec::new(), Vec::new());
    for spell in &spells {
        intervals.push((spell.start - last).as_secs_f64());
        lengths.push((spell.end - spell.start).as_secs_f64());
        last = spell.end;
    }
    for (values, low, high) in [(intervals, 10.0, 20.0), (lengths, 3.0, 10.0)] {
        assert!(values.iter().all(|value| (low..=high).contains(value)));
        let (mean, width) = (values.iter().sum::<f64>() / 4000.0, high - low);
        // Four standard errors of a uniform distribution.
        let error = 4.0 * width / 12.0_f64.sqrt() / 4000.0_f64.sqrt();
        assert!((mean - (low + high) / 2.0).abs() < error, "{mean} of {low} to {high}");
        let least = values.iter().copied().fold(f64::MAX, f64::min);
        assert!(least < low + 0.01 * width);
    }
}

#[test]
fn the_schedule_follows_from_the_seed_and_not_from_the_questions() {
    let config = random_spikes([0.0, 2.0], [0.0, 1.0]);
    let mut whole = spikes(&config, 3);
    let expected: Vec<Nanos> = (0..60_000).map(|ms| whole.next_calm(MS(ms))).collect();
    let mut sparse = spikes(&config, 3);
    for ms in (0..60_000).step_by(777) {
        sparse.forget(MS(ms));
        sparse.finish(MS(ms), MS(ms % 5000));
        assert_eq!(sparse.next_calm(MS(ms)), expected[ms as usize]);
    }
    let mut other = spikes(&config, 4);
    assert!((0..60_000).any(|ms| other.next_calm(MS(ms)) != expected[ms as usize]));
}

#[test]
fn only_new_settings_change_the_schedule() {
    let config = random_spikes([1.0, 2.0], [0.5, 1.0]);
    let mut changed = spikes(&config, 3);
    let first = changed.spell_after(Nanos::ZERO).expect("a spell");
    changed.reconfigure(MS(700), Some(&config));
    assert_eq!(changed.next_calm(first.start), first.end);
    changed.reconfigure(MS(50_000), Some(&random_spikes([1.0, 2.0], [0.5, 1.5])));
    let start = changed.spell_after(MS(50_000)).expect("a spell").start;
    assert!((MS(51_000)..=MS(52_000)).contains(&start), "one interval after the change");
    changed.reconfigure(MS(50_000), None);
    assert_eq!(changed.next_calm(start), start);
}

#[test]
fn spells_may_touch() {
    // Rounded to nanoseconds, many of these intervals are next to nothing.
    let mut spikes = spikes(&random_spikes([0.0, 0.001], [0.2, 0.2]), 1);
    let calm = spikes.next_calm(MS(150));
    assert_eq!(spikes.next_calm(calm), calm);
}
