//! A mobile host whose addresses really change: Wi-Fi and LTE, each with another address now and then, and for some time none.
//! RFC 5061 has the association go on.

mod common;

use std::time::Duration;

use common::hosts::{Pair, endpoint, net, stack, talk};
use common::{ip, ms};
use tresse_core::{AssociationConfig, CloseReason, Extensions, Time};
use tresse_sim::apps::{Bulk, Plan, Sender, Sink};
use tresse_sim::{Change, HostId, IpStack, LinkConfig, RouteEntry, Simulation};

/// Seconds that the transfer takes at least.
const SPAN: u64 = 25;

fn mobile(changes: bool) -> AssociationConfig {
    let extensions = Extensions {
        authentication: changes,
        address_reconfiguration: changes,
        ..Extensions::default()
    };
    AssociationConfig { extensions, ..AssociationConfig::default() }
}

/// Interfaces whose networks each have their own way out.
fn host(interfaces: &[&[&str]]) -> IpStack {
    let mut host = stack(interfaces);
    for (number, addresses) in interfaces.iter().enumerate() {
        for address in *addresses {
            let from = Some(net(address).trunc());
            host.routes.push(RouteEntry { from, ..RouteEntry::new(net("0.0.0.0/0"), number) });
        }
    }
    host
}

/// A mobile with these interfaces sends to a server for [`SPAN`] seconds. It is bound to a wildcard.
fn sending(interfaces: &[&[&str]], config: AssociationConfig) -> Pair {
    let stacks = [host(interfaces), host(&[&["10.9.0.1/24"]])];
    let bulk = Bulk { until: Some(ms(1000 * SPAN)), ..Bulk::of_size(1200) };
    let server = endpoint(&["10.9.0.1"], true).local_addresses;
    talk(stacks, [Vec::new(), server], Plan::Bulk(bulk), &["10.9.0.1"], config)
}

fn at(sim: &mut Simulation, time: Time, change: Change) {
    sim.at(time, change).expect("valid");
}

/// An interface gets another address in the place of one, after a pause.
fn readdress(sim: &mut Simulation, mobile: HostId, time: u64, pause: u64, [old, new]: [&str; 2]) {
    at(sim, ms(time), Change::RemoveAddress(mobile, net(old).addr()));
    at(sim, ms(time + pause), Change::AddAddress(mobile, 0, net(new)));
}

/// The longest time in which nothing was delivered, once something was.
fn longest_stall(sim: &Simulation, server: HostId) -> Duration {
    let deliveries = sim.app::<Sink>(server).deliveries();
    let gaps = deliveries.windows(2).map(|pair| pair[1].at.since(pair[0].at));
    gaps.max().unwrap_or_default()
}

fn check(pair: &mut Pair) -> Duration {
    let (sim, [a, b]) = (&mut pair.sim, pair.hosts);
    sim.run(ms(600_000));
    assert_eq!(sim.app::<Sender>(a).closed(), Some(&CloseReason::Shutdown));
    let (sent, sink) = (sim.app::<Sender>(a).sent().len() as u64, sim.app::<Sink>(b).stats());
    assert!(sent > 2_000, "{sent}");
    assert_eq!((sink.messages, sink.duplicates, sink.disordered, sink.damaged), (sent, 0, 0, 0));
    longest_stall(sim, b)
}

/// Another network every two seconds, and nothing in between for 200 ms: the association goes on from each. What was in flight
/// waits for a timer, and so may the request.
#[test]
fn the_only_address_is_another_one_every_other_second() {
    let mut pair = sending(&[&["10.1.0.1/24"]], mobile(true));
    for n in 1..11u64 {
        let [old, new] = [n, n + 1].map(|last| format!("10.1.0.{last}/24"));
        readdress(&mut pair.sim, pair.hosts[0], 2000 * n, 200, [&old, &new]);
    }
    let stall = check(&mut pair);
    assert!(stall < Duration::from_millis(3_500), "{stall:?}");
    assert!(stall > Duration::from_millis(200), "there was nothing in between: {stall:?}");
}

/// Without the extension the peer knows one address, and the first change is the last.
#[test]
fn without_asconf_the_first_change_ends_it() {
    let mut pair = sending(&[&["10.1.0.1/24"]], mobile(false));
    readdress(&mut pair.sim, pair.hosts[0], 2000, 200, ["10.1.0.1/24", "10.1.0.2/24"]);
    pair.sim.run(ms(600_000));
    let closed = pair.sim.app::<Sender>(pair.hosts[0]).closed();
    assert!(closed.is_some_and(|reason| *reason != CloseReason::Shutdown), "{closed:?}");
}

/// Wi-Fi and LTE at once: Wi-Fi is left, and an access point of another network found later; meanwhile LTE has another address.
/// The stream hardly stands still.
#[test]
fn wifi_goes_and_comes_back_with_another_address() {
    for concurrent_transfer in [false, true] {
        let config = AssociationConfig { concurrent_transfer, ..mobile(true) };
        let mut pair = sending(&[&["10.1.0.1/24"], &["10.2.0.1/24"]], config);
        let (sim, a) = (&mut pair.sim, pair.hosts[0]);
        for (there, back) in &pair.links[0][1..] {
            for link in [there, back] {
                let lte = Box::new(LinkConfig::new(15_000.0, 35.0));
                at(sim, ms(0), Change::Link(*link, lte));
            }
        }
        at(sim, ms(5_000), Change::RemoveAddress(a, ip("10.1.0.1")));
        at(sim, ms(10_000), Change::AddAddress(a, 0, net("10.1.0.77/24")));
        at(sim, ms(15_000), Change::RemoveAddress(a, ip("10.2.0.1")));
        at(sim, ms(15_100), Change::AddAddress(a, 1, net("10.2.0.9/24")));
        let stall = check(&mut pair);
        assert!(stall < Duration::from_millis(1_500), "{concurrent_transfer}: {stall:?}");
    }
}
