//! What goes wrong with addresses, interfaces and the boxes in between.

use std::net::IpAddr;
use std::time::Duration;

use tresse_core::{IcmpKind, Time};
use tresse_sim::{IpNet, LinkRules};

use super::{moment, number_of, outage};
use crate::scenario::{Fault, Scenario, network};
use tresse_sim::Draw;

pub(super) fn draw(draw: &mut Draw, scenario: &mut Scenario) {
    let at = moment(draw);
    let links = scenario.links.len();
    match draw.between(0, 9) {
        0 | 1 => interface(draw, scenario, at),
        2 | 3 => address(draw, scenario, at),
        4 => firewall(draw, scenario, at),
        5 => mtu(draw, scenario, at),
        6 if scenario.nat.is_some() => {
            scenario.features.insert("nat rebinds");
            scenario.faults.push((at, Fault::Rebind));
        }
        6 | 7 => {
            let link = draw.index(links);
            let number = number_of(scenario, link);
            let one_way = draw.chance(0.3);
            let down = |i: &usize| *i == link || (!one_way && number_of(scenario, *i) == number);
            let down = (0..links).filter(down).collect();
            outage(draw, scenario, at, down, if one_way { "one way dies" } else { "path dies" });
        }
        8 => {
            // Everything is gone, but not for long enough to give up.
            let all: Vec<usize> = (0..links).collect();
            let back = at + Duration::from_millis(draw.log_whole(100, 25_000));
            scenario.faults.push((at, Fault::Down(all.clone())));
            scenario.faults.push((back, Fault::Up(all)));
            scenario.features.insert("all paths die");
        }
        _ => {
            let link = draw.index(links);
            let fastest = draw.log(100.0, 1_000_000.0);
            let config = network::link(draw, scenario.calm(), fastest, &mut scenario.features);
            scenario.faults.push((at, Fault::Relink(link, Box::new(config))));
            scenario.features.insert("link changes");
        }
    }
}

/// When it is over, if ever.
fn end(draw: &mut Draw, at: Time) -> Option<Time> {
    draw.chance(0.7).then(|| at + Duration::from_millis(draw.log_whole(1, 60_000)))
}

fn interface(draw: &mut Draw, scenario: &mut Scenario, at: Time) {
    let host = draw.index(2);
    let Some(stack) = &scenario.hosts[host].stack else { return };
    let number = draw.index(stack.interfaces.len());
    scenario.features.insert("interface goes down");
    scenario.faults.push((at, Fault::Interface(host, number, false)));
    if let Some(back) = end(draw, at) {
        scenario.faults.push((back, Fault::Interface(host, number, true)));
        scenario.features.insert("interface comes back");
    }
}

fn address(draw: &mut Draw, scenario: &mut Scenario, at: Time) {
    let host = draw.index(2);
    let Some(stack) = &scenario.hosts[host].stack else { return };
    let number = draw.index(stack.interfaces.len());
    let addresses = &stack.interfaces[number].addresses;
    let net = addresses[draw.index(addresses.len())];
    if draw.chance(0.2) {
        // One that the peer has never heard of.
        let IpAddr::V4(base) = net.addr() else { return };
        let address = IpNet::new((base | std::net::Ipv4Addr::new(0, 0, 0, 128)).into(), 24);
        let address = address.expect("a valid length");
        scenario.features.insert("address appears");
        scenario.faults.push((at, Fault::AddAddress(host, number, address)));
        return;
    }
    scenario.features.insert("address vanishes");
    scenario.faults.push((at, Fault::RemoveAddress(host, net.addr())));
    if let Some(back) = end(draw, at) {
        scenario.faults.push((back, Fault::AddAddress(host, number, net)));
        scenario.features.insert("address returns");
    }
}

fn firewall(draw: &mut Draw, scenario: &mut Scenario, at: Time) {
    let link = draw.index(scenario.links.len());
    let some = |draw: &mut Draw, scenario: &Scenario| {
        let addresses = &scenario.hosts[draw.index(2)].addresses;
        IpNet::from(addresses[draw.index(addresses.len())])
    };
    let net = match draw.between(0, 3) {
        0 => "0.0.0.0/0".parse().expect("a network"),
        1 => "::/0".parse().expect("a network"),
        _ => some(draw, scenario),
    };
    // Drawn apart: other worlds stay as they were. A steady one has no Port Unreachable over UDP, which ends
    // associations (RFC 6951 §5.5).
    let mut apart = Draw::new(scenario.seed ^ at.as_nanos());
    let in_udp = scenario.hosts[0].config.encapsulation.is_some();
    let rejects = match apart.between(0, 3) {
        0 | 1 => None,
        2 if in_udp && !scenario.steady => Some(IcmpKind::NoSctp),
        _ => Some(IcmpKind::Unreachable),
    };
    let rules = LinkRules { blocks: vec![net], rejects, ..LinkRules::default() };
    scenario.features.insert(match rejects {
        None => "firewall drops",
        Some(IcmpKind::NoSctp) => "firewall has no port",
        Some(_) => "firewall rejects",
    });
    scenario.faults.push((at, Fault::Rules(link, rules)));
    if let Some(back) = end(draw, at) {
        scenario.faults.push((back, Fault::Rules(link, LinkRules::default())));
    }
}

fn mtu(draw: &mut Draw, scenario: &mut Scenario, at: Time) {
    let link = draw.index(scenario.links.len());
    let (mtu, reports) = (draw.between(600, 1500) as usize, draw.chance(0.7));
    // RFC 8200 §5: no link that carries IPv6 takes less, and senders need not get by with less.
    let six = scenario.hosts.iter().any(|host| host.addresses.iter().any(IpAddr::is_ipv6));
    let mtu = Some(if six { mtu.max(1280) } else { mtu });
    // Half of them from the beginning.
    let at = if draw.chance(0.5) { Time::ZERO } else { at };
    scenario.features.insert(if reports { "mtu told by icmp" } else { "mtu black hole" });
    let rules = LinkRules { mtu, reports, ..LinkRules::default() };
    scenario.faults.push((at, Fault::Rules(link, rules)));
}
