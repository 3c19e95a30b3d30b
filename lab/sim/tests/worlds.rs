//! Associations between hosts whose addresses, routes and networks differ: what random worlds
//! (`faults/`) once found, reduced to its cause. In each of them one pair of addresses works.

mod common;

use std::net::IpAddr;
use std::sync::Arc;

use common::hosts::{END, Pair, call_each_other, net, stack, talk};
use common::{ip, ms};
use tresse_core::{AssociationConfig, CloseReason, Event, Profile};
use tresse_sim::apps::{Plan, ScheduledMessage, Sender, Sink};
use tresse_sim::{Change, HostModel, IpStack, LinkRules, RouteEntry};

/// A message each second.
fn signalling(seconds: u64) -> Plan {
    let message = |second| ScheduledMessage::from((ms(1000 * second), 0, 200, false));
    Plan::Schedule((1..=seconds).map(message).collect())
}

/// Interfaces whose packets leave by the one that has their source, with an address in each network.
fn multihomed(addresses: &[&str]) -> IpStack {
    let lists: Vec<&[&str]> = addresses.iter().map(std::slice::from_ref).collect();
    let mut stack = stack(&lists);
    for (number, address) in addresses.iter().enumerate() {
        let net = net(address);
        let all = if net.addr().is_ipv4() { "0.0.0.0/0" } else { "::/0" };
        let from = Some(net.trunc());
        stack.routes.push(RouteEntry { from, ..RouteEntry::new(self::net(all), number) });
    }
    IpStack { model: HostModel::Strong, ..stack }
}

/// Everything arrives and both ends close gracefully.
fn assert_well(mut pair: Pair, messages: u64, what: &str) {
    pair.sim.run(END);
    let sender = pair.sim.app::<Sender>(pair.hosts[0]);
    assert_eq!(sender.closed(), Some(&CloseReason::Shutdown), "{what}");
    assert_eq!(pair.sim.app::<Sink>(pair.hosts[1]).stats().messages, messages, "{what}");
    for host in pair.hosts {
        assert_eq!(pair.sim.endpoint(host).associations(), [], "{what}");
    }
}

/// Bound to all addresses, or to a wildcard.
fn bound(stack: &IpStack, wildcard: bool) -> Vec<IpAddr> {
    if wildcard { Vec::new() } else { stack.addresses() }
}

const A: [&str; 2] = ["10.1.0.1/24", "10.2.0.1/24"];
const B: [&str; 2] = ["10.3.0.2/24", "10.4.0.2/24"];

#[test]
fn wildcards_and_lists_work_with_each_other() {
    for wild in [[false, false], [false, true], [true, false], [true, true]] {
        let stacks = [multihomed(&A), multihomed(&B)];
        let bound = [0, 1].map(|side: usize| bound(&stacks[side], wild[side]));
        let config = AssociationConfig::default();
        let pair = talk(stacks, bound, signalling(100), &["10.3.0.2"], config);
        assert_well(pair, 100, &format!("wildcards {wild:?}"));
    }
}

#[test]
fn a_dual_stack_client_of_a_server_with_one_family() {
    for (server, call) in [("10.3.0.2/24", "10.3.0.2"), ("fd00:3::2/64", "fd00:3::2")] {
        for wild in [false, true] {
            let client = stack(&[&["10.1.0.1/24", "fd00:1::1/64", "fe80::1/64"]]);
            let stacks = [client, stack(&[&[server]])];
            let bound = [0, 1].map(|side: usize| bound(&stacks[side], wild));
            let config = AssociationConfig::default();
            let pair = talk(stacks, bound, signalling(100), &[call], config);
            assert_well(pair, 100, &format!("{server}, wildcard {wild}"));
        }
    }
}

#[test]
fn an_association_lives_as_long_as_one_pair_of_addresses_works() {
    for survivor in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        for wild in [false, true] {
            let stacks = [multihomed(&A), multihomed(&B)];
            let bound = [0, 1].map(|side: usize| bound(&stacks[side], wild));
            let config = AssociationConfig::default();
            let mut pair = talk(stacks, bound, signalling(200), &["10.3.0.2", "10.4.0.2"], config);
            leave_only(&mut pair, survivor, None);
            assert_well(pair, 200, &format!("{survivor:?}, wildcard {wild}"));
        }
    }
}

/// Whatever the policy for retransmissions: of paths that have not failed yet, each might choose a dead one for
/// ever.
#[test]
fn so_does_one_with_concurrent_transfer() {
    let policies =
        ["same", "alternate", "largest-cwnd", "largest-ssthresh", "lowest-loss", "min-rtt"];
    for policy in policies {
        for survivor in [(0, 0), (0, 1), (1, 0), (1, 1)] {
            let profile = Profile::named("rfc9260").expect("it is built in");
            let overrides = format!("multipath.retransmission = '{policy}'");
            let profile = profile.with_overrides(&overrides).expect("a policy");
            let config = AssociationConfig {
                profile: Arc::new(profile),
                concurrent_transfer: true,
                ..AssociationConfig::default()
            };
            let stacks = [multihomed(&A), multihomed(&B)];
            let bound = [0, 1].map(|side: usize| stacks[side].addresses());
            let remotes = ["10.3.0.2", "10.4.0.2"];
            let mut pair = talk(stacks, bound, signalling(200), &remotes, config);
            leave_only(&mut pair, survivor, None);
            assert_well(pair, 200, &format!("{survivor:?}, {policy}"));
        }
    }
}

/// The path that works tells by ICMP that packets are too large for it, all others are silent.
#[test]
fn a_path_that_becomes_narrow_is_not_left_for_dead_ones() {
    for survivor in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let message = |second: u64| ScheduledMessage::from((ms(1000 * second), 0, 5000, false));
        let plan = Plan::Schedule((1..=100).map(message).collect());
        let profile = Arc::new(Profile::named("rfc9260").expect("it is built in"));
        let config = AssociationConfig { profile, ..AssociationConfig::default() };
        let stacks = [multihomed(&A), multihomed(&B)];
        let bound = [0, 1].map(|side: usize| stacks[side].addresses());
        let mut pair = talk(stacks, bound, plan, &["10.3.0.2", "10.4.0.2"], config);
        leave_only(&mut pair, survivor, Some(700));
        assert_well(pair, 100, &format!("{survivor:?}"));
    }
}

/// From some moment on only one pair of addresses works; the others are blocked where they leave and where
/// they arrive.
fn leave_only(pair: &mut Pair, survivor: (usize, usize), mtu: Option<usize>) {
    for (i, a) in A.iter().enumerate() {
        let blocked = (0..2).filter(|j| (i, *j) != survivor).map(|j| net(B[j]).trunc());
        let rules =
            LinkRules { mtu, reports: true, blocks: blocked.collect(), ..LinkRules::default() };
        let (out, back) = pair.links[0][i];
        for link in [out, back] {
            pair.sim.at(ms(20_000), Change::Rules(link, rules.clone())).expect(a);
        }
    }
}

#[test]
fn addresses_that_vanish_and_return_are_replaced_meanwhile() {
    for side in [0, 1] {
        for wild in [false, true] {
            let stacks = [multihomed(&A), multihomed(&B)];
            let bound = [0, 1].map(|side: usize| bound(&stacks[side], wild));
            let config = AssociationConfig::default();
            let remotes = ["10.3.0.2", "10.4.0.2"];
            let mut pair = talk(stacks, bound, signalling(300), &remotes, config);
            let host = pair.hosts[side];
            // One interface goes after the other.
            for (at, number, up) in [(10, 0, false), (80, 0, true), (160, 1, false), (240, 1, true)]
            {
                let change = Change::Interface(host, number, up);
                pair.sim.at(ms(1000 * at), change).expect("valid");
            }
            assert_well(pair, 300, &format!("host {side}, wildcard {wild}"));
        }
    }
}

/// The peer's primary address is gone when it shuts down: what answers its SHUTDOWN must not go there.
#[test]
fn shutdown_ack_goes_where_the_shutdown_came_from() {
    let stacks = [multihomed(&A), multihomed(&B)];
    let bound = [0, 1].map(|side: usize| stacks[side].addresses());
    let config = AssociationConfig::default();
    let mut pair = talk(stacks, bound, signalling(5), &["10.3.0.2", "10.4.0.2"], config);
    pair.sim.at(ms(4_900), Change::RemoveAddress(pair.hosts[0], ip("10.1.0.1"))).expect("valid");
    pair.sim.run(ms(5_500));
    let sender = pair.sim.app::<Sender>(pair.hosts[0]);
    assert_eq!(sender.closed(), Some(&CloseReason::Shutdown), "without any timer");
}

#[test]
fn strangers_in_the_list_that_was_called_do_no_harm() {
    let strangers = ["192.0.2.1", "10.3.0.2", "2001:db8::1", "192.0.2.2"];
    for wild in [false, true] {
        let stacks = [multihomed(&A), multihomed(&B)];
        let bound = [0, 1].map(|side: usize| bound(&stacks[side], wild));
        let config = AssociationConfig::default();
        let pair = talk(stacks, bound, signalling(200), &strangers, config);
        assert_well(pair, 200, &format!("wildcard {wild}"));
    }
}

#[test]
fn hosts_that_call_each_other_may_answer_from_other_addresses_than_they_call_from() {
    // Whoever calls an address out in the world lists no private ones. So the INIT of b shows the address that
    // its system has chosen, and its INIT ACK the one that a has called. A second association with the same tag
    // came of that.
    let stacks = [stack(&[&["10.1.0.1/24"]]), stack(&[&["10.3.0.2/24", "10.3.0.102/24"]])];
    let remotes: [&[&str]; 2] =
        [&["192.0.2.77", "10.3.0.102", "10.3.0.2"], &["192.0.2.88", "10.1.0.1"]];
    let mut pair = call_each_other(stacks, 100, remotes, &AssociationConfig::default());
    pair.sim.run(END);
    for host in pair.hosts {
        let sender = pair.sim.app::<Sender>(host);
        assert_eq!(sender.closed(), Some(&CloseReason::Shutdown));
        let connected =
            |e: &&tresse_sim::apps::EventRecord| matches!(e.event, Event::Connected { .. });
        assert_eq!(sender.events().iter().filter(connected).count(), 1);
        let stats = pair.sim.endpoint(host).endpoint_stats();
        assert_eq!((stats.associations_begun, stats.associations_ended), (1, 1));
    }
}
