//! Benchmarks of parsing and building packets: `cargo bench -p tresse-wire`.
//!
//! Throughput is in bytes of the whole packet.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use tresse_wire::{
    Chunk, CommonHeader, DataFlags, GapAckBlock, Packet, PacketWriter, Ppid, Ssn, StreamId, Tsn,
    VerificationTag, checksum,
};

const HEADER: CommonHeader = CommonHeader {
    source_port: 5000,
    destination_port: 9899,
    verification_tag: VerificationTag(0x2b5f_09a3),
};

/// Builds a packet of `count` DATA chunks of `size` bytes each.
fn write_data(buffer: &mut Vec<u8>, count: u32, size: usize) -> usize {
    let payload = [0x5a; 1200];
    let mut writer = PacketWriter::new(buffer, HEADER);
    for i in 0..count {
        let flags = DataFlags::UNFRAGMENTED;
        writer.data(Tsn(i), StreamId(1), Ssn(0), Ppid(51), flags, &payload[..size]);
    }
    writer.finish()
}

/// Builds a packet of one SACK chunk.
fn write_sack(buffer: &mut Vec<u8>, gaps: u16) -> usize {
    let blocks = (0..gaps).map(|i| GapAckBlock { start: 2 + 3 * i, end: 3 + 3 * i });
    let mut writer = PacketWriter::new(buffer, HEADER);
    writer.sack(Tsn(1000), 131_072, blocks, std::iter::empty());
    writer.finish()
}

/// Reads every field of a packet, so that nothing can be skipped.
fn read(bytes: &[u8]) -> u64 {
    let packet = Packet::parse(bytes).expect("a sound packet");
    let mut sum = 0;
    for raw in packet.chunks() {
        match Chunk::parse(raw.expect("sound framing")).expect("a sound chunk") {
            Chunk::Data(data) => sum += u64::from(data.tsn.0) + data.payload.len() as u64,
            Chunk::Sack(sack) => {
                for block in sack.gap_blocks() {
                    sum += u64::from(block.end - block.start);
                }
            }
            other => unreachable!("{other:?}"),
        }
    }
    sum
}

/// Measures reading and writing of one kind of packet.
fn both_ways(c: &mut Criterion, name: &str, write: impl Fn(&mut Vec<u8>) -> usize) {
    let mut buffer = Vec::new();
    let length = write(&mut buffer);
    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Bytes(length as u64));
    group.bench_function("parse", |b| b.iter(|| read(black_box(&buffer))));
    let mut target = Vec::with_capacity(length);
    group.bench_function("emit", |b| b.iter(|| write(black_box(&mut target))));
    group.finish();
}

fn packets(c: &mut Criterion) {
    // 12 + 16 + 1172 = 1200 bytes; 12 + 28 * (16 + 52) = 1916 bytes.
    both_ways(c, "data 1x1172", |buffer| write_data(buffer, 1, 1172));
    both_ways(c, "data 28x50", |buffer| write_data(buffer, 28, 50));
    for gaps in [0, 20, 300] {
        both_ways(c, &format!("sack {gaps} gaps"), |buffer| write_sack(buffer, gaps));
    }
}

fn crc32c(c: &mut Criterion) {
    let mut group = c.benchmark_group("crc32c");
    for length in [28, 1200, 1500, 9000] {
        let bytes = vec![0x5a; length];
        group.throughput(Throughput::Bytes(length as u64));
        group.bench_with_input(BenchmarkId::from_parameter(length), &bytes, |b, bytes| {
            b.iter(|| checksum(black_box(bytes)));
        });
    }
    group.finish();
}

criterion_group!(benches, packets, crc32c);
criterion_main!(benches);
