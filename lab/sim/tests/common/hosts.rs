//! Two hosts with interfaces around a router.

use std::net::IpAddr;

use tresse_core::{AssociationConfig, EndpointConfig, Time};
use tresse_sim::apps::{Bulk, Plan, Router, Sender, Sink};
use tresse_sim::{HostId, Interface, IpNet, IpStack, LinkConfig, LinkId, RouteEntry, Simulation};

use super::{ip, ms};

pub(crate) const END: Time = ms(3_600_000);

pub(crate) fn net(text: &str) -> IpNet {
    text.parse().expect("a network")
}

/// A stack with an interface for each list of addresses, and routes to everything by the first one.
pub(crate) fn stack(interfaces: &[&[&str]]) -> IpStack {
    let interfaces = interfaces.iter().enumerate().map(|(number, addresses)| {
        let interface = Interface::new(&format!("eth{number}"));
        addresses.iter().fold(interface, |i, address| i.address(net(address)))
    });
    let routes = ["0.0.0.0/0", "::/0"].map(|all| RouteEntry::new(net(all), 0)).to_vec();
    IpStack { interfaces: interfaces.collect(), routes, ..IpStack::default() }
}

/// A client and a server, each plugged into a router with all interfaces.
pub(crate) struct Pair {
    pub(crate) sim: Simulation,
    pub(crate) hosts: [HostId; 2],
    /// Links of each host: out and back, by interface.
    pub(crate) links: [Vec<(LinkId, LinkId)>; 2],
}

pub(crate) fn endpoint(addresses: &[&str], accept: bool) -> EndpointConfig {
    let local_addresses = addresses.iter().map(|a| ip(a)).collect();
    EndpointConfig { local_addresses, accept, ..EndpointConfig::default() }
}

/// A client that sends messages of 1000 bytes at once, bound to all of its addresses as the server is.
pub(crate) fn pair(
    stacks: [IpStack; 2],
    messages: u64,
    remotes: &[&str],
    config: AssociationConfig,
) -> Pair {
    let bound = [0, 1].map(|side: usize| stacks[side].addresses());
    let bulk = Bulk { messages: Some(messages), ..Bulk::of_size(1000) };
    talk(stacks, bound, Plan::Bulk(bulk), remotes, config)
}

/// A client that follows a plan and then shuts down. With no addresses a host is bound to a wildcard.
pub(crate) fn talk(
    stacks: [IpStack; 2],
    bound: [Vec<IpAddr>; 2],
    plan: Plan,
    remotes: &[&str],
    config: AssociationConfig,
) -> Pair {
    let mut sim = Simulation::new(1);
    let router = sim.add_node("router", Box::new(Router::new()));
    let remotes: Vec<IpAddr> = remotes.iter().map(|a| ip(a)).collect();
    let [client, server] = bound.map(|local_addresses| EndpointConfig {
        local_addresses,
        accept: true,
        association: config.clone(),
        ..EndpointConfig::default()
    });
    let sender = Sender::new(plan).connect(remotes, 5000, config);
    let sender = Box::new(sender.shutdown_when_done());
    let hosts =
        [sim.add_host("a", client, sender), sim.add_host("b", server, Box::new(Sink::new()))];
    let links = plug(&mut sim, router, hosts, stacks);
    Pair { sim, hosts, links }
}

/// Two hosts, bound to a wildcard, that call each other at once and send this many messages of 1000 bytes.
pub(crate) fn call_each_other(
    stacks: [IpStack; 2],
    messages: u64,
    remotes: [&[&str]; 2],
    config: &AssociationConfig,
) -> Pair {
    let mut sim = Simulation::new(1);
    let router = sim.add_node("router", Box::new(Router::new()));
    let hosts = [("a", remotes[0]), ("b", remotes[1])].map(|(name, remotes)| {
        let bulk = Bulk { messages: Some(messages), ..Bulk::of_size(1000) };
        let remotes = remotes.iter().map(|a| ip(a)).collect();
        let sender = Sender::new(Plan::Bulk(bulk)).connect(remotes, 5000, config.clone());
        let endpoint =
            EndpointConfig { accept: true, association: config.clone(), ..endpoint(&[], true) };
        sim.add_host(name, endpoint, Box::new(sender.shutdown_when_done()))
    });
    let links = plug(&mut sim, router, hosts, stacks);
    Pair { sim, hosts, links }
}

/// Plugs all interfaces of two hosts into a router.
fn plug(
    sim: &mut Simulation,
    router: HostId,
    hosts: [HostId; 2],
    stacks: [IpStack; 2],
) -> [Vec<(LinkId, LinkId)>; 2] {
    let mut links = [Vec::new(), Vec::new()];
    for (side, stack) in stacks.into_iter().enumerate() {
        let interfaces = stack.interfaces.len();
        sim.set_stack(hosts[side], stack);
        for interface in 0..interfaces {
            let link = LinkConfig::new(10_000.0, 5.0);
            let (there, back) = (link.clone(), link);
            let plugged = sim.plug(hosts[side], interface, router, there, back);
            links[side].push(plugged.expect("valid"));
        }
    }
    links
}
