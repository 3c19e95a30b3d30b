//! Scenarios of any subset of the extensions, made harder: resets and new streams in clusters, large messages beside those
//! that are given up, small buffers, tens of thousands of streams, ends in the middle of it.

use std::time::Duration;

use tresse_core::{Extensions, ReconfigurationPolicy, Reliability, ResetDirection, Time};
use tresse_sim::Draw;

use super::traffic::{PlannedMessage, Reading};
use super::{Call, Ending, HostPlan, MIXED, Scenario, extensions};

/// Seeds from here on are nasty; less this number they are those of the mixed scenarios that they are made from.
pub(crate) const NASTY: u64 = 1 << 42;

/// Moments around which calls are made.
const CLUSTERS: usize = 6;

/// One of those.
pub(super) fn nasty(seed: u64) -> Scenario {
    let mut scenario = extensions::mixed(MIXED + (seed - NASTY));
    let mut draw = Draw::new(scenario.seed ^ 0xb4ea_4e4b_0000_0001);
    let draw = &mut draw;
    let calm = scenario.calm();
    let clusters: Vec<u64> = (0..CLUSTERS).map(|_| draw.log_whole(1_000, 12_000_000)).collect();
    for host in &mut scenario.hosts {
        settings(draw, host);
        messages(draw, host);
        for _ in 0..draw.between(5, 60) {
            let at = moment(draw, &clusters);
            let call = call(draw);
            host.calls.push((at, call));
        }
        if draw.chance(0.3) {
            host.ending = Ending::At(moment(draw, &clusters));
        }
        if !calm && draw.chance(0.1) {
            host.reading = Reading::Never(Duration::from_millis(draw.log_whole(100, 20_000)));
        }
    }
    let agrees = scenario.hosts.iter().all(|host| host.config.extensions.partial_reliability);
    scenario.hosts.iter_mut().for_each(|host| host.agrees = agrees);
    scenario.features.insert("nasty");
    scenario
}

fn moment(draw: &mut Draw, clusters: &[u64]) -> Time {
    let cluster = clusters[draw.index(CLUSTERS)];
    Time::from_micros(cluster + draw.log_whole(1, 300_000))
}

fn settings(draw: &mut Draw, host: &mut HostPlan) {
    let config = &mut host.config;
    config.extensions = Extensions {
        stream_reconfiguration: draw.chance(0.97),
        partial_reliability: draw.chance(0.95),
        ..config.extensions
    };
    config.reconfiguration = ReconfigurationPolicy {
        reset_streams: true,
        reset_association: true,
        add_streams: true,
        most_outbound_streams: u16::MAX,
    };
    if draw.chance(0.5) {
        config.send_buffer = draw.log_whole(64, 3000) as usize;
    }
    if draw.chance(0.5) {
        config.receive_buffer = draw.log_whole(4096, 9000) as u32;
    }
    if draw.chance(0.15) {
        config.outbound_streams = u16::MAX;
        config.inbound_streams = u16::MAX;
        for message in &mut host.traffic {
            if draw.chance(0.5) {
                message.stream = draw.between(0, 65_534) as u16;
            }
        }
    }
}

/// Large reliable messages in between, and a policy for most of the others.
fn messages(draw: &mut Draw, host: &mut HostPlan) {
    let last = host.traffic.iter().map(|m| m.at.as_nanos() / 1000).max().unwrap_or(0);
    if draw.chance(0.4) && host.config.fragmentation {
        for _ in 0..draw.between(1, 3) {
            let size = draw.log_whole(5_000, 200_000) as usize;
            host.traffic.push(PlannedMessage {
                size: size.min(host.config.max_message_size),
                at: Time::from_micros(draw.between(0, last + 1)),
                stream: draw.between(0, 15) as u16 % host.config.outbound_streams,
                unordered: draw.chance(0.3),
                immediate: false,
                lifetime: None,
                reliability: Reliability::Full,
                key: None,
                to: None,
            });
        }
    }
    let fixed = draw.chance(0.3).then(|| policy(draw));
    let mortal = draw.pick(&[0.3, 0.7, 1.0]);
    for message in &mut host.traffic {
        if draw.chance(mortal) {
            message.reliability = fixed.unwrap_or_else(|| policy(draw));
        }
    }
    host.traffic.sort_by_key(|message| message.at);
}

fn policy(draw: &mut Draw) -> Reliability {
    match draw.between(0, 6) {
        0 => Reliability::Full,
        1 | 2 => Reliability::Timed(Duration::from_micros(draw.log_whole(100, 3_000_000))),
        3 => Reliability::Retransmissions(0),
        4 => Reliability::Retransmissions(draw.between(0, 3) as u32),
        _ => Reliability::Priority(draw.between(0, 5) as u32),
    }
}

fn call(draw: &mut Draw) -> Call {
    match draw.between(0, 19) {
        0 | 1 => Call::ResetAssociation,
        2 => Call::AddStreams(draw.log_whole(1, 65_535) as u16, draw.between(0, 40) as u16),
        3 => Call::AddStreams(0, draw.log_whole(1, 65_535) as u16),
        4 => Call::SetPrimary(draw.between(0, 3) as u8),
        n => {
            let direction = match n {
                5..=11 => ResetDirection::Outgoing,
                12..=15 => ResetDirection::Incoming,
                _ => ResetDirection::Both,
            };
            let all = draw.chance(0.5);
            let bits = if all { 0 } else { draw.between(1, u64::from(u16::MAX)) as u16 };
            // A bit for each stream: often the first one alone.
            let first = bits != 0 && draw.chance(0.5);
            Call::ResetStreams(direction, if first { 1 } else { bits })
        }
    }
}
