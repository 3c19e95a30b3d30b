//! How many packets per second the simulator handles.

use std::net::IpAddr;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tresse_core::{AssociationConfig, Bytes, EndpointConfig, Time};
use tresse_sim::apps::{Bulk, Plan, Sender, Sink};
use tresse_sim::{
    LinkConfig, Node, NodeContext, Packet, Route, Simulation, SimulationStats, StopReason,
};

/// Sends every packet back.
struct Reflector;

impl Node for Reflector {
    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        cx.send(Packet { source: packet.destination, destination: packet.source, ..packet });
    }
}

/// Sends this many packets at the start.
struct Burst(Packet, usize);

impl Node for Burst {
    fn on_start(&mut self, cx: &mut NodeContext<'_>) {
        for _ in 0..self.1 {
            cx.send(self.0.clone());
        }
    }

    fn on_packet(&mut self, cx: &mut NodeContext<'_>, packet: Packet) {
        cx.send(Packet { source: packet.destination, destination: packet.source, ..packet });
    }
}

fn addresses() -> (IpAddr, IpAddr) {
    (IpAddr::from([10, 0, 0, 1]), IpAddr::from([10, 0, 0, 2]))
}

/// 50 pairs of nodes play ping-pong with 20 packets each.
fn forwarding() -> Simulation {
    let (a, b) = addresses();
    let packet = Packet::sctp(a, b, Bytes::from(vec![0; 1452]));
    let mut sim = Simulation::new(1);
    for pair in 0..50 {
        let one = sim.add_node(&format!("a{pair}"), Box::new(Burst(packet.clone(), 20)));
        let other = sim.add_node(&format!("b{pair}"), Box::new(Reflector));
        let config = LinkConfig::new(100_000.0, 1.0 + f64::from(pair) / 10.0);
        sim.add_link(one, other, Route::to(b), config.clone()).expect("valid");
        sim.add_link(other, one, Route::to(a), config).expect("valid");
    }
    sim
}

/// One association sends for this many simulated milliseconds.
fn transfer(kbps: f64, millis: u64) -> (Simulation, Time) {
    let (a, b) = addresses();
    let association = AssociationConfig {
        send_buffer: 8 << 20,
        receive_buffer: 8 << 20,
        ..AssociationConfig::default()
    };
    let base = EndpointConfig { association: association.clone(), ..EndpointConfig::default() };
    let client = EndpointConfig { local_addresses: vec![a], ..base.clone() };
    let server = EndpointConfig { local_addresses: vec![b], accept: true, ..base };
    let sender = Sender::new(Plan::Bulk(Bulk::of_size(1400)))
        .connect(vec![b], 5000, association)
        .without_log();
    let mut sim = Simulation::new(1);
    let client = sim.add_host("client", client, Box::new(sender));
    let server = sim.add_host("server", server, Box::new(Sink::new().without_log()));
    let config = LinkConfig { queue_packets: Some(1000), ..LinkConfig::new(kbps, 1.0) };
    sim.duplex(client, server, a, b, config).expect("valid");
    (sim, Time::from_millis(millis))
}

/// Runs for the throughput: how many packets one run simulates.
fn packets(make: &impl Fn() -> (Simulation, Time)) -> SimulationStats {
    let (mut sim, end) = make();
    assert_eq!(sim.run(end), StopReason::Limit);
    sim.stats()
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("sim");
    group.sample_size(20);
    let mut run = |name: &str, make: &dyn Fn() -> (Simulation, Time)| {
        let stats = packets(&make);
        group.throughput(Throughput::Elements(stats.packets_delivered));
        group.bench_function(name, |b| {
            b.iter_batched_ref(
                make,
                |(sim, end)| sim.run(*end),
                criterion::BatchSize::PerIteration,
            );
        });
    };
    run("forwarding", &|| (forwarding(), Time::from_millis(200)));
    run("transfer at 10 Mbit/s", &|| transfer(10_000.0, 20_000));
    run("transfer at 1 Gbit/s", &|| transfer(1_000_000.0, 500));
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
