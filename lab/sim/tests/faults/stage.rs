//! The network of a scenario in the simulator.

use std::net::IpAddr;

use tresse_core::{AssociationId, EndpointConfig, Event};
use tresse_sim::apps::{Nat, Router};
use tresse_sim::{
    Application, Change, Context, HostId, Interface, IpNet, IpStack, LinkConfig, LinkId, Route,
    RouteEntry, Simulation,
};

use crate::scenario::{Fault, LinkPlan, NAT_ADDRESS, NatPlan, PORT, Place, Scenario};

/// What was built.
pub(crate) struct Stage {
    hosts: [HostId; 2],
    /// In the order of the plan.
    links: Vec<LinkId>,
    nat: Option<HostId>,
    /// Who gets addresses that others had, and the link to it.
    heir: Option<(HostId, LinkId)>,
}

/// Gives the hosts their interfaces and links.
pub(crate) fn build(sim: &mut Simulation, hosts: [HostId; 2], scenario: &Scenario) -> Stage {
    for (host, plan) in hosts.iter().zip(&scenario.hosts) {
        if let Some(stack) = &plan.stack {
            sim.set_stack(*host, stack.clone());
        }
    }
    let router = sim.add_node("router", Box::new(Router::new()));
    // Its routes come before those of the others.
    let inherits = scenario.faults.iter().any(|(_, fault)| matches!(fault, Fault::Inherit(_)));
    let heir = inherits.then(|| stranger(sim, router));
    let nat = scenario.nat.map(|plan| {
        let nat = translator(sim, plan, scenario);
        let link = |sim: &mut Simulation, from, to, route| {
            sim.add_link(from, to, route, LinkConfig::default()).expect("no settings");
        };
        link(sim, router, nat, Route::to(NAT_ADDRESS));
        nat
    });
    // Links come in pairs: there, and back.
    let mut links = Vec::new();
    for pair in scenario.links.chunks(2) {
        match pair {
            [out, back] if matches!(out.place, Place::Cable { .. } | Place::Out { .. }) => {
                let made = plug(sim, hosts, router, nat, out, back);
                links.extend([made.0, made.1]);
            }
            plans => links.extend(plans.iter().map(|plan| path(sim, hosts, plan))),
        }
    }
    if let Some(nat) = nat {
        // After the routes to the inside.
        let all = LinkConfig::default();
        sim.add_link(nat, router, Route::any(), all).expect("no settings");
    }
    Stage { hosts, links, nat, heir }
}

/// A host that knows of no association, and says so.
struct Stranger;

impl Application for Stranger {
    fn on_event(&mut self, _: &mut Context<'_>, _: AssociationId, _: Event) {}
}

fn stranger(sim: &mut Simulation, router: HostId) -> (HostId, LinkId) {
    let config = EndpointConfig { local_port: PORT, ..EndpointConfig::default() };
    let host = sim.add_host("c", config, Box::new(Stranger));
    let net = |text: &str| text.parse::<IpNet>().expect("a network");
    let mut interface = Interface::new("eth0");
    interface.addresses = vec![net("192.0.2.254/32")];
    let routes = ["0.0.0.0/0", "::/0"].map(|all| RouteEntry::new(net(all), 0)).to_vec();
    sim.set_stack(host, IpStack { interfaces: vec![interface], routes, ..IpStack::default() });
    let all = LinkConfig::default();
    let (_, back) = sim.plug(host, 0, router, all.clone(), all).expect("no settings");
    (host, back)
}

fn hand_over((heir, link): (HostId, LinkId), address: IpAddr) -> Change {
    Change::Call(Box::new(move |sim| {
        sim.add_route(link, Route::to(address));
        sim.apply(Change::AddAddress(heir, 0, address.into())).expect("no settings");
    }))
}

fn translator(sim: &mut Simulation, plan: NatPlan, scenario: &Scenario) -> HostId {
    let stack = scenario.hosts[0].stack.as_ref().expect("a NAT is for hosts with interfaces");
    let inside = stack.interfaces[0].addresses[0];
    sim.add_node("nat", Box::new(Nat::new(inside, NAT_ADDRESS, plan.timeout)))
}

fn plug(
    sim: &mut Simulation,
    hosts: [HostId; 2],
    router: HostId,
    nat: Option<HostId>,
    out: &LinkPlan,
    back: &LinkPlan,
) -> (LinkId, LinkId) {
    let (there, back) = (out.config.clone(), back.config.clone());
    let made = match out.place {
        Place::Out { host, interface } => {
            let other = nat.filter(|_| host == 0).unwrap_or(router);
            sim.plug(hosts[host], interface, other, there, back)
        }
        Place::Cable { interface } => {
            sim.cable((hosts[0], interface), (hosts[1], interface), there, back)
        }
        _ => unreachable!("{out:?} begins no pair"),
    };
    made.expect("values are in range")
}

fn path(sim: &mut Simulation, hosts: [HostId; 2], plan: &LinkPlan) -> LinkId {
    let Place::Path { to_address, default_source } = plan.place else {
        unreachable!("{plan:?} is half of a pair")
    };
    let route = Route::to(to_address).default_source(default_source);
    let (from, to) = (hosts[plan.from], hosts[1 - plan.from]);
    sim.add_link(from, to, route, plan.config.clone()).expect("values are in range")
}

impl Stage {
    /// What a fault means for the simulation.
    pub(crate) fn changes(&self, fault: &Fault) -> Vec<Change> {
        let (hosts, links) = (&self.hosts, &self.links);
        match fault {
            Fault::Down(down) => down.iter().map(|i| Change::LinkDown(links[*i])).collect(),
            Fault::Up(up) => up.iter().map(|i| Change::LinkUp(links[*i])).collect(),
            Fault::Relink(link, config) => vec![Change::Link(links[*link], config.clone())],
            Fault::Rules(link, rules) => vec![Change::Rules(links[*link], rules.clone())],
            Fault::Interface(host, number, up) => {
                vec![Change::Interface(hosts[*host], *number, *up)]
            }
            Fault::AddAddress(host, number, address) => {
                vec![Change::AddAddress(hosts[*host], *number, *address)]
            }
            Fault::RemoveAddress(host, address) => {
                vec![Change::RemoveAddress(hosts[*host], *address)]
            }
            Fault::Inherit(address) => {
                self.heir.map(|heir| hand_over(heir, *address)).into_iter().collect()
            }
            Fault::Rebind => self.nat.map(rebind).into_iter().collect(),
            Fault::Jump(host, by) => vec![Change::ClockJump(hosts[*host], *by)],
            Fault::Crash(host) => vec![Change::Crash(hosts[*host])],
            Fault::Restart(host) => vec![Change::Restart(hosts[*host])],
        }
    }
}

fn rebind(nat: HostId) -> Change {
    Change::Call(Box::new(move |sim| sim.app_mut::<Nat>(nat).rebind(None)))
}
