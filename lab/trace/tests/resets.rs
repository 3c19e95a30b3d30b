//! Streams that begin again in a capture (RFC 6525).

mod common;
#[path = "common/summary.rs"]
mod summary;

use summary::summary_of;
use tresse_wire::{
    DataFlags, PacketWriter, ParameterWriter, Ppid, ReconfigurationResponse, ReconfigurationResult,
    RequestNumber, Ssn, StreamId, Tsn,
};

type Write<'a> = &'a dyn Fn(&mut PacketWriter<'_>);
type Capturing<'a> = &'a mut dyn FnMut(u64, [u8; 2], u32, Write<'_>);

fn data(writer: &mut PacketWriter<'_>, tsn: u32, ssn: u16) {
    let flags = DataFlags::UNFRAGMENTED;
    writer.data(Tsn(tsn), StreamId(3), Ssn(ssn), Ppid(0), flags, &[0; 100]);
}

/// An association begins. It is captured near the second end, who answers at once.
fn set_up(packet: Capturing<'_>) {
    packet(0, [1, 2], 0, &|w| w.init(&common::init(7), &[]));
    packet(0, [2, 1], 7, &|w| w.init_ack(&common::init(8), &[]));
    packet(100, [1, 2], 8, &|w| w.cookie_echo(b"cookie"));
    packet(100, [2, 1], 7, &|w| w.cookie_ack());
}

/// Six messages, a reset that is answered with this result, and two more of which the first comes 20 ms after the second.
fn blocked_with(result: ReconfigurationResult) -> f64 {
    let mut file = common::pcap_head();
    let mut packet = |ms: u64, ends: [u8; 2], tag: u32, write: &dyn Fn(&mut PacketWriter<'_>)| {
        common::pcap_packet(&mut file, ms * 1000, ends, tag, write);
    };
    set_up(&mut packet);
    for n in 0..6 {
        packet(202, [1, 2], 8, &|w| data(w, 1 + n, n as u16));
    }
    let request = RequestNumber(1);
    let asked = ParameterWriter::new()
        .outgoing_ssn_reset(request, RequestNumber(0), Tsn(6), [StreamId(3)])
        .finish();
    let answer = ReconfigurationResponse { request, result, next_tsns: None };
    let answer = ParameterWriter::new().reconfiguration_response(&answer).finish();
    for _ in 0..2 {
        packet(210, [1, 2], 8, &|w| w.re_config(&asked));
        packet(211, [2, 1], 7, &|w| w.re_config(&answer));
    }
    packet(220, [1, 2], 8, &|w| data(w, 8, 1));
    // The answer comes once more, and changes nothing.
    packet(230, [1, 2], 8, &|w| w.re_config(&asked));
    packet(231, [2, 1], 7, &|w| w.re_config(&answer));
    packet(240, [1, 2], 8, &|w| data(w, 7, 0));
    packet(250, [2, 1], 7, &|w| w.sack(Tsn(8), 65_536, [].into_iter(), [].into_iter()));
    let summary = summary_of(file);
    let stream = &summary.directions[0].streams[0];
    assert_eq!((stream.stream, stream.messages), (3, 8));
    stream.blocked.as_ref().expect("something was delivered").max_ms
}

#[test]
fn what_follows_a_reset_waits_for_the_message_with_ssn_0() {
    assert_eq!(blocked_with(ReconfigurationResult::PERFORMED), 20.0);
    // Without one a small SSN is a message of the past.
    assert_eq!(blocked_with(ReconfigurationResult::DENIED), 0.0);
}

/// Halfway the first end has everything begin again: TSNs far from those before, and SSN 0 both ways.
#[test]
fn what_follows_a_reset_of_everything_is_told_as_what_was_before() {
    let mut file = common::pcap_head();
    let mut packet = |ms: u64, ends: [u8; 2], tag: u32, write: &dyn Fn(&mut PacketWriter<'_>)| {
        common::pcap_packet(&mut file, ms * 1000, ends, tag, write);
    };
    set_up(&mut packet);
    let half = |packet: Capturing<'_>, ms: u64, tsns: [u32; 2]| {
        for n in 0..4 {
            packet(ms, [1, 2], 8, &|w| data(w, tsns[0].wrapping_add(n), n as u16));
            packet(ms, [2, 1], 7, &|w| data(w, tsns[1].wrapping_add(n), n as u16));
        }
        let acks = tsns.map(|tsn| Tsn(tsn.wrapping_add(3)));
        packet(ms + 1, [2, 1], 7, &|w| w.sack(acks[0], 65_536, [].into_iter(), [].into_iter()));
        packet(ms + 100, [1, 2], 8, &|w| w.sack(acks[1], 65_536, [].into_iter(), [].into_iter()));
    };
    half(&mut packet, 200, [1, 1]);
    let request = RequestNumber(1);
    let asked = ParameterWriter::new().ssn_tsn_reset(request).finish();
    let next = [1 << 31 | 5, 0xffff_fffe];
    let answer = ReconfigurationResponse {
        request,
        result: ReconfigurationResult::PERFORMED,
        next_tsns: Some((Tsn(next[1]), Tsn(next[0]))),
    };
    let answer = ParameterWriter::new().reconfiguration_response(&answer).finish();
    for _ in 0..2 {
        packet(400, [1, 2], 8, &|w| w.re_config(&asked));
        packet(401, [2, 1], 7, &|w| w.re_config(&answer));
    }
    half(&mut packet, 500, next);
    let summary = summary_of(file);
    // Captured near the second one: what it gets is delivered there.
    let stream = &summary.directions[0].streams[0];
    assert_eq!((stream.stream, stream.messages), (3, 8));
    assert_eq!(stream.blocked.as_ref().map_or(0.0, |blocked| blocked.max_ms), 0.0);
    for direction in &summary.directions {
        assert_eq!((direction.data, direction.acknowledged_bytes), (8, 800));
        assert_eq!((direction.outstanding, direction.retransmitted), (0, 0));
        assert_eq!(direction.acknowledged_unseen, 0);
    }
}
