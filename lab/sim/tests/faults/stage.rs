//! The network of a scenario in the simulator.

use tresse_sim::apps::{Nat, Router};
use tresse_sim::{Change, HostId, LinkConfig, LinkId, Route, Simulation};

use crate::scenario::{Fault, LinkPlan, NAT_ADDRESS, NatPlan, Place, Scenario};

/// What was built.
pub(crate) struct Stage {
    hosts: [HostId; 2],
    /// In the order of the plan.
    links: Vec<LinkId>,
    nat: Option<HostId>,
}

/// Gives the hosts their interfaces and links.
pub(crate) fn build(sim: &mut Simulation, hosts: [HostId; 2], scenario: &Scenario) -> Stage {
    for (host, plan) in hosts.iter().zip(&scenario.hosts) {
        if let Some(stack) = &plan.stack {
            sim.set_stack(*host, stack.clone());
        }
    }
    let router = sim.add_node("router", Box::new(Router::new()));
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
    Stage { hosts, links, nat }
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
