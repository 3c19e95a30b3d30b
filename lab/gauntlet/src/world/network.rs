//! The paths of a world.

use tresse_netem::{
    CellularConfig, CodelConfig, GilbertElliottConfig, LinkChange, LinkConfig, RedConfig,
};
use tresse_sim::Draw;

use super::{Area, Family, MTU, Path, World};

pub(super) const KBPS: [f64; 2] = [500.0, 200_000.0];
const DELAY_MS: [f64; 2] = [1.0, 150.0];

/// All of the paths but what changes.
pub(super) fn paths(seed: u64, family: Family) -> Vec<Path> {
    let count = Area::Paths.draw(seed).pick(&[1, 2, 2, 2, 2, 3, 3, 4]);
    let mut areas = [Area::Rates, Area::Delays, Area::Loss, Area::Jitter, Area::Queues]
        .map(|area| area.draw(seed));
    (0..count).map(|_| path(&mut areas, family)).collect()
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
    if family != Family::Clean {
        for link in [&mut forward, &mut backward] {
            (link.loss, link.gilbert_elliott) = lossy;
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
    let packets = queues.log_whole(10, 1000) as u32;
    let discipline = queues.index(5);
    for link in [&mut forward, &mut backward] {
        link.queue_packets = Some(packets);
        discipline_of(link, discipline);
        shorten(link);
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
    (0.0, Some(GilbertElliottConfig { p, r, loss_good: 0.0, loss_bad: 1.0 }))
}

fn discipline_of(link: &mut LinkConfig, which: usize) {
    let packets = f64::from(link.queue_packets.unwrap_or(0));
    if which == 3 {
        // Floyd & Jacobson (1993): the upper threshold at least twice the lower one.
        let red = RedConfig::new(packets / 6.0, packets / 2.0);
        link.red = Some(RedConfig { packet_bytes: MTU as u32, ..red });
    }
    if which == 4 {
        link.codel = Some(CodelConfig::default());
    }
}

/// No queue is longer than what the link carries in half a second, nor shorter than 10 packets.
fn shorten(link: &mut LinkConfig) {
    let a_second = link.bandwidth_kbps.unwrap_or(0.0) * 1e3 / (8 * MTU) as f64;
    let packets = f64::from(link.queue_packets.unwrap_or(0));
    let shorter = packets.min((a_second / 2.0).max(10.0)).floor();
    link.queue_packets = Some(shorter as u32);
    if let Some(red) = &mut link.red {
        (red.min_threshold, red.max_threshold) = (shorter / 6.0, shorter / 2.0);
    }
}

/// Multiplies the bandwidth; it stays above the least that is drawn.
pub(super) fn slow_down(link: &mut LinkConfig, factor: f64) {
    let kbps = link.bandwidth_kbps.unwrap_or(0.0);
    link.bandwidth_kbps = Some((kbps * factor).max(KBPS[0].min(kbps)));
    shorten(link);
}

/// Adds what changes with time.
pub(super) fn change(world: &mut World) {
    let mut d = Area::Capacity.draw(world.seed);
    let seconds = world.seconds;
    for path in &mut world.paths {
        match d.index(8) {
            0 => path.forward.changes = steps(&mut d, path.bits_per_s(), seconds),
            1 => path.forward.changes = cellular(&mut d, path.bits_per_s(), seconds),
            _ => {}
        }
    }
}

/// 2 to 8 steps.
fn steps(d: &mut Draw, bits_per_s: f64, seconds: f64) -> Vec<LinkChange> {
    let count = d.between(2, 8);
    let step = |_| LinkChange {
        at_ms: d.unit() * seconds * 1e3,
        bandwidth_kbps: Some(bits_per_s / 1e3 * d.log(0.2, 1.0)),
        ..LinkChange::default()
    };
    (0..count).map(step).collect()
}

/// A median of a fifth to a half of the bandwidth, which is the peak.
fn cellular(d: &mut Draw, bits_per_s: f64, seconds: f64) -> Vec<LinkChange> {
    let peak_kbps = bits_per_s / 1e3;
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
