//! The paths of a world.

use tresse_netem::{
    CellularConfig, CodelConfig, GilbertElliottConfig, LinkChange, LinkConfig, RedConfig,
};
use tresse_sim::Draw;

use super::area::Area;
use super::{Competitor, Family, MTU, Path, Shared, World, bits_per_s};

pub(super) const KBPS: [f64; 2] = [500.0, 200_000.0];
const DELAY_MS: [f64; 2] = [1.0, 150.0];
const QUEUE: [u64; 2] = [10, 1000];
/// Profiles of those that compete: NewReno, and CUBIC with a first slow start that ends like Linux' does, when the
/// round trip grows.
const COMPETITORS: [&str; 2] = ["rfc9260", "rfc9260+cubic+hystart-plus-plus"];

/// Queue disciplines, as likely as they stand here.
#[derive(Clone, Copy)]
enum Discipline {
    DropTail,
    Red,
    Codel,
}

/// All of the paths and the bottleneck, but what changes.
pub(super) fn draw(seed: u64, family: Family) -> (Vec<Path>, Option<Shared>) {
    if family == Family::Lossy {
        return (vec![lossy_path(seed)], None);
    }
    let mut d = Area::Paths.draw(seed);
    let count = match family {
        Family::Dying => d.pick(&[2, 2, 2, 2, 3, 3, 4]),
        Family::Shared => d.pick(&[1, 1, 2, 2]),
        _ => d.pick(&[1, 2, 2, 2, 2, 3, 3, 4]),
    };
    let mut areas = [Area::Rates, Area::Delays, Area::Loss, Area::Jitter, Area::Queues]
        .map(|area| area.draw(seed));
    let mut paths: Vec<Path> = (0..count).map(|_| path(&mut areas, family)).collect();
    let shared = (family == Family::Shared).then(|| share(seed, &mut paths));
    (paths, shared)
}

fn path([rates, delays, loss, jitter, queues]: &mut [Draw; 5], family: Family) -> Path {
    let kbps = rates.log(KBPS[0], KBPS[1]);
    let narrower = if rates.chance(0.5) { rates.log(0.1, 1.0) } else { 1.0 };
    let there = delays.log(DELAY_MS[0], DELAY_MS[1]);
    let back = (there * delays.log(0.5, 2.0)).clamp(DELAY_MS[0], DELAY_MS[1]);
    let mut forward = LinkConfig::new(kbps, there);
    let mut backward = LinkConfig::new((kbps * narrower).max(KBPS[0].min(kbps)), back);
    // Drawn in any case, so that what follows does not depend on it.
    let lossy = lossy(loss);
    if !matches!(family, Family::Clean | Family::Shared) {
        for link in [&mut forward, &mut backward] {
            (link.loss, link.gilbert_elliott) = lossy;
            // A burst takes as long as the packets that it would hit on the busy link.
            let step_ms = 8e3 * MTU as f64 / bits_per_s(link);
            if let Some(bursts) = &mut link.gilbert_elliott {
                bursts.step_ms = Some(step_ms);
            }
        }
    }
    let shaky = if jitter.chance(1.0 / 3.0) { jitter.unit() * 0.3 } else { 0.0 };
    let reorder = if jitter.chance(0.1) { jitter.log(0.0005, 0.02) } else { 0.0 };
    let late_ms = jitter.log(0.5, 10.0);
    for link in [&mut forward, &mut backward] {
        link.jitter_ms = (link.delay_ms * shaky).max(0.1);
        if reorder > 0.0 {
            link.reorder = reorder;
            link.reorder_delay_ms = Some(late_ms);
        }
    }
    let packets = queues.log_whole(QUEUE[0], QUEUE[1]) as u32;
    use Discipline::{Codel, DropTail, Red};
    let discipline = queues.pick(&[DropTail, DropTail, DropTail, Red, Codel]);
    for link in [&mut forward, &mut backward] {
        queue(link, packets, discipline);
    }
    Path { forward, backward }
}

fn lossy(d: &mut Draw) -> (f64, Option<GilbertElliottConfig>) {
    let (lossy, in_bursts) = (d.chance(0.5), d.chance(0.4));
    let (loss, burst) = (d.log(0.0001, 0.03), d.log(2.0, 10.0));
    if !lossy {
        return (0.0, None);
    }
    if !in_bursts {
        return (loss, None);
    }
    // In the long run p / (p + r) of the packets are lost, 1 / r in a row.
    let r = 1.0 / burst;
    let p = r * loss / (1.0 - loss);
    (0.0, Some(GilbertElliottConfig { p, r, loss_good: 0.0, loss_bad: 1.0, step_ms: None }))
}

fn lossy_path(seed: u64) -> Path {
    let mut d = Area::Lossy.draw(seed);
    let kbps = d.log(5000.0, 100_000.0);
    let (there, back) = (d.log(5.0, 50.0), d.log(5.0, 50.0));
    let bdp = kbps * (there + back) / (8 * MTU) as f64;
    let packets = (bdp * d.log(0.5, 2.0)).clamp(QUEUE[0] as f64, QUEUE[1] as f64) as u32;
    let [forward, backward] = [there, back].map(|delay_ms| {
        let mut link = LinkConfig { loss: 0.01, jitter_ms: 0.1, ..LinkConfig::new(kbps, delay_ms) };
        queue(&mut link, packets, Discipline::DropTail);
        link
    });
    Path { forward, backward }
}

/// Gives a link its queue.
fn queue(link: &mut LinkConfig, packets: u32, discipline: Discipline) {
    link.queue_packets = Some(packets);
    let red = RedConfig { packet_bytes: MTU as u32, ..RedConfig::new(1.0, 2.0) };
    link.red = matches!(discipline, Discipline::Red).then_some(red);
    link.codel = matches!(discipline, Discipline::Codel).then(CodelConfig::default);
    shorten(link);
}

/// No queue is longer than what the link carries in half a second, nor shorter than 10 packets. RED's thresholds are
/// a sixth and half of it, the upper one at least twice the lower (Floyd & Jacobson 1993).
fn shorten(link: &mut LinkConfig) {
    let a_second = bits_per_s(link) / (8 * MTU) as f64;
    let packets = f64::from(link.queue_packets.unwrap_or(0));
    let shorter = packets.min((a_second / 2.0).max(QUEUE[0] as f64)).floor();
    link.queue_packets = Some(shorter as u32);
    if let Some(red) = &mut link.red {
        (red.min_threshold, red.max_threshold) = (shorter / 6.0, shorter / 2.0);
    }
}

/// Multiplies a bandwidth that is limited; it stays above the least that is drawn.
pub(super) fn slow_down(link: &mut LinkConfig, factor: f64) {
    if let Some(kbps) = link.bandwidth_kbps {
        link.bandwidth_kbps = Some((kbps * factor).max(KBPS[0].min(kbps)));
        shorten(link);
    }
}

/// Makes the bandwidth and the queue of the first path those of a bottleneck that others use, too.
fn share(seed: u64, paths: &mut [Path]) -> Shared {
    let mut d = Area::Sharing.draw(seed);
    let both = d.chance(0.6);
    let through = if both { (0..paths.len()).collect() } else { vec![0] };
    let discipline = d.pick(&[Discipline::DropTail, Discipline::Red, Discipline::Codel]);
    let bottleneck = |link: &LinkConfig| {
        let mut bottleneck = LinkConfig::new(link.bandwidth_kbps.unwrap_or(0.0), 0.0);
        queue(&mut bottleneck, link.queue_packets.unwrap_or(0), discipline);
        bottleneck
    };
    let (forward, backward) = (bottleneck(&paths[0].forward), bottleneck(&paths[0].backward));
    for path in &through {
        for link in [&mut paths[*path].forward, &mut paths[*path].backward] {
            (link.bandwidth_kbps, link.queue_packets) = (None, None);
            (link.red, link.codel) = (None, None);
        }
    }
    let count = d.pick(&[0, 1, 1, 1, 1, 2, 3, 4]);
    let competitors = (0..count).map(|_| {
        let mut near = |ms: f64| (ms * d.log(0.5, 2.0)).clamp(DELAY_MS[0], DELAY_MS[1]);
        let there_ms = near(paths[0].forward.delay_ms);
        let back_ms = near(paths[0].backward.delay_ms);
        Competitor { there_ms, back_ms, from_s: d.unit() }
    });
    let competitors = competitors.collect();
    let profile = d.pick(&COMPETITORS);
    Shared { forward, backward, paths: through, competitors, profile }
}

/// Adds what changes with time.
pub(super) fn change(world: &mut World) {
    let mut d = Area::Capacity.draw(world.seed);
    let seconds = world.seconds;
    match world.family {
        Family::Shared => {
            let span = world.warmup_s / 4.0;
            let competitors = world.shared.iter_mut().flat_map(|s| &mut s.competitors);
            competitors.for_each(|c| c.from_s *= span);
        }
        Family::Lossy => {}
        Family::Dying => outages(world),
        Family::Open | Family::Clean | Family::Thin => {
            for path in &mut world.paths {
                let kbps = path.forward.bandwidth_kbps.unwrap_or(0.0);
                path.forward.changes = match d.index(8) {
                    0 => steps(&mut d, kbps, seconds),
                    1 => cellular(&mut d, kbps, seconds),
                    _ => Vec::new(),
                };
            }
        }
    }
}

/// 2 to 8 steps.
fn steps(d: &mut Draw, kbps: f64, seconds: f64) -> Vec<LinkChange> {
    let count = d.between(2, 8);
    let step = |_| LinkChange {
        at_ms: d.unit() * seconds * 1e3,
        bandwidth_kbps: Some(kbps * d.log(0.2, 1.0)),
        ..LinkChange::default()
    };
    (0..count).map(step).collect()
}

/// A median of a fifth to a half of the bandwidth, which is the peak.
fn cellular(d: &mut Draw, peak_kbps: f64, seconds: f64) -> Vec<LinkChange> {
    let config = CellularConfig {
        spread: 0.3 + 0.5 * d.unit(),
        step_ms: d.log(20.0, 200.0),
        memory_ms: d.log(200.0, 5000.0),
        between_outages_ms: if d.chance(0.5) { d.log(2000.0, 20_000.0) } else { 0.0 },
        outage_ms: d.log(100.0, 1000.0),
        ..CellularConfig::new(peak_kbps * d.log(0.2, 0.5), peak_kbps)
    };
    config.changes(d.next(), seconds * 1e3)
}

/// Has paths die or become narrow, all but one.
fn outages(world: &mut World) {
    let mut d = Area::Outages.draw(world.seed);
    let count = world.paths.len();
    let survivor = d.index(count);
    // One of them certainly does.
    let first = (survivor + 1 + d.index(count - 1)) % count;
    let (warmup_ms, span_ms) = (world.warmup_s * 1e3, (world.seconds - world.warmup_s) * 1e3);
    for (number, path) in world.paths.iter_mut().enumerate() {
        let strikes = d.chance(0.7) || number == first;
        let at_ms = warmup_ms + d.unit() * span_ms * 0.5;
        let back_ms = at_ms + d.log(200.0, span_ms.max(400.0));
        let (kind, narrow, one_way) = (d.index(10), d.log(0.02, 0.1), d.chance(0.25));
        if !strikes || number == survivor {
            continue;
        }
        let kbps = path.forward.bandwidth_kbps;
        let change = |at_ms, up, bandwidth_kbps| LinkChange {
            at_ms,
            up,
            bandwidth_kbps,
            ..LinkChange::default()
        };
        match kind {
            0..3 => {
                let narrow = kbps.map(|kbps| kbps * narrow);
                path.forward.changes =
                    vec![change(at_ms, None, narrow), change(back_ms, None, kbps)];
            }
            _ => {
                let mut list = vec![change(at_ms, Some(false), None)];
                if kind < 8 {
                    list.push(change(back_ms, Some(true), None));
                }
                if !one_way {
                    path.backward.changes.clone_from(&list);
                }
                path.forward.changes = list;
            }
        }
    }
}
