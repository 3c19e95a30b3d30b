//! What a packet costs on its way through a link.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use tresse_netem::{Class, Link, LinkConfig, Nanos};

const PACKETS: u64 = 10_000;

/// Offers packets at the rate of the link and collects them as they arrive.
fn forward(link: &mut Link<u64>) -> u64 {
    let mut delivered = 0;
    for packet in 0..PACKETS {
        let now = Nanos::new(packet * 12_000);
        link.offer(now, 1500, Class::DATA, packet);
        while let Some(delivery) = link.poll(now) {
            black_box(delivery);
            delivered += 1;
        }
    }
    delivered
}

fn bench(c: &mut Criterion) {
    let mut group = c.benchmark_group("link");
    group.throughput(Throughput::Elements(PACKETS));
    let plain = LinkConfig { queue_packets: Some(100), ..LinkConfig::new(1e6, 10.0) };
    let impaired = LinkConfig {
        loss: 0.01,
        duplicate: 0.01,
        corrupt: 0.01,
        jitter_ms: 5.0,
        reorder: 0.01,
        reorder_after: Some(3),
        ..plain.clone()
    };
    for (name, config) in [("plain", plain), ("every impairment", impaired)] {
        group.bench_function(name, |b| {
            b.iter(|| forward(&mut Link::new(config.clone(), 1).expect("valid")));
        });
    }
    group.finish();
}

criterion_group!(benches, bench);
criterion_main!(benches);
