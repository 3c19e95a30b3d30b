//! A peer that crashed and comes back (RFC 9260 §5.2.4 action A).

use super::*;
use script::{PEER_TAG, init_packet, packet, peer_fields};
use sent::{only, types};

/// A fresh endpoint that knows nothing of what was before.
pub(super) fn reborn(addresses_each: u8) -> Endpoint {
    let association = standard();
    let local_addresses = addresses(Side::A, addresses_each);
    let config =
        EndpointConfig { local_addresses, accept: true, association, ..EndpointConfig::default() };
    Endpoint::new(config, [77; 32])
}

/// What the scripted peer says after its restart.
fn second_life() -> InitFields {
    InitFields { initiate_tag: VerificationTag(0x0ddba11), initial_tsn: Tsn(1000), ..peer_fields() }
}

/// Sends the INIT of the second life; the INIT ACK's tag and cookie come back.
fn offer(script: &mut Script) -> (VerificationTag, Vec<u8>) {
    let sent = script.give_bytes(init_packet(&second_life(), &[]));
    (only(&sent).init().0.initiate_tag, only(&sent).cookie())
}

/// Restarts the scripted peer.
fn restart(script: &mut Script) -> Vec<Sent> {
    let (tag, cookie) = offer(script);
    let sent = script.give_bytes(packet(tag, |w| w.cookie_echo(&cookie)));
    (script.tag, script.next) = (tag, second_life().initial_tsn);
    sent
}

#[test]
fn a_live_peer_restarts() {
    let (mut pair, a, z) = Pair::connected(&standard(), 1);
    pair.send(Side::A, a, 0, b"before".to_vec());
    pair.run(ms(300));
    pair.replace(Side::A, reborn(1));
    pair.send(Side::Z, z, 0, b"to the dead".to_vec());
    let a = pair.open(Side::A, &standard());
    pair.run(secs(1));
    assert!(pair.saw(Side::Z, |e| *e == Event::Restarted));
    assert_eq!(pair.end(Side::Z).associations(), [z], "the same association");
    assert_eq!(pair.end(Side::A).associations(), [a]);
    pair.send(Side::A, a, 3, b"after".to_vec());
    pair.send(Side::Z, z, 3, b"welcome".to_vec());
    pair.run(secs(1));
    // "Any SCTP DATA chunks MAY be retained": what was complete is still there.
    let got: Vec<_> = pair.recv_all(Side::Z, z).into_iter().map(|m| m.payload).collect();
    assert_eq!(got, [&b"before"[..], b"after"]);
    let got: Vec<_> = pair.recv_all(Side::A, a).into_iter().map(|m| m.payload).collect();
    assert_eq!(got, [&b"welcome"[..]]);
}

#[test]
fn a_live_peer_that_restarts_with_more_addresses_is_refused() {
    // RFC 9260 §5.2.2: ABORT with "Restart of an Association with New Addresses".
    let (mut pair, _, z) = Pair::connected(&standard(), 1);
    pair.replace(Side::A, reborn(2));
    pair.open(Side::A, &standard());
    pair.run(ms(100));
    let reason = pair.closed(Side::A).unwrap();
    assert!(matches!(reason, CloseReason::PeerAborted { cause: 11, .. }), "{reason:?}");
    assert!(!pair.saw(Side::Z, |e| *e == Event::Restarted));
    assert_eq!(pair.end(Side::Z).associations(), [z]);
}

//= RFC 9260 5.2.4-4
#[test]
fn a_restart_loses_what_was_not_acknowledged_and_says_so_first() {
    // RFC 9260 §5.2.4 A: as if an ABORT had come, with RESTART for COMMUNICATION LOST.
    let mut script = Script::connected(&standard());
    script.send(100);
    script.send(200);
    script.sack(1, &[]);
    script.send(300);
    script.data(10);
    script.events.clear();
    let sent = restart(&mut script);
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK]);
    assert_eq!(only(&sent).tag(), second_life().initiate_tag);
    let lens: Vec<_> = script
        .events
        .iter()
        .map(|e| match e {
            Event::SendFailed(failure) => failure.message.payload.len(),
            Event::Restarted => 0,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(lens, [200, 300, 0]);
    assert_eq!(script.recv().unwrap().payload.len(), 10);
    // Both directions begin again, with new tags and TSNs; the first DATA is acknowledged at once.
    assert_eq!(types(&script.data(10)), [[ChunkType::SACK]]);
    let data = script.send(1);
    assert_eq!(only(&data).data()[0].ssn, Ssn(0));
    assert_ne!(only(&data).data()[0].tsn, script.first);
}

#[test]
fn what_the_second_life_sends_stands_behind_the_news_of_the_restart() {
    let mut script = Script::connected(&standard());
    script.data(9);
    let (tag, cookie) = offer(&mut script);
    // The first data may come with the COOKIE ECHO (RFC 9260 §5.1 C).
    let packet = packet(tag, |w| {
        w.cookie_echo(&cookie);
        script::write_data(w, second_life().initial_tsn, 5);
    });
    assert!(!script.end.tells_of_reset(script.id));
    script.end.handle_datagram(
        script.now,
        Datagram {
            source: addresses(Side::Z, 1)[0],
            destination: addresses(Side::A, 1)[0],
            encapsulation: script.encapsulation,
            ecn: Ecn::NotEct,
            packet: packet.into(),
        },
    );
    assert!(script.end.tells_of_reset(script.id));
    script.poll();
    assert!(script.events.contains(&Event::Restarted));
    assert!(!script.end.tells_of_reset(script.id));
    assert_eq!(script.end.unread_of_first_life(script.id), 1);
    assert_eq!(script.recv().unwrap().payload.len(), 9);
    assert_eq!(script.end.unread_of_first_life(script.id), 0);
    assert_eq!(script.recv().unwrap().payload.len(), 5);
}

//= RFC 9260 5.2.4-5
#[test]
fn a_restart_resets_congestion_control_and_timers() {
    // RFC 9260 §5.2.4 A: "All the congestion control parameters ... MUST be reset".
    let mut script = Script::connected(&standard());
    let fresh = (script.path(0).cwnd, script.path(0).ssthresh);
    script.send(1000);
    script.wait(secs(10));
    let before = script.path(0);
    assert!(before.errors > 0 && before.rto > secs(2) && before.cwnd < fresh.0);
    restart(&mut script);
    let after = script.path(0);
    assert_eq!((after.cwnd, after.ssthresh), fresh);
    assert_eq!((after.errors, after.rto), (0, secs(1)));
    assert!(script.wait(secs(10)).is_empty(), "no timer of the first life runs on");
}

//= RFC 9260 5.2.4-5
#[test]
fn a_restart_resets_the_default_profile_too() {
    let mut script = Script::connected(&profile("tresse", ""));
    let fresh = (script.path(0).cwnd, script.path(0).ssthresh);
    script.send(1000);
    script.wait(secs(30));
    let before = script.path(0);
    assert!(before.cwnd < fresh.0 && before.ssthresh < fresh.1 && before.rto > secs(1));
    restart(&mut script);
    let after = script.path(0);
    assert_eq!((after.cwnd, after.ssthresh), fresh);
    assert_eq!((after.errors, after.rto), (0, secs(1)));
}

#[test]
fn who_waits_for_room_in_the_send_buffer_is_woken_by_a_restart() {
    let config = AssociationConfig { send_buffer: 1000, ..standard() };
    let mut script = Script::connected(&config);
    script.send(1000);
    assert_eq!(script.try_send(0, 1, SendOptions::default()), Err(crate::SendError::WouldBlock));
    script.events.clear();
    restart(&mut script);
    assert!(script.events.contains(&Event::Writable));
}

#[test]
fn a_shutdown_that_the_application_asked_for_survives_the_restart() {
    // The application will never ask again: the new association is shut down, too.
    for state in [State::ShutdownPending, State::ShutdownSent] {
        let mut script = Script::in_state(state);
        let sent = restart(&mut script);
        assert_eq!(types(&sent), [[ChunkType::COOKIE_ACK, ChunkType::SHUTDOWN]]);
        assert_eq!(script.state(), State::ShutdownSent);
        let sent = script.give(|w| w.shutdown_ack());
        assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_COMPLETE]]);
        assert_eq!(script.closed(), Some(&CloseReason::Shutdown));
    }
}

//= RFC 9260 5.2.4-6
#[test]
fn a_restart_in_shutdown_ack_sent_waits_for_the_end_of_the_old_association() {
    // RFC 9260 §5.2.4 A: "it MUST NOT set up a new association but instead resend the SHUTDOWN
    // ACK chunk and send an ERROR chunk with a 'Cookie Received While Shutting Down' error cause".
    let mut script = Script::connected(&standard());
    let (tag, cookie) = offer(&mut script);
    let last = script.first.wrapping_sub(1);
    script.give(|w| w.shutdown(last));
    assert_eq!(script.state(), State::ShutdownAckSent);
    let echo = packet(tag, |w| w.cookie_echo(&cookie));
    let sent = script.give_bytes(echo.clone());
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK, ChunkType::ERROR]]);
    assert_eq!(only(&sent).cause_codes(), [CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN]);
    assert_eq!(script.state(), State::ShutdownAckSent);
    // The peer, in COOKIE-ECHOED, takes the SHUTDOWN ACK for out of the blue (§8.5.1 E) and
    // reflects its tag; then its COOKIE ECHO succeeds.
    let shutdown_ack_tag = only(&sent).tag();
    assert_eq!(shutdown_ack_tag, PEER_TAG);
    script.give_bytes(packet(shutdown_ack_tag, |w| w.shutdown_complete(true)));
    assert_eq!(script.closed(), Some(&CloseReason::Shutdown));
    let sent = script.give_bytes(echo);
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ACK]]);
    assert_eq!(only(&sent).tag(), second_life().initiate_tag);
}

#[test]
fn a_restart_can_be_repeated_and_replayed() {
    // A second COOKIE ECHO of the same life is case D; a cookie of a former one matches nothing.
    let mut script = Script::connected(&standard());
    let (old_tag, old_cookie) = offer(&mut script);
    restart(&mut script);
    script.events.clear();
    let sent = script.give_bytes(packet(old_tag, |w| w.cookie_echo(&old_cookie)));
    assert!(sent.is_empty(), "{:?}", types(&sent));
    let third = InitFields { initiate_tag: VerificationTag(333), ..peer_fields() };
    script.join(&third, &[]);
    assert_eq!(script.events, [Event::Restarted]);
    assert_eq!(script.end.roll.index().len(), 1);
}

#[test]
fn what_is_retained_fills_the_receive_buffer() {
    // A peer that fills the window, restarts and does so again costs no more than one buffer; what was
    // acknowledged is never lost, and the window opens as the application reads.
    let config = AssociationConfig { receive_buffer: 8192, ..standard() };
    let mut script = Script::connected(&config);
    let (mut accepted, mut sent_in_all) = (0, 0);
    for life in 0..5u32 {
        let mut acked = 0;
        for n in 1..=20 {
            let sent = script.data(1000);
            let edge = script.next.wrapping_sub(1);
            let later = script.wait(ms(200));
            let mut sacks = sent.iter().chain(&later).filter_map(Sent::sack);
            if sacks.any(|sack| sack.cumulative_tsn_ack == edge) {
                acked = n;
            }
        }
        sent_in_all += 20;
        accepted += acked;
        assert!(script.stats().receive_buffered <= 2 * 8192, "life {life}");
        let tag = VerificationTag(100 + life);
        let fields =
            InitFields { initiate_tag: tag, initial_tsn: Tsn(1000 * (life + 1)), ..peer_fields() };
        let ack = script.give_bytes(init_packet(&fields, &[]));
        let (ours, cookie) = (only(&ack).init().0.initiate_tag, only(&ack).cookie());
        script.give_bytes(packet(ours, |w| w.cookie_echo(&cookie)));
        (script.tag, script.next) = (ours, fields.initial_tsn);
    }
    assert!((8..=16).contains(&accepted), "{accepted} of {sent_in_all}");
    let full = script.data(1000);
    assert!(only(&full).sack().unwrap().a_rwnd < 1000, "no room");
    let read = std::iter::from_fn(|| script.recv()).count();
    assert_eq!(read, accepted, "nothing that was acknowledged is lost");
    let update = script.poll();
    assert_eq!(only(&update).sack().unwrap().a_rwnd, 8192, "and the window is open again");
    assert_eq!(script.stats().receive_buffered, 0);
}
