//! Real endpoints: associations over modelled links.

mod common;

use std::net::IpAddr;
use std::time::Duration;

use common::{ip, ms};
use tresse_core::wire::StreamId;
use tresse_core::{
    AssociationConfig, AssociationId, Bytes, CloseReason, EndpointConfig, Event, SendOptions, Time,
};
use tresse_sim::apps::{
    Bulk, Plan, ScheduledMessage, Sender, Sink, TransferTime, content, transfer_times,
};
use tresse_sim::{
    Application, Capture, CaptureBuffer, Change, Context, HostId, LinkConfig, LinkId, Simulation,
    StopReason,
};

const END: Time = ms(3_600_000);

fn client(addresses: &[IpAddr]) -> EndpointConfig {
    EndpointConfig { local_addresses: addresses.to_vec(), ..EndpointConfig::default() }
}

fn server(addresses: &[IpAddr]) -> EndpointConfig {
    EndpointConfig { accept: true, ..client(addresses) }
}

fn association() -> AssociationConfig {
    AssociationConfig { no_delay: true, ..AssociationConfig::default() }
}

struct Pair {
    sim: Simulation,
    client: HostId,
    server: HostId,
    there: LinkId,
    back: LinkId,
}

impl Pair {
    /// A client that sends as `plan` says, then shuts down, to a server that listens.
    fn new(seed: u64, plan: Plan, config: LinkConfig) -> Pair {
        Pair::with(seed, plan, config, association())
    }

    fn with(seed: u64, plan: Plan, config: LinkConfig, association: AssociationConfig) -> Pair {
        let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
        let sender = Sender::new(plan).connect(vec![b], 5000, association).shutdown_when_done();
        let mut sim = Simulation::new(seed);
        let client = sim.add_host("client", client(&[a]), Box::new(sender));
        let server = sim.add_host("server", server(&[b]), Box::new(Sink::new()));
        let (there, back) = sim.duplex(client, server, a, b, config).expect("valid");
        Pair { sim, client, server, there, back }
    }

    fn sender(&self) -> &Sender {
        self.sim.app(self.client)
    }

    fn sink(&self) -> &Sink {
        self.sim.app(self.server)
    }

    fn times(&self) -> Vec<TransferTime> {
        transfer_times(self.sender().sent(), self.sink().deliveries())
    }
}

fn bulk(messages: u64, size: usize) -> Plan {
    Plan::Bulk(Bulk { messages: Some(messages), streams: 4, ..Bulk::of_size(size) })
}

#[test]
fn a_bulk_transfer_arrives_whole() {
    let mut pair = Pair::new(1, bulk(2000, 1000), LinkConfig::new(10_000.0, 20.0));
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    let stats = pair.sink().stats();
    assert_eq!((stats.messages, stats.bytes, stats.flawless()), (2000, 2_000_000, true));
    assert_eq!(pair.sender().closed(), Some(&CloseReason::Shutdown));
    assert!(matches!(
        pair.sink().events(),
        [connected, .., closed]
            if matches!(connected.event, Event::Connected { accepted: true, .. })
            && closed.event == Event::Closed(CloseReason::Shutdown)
    ));
    let goodput = pair.sink().goodput(stats.first_at.unwrap(), stats.last_at.unwrap());
    assert!((8e6..10e6).contains(&goodput), "{goodput} bit/s");
    let link = pair.sim.link_stats(pair.there);
    assert_eq!(link.delivered, link.offered);
    // A message and its chunk header in their own packet, and a few for setup and shutdown.
    assert!((2000..2050).contains(&link.offered), "{} packets", link.offered);
    assert!(pair.times().iter().all(|time| time.delivered.is_some()));
}

#[test]
fn transfer_times_are_exact_without_loss() {
    let schedule: Vec<ScheduledMessage> =
        (0..10).map(|n| (ms(1000 + 100 * n), 0, 200, false).into()).collect();
    let config = LinkConfig::new(1000.0, 15.0);
    let mut pair = Pair::new(1, Plan::Schedule(schedule), config);
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    let times = pair.times();
    assert_eq!(times.len(), 10);
    for (n, time) in (0..).zip(times) {
        assert_eq!((time.index, time.sent), (n, ms(1000 + 100 * n)));
        // 200 bytes of user data, 16 of chunk header, 12 of common header, 20 of IP at 1 Mbit/s.
        let expected = Duration::from_micros(15_000 + 248 * 8);
        assert_eq!(time.duration(), Some(expected));
    }
}

#[test]
fn a_lost_data_packet_is_named_by_its_number() {
    let schedule: Vec<ScheduledMessage> =
        (0..5).map(|n| (ms(1000 + 500 * n), 0, 200, false).into()).collect();
    let config = LinkConfig { delay_ms: 15.0, ..LinkConfig::default() };
    let mut pair = Pair::new(1, Plan::Schedule(schedule), config.clone());
    let lossy = LinkConfig { drop_data: vec![3], ..config };
    pair.sim.apply(Change::Link(pair.there, Box::new(lossy))).expect("valid");
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    assert_eq!(pair.sim.link_stats(pair.there).dropped_pattern, 1);
    let slow: Vec<u64> = pair
        .times()
        .iter()
        .filter(|time| time.duration() > Some(Duration::from_millis(16)))
        .map(|time| time.index)
        .collect();
    assert!(slow.contains(&2) && !slow.contains(&1), "slow: {slow:?}");
}

#[test]
fn impairments_of_every_kind_never_damage_a_message() {
    for seed in 0..30 {
        let config = LinkConfig {
            loss: 0.05,
            duplicate: 0.05,
            corrupt: 0.05,
            corrupt_bits: 3,
            jitter_ms: 10.0,
            jitter_reorders: true,
            reorder: 0.05,
            reorder_after: Some(5),
            reorder_hold_ms: Some(100.0),
            queue_packets: Some(20),
            ..LinkConfig::new(5000.0, 20.0)
        };
        let mut pair = Pair::new(seed, bulk(300, 1000 + seed as usize * 50), config);
        assert_eq!(pair.sim.run(END), StopReason::Idle, "seed {seed}");
        let stats = pair.sink().stats();
        assert!(stats.flawless(), "seed {seed}: {stats:?}");
        // The last packets of the shutdown may be lost, and then one side gives up.
        assert_eq!(stats.messages, 300, "seed {seed}");
        let link = pair.sim.link_stats(pair.there);
        assert!(link.corrupted > 0 && link.duplicated > 0 && link.reordered > 0, "seed {seed}");
    }
}

#[test]
fn a_seed_replays_byte_for_byte() {
    let run = |seed| {
        let config = LinkConfig { loss: 0.03, ..LinkConfig::new(5000.0, 20.0) };
        let mut pair = Pair::new(seed, bulk(200, 1400), config);
        let capture = CaptureBuffer::new();
        pair.sim.capture(Capture::all(), capture.clone()).expect("memory");
        assert_eq!(pair.sim.run(END), StopReason::Idle);
        (capture.contents(), pair.sink().deliveries().to_vec())
    };
    let first = run(1);
    assert!(first.0.len() > 200_000);
    assert_eq!(first, run(1));
    assert_ne!(first.0, run(2).0);
}

#[test]
fn a_reader_that_waits_loses_nothing() {
    let (a, b) = (ip("fd00::1"), ip("fd00::2"));
    let mut sim = Simulation::new(1);
    let config = AssociationConfig { receive_buffer: 20_000, ..association() };
    let sender = Sender::new(bulk(200, 1000)).connect(vec![b], 5000, config.clone());
    let from = sim.add_host("client", client(&[a]), Box::new(sender.shutdown_when_done()));
    let to = EndpointConfig { association: config, ..server(&[b]) };
    let to = sim.add_host("server", to, Box::new(Sink::new().read_from(ms(5000))));
    sim.duplex(from, to, a, b, LinkConfig::new(10_000.0, 5.0)).expect("valid");
    sim.run_until(ms(4999));
    assert_eq!(sim.app::<Sink>(to).stats().messages, 0);
    assert_eq!(sim.run(END), StopReason::Idle);
    let stats = sim.app::<Sink>(to).stats();
    assert_eq!((stats.messages, stats.flawless(), stats.first_at), (200, true, Some(ms(5000))));
}

#[test]
fn both_ends_can_send() {
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let mut sim = Simulation::new(1);
    let there = Sender::new(bulk(100, 500)).connect(vec![b], 5000, association());
    let back = Sender::new(bulk(150, 500)).ppid(77);
    let one = sim.add_host("client", client(&[a]), Box::new(there));
    let two = sim.add_host("server", server(&[b]), Box::new(back));
    sim.duplex(one, two, a, b, LinkConfig::new(10_000.0, 5.0)).expect("valid");
    sim.run_until(ms(20_000));
    let (there, back) = (sim.app::<Sender>(one), sim.app::<Sender>(two));
    assert_eq!(there.sink().stats().messages, 150);
    assert!(there.sink().deliveries().iter().all(|d| d.ppid == 77));
    assert_eq!(back.sink().stats().messages, 100);
    assert_eq!((there.messages_sent(), back.messages_sent()), (100, 150));
    assert!(there.done_at() >= there.connected_at() && there.connected_at().is_some());
}

#[test]
fn a_schedule_can_start_with_the_connection() {
    let schedule = vec![(ms(50), 0, 100, false).into(), (ms(20), 1, 100, true).into()];
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let mut sim = Simulation::new(1);
    let sender = Sender::new(Plan::Schedule(schedule)).connect(vec![b], 5000, association());
    let sender = sender.from_connection().shutdown_when_done().stop_when_closed();
    let one = sim.add_host("client", client(&[a]), Box::new(sender));
    let two = sim.add_host("server", server(&[b]), Box::new(Sink::new()));
    sim.duplex(one, two, a, b, LinkConfig { delay_ms: 100.0, ..LinkConfig::default() })
        .expect("valid");
    assert_eq!(sim.run(END), StopReason::Stopped);
    // INIT, INIT ACK, COOKIE ECHO, COOKIE ACK take 400 ms.
    let sender = sim.app::<Sender>(one);
    assert_eq!(sender.connected_at(), Some(ms(400)));
    let wanted: Vec<Time> = sender.sent().iter().map(|m| m.wanted_at).collect();
    assert_eq!(wanted, [ms(420), ms(450)]);
    let arrived: Vec<(Time, u16, bool)> =
        sim.app::<Sink>(two).deliveries().iter().map(|d| (d.at, d.stream, d.unordered)).collect();
    assert_eq!(arrived, [(ms(520), 1, true), (ms(550), 0, false)]);
}

#[test]
fn a_peer_that_crashes_is_given_up() {
    let mut pair = Pair::new(1, Plan::Bulk(Bulk::of_size(1000)), LinkConfig::new(1000.0, 10.0));
    let server = pair.server;
    pair.sim.at(ms(2000), Change::Crash(server)).expect("valid");
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    assert_eq!(pair.sender().closed(), Some(&CloseReason::Unreachable));
    assert!(pair.sim.stats().lost_at_dead_hosts > 0);
}

#[test]
fn a_peer_that_restarts_forgets_the_association() {
    let mut pair = Pair::new(1, Plan::Bulk(Bulk::of_size(1000)), LinkConfig::new(1000.0, 10.0));
    let server = pair.server;
    pair.sim.at(ms(2000), Change::Crash(server)).expect("valid");
    pair.sim.at(ms(2500), Change::Restart(server)).expect("valid");
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    // RFC 9260 §8.4: the new endpoint answers what it does not know by ABORT.
    assert!(matches!(pair.sender().closed(), Some(CloseReason::PeerAborted { .. })));
    assert!(pair.sim.endpoint(server).endpoint_stats().out_of_the_blue > 0);
}

#[test]
fn a_client_that_restarts_goes_on_with_its_plan() {
    let small = AssociationConfig { send_buffer: 20_000, ..association() };
    let mut pair = Pair::with(1, bulk(500, 1000), LinkConfig::new(1000.0, 10.0), small);
    let client = pair.client;
    pair.sim.at(ms(2000), Change::Restart(client)).expect("valid");
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    assert_eq!(pair.sender().closed(), Some(&CloseReason::Shutdown));
    let events: Vec<&Event> = pair.sink().events().iter().map(|e| &e.event).collect();
    assert!(events.contains(&&Event::Restarted), "{events:?}");
    let last = pair.sink().deliveries().last().expect("something arrived");
    assert_eq!(last.index, Some(499));
    assert_eq!((pair.sink().stats().damaged, pair.sink().stats().disordered), (0, 0));
}

#[test]
fn an_interruption_is_survived() {
    let mut pair = Pair::new(1, bulk(500, 1000), LinkConfig::new(1000.0, 10.0));
    let (there, back) = (pair.there, pair.back);
    for (at, up) in [(1000, false), (3000, true)] {
        for link in [there, back] {
            let change = if up { Change::LinkUp(link) } else { Change::LinkDown(link) };
            pair.sim.at(ms(at), change).expect("valid");
        }
    }
    assert_eq!(pair.sim.run(END), StopReason::Idle);
    assert_eq!((pair.sink().stats().messages, pair.sink().stats().flawless()), (500, true));
    assert!(pair.sim.link_stats(there).dropped_down > 0);
}

#[test]
fn clocks_that_jump_break_no_transfer() {
    for jump in [-5_000_000_000, -500_000_000, 500_000_000, 3_600_000_000_000] {
        let mut pair = Pair::new(1, bulk(2000, 1000), LinkConfig::new(2000.0, 10.0));
        for (at, host) in [(3000, pair.client), (4000, pair.server)] {
            pair.sim.at(ms(at), Change::ClockJump(host, jump)).expect("valid");
        }
        assert_eq!(pair.sim.run(END), StopReason::Idle, "jump {jump}");
        let stats = pair.sink().stats();
        assert_eq!((stats.messages, stats.flawless()), (2000, true), "jump {jump}");
        assert!(pair.sink().deliveries().is_sorted_by_key(|d| d.at));
        let completed = |d: &tresse_sim::apps::Delivery| d.at.since(d.completed_at);
        assert!(
            pair.sink().deliveries().iter().all(|d| completed(d) < Duration::from_millis(1)),
            "moments of a host's clock are converted"
        );
    }
}

/// Two disjoint paths; the first one is cut.
#[test]
fn the_second_path_takes_over() {
    let [a1, a2, b1, b2] = ["10.0.1.1", "10.0.2.1", "10.0.1.2", "10.0.2.2"].map(ip);
    let mut sim = Simulation::new(1);
    let sender = Sender::new(bulk(3000, 1000)).connect(vec![b1, b2], 5000, association());
    let one = sim.add_host("client", client(&[a1, a2]), Box::new(sender.shutdown_when_done()));
    let two = sim.add_host("server", server(&[b1, b2]), Box::new(Sink::new()));
    let config = LinkConfig::new(10_000.0, 10.0);
    let first = sim.duplex(one, two, a1, b1, config.clone()).expect("valid");
    let second = sim.duplex(one, two, a2, b2, config).expect("valid");
    assert_eq!(sim.link_name(second.0), "client->server#2");
    for link in [first.0, first.1] {
        sim.at(ms(1000), Change::LinkDown(link)).expect("valid");
    }
    assert_eq!(sim.run(END), StopReason::Idle);
    let stats = sim.app::<Sink>(two).stats();
    assert_eq!((stats.messages, stats.flawless()), (3000, true));
    assert!(sim.link_stats(second.0).delivered > 1000);
    assert_eq!(sim.stats().unroutable, 0);
}

/// Notes when its timers fire, on both clocks.
#[derive(Default)]
struct Alarm {
    fired: Vec<(u64, Time, Time)>,
}

impl Application for Alarm {
    fn on_start(&mut self, cx: &mut Context<'_>) {
        let random = cx.rng().next_u64();
        assert_ne!(random, cx.rng().next_u64());
        cx.set_timer(cx.now() + Duration::from_millis(100), 1);
    }

    fn on_timer(&mut self, cx: &mut Context<'_>, token: u64) {
        self.fired.push((token, cx.now(), cx.simulation_time()));
        match token {
            1 => cx.set_timer(cx.now() + Duration::from_millis(100), 2),
            2 => cx.set_simulation_timer(ms(300), 3),
            _ => cx.stop(),
        }
    }
}

#[test]
fn timers_go_by_the_host_clock_or_by_simulation_time() {
    let mut sim = Simulation::new(1);
    let host = sim.add_host("host", client(&[ip("10.0.0.1")]), Box::new(Alarm::default()));
    sim.at(ms(50), Change::ClockJump(host, 7_000_000_000)).expect("valid");
    assert_eq!(sim.run(END), StopReason::Stopped);
    assert_eq!(
        sim.app::<Alarm>(host).fired,
        [(1, ms(7100), ms(100)), (2, ms(7200), ms(200)), (3, ms(7300), ms(300))]
    );
}

/// Does only what a test tells it to.
#[derive(Default)]
struct Puppet {
    association: Option<AssociationId>,
}

impl Application for Puppet {
    fn on_event(&mut self, _: &mut Context<'_>, id: AssociationId, _: Event) {
        self.association = Some(id);
    }
}

#[test]
fn applications_can_be_led_from_outside() {
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let mut sim = Simulation::new(1);
    let one = sim.add_host("client", client(&[a]), Box::new(Puppet::default()));
    let two = sim.add_host("server", server(&[b]), Box::new(Sink::new()));
    sim.duplex(one, two, a, b, LinkConfig { delay_ms: 1.0, ..LinkConfig::default() })
        .expect("valid");
    sim.run_until(ms(10));
    let id = sim.with_app(one, |_: &mut Puppet, cx| {
        cx.connect(&[b], 5000, association()).expect("free to connect")
    });
    sim.run_until(ms(100));
    assert_eq!(sim.app::<Puppet>(one).association, Some(id));
    sim.with_app(one, |_: &mut Puppet, cx| {
        cx.send(id, StreamId(0), content(0, 50), SendOptions::default()).expect("room");
        cx.send(id, StreamId(0), Bytes::from_static(b"?"), SendOptions::default()).expect("room");
    });
    sim.run_until(ms(1000));
    let stats = sim.app::<Sink>(two).stats();
    assert_eq!((stats.messages, stats.unverified), (2, 1));
    sim.with_app(one, |_: &mut Puppet, cx| cx.abort(id, b"enough").expect("still open"));
    sim.run_until(ms(1100));
    let closed = sim.app::<Sink>(two).events().last().map(|record| record.event.clone());
    assert!(matches!(closed, Some(Event::Closed(CloseReason::PeerAborted { .. }))), "{closed:?}");
}
