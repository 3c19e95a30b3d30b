//! State Cookies (RFC 9260 §5.1.3 to §5.1.5, §5.2.6).

use tresse_wire::{Parameter, ParameterType};

use super::*;
use script::{PEER_TAG, init_packet, packet, peer_fields};
use sent::{only, types};

/// The tag and the cookie of an INIT ACK.
fn offer(script: &mut Script) -> (VerificationTag, Vec<u8>) {
    let sent = script.give_bytes(init_packet(&peer_fields(), &[]));
    let ack = only(&sent);
    assert_eq!(ack.tag(), PEER_TAG);
    (ack.init().0.initiate_tag, ack.cookie())
}

//= RFC 9260 5.1-6
#[test]
fn a_flood_of_inits_leaves_nothing_behind() {
    // RFC 9260 §5.1 B: "MUST NOT allocate any resources or keep any states".
    let mut script = Script::listening(&standard());
    for i in 0..5000u32 {
        let tag = VerificationTag(i + 1);
        let init = init_packet(&InitFields { initiate_tag: tag, ..peer_fields() }, &[]);
        let [_, a, b, c] = i.to_be_bytes();
        let sent = script.give_from([10, a, b, c].into(), init);
        assert_eq!(only(&sent).types(), [ChunkType::INIT_ACK]);
    }
    let end = &script.end;
    assert!(end.roll.ids().is_empty() && end.roll.capacity() < 16);
    assert!(end.roll.index().is_empty());
    assert!(end.roll.agenda().is_empty() && end.roll.events() == 0);
    assert_eq!(end.endpoint_stats().inits_answered, 5000);
}

#[test]
fn replies_that_nobody_collects_are_bounded() {
    let mut script = Script::listening(&standard());
    let init = init_packet(&peer_fields(), &[]);
    for _ in 0..5000 {
        let datagram = Datagram {
            source: addresses(Side::Z, 1)[0],
            destination: addresses(Side::A, 1)[0],
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: init.clone().into(),
        };
        script.end.handle_datagram(script.now, datagram);
    }
    assert!(script.poll().len() <= 1024);
}

//= RFC 9260 3.3.3.1.1-1 4-1 5.1-5 5.1.3-1 5.1.3-2 5.1.5-2
#[test]
fn a_forged_cookie_is_discarded_silently_with_its_data() {
    // RFC 9260 §5.1.5 rule 2.
    let mut script = Script::listening(&standard());
    let (tag, cookie) = offer(&mut script);
    for i in 0..cookie.len() {
        let mut forged = cookie.clone();
        forged[i] ^= 0x10;
        let sent = script.give_bytes(packet(tag, |w| {
            w.cookie_echo(&forged);
            script::write_data(w, script::PEER_TSN, 5);
        }));
        assert!(sent.is_empty(), "byte {i}: {:?}", types(&sent));
        let cut = script.give_bytes(packet(tag, |w| w.cookie_echo(&cookie[..i])));
        assert!(cut.is_empty(), "cut at {i}: {:?}", types(&cut));
    }
    assert!(script.end.associations().is_empty());
    assert_eq!(script.end.endpoint_stats().bad_cookies, 2 * cookie.len() as u64);
}

//= RFC 9260 5.1.5-3
#[test]
fn a_cookie_only_serves_the_ports_the_tag_and_the_host_it_was_made_for() {
    // RFC 9260 §5.1.5 rule 3; the address is as much a part of it.
    let mut script = Script::listening(&standard());
    let (tag, cookie) = offer(&mut script);
    let echo = |tag| packet(tag, |w| w.cookie_echo(&cookie));
    assert!(script.give_bytes(echo(VerificationTag(tag.0 ^ 1))).is_empty());
    assert!(script.give_from([10, 0, 0, 77].into(), echo(tag)).is_empty());
    let mut other_port = echo(tag);
    let header =
        CommonHeader { source_port: PORT + 1, destination_port: PORT, verification_tag: tag };
    let mut writer = PacketWriter::new(&mut other_port, header);
    writer.cookie_echo(&cookie);
    writer.finish();
    assert!(script.give_bytes(other_port).is_empty());
    // Another endpoint has other keys.
    let mut other = Script::listening(&standard());
    let config = EndpointConfig { accept: true, ..EndpointConfig::default() };
    other.end = Endpoint::new(config, [9; 32]);
    assert!(other.give_bytes(echo(tag)).is_empty());
    assert_eq!(script.end.endpoint_stats().bad_cookies, 3);
    assert_eq!(types(&script.give_bytes(echo(tag))), [[ChunkType::COOKIE_ACK]]);
}

//= RFC 9260 3.1-3 3.3.2-6 3.3.3-4 3.3.3.1.1-1 4-2 5.1-4 5.1-5 5.1.3-1 5.1.3-2 5.1.5-4 8.5-1
#[test]
fn a_stale_cookie_is_answered_with_its_staleness() {
    // RFC 9260 §5.1.5 rule 4: "the endpoint MUST transmit an ERROR chunk with a 'Stale Cookie'
    // error cause"; §3.3.10.3: rounded up in microseconds.
    let mut script = Script::listening(&standard());
    let (tag, cookie) = offer(&mut script);
    script.wait(secs(60) + Duration::from_nanos(1_234_500));
    let sent = script.give_bytes(packet(tag, |w| {
        w.cookie_echo(&cookie);
        script::write_data(w, script::PEER_TSN, 5);
    }));
    assert_eq!(only(&sent).types(), [ChunkType::ERROR]);
    assert_eq!(only(&sent).tag(), PEER_TAG);
    assert_eq!(only(&sent).causes(), [(CauseCode::STALE_COOKIE, 1235u32.to_be_bytes().to_vec())]);
    assert!(script.end.associations().is_empty());
    assert_eq!(script.end.endpoint_stats().stale_cookies, 1);
}

#[test]
fn a_replayed_cookie_echo_is_only_acknowledged_again() {
    // RFC 9260 §5.2.4 D and rule 3: valid as long as the tags match, "even if the lifespan is
    // exceeded".
    let mut script = Script::listening(&standard());
    let (tag, cookie) = offer(&mut script);
    let echo = packet(tag, |w| w.cookie_echo(&cookie));
    for wait in [secs(0), secs(1), secs(300)] {
        script.wait(wait);
        let sent = script.give_bytes(echo.clone());
        assert_eq!(only(&sent).types()[0], ChunkType::COOKIE_ACK);
        assert_eq!(script.end.associations().len(), 1);
    }
    let connected = |e: &&Event| matches!(e, Event::Connected { .. });
    assert_eq!(script.events.iter().filter(connected).count(), 1);
    script.id = script.end.associations()[0];
    assert_eq!(script.stats().malformed_chunks, 0);
}

//= RFC 9260 8.4-3 8.4-4
#[test]
fn an_endpoint_that_accepts_nobody_aborts() {
    // RFC 9260 §5.1, §8.4 rule 3: with the Initiate Tag, T bit clear.
    let config = EndpointConfig { accept: false, ..EndpointConfig::default() };
    let mut script = Script::listening(&standard());
    script.end = Endpoint::new(config, [9; 32]);
    let sent = script.give_bytes(init_packet(&peer_fields(), &[]));
    assert_eq!(only(&sent).types(), [ChunkType::ABORT]);
    assert_eq!((only(&sent).tag(), only(&sent).reflected()), (PEER_TAG, false));
}

//= RFC 9260 5.1-15 5.1-16 5.1-17
#[test]
fn a_full_endpoint_says_so() {
    // RFC 9260 §5.1, §3.3.10.4: Out of Resource, at the INIT and at the COOKIE ECHO.
    let config = EndpointConfig { accept: true, max_associations: 1, ..EndpointConfig::default() };
    let mut script = Script::listening(&standard());
    script.end = Endpoint::new(config, [9; 32]);
    let (tag, cookie) = offer(&mut script);
    let second = IpAddr::from([10, 0, 0, 3]);
    let other = script.give_from(second, init_packet(&peer_fields(), &[]));
    let (other_tag, other_cookie) = (only(&other).init().0.initiate_tag, only(&other).cookie());
    script.give_bytes(packet(tag, |w| w.cookie_echo(&cookie)));
    for refused in
        [packet(other_tag, |w| w.cookie_echo(&other_cookie)), init_packet(&peer_fields(), &[])]
    {
        let sent = script.give_from(second, refused);
        assert_eq!(only(&sent).types(), [ChunkType::ABORT]);
        assert_eq!((only(&sent).tag(), only(&sent).reflected()), (PEER_TAG, false));
        assert_eq!(only(&sent).cause_codes(), [CauseCode::OUT_OF_RESOURCE]);
    }
    assert_eq!(script.end.associations().len(), 1);
}

//= RFC 9260 5.2.6-3
#[test]
fn a_stale_cookie_error_is_met_with_a_new_init_that_asks_for_more_time_once() {
    // RFC 9260 §5.2.6, alternative 3: the measured RTT and no more than one second beyond it.
    let mut script = Script::connecting(&standard());
    script.send(100);
    script.init_ack();
    script.now += ms(40);
    let stale = CauseWriter::new().stale_cookie(7).finish();
    let sent = script.give(|w| w.error(&stale));
    assert_eq!(script.state(), State::CookieWait);
    assert_eq!(only(&sent).types(), [ChunkType::INIT]);
    let (fields, parameters) = only(&sent).init();
    assert_eq!((fields.initiate_tag, fields.initial_tsn), (script.tag, script.first));
    assert!(parameters.contains(&Parameter::CookiePreservative { increment_ms: 1040 }));
    let echo = script.init_ack();
    assert_eq!(script.numbers(&echo), [[0]], "the data rides along again");
    script.give(|w| w.error(&stale));
    assert_eq!(script.closed(), Some(&CloseReason::SetupFailed), "it was tried");
}

//= RFC 9260 5.2.6-1 5.2.6-2
#[test]
fn a_stale_cookie_error_in_any_other_state_is_discarded() {
    // RFC 9260 §5.2.6: "In all cases, if the association is not in the COOKIE-ECHOED state, the
    // ERROR chunk SHOULD be silently discarded".
    let stale = CauseWriter::new().stale_cookie(7).finish();
    for state in Script::STATES.into_iter().filter(|s| *s != State::CookieEchoed) {
        let mut script = Script::in_state(state);
        script.events.clear();
        assert!(script.give(|w| w.error(&stale)).is_empty());
        assert_eq!(script.state(), state);
        assert_eq!(script.events, []);
    }
}

#[test]
fn a_cookie_preservative_at_most_doubles_the_life() {
    // RFC 9260 §3.3.2.1.3: "The receiver MAY choose to ignore the suggested cookie life span
    // increase for its own security reasons".
    for (wish, seconds_fresh) in [(0, 60), (5000, 65), (u32::MAX, 120)] {
        let mut script = Script::listening(&standard());
        let parameters = ParameterWriter::new().cookie_preservative(wish).finish();
        let sent = script.give_bytes(init_packet(&peer_fields(), &parameters));
        let (tag, cookie) = (only(&sent).init().0.initiate_tag, only(&sent).cookie());
        let echo = packet(tag, |w| w.cookie_echo(&cookie));
        script.now += secs(seconds_fresh) + Duration::from_nanos(1);
        assert_eq!(types(&script.give_bytes(echo.clone())), [[ChunkType::ERROR]]);
        script.now = Time::from_millis(1000) + secs(seconds_fresh);
        assert_eq!(types(&script.give_bytes(echo)), [[ChunkType::COOKIE_ACK]]);
    }
}

#[test]
fn two_live_endpoints_get_over_a_stale_cookie() {
    // RFC 9260 §5.2.6 with both sides alive: the round trip outlasts the cookie's first life.
    let config = profile("rfc9260", "[limits]\ncookie_life_ms = 1500\n[rto]\ninitial_ms = 10000");
    let mut pair = Pair::new(&config, 1);
    pair.delay = ms(800);
    let a = pair.open(Side::A, &config);
    pair.send(Side::A, a, 0, b"patience".to_vec());
    pair.run(secs(20));
    let z = pair.end(Side::Z).associations()[0];
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(pair.end(Side::Z).endpoint_stats().stale_cookies, 1);
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Connected { .. })));
}

//= RFC 9260 5.4-3
#[test]
fn a_cookie_of_a_family_of_addresses_serves_all_of_them() {
    // RFC 9260 §5.4 rule 2: "the only CONFIRMED address is the address to which the packet
    // containing the INIT ACK chunk was sent"; a COOKIE ACK to another one takes a HEARTBEAT along.
    let mut script = Script::listening(&standard());
    let second = IpAddr::from([10, 0, 1, 2]);
    let parameters = ParameterWriter::new().ipv4([10, 0, 1, 2].into()).finish();
    let sent = script.give_bytes(init_packet(&peer_fields(), &parameters));
    let (tag, cookie) = (only(&sent).init().0.initiate_tag, only(&sent).cookie());
    let sent = script.give_from(second, packet(tag, |w| w.cookie_echo(&cookie)));
    script.id = script.end.associations()[0];
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK, ChunkType::HEARTBEAT]);
    assert_eq!(only(&sent).to.destination, second);
    let data = script.send(10);
    assert_eq!(only(&data).to.destination, addresses(Side::Z, 1)[0], "the confirmed address");
    let states: Vec<_> = script.end.path_stats(script.id);
    let confirmed = states.iter().filter(|p| p.state == crate::PathState::Active);
    assert_eq!(confirmed.map(|p| p.remote).collect::<Vec<_>>(), addresses(Side::Z, 1));
}

//= RFC 9260 3.3.2-4 3.3.11-3 5.1.3-7 12.4-5
//= RFC 6951 3.2-1
#[test]
fn an_init_ack_holds_a_cookie_and_only_what_it_needs() {
    // A reply to a stranger is not larger than it must be: fixed fields and a cookie.
    let mut script = Script::listening(&standard());
    let sent = script.give_bytes(init_packet(&peer_fields(), &[]));
    let (_, parameters) = only(&sent).init();
    assert!(matches!(parameters[..], [Parameter::StateCookie(_)]), "{parameters:?}");
    assert!(only(&sent).bytes.len() < 200);
    // What a stranger has reported back to itself is bounded, too.
    let mut long = ParameterWriter::new();
    for _ in 0..100 {
        long.raw(ParameterType(0xfff0), &[1; 64]);
    }
    let sent = script.give_bytes(init_packet(&peer_fields(), &long.finish()));
    assert!(only(&sent).bytes.len() < 600);
}
