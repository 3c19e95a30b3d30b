//! Compares two profiles in one world.

use std::env;
use std::fmt;
use std::num::NonZero;
use std::sync::Arc;

use tresse_core::Profile;

use crate::play::{Played, play};
use crate::world::World;

/// A mean, or a 99th percentile, may be this many times that of RFC 9260.
const AT_MOST: f64 = 1.05;
/// This many of the messages may be repeated in vain, or twice as many as by RFC 9260.
const NEEDLESS: f64 = 0.01;
/// Of fewer messages nothing can be said: a world of a second may lose its INIT.
const ENOUGH: usize = 500;
/// Replications so far, at which a world is judged. It is played on, with further seeds, and all of them
/// count, until it is clear whether it is harmed: nothing passes for want of messages or by luck, and none is
/// blamed for bad luck. After the last one the averages decide.
const STAGES: [u64; 6] = [2, 8, 16, 32, 64, 128];
/// A world that ends before the first message leaves is played for this many times as long.
const LONGER: f64 = 2.0;
/// An average is clearly allowed if it is this many standard errors below the limit.
const SURE: f64 = 2.0;
/// It is clearly not if it is this many above. Of thousands of worlds, looked at six times each, some are two above
/// by bad luck.
const SURE_OF_HARM: f64 = 4.0;
/// Two replications say little of how they vary: then the parts of both are compared, one after the other in time.
const PARTS: usize = 4;
/// This many times too many repetitions in vain are clear, and this many times too few.
const CLEAR: f64 = 1.5;

/// What both profiles make of a world.
#[derive(Clone, Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) replications: u64,
    pub(crate) reference: Played,
    pub(crate) tested: Played,
    /// By how much each replication exceeds what is allowed: in its mean, in its 99th percentile, and in what the
    /// transfers beside lack.
    excess: [Vec<f64>; 3],
    /// The first two of the parts of each replication.
    of_parts: [Vec<f64>; 2],
}

/// By how much mean and 99th percentile exceed what is allowed.
fn excess(tested: &[f64], reference: &[f64]) -> [f64; 2] {
    let [(mean, p99), (reference_mean, reference_p99)] = [tested, reference].map(mean_and_p99);
    [mean - AT_MOST * reference_mean, p99 - AT_MOST * reference_p99]
}

/// How far an average is above zero, in standard errors. Of what never varies it is clear whether it is.
fn standard_errors(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let squares = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>();
    let error = (squares / (n - 1.0) / n).sqrt();
    match () {
        () if error > 0.0 => mean / error,
        () if mean > 0.0 => f64::INFINITY,
        () => f64::NEG_INFINITY,
    }
}

/// Mean and 99th percentile.
pub(crate) fn mean_and_p99(times: &[f64]) -> (f64, f64) {
    let mut sorted = times.to_vec();
    sorted.sort_by(f64::total_cmp);
    let at = ((sorted.len() as f64 * 0.99) as usize).min(sorted.len().saturating_sub(1));
    let mean = sorted.iter().sum::<f64>() / sorted.len().max(1) as f64;
    (mean, sorted.get(at).copied().unwrap_or(0.0))
}

impl Verdict {
    fn go_on(&mut self, world: &World, profiles: &Profiles, until: u64) {
        for replication in self.replications..until {
            let reference = play(world, &profiles.reference, replication);
            let tested = play(world, &profiles.tested, replication);
            let add = |to: &mut [Vec<f64>], values: [f64; 2]| {
                to.iter_mut().zip(values).for_each(|(all, value)| all.push(value));
            };
            add(&mut self.excess[..2], excess(&tested.times, &reference.times));
            // Both got the same messages, in the order in which they were due.
            let n = tested.times.len().min(reference.times.len());
            for part in (0..PARTS).filter(|_| n >= PARTS) {
                let range = n * part / PARTS..n * (part + 1) / PARTS;
                let of_part = excess(&tested.times[range.clone()], &reference.times[range]);
                add(&mut self.of_parts, of_part);
            }
            self.excess[2].push(reference.bulk as f64 - AT_MOST * tested.bulk as f64);
            self.reference.add(&reference);
            self.tested.add(&tested);
        }
        self.replications = until;
    }

    /// Whether further replications would hardly change that it is harmed.
    fn is_sure(&self) -> bool {
        let beyond = |excess: &Vec<f64>| standard_errors(excess) > SURE_OF_HARM;
        let times = self.excess.iter().any(beyond);
        self.replications >= STAGES[1]
            && !self.harms().is_empty()
            && (times || self.tested.needless as f64 > CLEAR * self.allowed() as f64)
    }

    /// Whether further replications would hardly change that nobody is harmed.
    fn is_fine(&self) -> bool {
        let below = |excess: &Vec<f64>| standard_errors(excess) < -SURE;
        let first = self.replications < STAGES[1];
        let clear =
            if first { self.of_parts.iter().all(below) } else { self.excess.iter().all(below) };
        let few = self.tested.needless as f64 * CLEAR <= self.allowed() as f64;
        self.harms().is_empty() && few && clear
    }

    /// How many times as long as with RFC 9260 it takes: on average, and the slowest hundredth.
    pub(crate) fn ratios(&self) -> (f64, f64) {
        let (mean, p99) = mean_and_p99(&self.tested.times);
        let (reference_mean, reference_p99) = mean_and_p99(&self.reference.times);
        (mean / reference_mean, p99 / reference_p99)
    }

    /// How many repetitions in vain are allowed that no lost SACK explains.
    fn allowed_without_excuse(&self) -> u64 {
        let hundredth = (self.tested.times.len() as f64 * NEEDLESS).ceil() as u64;
        hundredth.max(2 * self.reference.needless)
    }

    /// A SACK that is lost looks like lost data, so each of them may bring one, too.
    fn allowed(&self) -> u64 {
        self.allowed_without_excuse() + self.tested.lost_sacks
    }

    /// Whether the excuse matters.
    pub(crate) fn is_needless_without_excuse(&self) -> bool {
        self.tested.needless > self.allowed_without_excuse()
    }

    /// What is wrong, in words; empty if nobody is worse off.
    pub(crate) fn harms(&self) -> Vec<&'static str> {
        let (mean, p99) = self.ratios();
        let (tested, reference) = (&self.tested, &self.reference);
        let wrong = [
            (mean > AT_MOST, "mean"),
            (p99 > AT_MOST, "p99"),
            (tested.needless > self.allowed(), "needless"),
            (tested.ended > reference.ended, "ended"),
            ((tested.times.len() as f64) * AT_MOST < reference.times.len() as f64, "unsent"),
            ((tested.bulk as f64) * AT_MOST < reference.bulk as f64, "bulk"),
        ];
        wrong.into_iter().filter(|(wrong, _)| *wrong).map(|(_, what)| what).collect()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reference, tested) = (&self.reference, &self.tested);
        let (mean, p99) = mean_and_p99(&tested.times);
        let (reference_mean, reference_p99) = mean_and_p99(&reference.times);
        write!(
            f,
            "mean {mean:.1} / {reference_mean:.1} ms, p99 {p99:.1} / {reference_p99:.1} ms, needless {} / {} of {}, offered {:.3}",
            tested.needless,
            reference.needless,
            tested.times.len(),
            tested.offered as f64 / reference.offered.max(1) as f64,
        )
    }
}

/// The two that are compared.
pub(crate) struct Profiles {
    pub(crate) reference: Arc<Profile>,
    pub(crate) tested: Arc<Profile>,
}

impl Profiles {
    /// RFC 9260, and the profile called `tested` with other parameters, as TOML.
    pub(crate) fn against_rfc9260(tested: &str, parameters: &str) -> Profiles {
        let named = |name: &str| Profile::named(name).expect(name);
        let tested = named(tested).with_overrides(parameters).expect(parameters);
        Profiles { reference: Arc::new(named("rfc9260")), tested: Arc::new(tested) }
    }
}

/// After this many replications a world passes that seems fine, but is not clear. The names of those that are harmed
/// (`known.rs`) are of runs without it; every test run would take three times as long.
fn doubtful() -> u64 {
    let asked = |name: &str| env::var(name).is_ok();
    let strict = asked("TRESSE_WORLDS") || asked("TRESSE_WORLD");
    let usual = if strict { u64::MAX } else { STAGES[1] };
    env::var("TRESSE_DOUBTFUL").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Plays a world until it is clear whether it is harmed, or as often as `TRESSE_REPLICATIONS` says.
pub(crate) fn judge(world: &World, profiles: &Profiles) -> Verdict {
    let asked: Option<NonZero<u64>> =
        env::var("TRESSE_REPLICATIONS").ok().and_then(|n| n.parse().ok());
    let mut world = world.clone();
    let mut verdict = Verdict::default();
    loop {
        verdict.go_on(&world, profiles, asked.map_or(STAGES[0], NonZero::get));
        if !verdict.reference.times.is_empty() {
            break;
        }
        world.seconds *= LONGER;
        verdict = Verdict::default();
    }
    if asked.is_some() {
        return verdict;
    }
    for until in STAGES {
        verdict.go_on(&world, profiles, until);
        let enough = verdict.reference.times.len() >= ENOUGH;
        let passes = until >= doubtful() && verdict.harms().is_empty();
        if enough && (verdict.is_fine() || verdict.is_sure() || passes) {
            break;
        }
    }
    verdict
}
