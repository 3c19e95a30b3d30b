use std::io::Write as _;

use proptest::prelude::*;

use super::record::{CORRUPT, CUT};
use super::*;

/// A pcapng section with an Ethernet interface in nanoseconds and these packets.
fn ng(packets: &[(u64, Vec<u8>)], big: bool) -> Vec<u8> {
    let mut out = Vec::new();
    let w32 = |v: u32| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let w16 = |v: u16| if big { v.to_be_bytes() } else { v.to_le_bytes() };
    let mut block = |kind: u32, body: &[u8]| {
        let length = w32(body.len() as u32 + 12);
        for part in [&w32(kind)[..], &length, body, &length] {
            out.extend_from_slice(part);
        }
    };
    let section = [&w32(0x1a2b_3c4d)[..], &w16(1), &w16(0), &[0xff; 8]].concat();
    block(SECTION, &section);
    // if_tsresol 9, end of options.
    let options = [&w16(9)[..], &w16(1), &[9, 0, 0, 0], &[0; 4]].concat();
    block(1, &[&w16(1)[..], &w16(0), &w32(0), &options].concat());
    for (at, data) in packets {
        let length = w32(data.len() as u32);
        let mut body = [w32(0), w32((at >> 32) as u32), w32(*at as u32), length, length].concat();
        body.extend_from_slice(data);
        body.resize(body.len().next_multiple_of(4), 0);
        block(6, &body);
    }
    out
}

const SECTION: u32 = 0x0a0d_0d0a;

/// A pcap file with microseconds.
fn classic(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let words = [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65_535, 1];
    let mut out: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    for (at, data) in packets {
        let (us, length) = (at / 1000, data.len() as u32);
        let words = [(us / 1_000_000) as u32, (us % 1_000_000) as u32, length, length];
        out.extend(words.iter().flat_map(|w| w.to_le_bytes()));
        out.extend_from_slice(data);
    }
    out
}

fn packets() -> Vec<(u64, Vec<u8>)> {
    (0..20u64).map(|n| (1_700_000_000_000_000_000 + n * 1_000_000, vec![n as u8; 40])).collect()
}

fn read(bytes: Vec<u8>) -> (Vec<(u64, Vec<u8>)>, Skipped) {
    let mut skipped = Skipped::default();
    let mut found = Vec::new();
    if let Ok(mut capture) = Capture::read("test", io::Cursor::new(bytes)) {
        while let Some(frame) = capture.next(&mut skipped) {
            assert!(frame.original >= frame.data.len());
            found.push((frame.at, frame.data.to_vec()));
        }
    }
    (found, skipped)
}

#[test]
fn every_format_reads_the_same() {
    let expected = packets();
    for bytes in [ng(&expected, false), ng(&expected, true), classic(&expected)] {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&bytes).unwrap();
        for bytes in [bytes, gzip.finish().unwrap()] {
            assert_eq!(read(bytes), (expected.clone(), Skipped::default()));
        }
    }
}

#[test]
fn sections_follow_each_other() {
    let half = packets();
    let both = [ng(&half[..5], false), ng(&half[5..], true)].concat();
    assert_eq!(read(both), (half, Skipped::default()));
}

#[test]
fn what_is_cut_off_is_counted_at_every_place() {
    let expected = packets();
    for whole in [ng(&expected, false), classic(&expected)] {
        for length in 0..whole.len() {
            let (found, skipped) = read(whole[..length].to_vec());
            assert!(expected.starts_with(&found), "{length} bytes");
            let known = skipped.count(CUT) + skipped.count(CORRUPT);
            assert!(known <= 2, "{length} bytes: {skipped:?}");
        }
    }
    // In the middle of the last packet.
    let whole = classic(&expected);
    let (found, skipped) = read(whole[..whole.len() - 3].to_vec());
    assert_eq!((found.len(), skipped.count(CUT)), (19, 1));
}

#[test]
fn after_a_corrupt_place_reading_goes_on() {
    let expected = packets();
    for whole in [ng(&expected, false), classic(&expected)] {
        let mut damaged = whole.clone();
        // A length in the sixth packet or so becomes nonsense.
        let at = whole.len() / 3;
        damaged[at..at + 24].fill(0xee);
        let (found, skipped) = read(damaged);
        assert!(found.len() >= 17 && found.last() == expected.last(), "{}", found.len());
        let undamaged = expected.iter().filter(|packet| found.contains(packet)).count();
        assert!(undamaged >= 17 && skipped.count(CORRUPT) <= 1, "{skipped:?}");
    }
}

#[test]
fn what_is_no_capture_is_refused() {
    for bytes in
        [&b""[..], b"\x0a\x0d\x0d\x0a", b"#!/bin/sh\n echo hello, this is a script", b"\x1f\x8bno"]
    {
        assert!(Capture::read("test", io::Cursor::new(bytes.to_vec())).is_err());
    }
    let error = Capture::open(Path::new("no such file")).err().unwrap().to_string();
    assert!(error.starts_with("no such file: ") && !error.contains('\n'), "{error}");
}

proptest! {
    #[test]
    fn any_bytes_end(bytes in proptest::collection::vec(any::<u8>(), 0..400), kind in 0..3usize) {
        let begin = [Vec::new(), ng(&packets()[..2], false), classic(&packets()[..2])];
        read([begin[kind].clone(), bytes].concat());
    }

    #[test]
    fn any_damage_is_survived(at in 0usize..2000, byte in any::<u8>()) {
        for mut whole in [ng(&packets(), false), classic(&packets())] {
            let at = at % whole.len();
            whole[at] = byte;
            read(whole);
        }
    }
}
