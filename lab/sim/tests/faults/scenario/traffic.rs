//! What the applications send, and how fast they read.

use std::collections::BTreeSet;
use std::time::Duration;

use tresse_core::{Reliability, Time};

use super::HostPlan;
use tresse_sim::Draw;

/// A message to be sent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlannedMessage {
    /// Not before this moment (simulation time).
    pub(crate) at: Time,
    pub(crate) stream: u16,
    pub(crate) size: usize,
    pub(crate) unordered: bool,
    pub(crate) immediate: bool,
    /// How long it may wait to be sent.
    pub(crate) lifetime: Option<Duration>,
    /// When it may be given up after that.
    pub(crate) reliability: Reliability,
    /// The shared key that it names.
    pub(crate) key: Option<u16>,
    /// The address of the peer that it names, by its place among those that are known.
    pub(crate) to: Option<u8>,
}

/// How an application reads.
#[derive(Clone, Debug)]
pub(crate) enum Reading {
    /// Everything at once.
    Eager,
    /// Not at all between these moments, otherwise everything at once.
    Pauses(Vec<(Time, Time)>),
    /// Not at all; so long after the curfew the application aborts.
    Never(Duration),
    /// This many messages each time, with so much time between.
    Trickle(u32, Duration),
}

impl Reading {
    /// When reading is possible, `now` or later.
    pub(crate) fn allowed_at(&self, now: Time) -> Time {
        match self {
            Reading::Pauses(pauses) => {
                pauses.iter().find(|(from, to)| (*from..*to).contains(&now)).map_or(now, |p| p.1)
            }
            _ => now,
        }
    }

    /// How much later than with an eager reader things can happen.
    pub(crate) fn slowness(&self, messages: usize) -> Duration {
        match self {
            Reading::Eager => Duration::ZERO,
            Reading::Never(patience) => *patience,
            Reading::Pauses(pauses) => pauses.iter().map(|(from, to)| to.since(*from)).sum(),
            Reading::Trickle(count, every) => *every * (messages as u32 / *count + 1),
        }
    }
}

pub(super) fn draw(
    draw: &mut Draw,
    mild: bool,
    calm: bool,
    slowest_kbps: f64,
    hosts: &mut [HostPlan; 2],
    features: &mut BTreeSet<&'static str>,
) {
    // At most some 30 s of the slowest path, so that scenarios stay short.
    let most = (slowest_kbps * 1000.0 / 8.0 * 30.0).min(600_000.0) as u64;
    let silent = draw.between(0, 9);
    for (host, plan) in hosts.iter_mut().enumerate() {
        // One side may have nothing to say.
        if silent == host as u64 || (host == 1 && silent < 4) {
            features.insert("one side is silent");
            continue;
        }
        let least = if draw.chance(0.3) { 1 } else { most / 30 };
        let mut budget = draw.log_whole(least, most);
        if draw.chance(0.03) {
            budget *= 8;
            features.insert("much data");
        }
        let streams = plan.config.outbound_streams;
        // Now and then a stream that does not exist.
        let streams = if !calm && draw.chance(0.03) { streams.saturating_add(3) } else { streams };
        plan.traffic = messages(draw, budget, streams, features);
    }
    let incoming = [1, 0].map(|peer: usize| hosts[peer].traffic.len());
    for (plan, incoming) in hosts.iter_mut().zip(incoming) {
        plan.reading = reading(draw, mild, incoming, features);
    }
}

fn messages(
    draw: &mut Draw,
    budget: u64,
    streams: u16,
    features: &mut BTreeSet<&'static str>,
) -> Vec<PlannedMessage> {
    // The shape: largest size, messages at once, longest gap between.
    let (name, largest, burst, gap_us) = match draw.between(0, 4) {
        0 => ("thin", 1_500, 1, 500_000),
        1 => ("bulk", draw.log_whole(100, 10_000), u64::MAX, 0),
        2 => ("bursts", 3_000, draw.between(2, 40), 3_000_000),
        3 => ("large messages", 200_000, 1, 100_000),
        _ => ("tiny messages", 40, draw.between(1, 100), 200_000),
    };
    features.insert(name);
    let fixed = draw.chance(0.3).then(|| draw.log_whole(1, largest));
    let unordered = draw.pick(&[0.0, 0.0, 0.1, 0.5, 1.0]);
    let immediate = draw.pick(&[0.0, 0.0, 0.1]);
    let mortal = draw.pick(&[0.0, 0.0, 0.0, 0.2, 1.0]);
    if mortal > 0.0 {
        features.insert("lifetimes");
    }
    if unordered > 0.0 {
        features.insert(if unordered < 1.0 { "ordered and unordered" } else { "all unordered" });
    }
    let one_stream = draw.chance(0.2);
    let (mut plan, mut left, mut at) = (Vec::new(), budget, 0);
    // A hundred thousand one-byte messages would say no more than a few hundred.
    while left > 0 && plan.len() < 400 {
        for _ in 0..burst.min(400) {
            let size = fixed.unwrap_or_else(|| draw.log_whole(1, largest)).min(left.max(1));
            left = left.saturating_sub(size);
            plan.push(PlannedMessage {
                at: Time::from_micros(at),
                stream: if one_stream { 0 } else { draw.between(0, u64::from(streams) - 1) as u16 },
                size: size as usize,
                unordered: draw.chance(unordered),
                immediate: draw.chance(immediate),
                lifetime: draw
                    .chance(mortal)
                    .then(|| Duration::from_micros(draw.log_whole(100, 10_000_000))),
                reliability: Reliability::Full,
                key: None,
                to: None,
            });
            if left == 0 || plan.len() >= 400 {
                break;
            }
        }
        at += if gap_us == 0 { 0 } else { draw.log_whole(100, gap_us) };
    }
    features.insert(if plan.len() > 1 { "several messages" } else { "one message" });
    if plan.iter().any(|m| m.size > 100_000) {
        features.insert("very large message");
    }
    plan
}

fn reading(
    draw: &mut Draw,
    mild: bool,
    incoming: usize,
    features: &mut BTreeSet<&'static str>,
) -> Reading {
    if !mild && draw.chance(0.03) {
        features.insert("never reads");
        return Reading::Never(Duration::from_millis(draw.log_whole(100, 20_000)));
    }
    match draw.between(0, 5) {
        0 => {
            features.insert("reader pauses");
            let mut at = draw.log_whole(1_000, 2_000_000);
            let mut pauses = Vec::new();
            for _ in 0..draw.between(1, 3) {
                let end = at + draw.log_whole(10_000, 10_000_000);
                pauses.push((Time::from_micros(at), Time::from_micros(end)));
                at = end + draw.log_whole(1_000, 2_000_000);
            }
            Reading::Pauses(pauses)
        }
        1 => {
            features.insert("reader trickles");
            let count = draw.between(1, 5) as u32;
            let ticks = incoming as u64 / u64::from(count) + 1;
            let every = draw.log_whole(100, 20_000_000 / ticks.max(20));
            Reading::Trickle(count, Duration::from_micros(every))
        }
        _ => Reading::Eager,
    }
}
