//! Rare orders of events that simulated faults have found.

use super::*;
use crate::error::SendError;
use script::{init_packet, packet, peer_fields};
use sent::{only, types};

/// Shuts `a` down gracefully from side A.
fn shut_down(pair: &mut Pair, a: AssociationId) {
    pair.shutdown(Side::A, a);
    pair.run(secs(1));
}

/// The COOKIE ECHO of a side.
fn cookie_echo(pair: &Pair, side: Side) -> Vec<u8> {
    pair.sent(side, ChunkType::COOKIE_ECHO)[0].bytes.to_vec()
}

//= RFC 9260 5.3.1-3
#[test]
fn a_cookie_opens_no_second_association() {
    let (mut pair, a, z) = Pair::connected(&standard(), 1);
    pair.send(Side::A, a, 0, b"once".to_vec());
    pair.run(ms(500));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    shut_down(&mut pair, a);
    let echo = cookie_echo(&pair, Side::A);
    assert!(pair.end(Side::Z).associations().is_empty());
    pair.inject(Side::Z, addresses(Side::A, 1)[0], echo);
    pair.run(ms(1));
    assert!(pair.end(Side::Z).associations().is_empty());
    assert_eq!(pair.log.last().unwrap().types(), [ChunkType::ABORT]);
    assert_eq!(pair.end(Side::Z).endpoint_stats().out_of_the_blue, 1);
    // The same peer can connect again, with a cookie of its own.
    let (_, z) = pair.connect(&standard());
    assert_eq!(pair.end(Side::Z).associations(), [z]);
}

#[test]
fn a_late_cookie_of_a_collision_opens_no_association() {
    // Z opens too: at once, or when it has answered A (with tags that it gives up then). Its
    // COOKIE ECHO or that of A is not needed, and comes after the end.
    for (later, late) in [(0, Side::Z), (0, Side::A), (15, Side::A)] {
        let mut pair = Pair::new(&standard(), 1);
        pair.drop = Box::new(move |p| p.from == late && p.carries(ChunkType::COOKIE_ECHO));
        let a = pair.open(Side::A, &standard());
        pair.run(ms(later));
        pair.open(Side::Z, &standard());
        pair.run(ms(100));
        shut_down(&mut pair, a);
        let other = late.other();
        assert_eq!(pair.closed(other), Some(&CloseReason::Shutdown));
        let echo = cookie_echo(&pair, late);
        pair.inject(other, addresses(late, 1)[0], echo);
        pair.run(ms(1));
        assert!(pair.end(other).associations().is_empty(), "{later} ms, {late:?}");
    }
}

#[test]
fn a_clock_that_is_put_back_brings_back_no_association() {
    let mut script = Script::listening(&standard());
    script.now += secs(1000);
    let ack = only(&script.give_bytes(init_packet(&peer_fields(), &[]))).clone();
    let echo = packet(ack.init().0.initiate_tag, |w| w.cookie_echo(&ack.cookie()));
    script.give_bytes(echo.clone());
    script.now = script.now - secs(500);
    let id = script.end.associations()[0];
    script.end.abort(script.now, id, b"enough").unwrap();
    script.poll();
    assert_eq!(types(&script.give_bytes(echo)), [[ChunkType::ABORT]]);
    assert!(script.end.associations().is_empty());
}

#[test]
fn abort_out_of_the_blue_completes_a_shutdown() {
    let (mut pair, a, _) = Pair::connected(&standard(), 1);
    pair.drop = Box::new(|p| p.carries(ChunkType::SHUTDOWN_COMPLETE));
    pair.shutdown(Side::A, a);
    pair.run(ms(100));
    let tag = pair.sent(Side::Z, ChunkType::SHUTDOWN_ACK)[0].tag();
    pair.inject(Side::Z, addresses(Side::A, 1)[0], packet(tag, |w| w.abort(true, &[])));
    pair.run(ms(1));
    assert_eq!(pair.closed(Side::Z), Some(&CloseReason::Shutdown));
}

#[test]
fn fragments_larger_than_half_the_receive_buffer_arrive() {
    for buffer in [4096, 10_000, 17_000] {
        let config = AssociationConfig { mtu: 9000, receive_buffer: buffer, ..standard() };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        let message: Vec<u8> = (0..90_000u32).map(|i| i as u8).collect();
        pair.send(Side::A, a, 0, message.clone());
        // Losing one now and then costs an RTO, not a whole series of probes.
        let mut count = 0;
        pair.drop = Box::new(move |p| {
            count += u32::from(p.carries(ChunkType::DATA));
            p.carries(ChunkType::DATA) && count % 8 == 7
        });
        pair.run(secs(8));
        let got = pair.recv_all(Side::Z, z);
        assert_eq!(got.len(), 1, "receive buffer {buffer}");
        assert!(got[0].payload == message);
    }
}

#[test]
fn data_acknowledged_by_shutdown_alone_does_not_stop_the_sender() {
    let config = AssociationConfig { mtu: 9000, ..profile("rfc9260", "") };
    // A small buffer, and a T2 that expires before the T3-rtx of the peer.
    let receiver = AssociationConfig {
        receive_buffer: 10_000,
        ..profile("rfc9260", "[rto]\ninitial_ms = 300\nmin_ms = 300\n")
    };
    let mut pair = Pair::new(&config, 1);
    let (a, z) = pair.connect(&receiver);
    pair.send(Side::Z, z, 0, vec![1; 80_000]);
    // One SACK that comes with SHUTDOWN is lost; then T2 sends SHUTDOWN without one.
    let mut count = 0;
    pair.drop = Box::new(move |p| {
        count += u32::from(p.from == Side::A && p.carries(ChunkType::SHUTDOWN));
        count == 4 && p.carries(ChunkType::SACK)
    });
    let now = pair.now;
    pair.end(Side::A).shutdown(now, a).unwrap();
    pair.run(Duration::from_secs(20));
    assert_eq!(pair.recv_all(Side::A, a).len(), 1);
    assert!(pair.saw(Side::Z, |e| *e == Event::Closed(CloseReason::Shutdown)));
}

#[test]
fn refused_messages_let_the_writer_go_on() {
    let small = AssociationConfig { inbound_streams: 1, ..standard() };
    let config = AssociationConfig { send_buffer: 1000, ..standard() };
    let mut pair = Pair::new(&small, 1);
    let a = pair.open(Side::A, &config);
    let now = pair.now;
    pair.send(Side::A, a, 7, vec![7; 900]);
    let more = Bytes::from(vec![0; 900]);
    let result = pair.end(Side::A).send(now, a, StreamId(0), more, SendOptions::default());
    assert_eq!(result, Err(SendError::WouldBlock));
    pair.run(secs(1));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::SendFailed(m) if m.message.stream.0 == 7)));
    assert!(pair.saw(Side::A, |e| *e == Event::Writable));
}

#[test]
fn a_closed_association_goes_when_its_last_message_is_read() {
    let (mut pair, a, z) = Pair::connected(&standard(), 1);
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

#[test]
fn a_peer_that_crashed_during_the_setup_is_met_by_a_restart() {
    let mut script = Script::connecting(&standard());
    let old = only(&script.give_bytes(init_packet(&peer_fields(), &[]))).clone();
    // The INIT of the second life comes before the INIT ACK of the first one.
    let fields = InitFields {
        initiate_tag: VerificationTag(0x0bad_cafe),
        initial_tsn: Tsn(1_000_000),
        ..peer_fields()
    };
    let ack = only(&script.give_bytes(init_packet(&fields, &[]))).clone();
    script.init_ack();
    script.cookie_ack();
    script.send(100);
    script.sack(1, &[]);
    script.send(200);
    let sent = script.give(|w| w.cookie_echo(&ack.cookie()));
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK]);
    assert_eq!(only(&sent).tag(), fields.initiate_tag);
    assert!(script.events.contains(&Event::Restarted));
    let failed = |e: &Event| matches!(e, Event::SendFailed(m) if m.message.payload.len() == 200);
    assert!(script.events.iter().any(failed));
    // What comes late from the first life means nothing any more.
    let sent = script.give(|w| w.cookie_echo(&old.cookie()));
    assert!(sent.is_empty());
    // Both directions begin again.
    let sent = script.data_at(fields.initial_tsn, 10);
    assert_eq!(only(&sent).sack().unwrap().cumulative_tsn_ack, fields.initial_tsn);
    let sent = script.send(50);
    assert_eq!(script.numbers(&sent), [[0]]);
}

#[test]
fn what_a_full_receiver_drops_is_no_error() {
    let mut script = Script::connected(&profile("rfc9260", "[heartbeat]\nenabled = false"));
    for _ in 0..10 {
        script.try_send(0, 10, SendOptions::default()).unwrap();
    }
    script.poll();
    // The peer had no room for the last five after all, and answers each packet.
    script.sack_with(5, &[], 0);
    for _ in 0..30 {
        let sent = script.wait_for_data();
        assert_eq!(script.numbers(&sent), [[5]], "§6.1 A: one DATA chunk in flight");
        script.sack_with(5, &[], 0);
    }
    assert_eq!(script.state(), State::Established);
    assert_eq!(script.path(0).errors, 0);
    // All of it leaves again once there is room.
    let sent = script.sack_with(5, &[], 10_000);
    assert_eq!(script.numbers(&sent), [[5, 6, 7, 8, 9]]);
}
