//! A capture of an engine that both ends of an association are of: each packet leaves, and arrives.

mod common;

use std::io::Cursor;

use tresse_trace::capture::{Capture, Captures};
use tresse_trace::listing::Listing;
use tresse_trace::{Observer, Options, Summary, Totals, Trace};
use tresse_wire::{DataFlags, Fsn, IData, Mid, PacketWriter, Ppid, Ssn, StreamId, Tsn};

const TWICE: &str = "packets that arrived where they had left (told as they left)";

#[derive(Default)]
struct Ended(Vec<Summary>);

impl Observer for Ended {
    fn ends(&mut self, summary: &Summary) {
        self.0.push(summary.clone());
    }
}

type Write<'a> = &'a dyn Fn(&mut PacketWriter<'_>);

/// Section header and interface: raw IP, microseconds.
fn head() -> Vec<u8> {
    let words = [
        0x0a0d_0d0a_u32,
        28,
        0x1a2b_3c4d,
        1,
        u32::MAX,
        u32::MAX,
        28, // Version 1.0.
        1,
        20,
        101,
        0,
        20,
    ];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// Appends a packet as a block with `epb_flags`: 1 for one that arrived, 2 for one that left, 0 for neither.
fn packet(file: &mut Vec<u8>, micros: u64, ends: [u8; 2], tag: u32, flags: u32, write: Write<'_>) {
    let mut record = common::pcap_head();
    common::pcap_packet(&mut record, micros, ends, tag, write);
    let ip = &record[24 + 16..];
    let padded = ip.len().next_multiple_of(4);
    let length = (28 + padded + 16) as u32;
    let words = [6, length, 0, (micros >> 32) as u32, micros as u32, ip.len() as u32];
    file.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    file.extend((ip.len() as u32).to_le_bytes());
    file.extend(ip);
    file.resize(file.len() + padded - ip.len(), 0);
    let options = [4 << 16 | 2, flags, 0, length];
    file.extend(options.iter().flat_map(|word| word.to_le_bytes()));
}

/// Four chunks are sent, one of them twice; `flags` are those of what leaves and of what arrives, if that is captured.
fn capture(flags: &[u32]) -> Vec<u8> {
    let mut file = head();
    let mut at = 0;
    let mut both = |ends: [u8; 2], tag: u32, write: Write<'_>| {
        for flags in flags {
            at += 100;
            packet(&mut file, at, ends, tag, *flags, write);
        }
        at += 10_000;
    };
    let data = |tsn: u32| {
        move |w: &mut PacketWriter<'_>| {
            let (stream, flags) = (StreamId(3), DataFlags::UNFRAGMENTED);
            w.data(Tsn(tsn), stream, Ssn(tsn as u16 - 1), Ppid(0), flags, &[0; 100]);
        }
    };
    let sack = |tsn: u32| {
        move |w: &mut PacketWriter<'_>| w.sack(Tsn(tsn), 65_536, [].into_iter(), [].into_iter())
    };
    both([1, 2], 0, &|w| w.init(&common::init(7), &[]));
    both([2, 1], 7, &|w| w.init_ack(&common::init(8), &[]));
    both([1, 2], 8, &|w| w.cookie_echo(b"cookie"));
    both([2, 1], 7, &|w| w.cookie_ack());
    both([2, 1], 7, &sack(0));
    for tsn in [1, 2, 3, 2] {
        both([1, 2], 8, &data(tsn));
    }
    both([2, 1], 7, &sack(3));
    both([1, 2], 8, &|w| {
        w.i_data(&IData {
            flags: DataFlags::UNFRAGMENTED,
            tsn: Tsn(4),
            stream: StreamId(3),
            mid: Mid(3),
            ppid: Ppid(0),
            fsn: Fsn(0),
            payload: &[0; 100],
        });
    });
    file
}

fn read(file: Vec<u8>) -> (Summary, Totals, String) {
    let mut ended = Ended::default();
    let mut list = Vec::new();
    let mut trace = Trace::new(Options::default());
    let mut listing = Listing::new(&mut list);
    {
        let mut out: Vec<&mut dyn Observer> = vec![&mut ended, &mut listing];
        trace.read(Capture::read("test", Cursor::new(file)).expect("a capture"), &mut out);
        trace.finish(&mut out);
    }
    listing.finish().expect("memory");
    let summary = ended.0.pop().expect("an association");
    assert!(ended.0.is_empty());
    (summary, trace.totals(), String::from_utf8(list).expect("text"))
}

#[test]
fn what_arrives_where_it_left_is_told_once() {
    let (once, totals, list) = read(capture(&[2]));
    assert_eq!((once.packets, totals.frames, totals.skipped.count(TWICE)), (11, 11, 0));
    let (both, totals, list_of_both) = read(capture(&[2, 1]));
    assert_eq!((both.packets, totals.frames, totals.skipped.count(TWICE)), (11, 22, 11));
    for summary in [&once, &both] {
        let sent = &summary.directions[0];
        assert_eq!((sent.data, sent.retransmitted), (5, 1));
    }
    let words = |list: &str| -> Vec<String> {
        let lines = list.lines().map(|line| line.rsplit("] ").next().unwrap_or_default());
        lines.map(|line| line.split(" (").next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(words(&list_of_both), words(&list));
    assert_eq!(list.matches("INIT\n").count(), 1, "{list}");

    // Nothing says what leaves: they are sent twice.
    let (all, totals, _) = read(capture(&[0, 0]));
    assert_eq!((all.packets, totals.skipped.count(TWICE)), (22, 0));
    // One end is elsewhere.
    let (near, ..) = read(capture(&[1]));
    assert_eq!(near.packets, 11);
}

#[test]
fn a_listing_tells_i_data_from_data_and_what_is_not_acknowledged() {
    let (_, _, list) = read(capture(&[2]));
    assert!(list.contains("B>A SACK CUM ACK: none #GAP ACKs: 0\n"), "{list}");
    assert!(list.contains("A>B TSN: 2\n") && list.contains("A>B I-DATA TSN: 3\n"), "{list}");
}

/// A log of one end of an association: what it sends and receives, by the time in ms, its tag, and a chunk.
fn log(ports: [u16; 2], packets: &[(f64, bool, u32, &str)]) -> Vec<u8> {
    let mut text = format!(
        r#"{{"trace":{{"common_fields":{{"local_port":{},"remote_port":{},"reference_time":{{"wall_clock_time":"2026-01-01T00:00:00.000Z"}}}}}}}}"#,
        ports[0], ports[1]
    );
    for (ms, sent, tag, chunk) in packets {
        let name = if *sent { "packet_sent" } else { "packet_received" };
        text += &format!(
            "\n\u{1e}{{\"time\":{ms},\"name\":\"sctp:{name}\",\"data\":{{\"remote\":\"127.0.0.1:0\",\"verification_tag\":{tag},\"chunks\":[{chunk}]}}}}"
        );
    }
    format!("\u{1e}{text}\n").into_bytes()
}

#[test]
fn logs_of_both_ends_tell_each_packet_once() {
    let data = |tsn: u32| {
        format!(
            r#"{{"chunk_type":"DATA","length":66,"tsn":{tsn},"stream_id":0,"stream_sequence_number":{tsn},"ppid":0,"unordered":false,"beginning":true,"ending":true,"user_data_length":50}}"#
        )
    };
    let sack = |tsn: u32| {
        format!(
            r#"{{"chunk_type":"SACK","length":16,"cumulative_tsn_ack":{tsn},"a_rwnd":10000,"gap_ack_blocks":[],"duplicate_tsns":[]}}"#
        )
    };
    let init = |kind: &str, tag: u32| {
        format!(
            r#"{{"chunk_type":"{kind}","length":20,"initiate_tag":{tag},"a_rwnd":10000,"outbound_streams":1,"inbound_streams":1,"initial_tsn":0}}"#
        )
    };
    let mut ends = [Vec::new(), Vec::new()];
    for (at, from, tag, chunk) in [(0.0, 0, 0, init("INIT", 9)), (1.0, 1, 9, init("INIT ACK", 7))] {
        ends[from].push((at, true, tag, chunk.clone()));
        ends[1 - from].push((at + 1.0, false, tag, chunk));
    }
    for n in 0..5 {
        let at = 10.0 + f64::from(n) * 20.0;
        let (data, sack) = (data(n), sack(n));
        for (end, late) in [(0, 5.0), (1, 0.0)] {
            // The first end sends data, and gets its answers 5 ms after they have left.
            ends[end].push((at + 5.0 - late, end == 0, 7, data.clone()));
            ends[end].push((at + 5.0 + late, end == 1, 9, sack.clone()));
        }
    }
    let log_of = |end: usize| {
        let packets: Vec<_> = ends[end].iter().map(|p| (p.0, p.1, p.2, p.3.as_str())).collect();
        log([[1000, 2000], [2000, 1000]][end], &packets)
    };
    let folder = tempfile::tempdir().expect("a folder");
    let files: Vec<_> = ["one.sqlog", "other.sqlog"].map(|name| folder.path().join(name)).into();
    for (end, file) in files.iter().enumerate() {
        std::fs::write(file, log_of(end)).expect("written");
    }
    for (files, arrived) in [(&files[..1], 0), (&files[..], 12)] {
        let mut ended = Ended::default();
        let mut trace = Trace::new(Options::default());
        let names: Vec<&std::path::Path> = files.iter().map(AsRef::as_ref).collect();
        let captures = Captures::open(&names).expect("logs");
        trace.read(captures, &mut ended);
        trace.finish(&mut ended);
        let summary = ended.0.pop().expect("an association");
        assert!(ended.0.is_empty());
        assert_eq!((summary.packets, trace.totals().skipped.count(TWICE)), (12, arrived));
        let data = summary.directions.iter().map(|d| (d.data, d.retransmitted));
        assert_eq!(data.max(), Some((5, 0)));
    }
}
