//! Messages that are passed over in a capture (RFC 3758).

mod common;
#[path = "common/summary.rs"]
mod summary;

use summary::summary_of;
use tresse_wire::{DataFlags, GapAckBlock, PacketWriter, Ppid, SkippedStream, Ssn, StreamId, Tsn};

fn data(writer: &mut PacketWriter<'_>, n: u32) {
    let flags = DataFlags::UNFRAGMENTED;
    writer.data(Tsn(1 + n), StreamId(3), Ssn(n as u16), Ppid(0), flags, &[0; 100]);
}

/// Six messages, captured near their receiver, of which a FORWARD TSN up to this TSN overtakes all but the first; how many are delivered.
fn delivered_behind(point: u32) -> u64 {
    let mut file = common::pcap_head();
    let mut packet = |ms: u64, ends: [u8; 2], tag: u32, write: &dyn Fn(&mut PacketWriter<'_>)| {
        common::pcap_packet(&mut file, ms * 1000, ends, tag, write);
    };
    packet(0, [1, 2], 0, &|w| w.init(&common::init(7), &[]));
    packet(0, [2, 1], 7, &|w| w.init_ack(&common::init(8), &[]));
    packet(100, [1, 2], 8, &|w| w.cookie_echo(b"cookie"));
    packet(100, [2, 1], 7, &|w| w.cookie_ack());
    packet(200, [1, 2], 8, &|w| data(w, 0));
    let skipped = SkippedStream { stream: StreamId(3), ssn: Ssn(1) };
    packet(210, [1, 2], 8, &|w| w.forward_tsn(Tsn(point), [skipped].into_iter()));
    for n in 1..6 {
        packet(220 + u64::from(n), [1, 2], 8, &|w| data(w, n));
    }
    packet(230, [2, 1], 7, &|w| w.sack(Tsn(6), 65_536, [].into_iter(), [].into_iter()));
    summary_of(file).directions[0].streams[0].messages
}

#[test]
fn what_arrives_behind_a_forward_tsn_is_not_delivered() {
    assert_eq!(delivered_behind(2), 5);
}

/// No receiver takes it.
#[test]
fn a_damaged_forward_tsn_changes_nothing() {
    for far in [1 << 30, 1 << 31, u32::MAX - 5] {
        assert_eq!(delivered_behind(2u32.wrapping_add(far)), 6, "{far}");
    }
}

/// Captured near their sender: four messages, of which the second one is lost and given up, and those behind it are reported.
#[test]
fn what_is_passed_over_is_not_through_when_all_is_acknowledged() {
    for given_up in [false, true] {
        let mut file = common::pcap_head();
        let mut packet =
            |ms: u64, ends: [u8; 2], tag: u32, write: &dyn Fn(&mut PacketWriter<'_>)| {
                common::pcap_packet(&mut file, ms * 1000, ends, tag, write);
            };
        packet(0, [1, 2], 0, &|w| w.init(&common::init(7), &[]));
        packet(10, [2, 1], 7, &|w| w.init_ack(&common::init(8), &[]));
        packet(100, [1, 2], 8, &|w| w.cookie_echo(b"cookie"));
        packet(110, [2, 1], 7, &|w| w.cookie_ack());
        for n in 0..4 {
            packet(200 + u64::from(n), [1, 2], 8, &|w| data(w, n));
        }
        let gap = [GapAckBlock { start: 2, end: 3 }];
        packet(230, [2, 1], 7, &|w| w.sack(Tsn(1), 65_536, gap.into_iter(), [].into_iter()));
        let skipped = SkippedStream { stream: StreamId(3), ssn: Ssn(1) };
        packet(231, [1, 2], 8, &|w| match given_up {
            true => w.forward_tsn(Tsn(2), [skipped].into_iter()),
            false => data(w, 1),
        });
        packet(250, [2, 1], 7, &|w| w.sack(Tsn(4), 65_536, [].into_iter(), [].into_iter()));
        let messages = summary_of(file).directions[0].messages;
        assert_eq!(messages, if given_up { 3 } else { 4 });
    }
}
