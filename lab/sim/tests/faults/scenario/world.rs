//! Worlds of hosts with interfaces: their addresses, networks, routes and sources.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use tresse_sim::{HostModel, Interface, IpNet, IpStack, RouteEntry};

use super::network::{self, Network};
use super::{HostPlan, LinkPlan, NatPlan, Place};
use tresse_sim::Draw;

type Features = BTreeSet<&'static str>;

/// Two hosts with interfaces and the networks that they are in.
pub(super) fn draw(draw: &mut Draw, calm: bool, features: &mut Features) -> Network {
    let internet = draw.chance(0.5);
    features.insert(if internet { "internet" } else { "separate networks" });
    let natted = internet && draw.chance(0.25);
    let mut counts = [0, 1].map(|_| draw.pick(&[1, 1, 2, 2, 2, 3, 4]));
    if natted {
        counts[0] = 1;
        features.insert("nat");
    }
    if counts[0] != counts[1] {
        features.insert("unequal numbers of interfaces");
    }
    // Separate networks reach only across the same family, so both draw the same ones mostly.
    let families: Vec<u64> = (0..4).map(|_| draw.between(0, 9)).collect();
    let mut stacks = [0, 1].map(|host| {
        let interfaces = (0..counts[host]).map(|place| {
            let own = draw.chance(0.2);
            let family = if own { draw.between(0, 9) } else { families[place] };
            let family = if natted { 0 } else { family };
            interface(draw, host, place, internet, family, features)
        });
        IpStack { interfaces: interfaces.collect(), ..IpStack::default() }
    });
    for stack in &mut stacks {
        tables(draw, stack, internet, features);
    }
    if !calm && draw.chance(0.04) {
        crowd(&mut stacks[draw.index(2)], features);
    }
    let nat = natted.then(|| NatPlan { timeout: Duration::from_secs(draw.log_whole(60, 600)) });
    let (links, slowest_kbps, delays) = links(draw, calm, counts, internet, features);
    let addresses = [0, 1].map(|host: usize| global(&stacks[host]));
    Network {
        addresses,
        links,
        slowest_kbps,
        round_trip_ms: delays[0] + delays[1],
        stacks: Some(stacks),
        nat,
    }
}

/// The addresses of a host that mean something everywhere.
pub(crate) fn global(stack: &IpStack) -> Vec<IpAddr> {
    stack.addresses().into_iter().filter(is_global).collect()
}

/// Others may know it.
pub(super) fn is_global(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(a) => !a.is_link_local(),
        IpAddr::V6(a) => !a.is_unicast_link_local(),
    }
}

fn interface(
    draw: &mut Draw,
    host: usize,
    place: usize,
    internet: bool,
    family: u64,
    features: &mut Features,
) -> Interface {
    // On separate networks the interfaces of one number are neighbours.
    let network = place as u16 + 1 + if internet { 10 * (host as u16 + 1) } else { 0 };
    let v4 = |last: u8| {
        let address = Ipv4Addr::new(10, network as u8, 0, last);
        IpNet::new(address.into(), 24).expect("a valid length")
    };
    let v6 = |first: u16, network: u16, last: u16| {
        let address = Ipv6Addr::new(first, network, 0, 0, 0, 0, 0, last);
        IpNet::new(address.into(), 64).expect("a valid length")
    };
    let own = host as u8 + 1;
    let (has_v4, has_v6) = (family < 8, family > 4);
    if has_v4 && has_v6 {
        features.insert("dual stack");
    }
    let mut interface = Interface::new(&format!("eth{place}"));
    interface.mtu = draw.pick(&[1500, 1500, 1500, 9000, 1280]);
    if has_v4 {
        interface.addresses.push(v4(own));
    }
    if has_v6 {
        interface.addresses.push(v6(0xfd00, network, own.into()));
    }
    if has_v4 && draw.chance(0.15) {
        interface.addresses.push(v4(own + 100));
        features.insert("several addresses on an interface");
    }
    if draw.chance(0.3) {
        interface.addresses.push(v6(0xfe80, 0, u16::from(own) * 16 + place as u16));
        features.insert("link-local addresses");
    }
    interface
}

/// The routing table of a host, and how strict it is.
fn tables(draw: &mut Draw, stack: &mut IpStack, internet: bool, features: &mut Features) {
    if draw.chance(0.3) {
        stack.model = HostModel::Strong;
        features.insert("strong host");
    }
    if !internet {
        return;
    }
    // Without rules for sources everything leaves by the first interface that is up.
    let by_source = stack.model == HostModel::Strong || draw.chance(0.6);
    if by_source {
        features.insert("routes by source");
    }
    for (number, interface) in stack.interfaces.iter().enumerate() {
        for net in &interface.addresses {
            let all = if net.addr().is_ipv4() { "0.0.0.0/0" } else { "::/0" };
            let all: IpNet = all.parse().expect("a network");
            let metric = number as u32;
            stack.routes.push(RouteEntry { metric, ..RouteEntry::new(all, number) });
            if by_source {
                let from = Some(net.trunc());
                stack.routes.push(RouteEntry { from, ..RouteEntry::new(all, number) });
            }
        }
    }
}

/// More addresses than a peer believes in.
fn crowd(stack: &mut IpStack, features: &mut Features) {
    features.insert("more than 16 addresses");
    let first = &mut stack.interfaces[0];
    let Some(net) = first.addresses.iter().find(|net| net.addr().is_ipv4()).copied() else {
        return;
    };
    let IpAddr::V4(base) = net.addr() else { return };
    for last in 200..220 {
        let [a, b, c, _] = base.octets();
        let address = Ipv4Addr::new(a, b, c, last);
        first.addresses.push(IpNet::new(address.into(), 24).expect("a valid length"));
    }
}

/// Both directions of what each interface is plugged into.
fn links(
    draw: &mut Draw,
    calm: bool,
    counts: [usize; 2],
    internet: bool,
    features: &mut Features,
) -> (Vec<LinkPlan>, f64, [f64; 2]) {
    let fastest = network::fastest(draw, features);
    let mut links = Vec::new();
    let (mut slowest, mut delays) = (f64::INFINITY, [f64::INFINITY; 2]);
    let mut places = Vec::new();
    if internet {
        for (host, count) in counts.into_iter().enumerate() {
            for interface in 0..count {
                places.push((host, Place::Out { host, interface }));
                places.push((1 - host, Place::In { host, interface }));
            }
        }
    } else {
        for interface in 0..counts[0].min(counts[1]) {
            places.extend([0, 1].map(|from| (from, Place::Cable { interface })));
        }
    }
    for (from, place) in places {
        // One link in five is bad although all else is well: no healthy pair uses it.
        let good = calm && draw.chance(0.8);
        let config = network::link(draw, good, fastest, features);
        slowest = slowest.min(config.bandwidth_kbps.unwrap_or(1e6));
        delays[from] = delays[from].min(config.delay_ms);
        links.push(LinkPlan { from, place, config });
    }
    (links, slowest, delays)
}

/// Who is bound to what, and whom they call.
pub(super) fn bind(
    draw: &mut Draw,
    calm: bool,
    hosts: &mut [HostPlan; 2],
    nat: bool,
    features: &mut Features,
) {
    let all = [0, 1].map(|host: usize| hosts[host].addresses.clone());
    for plan in hosts.iter_mut() {
        plan.wildcard = draw.chance(0.5);
        features.insert(if plan.wildcard { "bound to a wildcard" } else { "bound explicitly" });
        if !plan.wildcard && plan.addresses.len() > 1 && draw.chance(0.4) {
            plan.addresses = some_of(draw, &plan.addresses);
            features.insert("bound to some addresses only");
        }
    }
    let families = [0, 1].map(|host: usize| {
        [true, false].map(|v4| hosts[host].addresses.iter().any(|a| a.is_ipv4() == v4))
    });
    if families[0] != families[1] {
        features.insert("ends with different families");
    }
    for host in 0..2 {
        let peer = &hosts[1 - host].addresses;
        let mut remotes = some_of(draw, peer);
        if draw.chance(0.1) {
            // Also such as the peer is not bound to.
            remotes = some_of(draw, &all[1 - host]);
        }
        if draw.chance(0.25) {
            features.insert("wrong addresses to connect to");
            for _ in 0..draw.between(1, 3) {
                let at = draw.index(remotes.len() + 1);
                remotes.insert(at, nobody(draw));
            }
        } else if !calm && draw.chance(0.05) {
            features.insert("many wrong addresses to connect to");
            let strangers = (0..20).map(|_| nobody(draw)).collect::<Vec<_>>();
            let at = draw.index(remotes.len() + 1);
            remotes.splice(at..at, strangers);
        }
        if nat && host == 1 {
            remotes = vec![super::NAT_ADDRESS];
        }
        hosts[host].remotes = remotes;
    }
}

/// An address that nobody has.
fn nobody(draw: &mut Draw) -> IpAddr {
    if draw.chance(0.7) {
        Ipv4Addr::new(192, 0, 2, draw.between(1, 250) as u8).into()
    } else {
        Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, draw.between(1, 250) as u16).into()
    }
}

/// At least one of them, in any order.
fn some_of(draw: &mut Draw, addresses: &[IpAddr]) -> Vec<IpAddr> {
    let mut rest = addresses.to_vec();
    let count = draw.between(1, rest.len() as u64);
    (0..count).map(|_| rest.swap_remove(draw.index(rest.len()))).collect()
}
