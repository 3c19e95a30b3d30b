//! Setting up without accidents (RFC 9260 §5.1), and the packets that may be lost on the way.

use super::*;
use script::peer_fields;
use sent::{only, types};

//= RFC 9260 3.3.9-1 14.2-1
#[test]
fn four_way_handshake_and_graceful_shutdown() {
    let (mut pair, a, z) = Pair::connected(&standard(), 1);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Connected { accepted: false, .. })));
    assert!(pair.saw(Side::Z, |e| matches!(e, Event::Connected { accepted: true, .. })));
    pair.send(Side::A, a, 1, b"hello".to_vec());
    pair.send(Side::Z, z, 2, b"world".to_vec());
    pair.run(ms(50));
    assert_eq!(&pair.recv_all(Side::Z, z)[0].payload[..], b"hello");
    assert_eq!(&pair.recv_all(Side::A, a)[0].payload[..], b"world");
    pair.shutdown(Side::A, a);
    pair.run(secs(1));
    for side in [Side::A, Side::Z] {
        assert_eq!(pair.closed(side), Some(&CloseReason::Shutdown), "{side:?}");
    }
    pair.run(secs(1));
    assert!(pair.end(Side::A).associations().is_empty());
    assert!(pair.end(Side::Z).associations().is_empty());
    assert_eq!(pair.end(Side::A).poll_timeout(), None);
}

#[test]
fn every_setup_packet_may_be_lost_once() {
    for lost in 1..=2 {
        for side in [Side::A, Side::Z] {
            let mut pair = Pair::new(&standard(), 1);
            pair.drop = Box::new(move |p| p.from == side && p.number == lost);
            let a = pair.open(Side::A, &standard());
            pair.send(Side::A, a, 0, b"early".to_vec());
            pair.run(secs(10));
            let z = pair.end(Side::Z).associations()[0];
            let got = pair.recv_all(Side::Z, z);
            assert_eq!(got.len(), 1, "lost packet {lost} of {side:?}");
            assert!(pair.saw(Side::A, |e| matches!(e, Event::Connected { .. })));
        }
    }
}

//= RFC 9260 4-3 4-4 4-5 5.1-12 5.1.6-1
//= RFC 6951 5.5-2
#[test]
fn nobody_answers() {
    let config = profile("rfc9260", "[limits]\nmax_init_retransmits = 3");
    let mut pair = Pair::new(&config, 1);
    pair.drop = Box::new(|_| true);
    pair.open(Side::A, &config);
    // 1 + 2 + 4 + 8 seconds.
    pair.run(secs(14));
    assert_eq!(pair.closed(Side::A), None);
    pair.run(secs(2));
    assert_eq!(pair.closed(Side::A), Some(&CloseReason::SetupFailed));
    assert_eq!(pair.log.len(), 4);
}

#[test]
fn the_wait_for_an_answer_to_init_has_a_ceiling() {
    // RFC 6458 §8.1.3: sinit_max_init_timeo is "the largest timeout or RTO value (in milliseconds) to
    // use in attempting an INIT".
    let config = profile("rfc9260", "[limits]\nmax_init_retransmits = 3\nmax_init_rto_ms = 1500.0");
    let mut pair = Pair::new(&config, 1);
    pair.drop = Box::new(|_| true);
    pair.open(Side::A, &config);
    // 1 + 1.5 + 1.5 + 1.5 seconds.
    pair.run(ms(5400));
    assert_eq!((pair.closed(Side::A), pair.log.len()), (None, 4));
    pair.run(ms(200));
    assert_eq!(pair.closed(Side::A), Some(&CloseReason::SetupFailed));
}

//= RFC 9260 3.1-4 4-3 4-4 4-5 8.5.1-1 12.3-1
#[test]
fn an_init_is_alone_with_a_zero_tag_and_repeated_unchanged() {
    // RFC 9260 §5.1, §8.5.1 A; §5.1.6: "the same INIT ... is retransmitted".
    let mut script = Script::listening(&standard());
    let first = script.connect(&standard(), &addresses(Side::Z, 1));
    assert_eq!(only(&first).types(), [ChunkType::INIT]);
    assert_eq!(only(&first).tag(), VerificationTag(0));
    let again = script.wait(ms(1000));
    assert_eq!(only(&again).bytes, only(&first).bytes);
    assert_eq!(script.state(), State::CookieWait);
}

//= RFC 9260 3.1-3 3.2.2-3 3.3.2-6 3.3.3-4 3.3.3-19 3.3.11-1 5-1 5.1-4 5.1-7 5.1.4-1 5.1.4-2 8.5-1
//= RFC 9260 8.5.1-12
#[test]
fn data_may_ride_behind_the_cookie_echo_and_nothing_else_leaves() {
    // RFC 9260 §5.1 C: the COOKIE ECHO "MUST be the first chunk in the packet and, until the
    // COOKIE ACK chunk is returned, the sender MUST NOT send any other packets to the peer".
    let mut script = Script::connecting(&standard());
    assert_eq!(types(&script.send(1000)), [] as [Vec<ChunkType>; 0]);
    let echo = script.init_ack();
    assert_eq!(only(&echo).types(), [ChunkType::COOKIE_ECHO, ChunkType::DATA]);
    assert_eq!(only(&echo).tag(), script::PEER_TAG);
    for _ in 0..5 {
        assert!(script.send(1000).is_empty());
    }
    assert!(script.data(10).is_empty(), "no SACK either");
    let acked = script.cookie_ack();
    assert_eq!(script.state(), State::Established);
    assert_eq!(script.numbers(&acked), [[1], [2], [3], [4]], "Max.Burst more");
}

//= RFC 9260 3.3.3-19 5.1.4-1 5.1.4-2
#[test]
fn a_repeated_cookie_echo_takes_its_data_along() {
    // RFC 9260 §5.1.4: T1-cookie repeats the COOKIE ECHO; §6.1 C: lost data goes before new.
    let mut script = Script::connecting(&standard());
    script.send(700);
    script.send(600);
    script.send(700);
    let first = script.init_ack();
    let again = script.wait(ms(1000));
    assert_eq!(only(&again).types(), only(&first).types());
    assert_eq!(only(&again).tsns(), only(&first).tsns());
    script.cookie_ack();
    assert!(script.path(0).rto >= ms(1000));
}

#[test]
fn a_cookie_echo_that_was_lost_twice_leaves_without_data() {
    // The packet may be too large for the path, and nothing could be known of that before COOKIE ACK.
    let mut script = Script::connecting(&standard());
    script.send(1200);
    let first = script.init_ack();
    let mut sent = script.wait(ms(6900));
    assert_eq!(only(&first).types(), [ChunkType::COOKIE_ECHO, ChunkType::DATA]);
    let second = sent.remove(0);
    assert_eq!(second.types(), only(&first).types());
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ECHO]]);
    let sent = script.cookie_ack();
    assert_eq!(script.numbers(&sent), [[0]], "and then at once");
}

//= RFC 9260 3.3.12-1 5.1-8 5.1.5-5 5.1.5-6 5.1.5-7
#[test]
fn data_behind_a_cookie_echo_is_taken_and_acknowledged_behind_the_cookie_ack() {
    // RFC 9260 §5.1.5 rules 6 and 7: COOKIE ACK first, SACK at once.
    let mut script = Script::listening(&standard());
    let ack = script.give_bytes(script::init_packet(&peer_fields(), &[]));
    let (tag, cookie) = (only(&ack).init().0.initiate_tag, only(&ack).cookie());
    let sent = script.give_bytes(script::packet(tag, |w| {
        w.cookie_echo(&cookie);
        script::write_data(w, script::PEER_TSN, 5);
    }));
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK, ChunkType::SACK]);
    assert_eq!(only(&sent).sack().unwrap().cumulative_tsn_ack, script::PEER_TSN);
    script.id = script.end.associations()[0];
    assert_eq!(script.recv().unwrap().payload.len(), 5);
}

//= RFC 9260 5.1-18 5.1-19
#[test]
fn the_first_data_chunk_is_acknowledged_at_once() {
    // RFC 9260 §5.1: "After the reception of the first DATA chunk in an association, the endpoint
    // MUST immediately respond with a SACK".
    for mut script in [Script::connected(&standard()), Script::accepted(&standard())] {
        assert_eq!(only(&script.data(10)).types(), [ChunkType::SACK]);
        assert!(script.data(10).is_empty(), "the second one may wait");
    }
}

//= RFC 9260 5.1-14
#[test]
fn setup_is_retried_over_all_addresses() {
    // RFC 9260 §5.1: "Retransmissions of INIT chunks and COOKIE ECHO chunks SHOULD use all
    // addresses of the peer".
    let remotes = addresses(Side::Z, 3);
    let mut script = Script::listening(&standard());
    let mut sent = script.connect(&standard(), &remotes);
    sent.extend(script.wait(secs(6)));
    let to: Vec<IpAddr> = sent.iter().map(|p| p.to.destination).collect();
    assert_eq!(to[..4], [remotes[0], remotes[1], remotes[2], remotes[0]]);

    let mut sent = script.init_ack();
    sent.extend(script.wait(secs(8)));
    assert!(sent.iter().all(|p| p.types() == [ChunkType::COOKIE_ECHO]));
    let to: Vec<IpAddr> = sent.iter().map(|p| p.to.destination).collect();
    assert_eq!(to[..4], [remotes[0], remotes[1], remotes[2], remotes[0]]);
}

//= RFC 9260 5.1.1-2 5.1.1-3 6.5-1
#[test]
fn each_direction_has_as_many_streams_as_both_allow() {
    // RFC 9260 §5.1.1: min(local OS, remote MIS) outbound streams.
    let config = AssociationConfig { outbound_streams: 9, inbound_streams: 7, ..standard() };
    let fields = InitFields { outbound_streams: 20, inbound_streams: 5, ..peer_fields() };
    let mut script = Script::connecting(&config);
    for stream in [4, 5, 8] {
        script.try_send(stream, 100, SendOptions::default()).unwrap();
    }
    script.init_ack_with(&fields, ParameterWriter::new().state_cookie(b"c"));
    let refused = |e: &&Event| matches!(e, Event::SendFailed(_));
    assert_eq!(script.events.iter().filter(refused).count(), 2);
    script.cookie_ack();
    let connected = script.events.iter().find(|e| matches!(e, Event::Connected { .. })).unwrap();
    let expected = Event::Connected { outbound_streams: 5, inbound_streams: 7, accepted: false };
    assert_eq!(*connected, expected);
    let error = script.try_send(5, 1, SendOptions::default()).unwrap_err();
    assert_eq!(error, crate::SendError::NoStream { stream: 5, streams: 5 });
}

//= RFC 9260 3.3.3-11
#[test]
fn an_init_ack_never_offers_more_streams_than_the_init_accepts() {
    // RFC 9260 §3.3.3: OS of an INIT ACK "MUST NOT be greater than the MIS value sent in the INIT".
    let mut script = Script::listening(&standard());
    let fields = InitFields { inbound_streams: 3, ..peer_fields() };
    let ack = script.give_bytes(script::init_packet(&fields, &[]));
    assert_eq!(only(&ack).init().0.outbound_streams, 3);
}

//= RFC 9260 5.1.2-1 5.1.2-4
#[test]
fn an_init_ack_may_come_from_another_address() {
    // RFC 9260 §5.1.2 A: without a list, the source address of an INIT ACK is "the only destination
    // transport address for this peer", whatever was called.
    let mut script = Script::connecting(&standard());
    let other = IpAddr::from([10, 9, 9, 9]);
    let parameters = ParameterWriter::new().state_cookie(b"c").finish();
    let ack = script::packet(script.tag, |w| w.init_ack(&peer_fields(), &parameters));
    let echo = script.give_from(other, ack);
    assert_eq!(only(&echo).types(), [ChunkType::COOKIE_ECHO]);
    assert_eq!(only(&echo).to.destination, other);
    assert_eq!((script.path(0).remote, script.end.path_stats(script.id).len()), (other, 1));
}

//= RFC 9260 5.1.2-5
#[test]
fn called_addresses_that_the_init_ack_omits_are_given_up() {
    // RFC 9260 §5.1.2 C, §3.3.3: "The receiver SHOULD use only these transport addresses".
    let called = addresses(Side::Z, 4);
    let mut script = Script::connecting_to(&standard(), &called);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"c").ipv4([10, 0, 3, 2].into()).ipv4([10, 7, 7, 7].into());
    let fields = peer_fields();
    let parameters = parameters.finish();
    let ack = script::packet(script.tag, |w| w.init_ack(&fields, &parameters));
    let echo = script.give_from(called[1], ack);
    assert_eq!(only(&echo).to.destination, called[1]);
    script.give_from(called[1], script::packet(script.tag, |w| w.cookie_ack()));
    let paths = script.end.path_stats(script.id);
    let found: Vec<_> = paths.iter().map(|p| (p.remote, p.state)).collect();
    let (active, unconfirmed) = (crate::PathState::Active, crate::PathState::Unconfirmed);
    let added = IpAddr::from([10, 7, 7, 7]);
    assert_eq!(found, [(called[1], active), (called[3], active), (added, unconfirmed)]);
    assert!(paths[0].primary);
    // What was given up may be another association's.
    assert!(script.end.connect(script.now, &called[..1], PORT, standard()).is_ok());
}

//= RFC 9260 3.3.3-7 3.3.3-13 3.3.3-16 5.2.3-1 5.2.5-1
#[test]
fn an_unexpected_init_ack_or_cookie_ack_changes_nothing() {
    // RFC 9260 §5.2.3 and §5.2.5.
    for state in Script::STATES {
        let mut script = Script::in_state(state);
        if state != State::CookieWait {
            let fields = InitFields { initiate_tag: VerificationTag(1), ..peer_fields() };
            let sent = script.init_ack_with(&fields, ParameterWriter::new().state_cookie(b"other"));
            assert!(sent.is_empty(), "{state:?}: {:?}", types(&sent));
        }
        if state != State::CookieEchoed {
            let sent = script.cookie_ack();
            assert!(sent.is_empty(), "{state:?}: {:?}", types(&sent));
        }
        assert_eq!(script.state(), state);
        let a = &script.end.roll[script.id];
        assert_ne!(a.identity().peer_tag, VerificationTag(1));
    }
}

#[test]
fn an_abort_before_the_peers_tag_is_known_is_not_sent() {
    // RFC 9260 §8.5.1 A: a packet with tag 0 that is no INIT would be discarded anyway.
    let mut script = Script::connecting(&standard());
    script.end.abort(script.now, script.id, b"never mind").unwrap();
    assert!(script.poll().is_empty());
    assert_eq!(script.closed(), Some(&CloseReason::Aborted));
}

//= RFC 5061 4.2.6-2 4.2.6-3 6-6
/// RFC 5061 §4.2.6: each end tells the other its adaptation layer, also when one of them restarts.
#[test]
fn adaptation_layers_are_told() {
    let with = |code| AssociationConfig { adaptation: code, ..standard() };
    let told = |pair: &Pair| -> Vec<(Side, u32)> {
        let code = |(side, _, event): &(Side, AssociationId, Event)| match event {
            Event::PeerAdaptation(code) => Some((*side, *code)),
            _ => None,
        };
        pair.events.iter().filter_map(code).collect()
    };
    let mut pair = Pair::new(&with(Some(0x0102_0304)), 1);
    pair.connect(&with(Some(7)));
    assert_eq!(told(&pair), [(Side::Z, 7), (Side::A, 0x0102_0304)]);
    pair.replace(Side::A, restart::reborn(1));
    pair.events.clear();
    pair.connect(&with(Some(9)));
    assert_eq!(told(&pair), [(Side::Z, 9), (Side::A, 0x0102_0304)]);
    let mut silent = Pair::new(&with(None), 1);
    silent.connect(&with(Some(7)));
    assert_eq!(told(&silent), [(Side::Z, 7)]);
}

/// RFC 6458 §6.1.9: told when all is acknowledged, and only if asked for.
#[test]
fn a_dry_sender_says_so() {
    for report_dry in [true, false] {
        let config = AssociationConfig { report_dry, ..standard() };
        let (mut pair, a, _) = Pair::connected(&config, 1);
        pair.events.clear();
        pair.send(Side::A, a, 0, vec![1; 20_000]);
        pair.send(Side::A, a, 1, vec![1; 100]);
        pair.run(secs(2));
        let dry = pair.events.iter().filter(|(side, _, event)| {
            assert!(*side == Side::A || *event != Event::SenderDry);
            *event == Event::SenderDry
        });
        assert_eq!(dry.count(), usize::from(report_dry));
    }
}

/// The peer has established the association, and gives up what it sends if we do not.
#[test]
fn a_cookie_ack_that_is_lost_again_and_again_comes_another_way() {
    let mut pair = Pair::new(&standard(), 2);
    let dead = addresses(Side::A, 1)[0];
    pair.drop = Box::new(move |p| {
        p.from == Side::Z && p.carries(ChunkType::COOKIE_ACK) && p.to.destination == dead
    });
    pair.open(Side::A, &standard());
    pair.run(secs(10));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Connected { .. })));
    let acks = pair.sent(Side::Z, ChunkType::COOKIE_ACK);
    assert_eq!(acks[0].to.destination, dead, "§6.4: at first where the COOKIE ECHO came from");
}
