//! Two endpoints in memory, one association, reliable ordered messages, 256 KiB windows: how many
//! user bytes a second both ends together move on one core. No clock is waited for: packets
//! arrive at once. Messages of several sizes as the defaults have it, and those of 1200 bytes with the extensions that do
//! something to each packet, one at a time.

use std::net::IpAddr;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tresse_core::wire::{ChunkType, StreamId};
use tresse_core::{
    AssociationConfig, AssociationId, Bytes, Datagram, Endpoint, EndpointConfig, Event, Extensions,
    SendOptions, Time,
};

struct Pair {
    ends: [Endpoint; 2],
    ids: [AssociationId; 2],
    now: Time,
    buffer: Vec<u8>,
    received: usize,
}

const ADDRESSES: [IpAddr; 2] = [
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1)),
    IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2)),
];

impl Pair {
    fn new(extensions: Extensions) -> Pair {
        let mut association = AssociationConfig {
            send_buffer: 256 << 10,
            receive_buffer: 256 << 10,
            extensions,
            ..AssociationConfig::default()
        };
        if extensions.authentication {
            Arc::make_mut(&mut association.authentication).chunks = vec![ChunkType::DATA];
        }
        let mut ends = [0, 1].map(|i: usize| {
            let config = EndpointConfig {
                local_addresses: vec![ADDRESSES[i]],
                accept: true,
                association: association.clone(),
                ..EndpointConfig::default()
            };
            Endpoint::new(config, [i as u8; 32])
        });
        let id = ends[0].connect(Time::ZERO, &[ADDRESSES[1]], 5000, association).expect("valid");
        let buffer = Vec::new();
        let mut pair = Pair { ends, ids: [id, id], now: Time::ZERO, buffer, received: 0 };
        pair.exchange();
        pair.ids[1] = pair.ends[1].associations()[0];
        pair
    }

    /// Carries packets until both sides are silent; the receiver reads at once.
    fn exchange(&mut self) {
        loop {
            let mut quiet = true;
            for (from, source) in ADDRESSES.into_iter().enumerate() {
                while let Some(t) = self.ends[from].poll_transmit(self.now, &mut self.buffer) {
                    quiet = false;
                    let datagram = Datagram {
                        source,
                        destination: t.destination,
                        encapsulation: None,
                        ecn: tresse_core::Ecn::NotEct,
                        packet: Bytes::copy_from_slice(&self.buffer),
                    };
                    self.ends[1 - from].handle_datagram(self.now, datagram);
                }
                let to = 1 - from;
                let mut readable = false;
                while let Some((_, event)) = self.ends[to].poll_event() {
                    readable |= event == Event::Readable;
                }
                if readable {
                    while let Some(m) = self.ends[to].recv(self.now, self.ids[to]) {
                        self.received += m.payload.len();
                    }
                }
            }
            if quiet {
                // Only a delayed SACK can be left.
                let Some(next) = self.ends.iter().filter_map(Endpoint::poll_timeout).min() else {
                    return;
                };
                if self.ends[0].send_space(self.ids[0]) == 256 << 10 {
                    return;
                }
                self.now = next;
                self.ends.iter_mut().for_each(|e| e.handle_timeout(next));
            }
        }
    }

    fn transfer(&mut self, message: &Bytes, count: usize) {
        let target = self.received + count * message.len();
        let mut left = count;
        while self.received < target {
            while left > 0 {
                let (stream, options) = (StreamId(0), SendOptions::default());
                let sent =
                    self.ends[0].send(self.now, self.ids[0], stream, message.clone(), options);
                if sent.is_err() {
                    break;
                }
                left -= 1;
            }
            self.exchange();
        }
    }
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("pair");
    for size in [50, 1200, 65_536] {
        let count = (4 << 20) / size;
        group.throughput(Throughput::Bytes((count * size) as u64));
        group.bench_with_input(BenchmarkId::from_parameter(size), &size, |b, size| {
            let mut pair = Pair::new(Extensions::default());
            let message = Bytes::from(vec![7; *size]);
            b.iter(|| pair.transfer(&message, count));
        });
    }
    group.finish();

    let mut group = c.benchmark_group("extensions");
    let (message, count) = (Bytes::from(vec![7; 1200]), (4 << 20) / 1200);
    group.throughput(Throughput::Bytes((count * message.len()) as u64));
    let none = Extensions::NONE;
    for (name, extensions) in [
        ("none", none),
        ("default", Extensions::default()),
        ("zero_checksum", Extensions { zero_checksum: true, ..none }),
        ("interleaving", Extensions { interleaving: true, ..none }),
        ("authentication", Extensions { authentication: true, ..none }),
        ("ecn", Extensions { ecn: true, ..none }),
        ("packet_drop_reports", Extensions { packet_drop_reports: true, ..none }),
    ] {
        group.bench_function(name, |b| {
            let mut pair = Pair::new(extensions);
            b.iter(|| pair.transfer(&message, count));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
