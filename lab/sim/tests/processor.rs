//! Hosts that take time for packets.

mod common;

use std::time::Duration;

use common::ip;
use tresse_core::{AssociationConfig, EndpointConfig, Time};
use tresse_sim::apps::{Bulk, Plan, Sender, Sink};
use tresse_sim::{Change, HostId, LinkConfig, ProcessorConfig, SackWalks, Simulation, StopReason};

const END: Time = Time::from_millis(600_000);

/// A bulk transfer of this many messages between two hosts, over links without a bandwidth.
fn transfer(messages: u64, link: LinkConfig) -> (Simulation, [HostId; 2]) {
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let mut sim = Simulation::new(1);
    let bulk = Bulk { messages: Some(messages), ..Bulk::of_size(1400) };
    let endpoint = |address| EndpointConfig {
        local_addresses: vec![address],
        accept: address == b,
        ..EndpointConfig::default()
    };
    let program = Sender::new(Plan::Bulk(bulk))
        .connect(vec![b], 5000, AssociationConfig::default())
        .shutdown_when_done();
    let sender = sim.add_host("sender", endpoint(a), Box::new(program));
    let receiver = sim.add_host("receiver", endpoint(b), Box::new(Sink::new()));
    sim.duplex(sender, receiver, a, b, link).expect("valid");
    (sim, [sender, receiver])
}

fn delay() -> LinkConfig {
    LinkConfig { delay_ms: 1.0, ..LinkConfig::default() }
}

fn loss() -> LinkConfig {
    LinkConfig { loss: 0.02, ..delay() }
}

fn slow(packet_us: u64, queue_packets: Option<usize>) -> ProcessorConfig {
    let packet = Duration::from_micros(packet_us);
    ProcessorConfig { packet, queue_packets, ..ProcessorConfig::default() }
}

#[test]
fn a_processor_that_takes_no_time_changes_nothing() {
    let run = |with: bool| {
        let (mut sim, hosts) = transfer(2000, loss());
        if with {
            hosts.iter().for_each(|host| sim.set_processor(*host, ProcessorConfig::default()));
        }
        assert_eq!(sim.run(END), StopReason::Idle);
        let last = sim.app::<Sink>(hosts[1]).stats().last_at;
        (last, sim.stats().packets_sent, sim.app::<Sink>(hosts[1]).stats().messages)
    };
    assert_eq!(run(true), run(false));
}

#[test]
fn a_slow_sender_is_the_bottleneck() {
    let messages = 4000;
    let (mut sim, [sender, receiver]) = transfer(messages, delay());
    sim.set_processor(sender, slow(100, None));
    assert_eq!(sim.run(END), StopReason::Idle);
    let took = sim.app::<Sink>(receiver).stats().last_at.expect("delivered").as_nanos() as f64;
    // Every message is a packet out, and every second one a SACK in.
    let expected = messages as f64 * 150e3;
    // The last SACKs wait until everything is sent.
    assert!((0.95..1.02).contains(&(took / expected)), "{took} instead of {expected} ns");
    let stats = sim.processor_stats(sender).expect("it has one");
    let busy = stats.busy.as_nanos() as f64;
    assert!(busy > 0.97 * took, "busy for {busy} of {took} ns");
    assert_eq!((stats.lost, stats.sacks), (0, Duration::ZERO));
    assert_eq!(sim.processor_stats(receiver), None);
}

#[test]
fn a_full_queue_loses_packets_and_the_transfer_recovers() {
    let (mut sim, [_, receiver]) = transfer(2000, delay());
    sim.set_processor(receiver, slow(200, Some(10)));
    assert_eq!(sim.run(END), StopReason::Idle);
    assert!(sim.processor_stats(receiver).expect("it has one").lost > 10);
    let stats = sim.app::<Sink>(receiver).stats();
    assert!(stats.flawless() && stats.messages == 2000, "{stats:?}");
}

#[test]
fn fewer_visits_are_less_time() {
    let sacks = |walks| {
        let (mut sim, [sender, _]) = transfer(2000, loss());
        let check = Duration::from_micros(1);
        let config = ProcessorConfig { check, walks, ..ProcessorConfig::default() };
        sim.set_processor(sender, config);
        assert_eq!(sim.run(END), StopReason::Idle);
        sim.processor_stats(sender).expect("it has one").sacks
    };
    let (whole, missing) = (sacks(SackWalks::Whole), sacks(SackWalks::Missing));
    assert!(missing < whole && missing > Duration::ZERO, "{missing:?} of {whole:?}");
}

#[test]
fn a_host_that_crashes_forgets_what_waits() {
    let (mut sim, [sender, receiver]) = transfer(2000, delay());
    sim.set_processor(receiver, slow(100, None));
    sim.run(Time::from_millis(20));
    sim.apply(Change::Crash(receiver)).expect("valid");
    sim.run(Time::from_millis(40));
    sim.apply(Change::Restart(receiver)).expect("valid");
    let busy = |sim: &Simulation| sim.processor_stats(receiver).expect("it has one").busy;
    let before = busy(&sim);
    assert_ne!(sim.run(END), StopReason::EventLimit);
    assert!(busy(&sim) > before, "it serves again");
    assert!(sim.app::<Sender>(sender).closed().is_some(), "the receiver answered with an ABORT");
}
