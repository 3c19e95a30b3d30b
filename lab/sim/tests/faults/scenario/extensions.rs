//! The same scenarios with extensions of the protocol: which of them each end offers, what it allows, and what its
//! application asks for.

use tresse_core::{Extensions, MtuDiscovery, ReconfigurationPolicy, ResetDirection, Time};
use tresse_sim::Draw;

use super::{Call, HostPlan, Scenario};

/// Seeds from here on have extensions; less this number they are those of the same scenarios without.
pub(crate) const EXTENDED: u64 = 1 << 40;

/// Seeds from here on have any subset of the extensions at each end, and half of them narrow links and half of them
/// concurrent transfer.
pub(crate) const MIXED: u64 = 1 << 41;

/// One of those.
pub(super) fn mixed(seed: u64) -> Scenario {
    let mut from = Draw::new(seed ^ 0xe7e5_10f5_0000_0002);
    let (narrow, concurrent) = (from.chance(0.5), from.chance(0.5));
    // Few scenarios are so: the first one that is, of a series that the seed decides.
    let mut scenario = loop {
        let scenario = Scenario::draw_plain(from.next() >> 24);
        let has = |name| scenario.features.contains(name);
        if (!narrow || has("narrow links")) && (!concurrent || has("concurrent transfer")) {
            break Scenario { seed, ..scenario };
        }
    };
    draw(&mut from, &mut scenario, 0.6);
    let mut scenario = scenario.partial(0.6);
    let [resets, partial] = [
        |host: &HostPlan| host.config.extensions.stream_reconfiguration,
        |host: &HostPlan| host.config.extensions.partial_reliability,
    ]
    .map(|offers| scenario.hosts.iter().filter(|host| offers(host)).count());
    let mut note = |condition: bool, name| {
        if condition {
            scenario.features.insert(name);
        }
    };
    note(resets == 1, "one end offers RE-CONFIG");
    note(partial == 1, "one end offers partial reliability");
    note((resets, partial) == (2, 2), "both offer everything");
    for host in &mut scenario.hosts {
        if from.chance(0.5) {
            let max = from.pick(&[1500, 9000, 65_535]).max(host.config.mtu);
            host.config.mtu_discovery = MtuDiscovery::probes(max);
            scenario.features.insert("path MTU searched");
        }
    }
    scenario
}

/// Adds extensions to a scenario; `often` an end offers them.
pub(super) fn draw(draw: &mut Draw, scenario: &mut Scenario, often: f64) {
    for host in &mut scenario.hosts {
        let offers = draw.chance(often);
        host.config.extensions = Extensions { stream_reconfiguration: offers, ..Extensions::NONE };
        scenario.features.insert(if offers { "offers RE-CONFIG" } else { "offers no RE-CONFIG" });
        let mut allowed = || draw.chance(0.9);
        host.config.reconfiguration = ReconfigurationPolicy {
            reset_streams: allowed(),
            reset_association: allowed(),
            add_streams: allowed(),
            most_outbound_streams: u16::MAX,
        };
        if draw.chance(0.2) {
            host.config.reconfiguration.most_outbound_streams = draw.between(1, 60) as u16;
        }
        for _ in 0..draw.between(0, 12) {
            let at = Time::from_micros(draw.log_whole(1_000, 12_000_000));
            let call = call(draw);
            host.calls.push((at, call));
        }
    }
}

fn call(draw: &mut Draw) -> Call {
    match draw.between(0, 9) {
        0 => Call::ResetAssociation,
        1 => Call::AddStreams(draw.between(0, 40) as u16, draw.between(0, 40) as u16),
        n => {
            let direction = match n {
                2..=5 => ResetDirection::Outgoing,
                6 | 7 => ResetDirection::Incoming,
                _ => ResetDirection::Both,
            };
            let all = draw.chance(0.3);
            // A bit for each stream.
            let streams = if all { 0 } else { draw.between(1, u64::from(u16::MAX)) as u16 };
            Call::ResetStreams(direction, streams)
        }
    }
}
