//! What a file that a stranger wrote can cost: memory has a bound, whatever is in it.

mod common;

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use tresse_trace::capture::Capture;
use tresse_trace::{Options, Totals, Trace};
use tresse_wire::{DataFlags, PacketWriter, Ppid, Ssn, StreamId, Tsn};

/// More than any capture may take: docs/trace.md.
const MOST_BYTES: u64 = 512 << 20;

/// A pcap file of raw IP packets.
struct File(Vec<u8>);

impl File {
    fn new() -> File {
        File(common::pcap_head())
    }

    fn packet(&mut self, second: u32, tag: u32, write: impl FnOnce(&mut PacketWriter<'_>)) {
        common::pcap_packet(&mut self.0, u64::from(second) * 1_000_000, [1, 2], tag, write);
    }
}

fn data(writer: &mut PacketWriter<'_>, tsn: u32, stream: u16) {
    let (tsn, stream) = (Tsn(tsn), StreamId(stream));
    writer.data(tsn, stream, Ssn(7), Ppid(0), DataFlags::UNFRAGMENTED, &[0; 4]);
}

/// What was found, and the most bytes that were allocated at the same time.
fn read(file: Vec<u8>) -> (Totals, u64) {
    let mut totals = None;
    let info = allocation_counter::measure(|| {
        let mut trace = Trace::new(Options::default());
        trace.read(Capture::read("test", Cursor::new(file)).expect("a capture"), &mut ());
        trace.finish(&mut ());
        totals = Some(trace.totals());
    });
    (totals.expect("it was read"), info.bytes_max)
}

#[test]
fn chunks_far_from_each_other_cost_no_more_than_so_many() {
    // Of one association, each as far as a TSN may be beyond the last one; then of many.
    let mut one = File::new();
    for n in 0..200 {
        one.packet(n, 7, |writer| data(writer, n.wrapping_mul((1 << 17) - 1), n as u16));
    }
    let mut many = File::new();
    for n in 0..200 {
        many.packet(n, 7 + n, |writer| data(writer, 1, 0));
        many.packet(n, 7 + n, |writer| data(writer, 1 << 17, 0));
    }
    for (file, associations) in [(one, 1), (many, 200)] {
        let length = file.0.len();
        assert!(length < 40_000);
        let (totals, bytes) = read(file.0);
        assert_eq!(totals.associations, associations);
        assert!(bytes < MOST_BYTES, "{bytes} bytes for a file of {length}");
    }
}

#[test]
fn a_flood_costs_no_more_than_so_many_associations() {
    let mut file = File::new();
    const COUNT: u32 = 150_000;
    for n in 0..COUNT {
        let init = common::init(1 + n);
        file.packet(n / 10_000, 0, |writer| writer.init(&init, &[]));
    }
    let length = file.0.len() as u64;
    let (totals, bytes) = read(file.0);
    assert_eq!(totals.associations, u64::from(COUNT));
    let given_up = "associations and connections that were ended early, as too many were open";
    assert!(totals.skipped.count(given_up) > u64::from(COUNT) / 2);
    assert!(bytes < length + MOST_BYTES / 2, "{bytes} bytes for a file of {length}");
}

#[test]
fn a_log_costs_no_more_than_its_records_may() {
    let head = "\u{1e}{\"trace\":{\"common_fields\":{\"local_port\":1,\"remote_port\":2}}}\n";
    for (open, inner, close) in [("[", "{\"\":{}},", "0]"), ("[", "[],", "0]"), ("", "[", "")] {
        let mut log = GzEncoder::new(Vec::new(), Compression::best());
        log.write_all(head.as_bytes()).unwrap();
        for size in [1 << 20, 15 << 20] {
            let body = inner.repeat(size / inner.len());
            log.write_all(format!("\u{1e}{open}{body}{close}\n").as_bytes()).unwrap();
        }
        let file = log.finish().unwrap();
        let length = file.len();
        let (totals, bytes) = read(file);
        assert_eq!(totals.frames, 0);
        assert!(bytes < MOST_BYTES / 4, "{bytes} bytes for a log of {length}: {inner}");
    }
}
