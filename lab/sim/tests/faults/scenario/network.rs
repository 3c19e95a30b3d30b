//! The network between the two hosts: up to four paths, each direction with its own faults.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tresse_sim::{IpStack, LinkConfig, LossStage};

use super::{LinkPlan, NatPlan, Place};
use tresse_sim::Draw;

pub(super) struct Network {
    pub(super) addresses: [Vec<IpAddr>; 2],
    pub(super) links: Vec<LinkPlan>,
    pub(super) slowest_kbps: f64,
    pub(super) round_trip_ms: f64,
    pub(super) stacks: Option<[IpStack; 2]>,
    pub(super) nat: Option<NatPlan>,
}

fn address(path: usize, host: usize, ipv6: bool) -> IpAddr {
    if ipv6 {
        Ipv6Addr::new(0xfd00, path as u16, 0, 0, 0, 0, 0, host as u16 + 1).into()
    } else {
        Ipv4Addr::new(10, path as u8, 0, host as u8 + 1).into()
    }
}

pub(super) fn draw(draw: &mut Draw, mild: bool, features: &mut BTreeSet<&'static str>) -> Network {
    let paths = draw.pick(&[1, 1, 1, 2, 2, 3, 4]);
    features.insert(["one path", "two paths", "three paths", "four paths"][paths - 1]);
    // A host may have fewer addresses than its peer: then several paths share its one.
    let lopsided = paths > 1 && draw.chance(0.15);
    let counts = match (lopsided, draw.chance(0.5)) {
        (false, _) => [paths, paths],
        (true, true) => [1, paths],
        (true, false) => [paths, 1],
    };
    let ipv6: Vec<bool> = if lopsided || draw.chance(0.7) {
        vec![draw.chance(0.3); paths]
    } else {
        features.insert("mixed address families");
        (0..paths).map(|_| draw.chance(0.5)).collect()
    };
    if lopsided {
        features.insert("one address against several");
    }
    let addresses =
        [0, 1].map(|host| (0..counts[host]).map(|p| address(p, host, ipv6[p])).collect::<Vec<_>>());
    let fastest = fastest(draw, features);
    let mut links = Vec::new();
    let (mut slowest_kbps, mut delays) = (f64::INFINITY, [f64::INFINITY; 2]);
    for from in 0..2 {
        for (i, to_address) in addresses[1 - from].iter().enumerate() {
            let config = link(draw, mild, fastest, features);
            slowest_kbps = slowest_kbps.min(config.bandwidth_kbps.unwrap_or(1e6));
            delays[from] = delays[from].min(config.delay_ms);
            let mine = &addresses[from];
            let default_source = mine[i.min(mine.len() - 1)];
            let place = Place::Path { to_address: *to_address, default_source };
            links.push(LinkPlan { from, place, config });
        }
    }
    let round_trip_ms = delays[0] + delays[1];
    Network { addresses, links, slowest_kbps, round_trip_ms, stacks: None, nat: None }
}

/// The rate in kbit/s that no link exceeds: from the slowest modem to 10 Gbit/s.
pub(super) fn fastest(draw: &mut Draw, features: &mut BTreeSet<&'static str>) -> f64 {
    if draw.chance(0.08) {
        features.insert("narrow links");
        return draw.log(8.0, 100.0);
    }
    draw.log(100.0, 10_000_000.0)
}

/// One direction of a path.
pub(super) fn link(
    draw: &mut Draw,
    mild: bool,
    fastest_kbps: f64,
    features: &mut BTreeSet<&'static str>,
) -> LinkConfig {
    let mut note = |condition: bool, name| {
        if condition {
            features.insert(name);
        }
        condition
    };
    let mut link = LinkConfig {
        bandwidth_kbps: Some((fastest_kbps * draw.log(0.2, 1.0)).max(8.0)),
        delay_ms: if draw.chance(0.1) { 0.0 } else { draw.log(0.05, 200.0) },
        ..LinkConfig::default()
    };
    if note(draw.chance(0.04), "instantaneous link") {
        link.bandwidth_kbps = None;
        link.delay_ms = 0.0;
    }
    if note(draw.chance(0.04), "seconds of delay") {
        link.delay_ms = draw.log(200.0, 3_000.0);
    }
    match draw.between(0, 5) {
        0 | 1 => link.queue_packets = Some(draw.log_whole(3, 100) as u32),
        2 => link.queue_bytes = Some(draw.log_whole(10_000, 200_000)),
        _ => {}
    }
    note(link.queue_packets.is_some_and(|n| n < 10), "short queue");
    if note(draw.chance(0.6), "loss") {
        link.loss = if mild { 0.04 * draw.unit() } else { 0.3 * draw.unit() * draw.unit() };
        if !mild && draw.chance(0.15) {
            link.loss = 0.15 + 0.15 * draw.unit();
        }
        note(link.loss > 0.2, "heavy loss");
        link.loss_stage = draw.pick(&[LossStage::Entry, LossStage::Wire]);
    }
    if note(draw.chance(0.25), "jitter") {
        link.jitter_ms = link.delay_ms * draw.unit();
        link.jitter_reorders = note(draw.chance(0.5), "jitter that reorders");
    }
    if note(draw.chance(0.25), "reordering") {
        link.reorder = 0.3 * draw.unit();
        if draw.chance(0.5) {
            link.reorder_delay_ms = Some(draw.log(0.1, 300.0));
        } else {
            link.reorder_after = Some(draw.log_whole(1, 12) as u32);
            // Without a limit, the last packets of a conversation may stay there for ever.
            let hold = mild || draw.chance(0.8);
            link.reorder_hold_ms = hold.then(|| draw.log(1.0, 1000.0));
        }
    }
    if note(draw.chance(0.2), "duplication") {
        link.duplicate = 0.3 * draw.unit();
    }
    if note(draw.chance(0.15), "corruption") {
        link.corrupt = if mild { 0.01 } else { 0.1 } * draw.unit();
        // CRC32c finds every error of so few bits in packets of this size.
        link.corrupt_bits = draw.between(1, 3) as u32;
    }
    link
}
