//! Rare orders of events that simulated faults have found.

use super::*;
use crate::error::SendError;
use crate::event::CloseReason;
use tresse_wire::{CommonHeader, PacketWriter};

/// Shuts `a` down gracefully from side A.
fn shut_down(pair: &mut Pair, a: AssociationId) {
    let now = pair.now;
    pair.end(Side::A).shutdown(now, a).unwrap();
    pair.run(Duration::from_secs(1));
}

#[test]
fn a_cookie_opens_no_second_association() {
    let config = profile("rfc9260", "");
    let mut pair = Pair::new(&config, 1);
    let (a, z) = pair.connect(&config);
    pair.send(Side::A, a, 0, b"once".to_vec());
    pair.run(Duration::from_millis(500));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    shut_down(&mut pair, a);
    let sent = |p: &&(Time, Side, Vec<u8>)| {
        let chunks = Packet::parse(&p.2).unwrap();
        p.1 == Side::A && chunks.chunks().any(|c| c.unwrap().chunk_type == ChunkType::COOKIE_ECHO)
    };
    let echo = pair.log.iter().find(sent).unwrap().2.clone();
    assert!(pair.end(Side::Z).associations().is_empty());
    pair.inject(Side::Z, addresses(Side::A, 1)[0], echo);
    pair.run(Duration::from_millis(1));
    assert!(pair.end(Side::Z).associations().is_empty());
    let (_, _, last) = pair.log.last().unwrap();
    let packet = Packet::parse(last).unwrap();
    assert_eq!(packet.chunks().next().unwrap().unwrap().chunk_type, ChunkType::ABORT);
    assert_eq!(pair.end(Side::Z).endpoint_stats().out_of_the_blue, 1);
    // The same peer can connect again, with a cookie of its own.
    let (_, z) = pair.connect(&config);
    assert_eq!(pair.end(Side::Z).associations(), [z]);
}

#[test]
fn a_late_cookie_of_a_collision_opens_no_association() {
    let config = profile("rfc9260", "");
    // Z opens too: at once, or when it has answered A (with tags that it gives up then). Its
    // COOKIE ECHO or that of A is not needed, and comes after the end.
    for (later, late) in [(0, Side::Z), (0, Side::A), (15, Side::A)] {
        let mut pair = Pair::new(&config, 1);
        pair.drop = Box::new(move |p| p.from == late && p.carries(ChunkType::COOKIE_ECHO));
        let now = pair.now;
        let remote = addresses(Side::Z, 1);
        let a = pair.end(Side::A).connect(now, &remote, 5000, config.clone()).unwrap();
        pair.run(Duration::from_millis(later));
        let now = pair.now;
        let remote = addresses(Side::A, 1);
        pair.end(Side::Z).connect(now, &remote, 5000, config.clone()).unwrap();
        pair.run(Duration::from_millis(100));
        shut_down(&mut pair, a);
        let other = late.other();
        assert!(pair.saw(other, |e| matches!(e, Event::Closed(CloseReason::Shutdown))));
        let echo = |p: &&(Time, Side, Vec<u8>)| {
            let first = Packet::parse(&p.2).unwrap().chunks().next().unwrap().unwrap().chunk_type;
            p.1 == late && first == ChunkType::COOKIE_ECHO
        };
        let echo = pair.log.iter().find(echo).unwrap().2.clone();
        let source = addresses(late, 1)[0];
        pair.inject(other, source, echo);
        pair.run(Duration::from_millis(1));
        assert!(pair.end(other).associations().is_empty(), "{later} ms, {late:?}");
    }
}

#[test]
fn abort_out_of_the_blue_completes_a_shutdown() {
    let config = profile("rfc9260", "");
    let mut pair = Pair::new(&config, 1);
    let (a, _) = pair.connect(&config);
    pair.drop = Box::new(|p| p.carries(ChunkType::SHUTDOWN_COMPLETE));
    let now = pair.now;
    pair.end(Side::A).shutdown(now, a).unwrap();
    pair.run(Duration::from_millis(100));
    let ack = pair.log.iter().rev().find(|p| p.1 == Side::Z).unwrap().2.clone();
    let header = Packet::parse(&ack).unwrap().header();
    let mut abort = Vec::new();
    let mut writer = PacketWriter::new(
        &mut abort,
        CommonHeader {
            source_port: header.destination_port,
            destination_port: header.source_port,
            ..header
        },
    );
    writer.abort(true, &[]);
    writer.finish();
    pair.inject(Side::Z, addresses(Side::A, 1)[0], abort);
    pair.run(Duration::from_millis(1));
    assert!(pair.saw(Side::Z, |e| *e == Event::Closed(CloseReason::Shutdown)));
}

#[test]
fn fragments_larger_than_half_the_receive_buffer_arrive() {
    for buffer in [4096, 10_000, 17_000] {
        let config =
            AssociationConfig { mtu: 9000, receive_buffer: buffer, ..profile("rfc9260", "") };
        let mut pair = Pair::new(&config, 1);
        let (a, z) = pair.connect(&config);
        let message: Vec<u8> = (0..90_000u32).map(|i| i as u8).collect();
        pair.send(Side::A, a, 0, message.clone());
        pair.run(Duration::from_secs(8));
        let got = pair.recv_all(Side::Z, z);
        assert_eq!(got.len(), 1, "receive buffer {buffer}");
        assert!(got[0].message.payload == message);
    }
}

#[test]
fn refused_messages_let_the_writer_go_on() {
    let small = AssociationConfig { inbound_streams: 1, ..profile("rfc9260", "") };
    let config = AssociationConfig { send_buffer: 1000, ..profile("rfc9260", "") };
    let mut pair = Pair::new(&small, 1);
    let now = pair.now;
    let a = pair.end(Side::A).connect(now, &addresses(Side::Z, 1), 5000, config).unwrap();
    pair.send(Side::A, a, 7, vec![7; 900]);
    let more = Bytes::from(vec![0; 900]);
    let result = pair.end(Side::A).send(now, a, StreamId(0), more, SendOptions::default());
    assert_eq!(result, Err(SendError::WouldBlock));
    pair.run(Duration::from_secs(1));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::SendFailed(m) if m.stream.0 == 7)));
    assert!(pair.saw(Side::A, |e| *e == Event::Writable));
}

#[test]
fn a_closed_association_goes_when_its_last_message_is_read() {
    let config = profile("rfc9260", "");
    let mut pair = Pair::new(&config, 1);
    let (a, z) = pair.connect(&config);
    for n in 0..3 {
        pair.send(Side::A, a, 0, vec![n; 10]);
    }
    shut_down(&mut pair, a);
    assert_eq!(pair.end(Side::Z).associations(), [z]);
    for _ in 0..3 {
        let now = pair.now;
        assert!(pair.end(Side::Z).recv(now, z).is_some());
        assert!(pair.end(Side::Z).poll_event().is_none());
    }
    assert!(pair.end(Side::Z).associations().is_empty());
}
