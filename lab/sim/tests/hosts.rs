//! Hosts with interfaces, routing tables and source address selection, NATs and firewalls.

mod common;

use std::time::Duration;

use common::hosts::{END, endpoint, net, pair, stack};
use common::{Script, data, ip, ms, packet};
use tresse_core::{AssociationConfig, CloseReason, EndpointConfig, IcmpKind};
use tresse_sim::apps::{Bulk, Nat, Plan, Sender, Sink};
use tresse_sim::{
    Change, HostModel, IpStack, LinkConfig, LinkRules, Route, Simulation, StopReason,
};

#[test]
fn packets_take_the_interface_and_arrive_where_the_address_is() {
    let stacks = [stack(&[&["10.1.0.1/24"], &["10.2.0.1/24"]]), stack(&[&["10.3.0.1/24"]])];
    let mut pair = pair(stacks, 100, &["10.3.0.1"], AssociationConfig::default());
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    assert_eq!(pair.sim.app::<Sink>(pair.hosts[1]).stats().messages, 100);
    let sent = |side: usize, interface: usize| {
        pair.sim.link_stats(pair.links[side][interface].0).offered_data
    };
    assert_eq!((sent(0, 1), sent(1, 0)), (0, 0), "all data takes the default route");
    assert!(sent(0, 0) > 70);
    assert_eq!(pair.sim.stats().without_source, 0);
}

#[test]
fn a_router_keeps_link_local_packets_on_their_link() {
    let stacks = [stack(&[&["fe80::1/64", "fd00:1::1/64"]]), stack(&[&["fd00:3::1/64"]])];
    let pair = pair(stacks, 1, &["fd00:3::1"], AssociationConfig::default());
    let (sim, [a, b]) = (&pair.sim, pair.hosts);
    assert_eq!(sim.reaches(a, ip("fe80::1"), ip("fd00:3::1")), None);
    assert_eq!(sim.reaches(a, ip("fd00:1::1"), ip("fd00:3::1")), Some(b));
}

#[test]
fn an_address_that_has_gone_is_no_source_and_no_destination() {
    let stacks = [stack(&[&["10.1.0.1/24", "10.1.0.2/24"]]), stack(&[&["10.3.0.1/24"]])];
    let mut pair = pair(stacks, 1, &["10.3.0.1"], AssociationConfig::default());
    let (sim, [a, b]) = (&mut pair.sim, pair.hosts);
    let reached = |sim: &Simulation, from, to| sim.reaches(a, ip(from), ip(to));
    assert_eq!(reached(sim, "10.1.0.2", "10.3.0.1"), Some(b));
    assert_eq!(sim.reaches(b, ip("10.3.0.1"), ip("10.1.0.2")), Some(a));
    sim.apply(Change::RemoveAddress(a, ip("10.1.0.2"))).expect("valid");
    assert_eq!(reached(sim, "10.1.0.2", "10.3.0.1"), None);
    assert_eq!(reached(sim, "10.1.0.1", "10.3.0.1"), Some(b));
    assert_eq!(sim.reaches(b, ip("10.3.0.1"), ip("10.1.0.2")), None);
    sim.apply(Change::AddAddress(a, 0, net("10.1.0.2/24"))).expect("valid");
    assert_eq!(reached(sim, "10.1.0.2", "10.3.0.1"), Some(b));
    sim.apply(Change::Interface(a, 0, false)).expect("valid");
    assert_eq!(reached(sim, "10.1.0.1", "10.3.0.1"), None);
    sim.apply(Change::Interface(a, 0, true)).expect("valid");
    sim.apply(Change::LinkDown(pair.links[1][0].1)).expect("valid");
    assert_eq!(reached(sim, "10.1.0.1", "10.3.0.1"), None);
    assert_eq!(sim.reaches(b, ip("10.3.0.1"), ip("10.1.0.1")), Some(a), "one direction only");
}

#[test]
fn a_strong_host_takes_packets_at_the_right_interface_only() {
    for (model, arrives) in [(HostModel::Weak, true), (HostModel::Strong, false)] {
        let mut sim = Simulation::new(1);
        // It sends to the address of eth1 by the link to eth0.
        let (from, to) = (ip("10.1.0.9"), ip("10.2.0.1"));
        let script = Script::new(vec![(ms(0), packet(from, to, data(1, &[0; 10])))]);
        let other = sim.add_node("other", script);
        let host = sim.add_host("host", endpoint(&["10.2.0.1"], true), Box::new(Sink::new()));
        let stack = stack(&[&["10.1.0.1/24"], &["10.2.0.1/24"]]);
        sim.set_stack(host, IpStack { model, ..stack });
        let link = LinkConfig::default();
        let (_, back) = sim.plug(host, 0, other, link.clone(), link).expect("valid");
        sim.add_route(back, Route::net(net("10.2.0.0/24")));
        sim.run(END);
        assert_eq!(sim.stats().not_accepted, u64::from(!arrives), "{model:?}");
        assert_eq!(sim.reaches(other, from, to).is_some(), arrives, "{model:?}");
    }
}

#[test]
fn a_firewall_takes_one_direction_and_one_family() {
    let stacks =
        [stack(&[&["10.1.0.1/24", "fd00:1::1/64"]]), stack(&[&["10.3.0.1/24", "fd00:3::1/64"]])];
    let mut pair = pair(stacks, 50, &["10.3.0.1", "fd00:3::1"], AssociationConfig::default());
    let rules = LinkRules { blocks: vec![net("0.0.0.0/0")], ..LinkRules::default() };
    let (sim, [a, b]) = (&mut pair.sim, pair.hosts);
    sim.at(ms(20), Change::Rules(pair.links[0][0].0, rules)).expect("valid");
    sim.run(ms(25));
    assert_eq!(sim.reaches(a, ip("10.1.0.1"), ip("10.3.0.1")), None);
    assert_eq!(sim.reaches(b, ip("10.3.0.1"), ip("10.1.0.1")), Some(a));
    assert_eq!(sim.reaches(a, ip("fd00:1::1"), ip("fd00:3::1")), Some(b));
    assert_eq!(sim.run(END), StopReason::Idle);
    assert_eq!(sim.app::<Sink>(b).stats().messages, 50, "they went on by IPv6");
    assert!(sim.stats().blocked > 0);
}

#[test]
fn a_firewall_that_rejects_tells_the_sender() {
    for (rejects, reason) in
        [(IcmpKind::Unreachable, CloseReason::Shutdown), (IcmpKind::NoSctp, CloseReason::NoSctp)]
    {
        let stacks = [stack(&[&["10.1.0.1/24"]]), stack(&[&["10.3.0.1/24"]])];
        let mut pair = pair(stacks, 50, &["10.3.0.1"], AssociationConfig::default());
        let (sim, [a, b]) = (&mut pair.sim, pair.hosts);
        let blocks = vec![net("0.0.0.0/0")];
        let rules = LinkRules { blocks, rejects: Some(rejects), ..LinkRules::default() };
        let link = pair.links[0][0].0;
        sim.at(ms(20), Change::Rules(link, rules)).expect("valid");
        sim.at(ms(5_000), Change::Rules(link, LinkRules::default())).expect("valid");
        sim.run(END);
        let told = sim.app::<Sender>(a).closed().cloned();
        assert_eq!(told, Some(reason), "{rejects:?}");
        let messages = sim.app::<Sink>(b).stats().messages;
        assert_eq!(messages == 50, rejects == IcmpKind::Unreachable, "{messages}");
    }
}

#[test]
fn an_mtu_on_the_way_is_told_by_icmp_and_that_of_the_interface_by_the_host() {
    for (interface, link) in [(1500, Some(900)), (900, None)] {
        let mut near = stack(&[&["10.1.0.1/24"]]);
        near.interfaces[0].mtu = interface;
        let stacks = [near, stack(&[&["10.3.0.1/24"]])];
        let mut pair = pair(stacks, 50, &["10.3.0.1"], AssociationConfig::default());
        let rules = LinkRules { mtu: link, reports: true, ..LinkRules::default() };
        pair.sim.apply(Change::Rules(pair.links[1][0].1, rules)).expect("valid");
        assert_eq!(pair.sim.run(ms(5_000)), StopReason::Idle, "no timer had to help much");
        assert_eq!(pair.sim.app::<Sink>(pair.hosts[1]).stats().messages, 50);
        assert!(pair.sim.stats().too_big > 0);
    }
}

#[test]
fn an_association_outlives_the_rebinding_of_a_nat() {
    let mut sim = Simulation::new(1);
    let nat = Nat::new(net("192.168.0.0/24"), ip("198.51.100.1"), Duration::from_secs(60));
    let nat = sim.add_node("nat", Box::new(nat));
    let bulk = Bulk { messages: Some(2000), ..Bulk::of_size(1000) };
    let config = AssociationConfig { encapsulation: Some(9899), ..AssociationConfig::default() };
    let sender = Sender::new(Plan::Bulk(bulk)).connect(vec![ip("192.0.2.1")], 5000, config.clone());
    let client = EndpointConfig::default();
    let client = sim.add_host("client", client, Box::new(sender.shutdown_when_done()));
    let server = EndpointConfig { association: config, ..endpoint(&["192.0.2.1"], true) };
    let server = sim.add_host("server", server, Box::new(Sink::new()));
    let link = || LinkConfig::new(10_000.0, 5.0);
    for (host, text) in [(client, "192.168.0.2/24"), (server, "192.0.2.1/24")] {
        sim.set_stack(host, stack(&[&[text]]));
        sim.plug(host, 0, nat, link(), link()).expect("valid");
    }
    assert_eq!(sim.reaches(client, ip("192.168.0.2"), ip("192.0.2.1")), Some(server));
    for at in [300, 600] {
        let rebind = move |sim: &mut Simulation| sim.app_mut::<Nat>(nat).rebind(None);
        sim.at(ms(at), Change::Call(Box::new(rebind))).expect("valid");
    }
    assert_eq!(sim.run(END), StopReason::Idle);
    assert!(sim.app::<Nat>(nat).refused() > 0);
    assert_eq!(sim.app::<Sink>(server).stats().messages, 2000);
}
