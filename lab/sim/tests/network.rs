//! Clock, links, routes and changes, with nodes that send scripted packets.

mod common;

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use common::{Script, data, in_udp, ip, ms, packet};
use tresse_core::Time;
use tresse_sim::apps::Router;
use tresse_sim::{
    Change, HostId, LinkConfig, LinkId, Node, NodeContext, Packet, Route, Simulation, StopReason,
};

const END: Time = ms(1_000_000);

fn addresses() -> (IpAddr, IpAddr) {
    (ip("10.0.0.1"), ip("10.0.0.2"))
}

/// Two nodes; the first sends one packet of 1250 bytes at each of the given milliseconds.
fn pair(times: &[u64], config: LinkConfig) -> (Simulation, HostId, HostId, LinkId) {
    let (a, b) = addresses();
    // 12 + 16 bytes of SCTP headers and 20 of IP.
    let plan =
        times.iter().map(|at| (ms(*at), packet(a, b, data(*at as u32, &[7; 1200])))).collect();
    let mut sim = Simulation::new(1);
    let from = sim.add_node("a", Script::new(plan));
    let to = sim.add_node("b", Script::silent());
    let config = LinkConfig { overhead_bytes: 2, ..config };
    let (link, _) = sim.duplex(from, to, a, b, config).expect("valid");
    (sim, from, to, link)
}

/// 10 ms to serialise a packet, 10 ms on the way.
fn slow() -> LinkConfig {
    LinkConfig::new(1000.0, 10.0)
}

#[test]
fn packets_arrive_when_the_link_says() {
    let (mut sim, from, to, link) = pair(&[0, 0, 100], slow());
    assert_eq!(sim.run(END), StopReason::Idle);
    assert_eq!(sim.now(), ms(120), "time stands at the last event");
    assert_eq!(sim.app::<Script>(to).arrivals(), [20, 30, 120]);
    assert_eq!(sim.app::<Script>(from).starts, [Time::ZERO]);
    let stats = sim.link_stats(link);
    assert_eq!((stats.offered, stats.offered_data, stats.delivered), (3, 3, 3));
    assert_eq!((sim.stats().packets_sent, sim.stats().packets_delivered), (3, 3));
    assert_eq!((sim.link_name(link), sim.host_name(to)), ("a->b", "b"));
}

#[test]
fn runs_stop_at_their_limits() {
    let (mut sim, _, to, _) = pair(&[0, 50], slow());
    assert_eq!(sim.run(ms(19)), StopReason::Limit);
    assert_eq!(sim.now(), ms(19));
    assert_eq!(sim.app::<Script>(to).arrivals(), [0; 0]);
    assert_eq!(sim.run_until(ms(20)), StopReason::Limit);
    assert_eq!(sim.app::<Script>(to).arrivals(), [20], "the limit is included");
    let events = sim.stats().events + sim.stats().packets_sent;
    sim.set_event_limit(events + 1);
    assert_eq!(sim.run(END), StopReason::EventLimit);
    sim.set_event_limit(u64::MAX);
    assert_eq!(sim.run_until(ms(500)), StopReason::Idle);
    assert_eq!(sim.now(), ms(500));
    assert_eq!(sim.run_until(ms(400)), StopReason::Idle);
    assert_eq!(sim.now(), ms(500), "time does not run backwards");
}

#[test]
fn headers_count_towards_the_size() {
    let (a, b) = addresses();
    let (a6, b6) = (ip("fd00::1"), ip("fd00::2"));
    let payload = data(1, &[1; 4]);
    let plain = packet(a, b, payload.clone());
    assert_eq!(plain.ip_size(), payload.len() + 20);
    assert_eq!(in_udp(plain).ip_size(), payload.len() + 28);
    assert_eq!(in_udp(packet(a6, b6, payload.clone())).ip_size(), payload.len() + 48);
}

#[test]
fn the_first_matching_route_wins() {
    let (a, b) = addresses();
    let (a2, b2) = (ip("10.0.1.1"), ip("10.0.1.2"));
    let payload = data(1, &[0; 10]);
    let plan = [(a, b), (a2, b), (a, b2), (a, ip("10.9.9.9")), (ip("fd00::1"), b)]
        .map(|(from, to)| (ms(0), packet(from, to, payload.clone())));
    let mut sim = Simulation::new(1);
    let host = sim.add_node("a", Script::new(plan.to_vec()));
    let sinks: Vec<HostId> =
        ["x", "y", "z"].map(|name| sim.add_node(name, Script::silent())).to_vec();
    for (sink, route) in sinks.iter().zip([Route::between(a2, b), Route::to(b), Route::to(b2)]) {
        sim.add_link(host, *sink, route, LinkConfig::default()).expect("valid");
    }
    sim.run(END);
    let sources = |host: HostId| -> Vec<IpAddr> {
        sim.app::<Script>(host).received.iter().map(|(_, p)| p.source).collect()
    };
    assert_eq!([sources(sinks[0]), sources(sinks[1]), sources(sinks[2])], [[a2], [a], [a]]);
    assert_eq!(sim.stats().unroutable, 2, "no route; families that do not fit");
}

#[test]
fn flows_share_the_bottleneck_behind_a_router() {
    let [a, b, c] = ["10.0.0.1", "10.0.0.2", "10.0.0.3"].map(ip);
    let mut sim = Simulation::new(1);
    let router = sim.add_node("router", Box::new(Router::new()));
    let target = sim.add_node("c", Script::silent());
    for (name, source) in [("a", a), ("b", b)] {
        let plan = vec![(ms(0), packet(source, c, data(1, &[0; 1200]))); 5];
        let host = sim.add_node(name, Script::new(plan));
        sim.add_link(host, router, Route::any(), LinkConfig::default()).expect("valid");
    }
    let bottleneck = LinkConfig { queue_packets: Some(7), overhead_bytes: 2, ..slow() };
    let link = sim.add_link(router, target, Route::to(c), bottleneck).expect("valid");
    sim.run(END);
    assert_eq!(sim.app::<Router>(router).forwarded(), 10);
    assert_eq!(sim.link_stats(link).dropped_queue, 2);
    let arrivals: Vec<u64> = (1..=8).map(|n| 10 + 10 * n).collect();
    assert_eq!(sim.app::<Script>(target).arrivals(), arrivals);
}

#[test]
fn links_change_on_schedule() {
    let (mut sim, _, to, link) = pair(&[0, 30, 60, 90, 120, 150], slow());
    let plan = [
        (ms(35), Change::LinkDown(link)),
        (ms(80), Change::LinkUp(link)),
        (
            ms(110),
            Change::Link(link, Box::new(LinkConfig { delay_ms: 1.0, ..LinkConfig::default() })),
        ),
    ];
    for (at, change) in plan {
        sim.at(at, change).expect("valid");
    }
    let invalid = Change::Link(link, Box::new(LinkConfig { loss: 9.0, ..LinkConfig::default() }));
    assert_eq!(sim.at(ms(1), invalid).unwrap_err().key, "loss");
    assert_eq!(sim.run(END), StopReason::Idle);
    // The packet of 30 ms was on the way when the cable was cut, that of 60 ms hit a dead link.
    assert_eq!(sim.app::<Script>(to).arrivals(), [20, 110, 121, 151]);
    assert_eq!(sim.link_stats(link).dropped_down, 2);
    assert!((sim.link_config(link).delay_ms - 1.0).abs() < 1e-9);
}

#[test]
fn hosts_crash_and_restart() {
    let (mut sim, from, to, _) = pair(&[0, 30, 60, 90], slow());
    sim.at(ms(25), Change::Crash(from)).expect("valid");
    sim.at(ms(70), Change::Restart(from)).expect("valid");
    sim.at(ms(105), Change::Crash(to)).expect("valid");
    assert_eq!(sim.run(END), StopReason::Idle);
    // Timers of the first life are dead; the second one plans what is not past.
    assert_eq!(sim.app::<Script>(from).starts, [ms(0), ms(70)]);
    assert_eq!(sim.app::<Script>(to).arrivals(), [20]);
    assert_eq!(sim.stats().lost_at_dead_hosts, 1);
}

#[test]
fn calls_run_at_their_time() {
    let (mut sim, _, _, link) = pair(&[0, 0, 0], slow());
    let seen = Rc::new(RefCell::new(Vec::new()));
    for at in [ms(15), ms(25), ms(35)] {
        let seen = Rc::clone(&seen);
        let call = Change::Call(Box::new(move |sim: &mut Simulation| {
            seen.borrow_mut().push((sim.now(), sim.link_stats(link).delivered));
        }));
        sim.at(at, call).expect("valid");
    }
    sim.run(END);
    assert_eq!(*seen.borrow(), [(ms(15), 0), (ms(25), 1), (ms(35), 2)]);
}

/// Stops at the first packet.
struct Stopper;

impl Node for Stopper {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, _: Packet) {
        cx.stop();
    }
}

#[test]
fn nodes_can_stop_the_run() {
    let (a, b) = addresses();
    let plan = vec![(ms(0), packet(a, b, data(1, &[0]))); 2];
    let mut sim = Simulation::new(1);
    let from = sim.add_node("a", Script::new(plan));
    let to = sim.add_node("b", Box::new(Stopper));
    sim.add_link(from, to, Route::any(), slow()).expect("valid");
    assert_eq!(sim.run(END), StopReason::Stopped);
    let first = sim.now();
    assert_eq!(sim.run(END), StopReason::Stopped);
    assert!(sim.now() > first);
    assert_eq!(sim.run(END), StopReason::Idle);
}

/// Draws from its random source and sends that.
struct Dice(IpAddr, IpAddr);

impl Node for Dice {
    fn on_start(&mut self, cx: &mut NodeContext<'_>) {
        cx.set_timer(ms(1), 0);
    }

    fn on_packet(&mut self, _: &mut NodeContext<'_>, _: Packet) {}

    fn on_timer(&mut self, cx: &mut NodeContext<'_>, token: u64) {
        let mut payload = vec![0; 100];
        cx.rng().fill(&mut payload);
        cx.send(packet(self.0, self.1, payload.into()));
        if token < 200 {
            let pause = std::time::Duration::from_nanos(cx.rng().next_u64() % 1_000_000);
            cx.set_timer(cx.now() + pause, token + 1);
        }
    }
}

#[test]
fn a_seed_replays_byte_for_byte() {
    let run = |seed, more_hosts: bool| -> Vec<(Time, Packet)> {
        let (a, b) = addresses();
        let mut sim = Simulation::new(seed);
        let from = sim.add_node("a", Box::new(Dice(a, b)));
        let to = sim.add_node("b", Script::silent());
        let config = LinkConfig {
            loss: 0.1,
            duplicate: 0.1,
            corrupt: 0.1,
            corrupt_bits: 3,
            jitter_ms: 4.0,
            jitter_reorders: true,
            ..LinkConfig::new(10_000.0, 5.0)
        };
        sim.duplex(from, to, a, b, config.clone()).expect("valid");
        if more_hosts {
            let c = sim.add_node("c", Box::new(Dice(a, b)));
            sim.add_link(c, from, Route::any(), config).expect("valid");
        }
        assert_eq!(sim.run(END), StopReason::Idle);
        sim.app::<Script>(to).received.clone()
    };
    let first = run(1, false);
    assert!(first.len() > 150);
    assert_eq!(first, run(1, false));
    assert_eq!(first, run(1, true), "strangers change nothing");
    assert_ne!(first, run(2, false));
}

#[test]
#[should_panic(expected = "b does not run a tresse_sim::apps::router::Router")]
fn asking_for_the_wrong_program_says_so() {
    let (sim, _, to, _) = pair(&[], slow());
    sim.app::<Router>(to);
}
