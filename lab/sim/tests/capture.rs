//! Captures, read back by pcap-file and dissected by tshark.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::process::Command;

use common::{Script, data, in_udp, ip, ms, packet};
use pcap_file::DataLink;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::{Block, PcapNgReader};
use tresse_core::{AssociationConfig, EndpointConfig, Time};
use tresse_sim::apps::{Bulk, Plan, Sender, Sink};
use tresse_sim::{
    Capture, CaptureBuffer, CapturePoint, LinkConfig, LinkId, Packet, Route, Simulation, StopReason,
};

const END: Time = ms(10_000);

/// A captured packet: link name, nanoseconds, bytes, comment.
type Record = (String, u64, Vec<u8>, Option<String>);

fn read_back(bytes: &[u8]) -> (Vec<String>, Vec<Record>) {
    let mut reader = PcapNgReader::new(bytes).expect("a capture");
    let mut names = Vec::new();
    let mut records = Vec::new();
    while let Some(block) = reader.next_block() {
        match block.expect("a block") {
            Block::InterfaceDescription(interface) => {
                assert_eq!(interface.linktype, DataLink::RAW);
                assert!(interface.options.contains(&InterfaceDescriptionOption::IfTsResol(9)));
                for option in &interface.options {
                    if let InterfaceDescriptionOption::IfName(name) = option {
                        names.push(name.to_string());
                    }
                }
            }
            Block::EnhancedPacket(packet) => {
                assert_eq!(packet.original_len as usize, packet.data.len());
                let comment = packet.options.iter().find_map(|option| match option {
                    EnhancedPacketOption::Comment(text) => Some(text.to_string()),
                    _ => None,
                });
                records.push((
                    names[packet.interface_id as usize].clone(),
                    packet.timestamp.as_nanos() as u64,
                    packet.data.to_vec(),
                    comment,
                ));
            }
            other => panic!("unexpected block {other:?}"),
        }
    }
    (names, records)
}

/// A node that sends the packets 10 ms apart to another one, and one link each way.
fn network(packets: Vec<Packet>, config: LinkConfig) -> (Simulation, LinkId, LinkId) {
    let plan = (1..).zip(packets).map(|(n, packet)| (ms(10 * n), packet)).collect();
    let mut sim = Simulation::new(3);
    let from = sim.add_node("a", Script::new(plan));
    let to = sim.add_node("b", Script::silent());
    let there = sim.add_link(from, to, Route::any(), config).expect("valid");
    let back = sim.add_link(to, from, Route::any(), LinkConfig::default()).expect("valid");
    (sim, there, back)
}

/// Packets of every kind of header.
fn all_kinds() -> Vec<Packet> {
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let (a6, b6) = (ip("fd00::1"), ip("fd00::2"));
    (1..=12u32)
        .map(|n| {
            let payload = data(n, &vec![n as u8; n as usize]);
            let packet = if n % 2 == 0 { packet(a, b, payload) } else { packet(a6, b6, payload) };
            if n % 4 < 2 { in_udp(packet) } else { packet }
        })
        .collect()
}

#[test]
fn what_enters_is_captured_with_its_fate() {
    let config = LinkConfig { drop_packets: vec![2], delay_ms: 3.0, ..LinkConfig::default() };
    let packets = all_kinds();
    let (mut sim, _, _) = network(packets.clone(), config);
    let sink = CaptureBuffer::new();
    sim.capture(Capture::all(), sink.clone()).expect("memory");
    sim.run(END);
    sim.finish_captures().expect("memory");
    let (names, records) = read_back(&sink.contents());
    assert_eq!(names, ["a->b", "b->a"]);
    assert_eq!(records.len(), packets.len());
    for (n, ((name, at, bytes, comment), packet)) in (1..).zip(records.iter().zip(&packets)) {
        assert_eq!((name.as_str(), *at), ("a->b", 10_000_000 * n));
        assert_eq!(bytes.len(), packet.ip_size());
        assert!(bytes.ends_with(&packet.payload));
        assert_eq!(comment.as_deref(), (n == 2).then_some("dropped: pattern"));
    }
}

#[test]
fn what_leaves_is_captured_as_delivered() {
    let config = LinkConfig {
        drop_packets: vec![2],
        duplicate_packets: vec![3],
        corrupt_packets: vec![4],
        delay_ms: 3.0,
        ..LinkConfig::default()
    };
    let packets = all_kinds();
    let (mut sim, there, back) = network(packets.clone(), config);
    let (sink, entry, other) = (CaptureBuffer::new(), CaptureBuffer::new(), CaptureBuffer::new());
    let exit = Capture::links(&[there]).at(CapturePoint::Exit);
    sim.capture(exit, sink.clone()).expect("memory");
    sim.capture(there, entry.clone()).expect("memory");
    sim.capture(back, other.clone()).expect("memory");
    sim.run(END);
    let (names, records) = read_back(&sink.contents());
    assert_eq!(names, ["a->b"]);
    let times: Vec<u64> = records.iter().map(|r| r.1 / 1_000_000).collect();
    assert_eq!(times[..4], [13, 33, 33, 43]);
    let differing = |n: usize, record: &Record| {
        let payload = &packets[n - 1].payload;
        let captured = &record.2[record.2.len() - payload.len()..];
        let bits = payload.iter().zip(captured).map(|(a, b)| (a ^ b).count_ones());
        bits.sum::<u32>()
    };
    assert_eq!(differing(3, &records[2]), 0);
    assert_eq!(differing(4, &records[3]), 1);
    assert_eq!(read_back(&entry.contents()).1.len(), packets.len());
    let (names, records) = read_back(&other.contents());
    assert_eq!((names, records.len()), (vec!["b->a".to_string()], 0));
}

#[test]
fn links_added_later_are_captured() {
    let (a, b) = (ip("10.0.0.1"), ip("10.0.0.2"));
    let plan = vec![(ms(1), packet(a, b, data(1, &[1])))];
    let mut sim = Simulation::new(1);
    let sink = CaptureBuffer::new();
    sim.capture(Capture::all(), sink.clone()).expect("memory");
    let from = sim.add_node("a", Script::new(plan));
    let to = sim.add_node("b", Script::silent());
    sim.add_link(from, to, Route::to(a), LinkConfig::default()).expect("valid");
    sim.add_link(from, to, Route::to(b), LinkConfig::default()).expect("valid");
    sim.run(END);
    let (names, records) = read_back(&sink.contents());
    assert_eq!(names, ["a->b", "a->b#2"]);
    assert_eq!(records[0].0, "a->b#2");
}

/// Accepts this many writes, then is full.
struct FullDisk(usize);

impl Write for FullDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_sink_that_fails_ends_its_capture_only() {
    let (mut sim, _, _) = network(all_kinds(), LinkConfig::default());
    let sink = CaptureBuffer::new();
    assert!(sim.capture(Capture::all(), FullDisk(0)).is_err());
    sim.capture(Capture::all(), FullDisk(8)).expect("enough to begin");
    sim.capture(Capture::all(), sink.clone()).expect("memory");
    sim.run(END);
    let error = sim.finish_captures().expect_err("the disk was full");
    assert_eq!(error.kind(), io::ErrorKind::StorageFull);
    assert_eq!(read_back(&sink.contents()).1.len(), 12);
    assert!(sim.finish_captures().is_ok());
}

/// What tshark says about each packet, by field name; `None` without tshark.
fn dissect(capture: &[u8], fields: &[&'static str]) -> Option<Vec<BTreeMap<&'static str, String>>> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(capture).expect("room on disk");
    let mut command = Command::new("tshark");
    command.arg("-r").arg(file.path());
    command.args(["-o", "sctp.checksum:CRC-32C", "-o", "ip.check_checksum:TRUE"]);
    command.args(["-o", "udp.check_checksum:TRUE", "-T", "fields", "-E", "separator=|"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = match command.output() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let _ =
                writeln!(io::stderr(), "skipped: tshark is not installed (apt-get install tshark)");
            return None;
        }
        output => output.expect("tshark runs"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let line =
        |line: &str| fields.iter().copied().zip(line.split('|').map(str::to_string)).collect();
    Some(text.lines().map(line).collect())
}

#[test]
fn tshark_finds_every_checksum_right() {
    let packets = all_kinds();
    let config = LinkConfig { corrupt_packets: vec![7], ..LinkConfig::default() };
    let (mut sim, there, _) = network(packets.clone(), config);
    let (entry, exit) = (CaptureBuffer::new(), CaptureBuffer::new());
    sim.capture(there, entry.clone()).expect("memory");
    sim.capture(Capture::from(there).at(CapturePoint::Exit), exit.clone()).expect("memory");
    sim.run(END);
    const FIELDS: [&str; 10] = [
        "frame.time_epoch",
        "frame.interface_name",
        "_ws.malformed",
        "ip.checksum.status",
        "udp.checksum.status",
        "sctp.checksum.status",
        "sctp.data_tsn_raw",
        "udp.srcport",
        "ip.ttl",
        "ipv6.hlim",
    ];
    let Some(dissected) = dissect(&entry.contents(), &FIELDS) else { return };
    assert_eq!(dissected.len(), packets.len());
    for (n, (found, packet)) in (1..).zip(dissected.iter().zip(&packets)) {
        let v4 = packet.source.is_ipv4();
        let good = |is: bool| if is { "1" } else { "" };
        assert_eq!(found["_ws.malformed"], "", "packet {n}: {found:?}");
        assert_eq!(found["ip.checksum.status"], good(v4), "packet {n}: {found:?}");
        assert_eq!(found["udp.checksum.status"], good(packet.udp.is_some()), "packet {n}");
        assert_eq!(found["sctp.checksum.status"], "1", "packet {n}: {found:?}");
        assert_eq!(found["sctp.data_tsn_raw"], n.to_string());
        assert_eq!(found["udp.srcport"], if packet.udp.is_some() { "9899" } else { "" });
        assert_eq!(found["ip.ttl"], if v4 { "64" } else { "" });
        assert_eq!(found["ipv6.hlim"], if v4 { "" } else { "64" });
        assert_eq!(found["frame.interface_name"], "a->b");
        assert_eq!(found["frame.time_epoch"], format!("0.{:09}", 10_000_000 * n));
    }
    // The corrupted packet is the only one whose SCTP checksum is wrong on the far side.
    let dissected = dissect(&exit.contents(), &FIELDS).expect("tshark was there before");
    let bad: Vec<usize> = (1..)
        .zip(&dissected)
        .filter(|(_, found)| found["sctp.checksum.status"] != "1")
        .map(|(n, _)| n)
        .collect();
    assert_eq!(bad, [7]);
}

/// A whole association, from INIT to SHUTDOWN COMPLETE, with losses, on both IP versions and in
/// UDP.
#[test]
fn tshark_understands_whole_associations() {
    let v4 = (ip("10.0.0.1"), ip("10.0.0.2"));
    let v6 = (ip("fd00::1"), ip("fd00::2"));
    for ((a, b), encapsulation) in [(v4, None), (v6, None), (v4, Some(9899)), (v6, Some(9899))] {
        let association = AssociationConfig { encapsulation, ..AssociationConfig::default() };
        let host = |address, accept| EndpointConfig {
            local_addresses: vec![address],
            accept,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        let bulk = Bulk { messages: Some(100), streams: 3, ..Bulk::of_size(2500) };
        let sender = Sender::new(Plan::Bulk(bulk)).connect(vec![b], 5000, association.clone());
        let mut sim = Simulation::new(1);
        let one = sim.add_host("client", host(a, false), Box::new(sender.shutdown_when_done()));
        let two = sim.add_host("server", host(b, true), Box::new(Sink::new()));
        let config = LinkConfig { loss: 0.02, ..LinkConfig::new(10_000.0, 10.0) };
        let (there, back) = sim.duplex(one, two, a, b, config).expect("valid");
        let capture = CaptureBuffer::new();
        sim.capture(Capture::all(), capture.clone()).expect("memory");
        assert_eq!(sim.run(ms(600_000)), StopReason::Idle);
        assert!(sim.app::<Sink>(two).stats().flawless());
        assert_eq!(sim.app::<Sink>(two).stats().messages, 100);
        const FIELDS: [&str; 7] = [
            "_ws.malformed",
            "ip.checksum.status",
            "udp.checksum.status",
            "sctp.checksum.status",
            "sctp.chunk_type",
            "frame.len",
            "udp.port",
        ];
        let Some(dissected) = dissect(&capture.contents(), &FIELDS) else { return };
        let offered = sim.link_stats(there).offered + sim.link_stats(back).offered;
        assert_eq!(dissected.len() as u64, offered);
        let good = |is: bool| if is { "1" } else { "" };
        let mut seen = BTreeSet::new();
        for packet in &dissected {
            assert_eq!(packet["_ws.malformed"], "", "{packet:?}");
            assert_eq!(packet["ip.checksum.status"], good(a.is_ipv4()), "{packet:?}");
            assert_eq!(packet["udp.checksum.status"], good(encapsulation.is_some()), "{packet:?}");
            assert_eq!(packet["sctp.checksum.status"], "1", "{packet:?}");
            assert!(packet["frame.len"].parse::<usize>().expect("a number") <= 1500);
            seen.extend(packet["sctp.chunk_type"].split(',').map(str::to_string));
        }
        // INIT, INIT ACK, COOKIE ECHO, COOKIE ACK, DATA, SACK, SHUTDOWN, ... COMPLETE.
        for chunk_type in ["0", "1", "2", "3", "7", "8", "10", "11", "14"] {
            assert!(seen.contains(chunk_type), "no chunk of type {chunk_type}");
        }
    }
}

#[test]
fn a_host_sees_what_it_sends_and_what_reaches_it() {
    let config = LinkConfig { drop_packets: vec![2], delay_ms: 3.0, ..LinkConfig::default() };
    let packets = all_kinds();
    let count = packets.len();
    let plan = (1..).zip(packets).map(|(n, packet)| (ms(10 * n), packet)).collect();
    let mut sim = Simulation::new(3);
    let a = sim.add_node("a", Script::new(plan));
    let b = sim.add_node("b", Script::silent());
    sim.add_link(a, b, Route::any(), config).expect("valid");
    let (at_a, at_b) = (CaptureBuffer::new(), CaptureBuffer::new());
    sim.capture(sim.view_of(a), at_a.clone()).expect("memory");
    sim.capture(sim.view_of(b), at_b.clone()).expect("memory");
    sim.run(END);
    let times = |sink: &CaptureBuffer| {
        let (_, records) = read_back(&sink.contents());
        records.iter().map(|record| record.1 / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(times(&at_a)[..3], [10, 20, 30]);
    assert_eq!(times(&at_b)[..2], [13, 33]);
    assert_eq!((times(&at_a).len(), times(&at_b).len()), (count, count - 1));
}
