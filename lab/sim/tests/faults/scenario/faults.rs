//! What goes wrong besides the loss of single packets.

mod hosts;

use std::time::Duration;

use tresse_core::Time;

use super::{Ending, Fault, Place, Scenario, network};
use tresse_sim::Draw;

const HOUR: i64 = 3_600_000_000_000;

pub(super) fn draw(draw: &mut Draw, scenario: &mut Scenario) {
    let count = if scenario.mild { 0 } else { draw.pick(&[0, 1, 1, 1, 2, 3]) };
    for _ in 0..count {
        if scenario.steady || (scenario.hosts[0].stack.is_some() && draw.chance(0.5)) {
            hosts::draw(draw, scenario);
        } else {
            one(draw, scenario);
        }
    }
    scenario.faults.sort_by_key(|(at, _)| *at);
    let last = scenario.faults.last().map_or(Time::ZERO, |(at, _)| *at);
    scenario.curfew = last + Duration::from_millis(draw.log_whole(8_000, 60_000));
}

/// Mostly while something is going on.
fn moment(draw: &mut Draw) -> Time {
    let at = if draw.chance(0.5) {
        draw.log_whole(1_000, 6_000_000)
    } else {
        draw.between(100_000, 2_000_000)
    };
    Time::from_micros(at)
}

fn one(draw: &mut Draw, scenario: &mut Scenario) {
    let at = moment(draw);
    let links = scenario.links.len();
    match draw.between(0, 9) {
        0 | 1 => {
            let path = draw.index(links);
            let both = draw.chance(0.7);
            // The other direction of a path is the link with the same number on the other side.
            let number = number_of(scenario, path);
            let down = (0..links)
                .filter(|i| *i == path || (both && number_of(scenario, *i) == number))
                .collect();
            outage(draw, scenario, at, down, if both { "path dies" } else { "one way dies" });
        }
        2 | 3 => outage(draw, scenario, at, (0..links).collect(), "all paths die"),
        4 => {
            let link = draw.index(links);
            let fastest = draw.log(100.0, 1_000_000.0);
            let config = network::link(draw, false, fastest, &mut scenario.features);
            scenario.faults.push((at, Fault::Relink(link, Box::new(config))));
            scenario.features.insert("link changes");
        }
        5 | 6 => {
            let size = draw.log(1e6, 24.0 * HOUR as f64) as i64;
            let back = draw.chance(0.5);
            let size = if back { -size.min(HOUR) } else { size };
            scenario.faults.push((at, Fault::Jump(draw.index(2), size)));
            scenario.features.insert(if back { "clock jumps back" } else { "clock jumps ahead" });
        }
        7 | 8 => crash(draw, scenario, at),
        _ => {
            // Nobody is there from the beginning.
            scenario.faults.push((Time::ZERO, Fault::Crash(1)));
            scenario.features.insert("unreachable peer");
            if draw.chance(0.3) {
                let at = Time::from_millis(draw.log_whole(10, 8_000));
                scenario.faults.push((at, Fault::Restart(1)));
            }
        }
    }
}

fn number_of(scenario: &Scenario, link: usize) -> usize {
    let plan = &scenario.links[link];
    match plan.place {
        Place::Path { to_address, .. } => {
            let addresses = &scenario.hosts[1 - plan.from].addresses;
            addresses.iter().position(|a| *a == to_address).unwrap_or(0)
        }
        Place::Cable { interface } => interface,
        Place::Out { host, interface } | Place::In { host, interface } => 4 * host + interface,
    }
}

fn outage(
    draw: &mut Draw,
    scenario: &mut Scenario,
    at: Time,
    down: Vec<usize>,
    name: &'static str,
) {
    scenario.features.insert(name);
    scenario.faults.push((at, Fault::Down(down.clone())));
    if draw.chance(0.8) {
        let back = at + Duration::from_millis(draw.log_whole(1, 30_000));
        scenario.faults.push((back, Fault::Up(down)));
        scenario.features.insert("revival");
    } else {
        scenario.features.insert("no revival");
    }
}

fn crash(draw: &mut Draw, scenario: &mut Scenario, at: Time) {
    let host = draw.index(2);
    scenario.features.insert("crash");
    if draw.chance(0.5) {
        scenario.faults.push((at, Fault::Crash(host)));
        if draw.chance(0.2) {
            scenario.features.insert("crash for good");
            return;
        }
    }
    let after = if draw.chance(0.3) { 0 } else { draw.log_whole(100, 10_000_000) };
    let back = at + Duration::from_micros(after);
    scenario.faults.push((back, Fault::Restart(host)));
    scenario.features.insert("restart");
    let plan = &mut scenario.hosts[host];
    if plan.connect_at.is_none() && draw.chance(0.6) {
        // The one that was called calls back.
        plan.connect_at = Some(back);
    }
    if plan.connect_at.is_some() {
        scenario.features.insert("connects again after a restart");
        if matches!(plan.ending, Ending::AtOnce) {
            plan.ending = Ending::WhenDone(0);
        }
    }
}
