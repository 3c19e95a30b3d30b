//! The same scenarios with extensions of the protocol: which of them each end offers, what it allows, and what its
//! application asks for.

use tresse_core::{Extensions, ReconfigurationPolicy, ResetDirection, Time};
use tresse_sim::Draw;

use super::{Call, Scenario};

/// Seeds from here on have extensions; less this number they are those of the same scenarios without.
pub(crate) const EXTENDED: u64 = 1 << 40;

/// Adds extensions to a scenario.
pub(super) fn draw(draw: &mut Draw, scenario: &mut Scenario) {
    for host in &mut scenario.hosts {
        let offers = draw.chance(0.9);
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
