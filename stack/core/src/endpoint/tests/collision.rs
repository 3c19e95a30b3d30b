//! INIT and COOKIE ECHO where an association exists already (RFC 9260 §5.2.1, §5.2.2, §5.2.4).

use super::*;
use crate::endpoint::cookie::Cookie;
use crate::handshake::{Capabilities, PeerParameters};
use crate::rng::Rng;
use script::{PEER_TAG, PEER_TSN, init_packet, packet, peer_fields};
use sent::{only, types};
use tresse_wire::Parameter;

/// An INIT of the peer with another tag than the one it used.
fn other_init() -> InitFields {
    InitFields { initiate_tag: VerificationTag(0x0ddba11), ..peer_fields() }
}

fn open_cookie(script: &Script, cookie: &[u8]) -> Cookie {
    script.end.greeter.keys().open(cookie).unwrap()
}

//= RFC 9260 1.3-1
#[test]
fn both_sides_open_at_once() {
    // RFC 9260 §5.2 B: one association comes of it, whoever is how far and whatever is lost once.
    for head_start in [0, 5, 10, 15, 20, 25, 30] {
        for lost in 0..5 {
            for side in [Side::A, Side::Z] {
                let mut pair = Pair::new(&standard(), 1);
                pair.drop = Box::new(move |p| p.from == side && p.number == lost);
                let a = pair.open(Side::A, &standard());
                pair.run(ms(head_start));
                let opened = pair.end(Side::Z).associations().is_empty();
                if opened {
                    pair.open(Side::Z, &standard());
                }
                pair.run(secs(10));
                let what = format!("{head_start} ms, packet {lost} of {side:?} lost");
                assert_eq!(pair.end(Side::A).associations(), [a], "{what}");
                let z = only_id(pair.end(Side::Z));
                pair.send(Side::A, a, 0, b"one".to_vec());
                pair.send(Side::Z, z, 0, b"two".to_vec());
                pair.run(secs(5));
                assert_eq!(pair.recv_all(Side::Z, z).len(), 1, "{what}");
                assert_eq!(pair.recv_all(Side::A, a).len(), 1, "{what}");
                assert!(!pair.saw(Side::A, |e| *e == Event::Restarted), "{what}");
                assert!(!pair.saw(Side::Z, |e| *e == Event::Restarted), "{what}");
            }
        }
    }
}

fn only_id(end: &Endpoint) -> AssociationId {
    let ids = end.associations();
    assert_eq!(ids.len(), 1);
    ids[0]
}

//= RFC 9260 5.1.3-6 5.2.1-1 5.2.1-2 5.2.1-6 5.2.1-10 5.2.1-11 5.2.1-12
#[test]
fn an_init_during_setup_is_answered_with_the_parameters_of_our_init() {
    // RFC 9260 §5.2.1: "using the same parameters it sent in its original INIT chunk (including
    // its Initiate Tag, unchanged)", and "the endpoint MUST NOT change its state, the T1-init
    // timer MUST be left running".
    for state in [State::CookieWait, State::CookieEchoed] {
        let mut script = Script::in_state(state);
        let timer = script.end.poll_timeout();
        let sent = script.give_bytes(init_packet(&other_init(), &[]));
        let ack = only(&sent);
        assert_eq!(ack.types(), [ChunkType::INIT_ACK]);
        assert_eq!(ack.tag(), other_init().initiate_tag);
        let fields = ack.init().0;
        assert_eq!((fields.initiate_tag, fields.initial_tsn), (script.tag, script.first));
        assert_eq!((script.state(), script.end.poll_timeout()), (state, timer));
        // Tie-tags are only populated in COOKIE-ECHOED; those are not the tags.
        let cookie = open_cookie(&script, &ack.cookie());
        let ties = (cookie.local_tie_tag, cookie.peer_tie_tag);
        assert_eq!(ties == (0, 0), state == State::CookieWait);
        assert_ne!(ties, (script.tag.0, PEER_TAG.0));
        // Its COOKIE ECHO establishes the association with the tag of that INIT (action B).
        let echo = packet(script.tag, |w| w.cookie_echo(&ack.cookie()));
        assert_eq!(types(&script.give_bytes(echo)), [[ChunkType::COOKIE_ACK]]);
        assert_eq!(script.state(), State::Established);
        assert_eq!(only(&script.send(1)).tag(), other_init().initiate_tag);
    }
}

//= RFC 9260 5.2.1-3 5.2.1-4 5.2.1-5
#[test]
fn an_init_in_cookie_wait_from_an_address_that_we_did_not_call_is_answered_where_we_called() {
    // RFC 9260 §5.2.1 rules 1 and 2: the INIT ACK "MUST only be sent to an address passed by the upper
    // layer in the request to initialize the association" and "reported in the INIT chunk".
    let mut script = Script::connecting(&standard());
    let parameters = ParameterWriter::new().ipv4([10, 0, 0, 2].into()).finish();
    let sent = script.give_from([10, 5, 5, 5].into(), init_packet(&other_init(), &parameters));
    assert_eq!(types(&sent), [[ChunkType::INIT_ACK]]);
    assert_eq!(sent[0].to.destination, addresses(Side::Z, 1)[0]);
    assert_eq!(script.state(), State::CookieWait);
    // What was called is the only confirmed address of the association that follows (§5.4 rule 2).
    let echo = packet(script.tag, |w| w.cookie_echo(&sent[0].cookie()));
    let sent = script.give_from([10, 5, 5, 5].into(), echo);
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ACK, ChunkType::HEARTBEAT]]);
    assert_eq!(script.path(0).remote, addresses(Side::Z, 1)[0]);
    let mut script = Script::connecting(&standard());
    // With addresses beside the one we called it is a collision like any other.
    let parameters = ParameterWriter::new().ipv4([10, 5, 5, 5].into()).finish();
    let sent = script.give_bytes(init_packet(&other_init(), &parameters));
    assert_eq!(types(&sent), [[ChunkType::INIT_ACK]]);
}

/// The end has called two addresses of the peer, which lists none, calls from the second one and answers
/// from the first. Returns the cookie that it was given, and the second address.
fn calls_from_another_address(state: State) -> (Script, Vec<u8>, IpAddr) {
    let remotes = addresses(Side::Z, 2);
    let mut script = Script::connecting_to(&standard(), &remotes);
    let sent = script.give_from(remotes[1], init_packet(&peer_fields(), &[]));
    let cookie = only(&sent).cookie();
    script.init_ack_with(&peer_fields(), ParameterWriter::new().state_cookie(b"cookie"));
    if state == State::Established {
        script.cookie_ack();
    }
    assert_eq!(script.state(), state);
    (script, cookie, remotes[1])
}

//= RFC 9260 5.2.4-11
#[test]
fn a_peer_that_calls_and_answers_from_different_addresses_is_one_peer() {
    // Table 12 D. A second association would have the same tag and the same TSNs.
    for state in [State::CookieEchoed, State::Established] {
        let (mut script, cookie, other) = calls_from_another_address(state);
        let sent = script.give_from(other, packet(script.tag, |w| w.cookie_echo(&cookie)));
        assert_eq!(sent[0].types()[0], ChunkType::COOKIE_ACK, "{state:?}");
        assert_eq!(sent[0].to.destination, other, "{state:?}");
        assert_eq!(script.end.associations(), [script.id], "{state:?}");
        assert_eq!(script.state(), State::Established);
        // Both addresses are the peer's, and both are answered.
        let beat = |w: &mut PacketWriter<'_>| w.heartbeat(b"info");
        for from in addresses(Side::Z, 2) {
            let sent = script.give_from(from, packet(script.tag, beat));
            assert_eq!(types(&sent), [[ChunkType::HEARTBEAT_ACK]], "{state:?} {from}");
            assert_eq!(sent[0].to.destination, from, "{state:?}");
        }
    }
}

#[test]
fn a_tag_is_that_of_one_association_whoever_else_was_given_it() {
    // What was called as one peer are two: each of them calls us while we call both.
    let (mut script, cookie, other) = calls_from_another_address(State::Established);
    let mut second = open_cookie(&script, &cookie);
    second.peer.tag = VerificationTag(0x0ddba11);
    let cookie =
        script.end.greeter.keys_mut().seal(script.now, &mut Rng::from_seed([7; 32]), &second);
    let sent = script.give_from(other, packet(script.tag, |w| w.cookie_echo(&cookie)));
    assert!(sent.is_empty());
    assert_eq!((script.end.associations(), script.state()), (vec![script.id], State::Established));
    assert_eq!(only(&script.send(1)).tag(), PEER_TAG);
}

//= RFC 9260 5.2.1-7 5.2.1-8 5.2.1-9 5.2.2-2 5.2.2-3 5.2.2-4 5.2.2-9
#[test]
fn an_init_that_adds_addresses_to_an_association_is_aborted() {
    // RFC 9260 §5.2.1 (COOKIE-ECHOED), §5.2.2: ABORT with the Initiate Tag, the error "SHOULD list
    // the addresses that were added", and "the existing association ... MUST NOT be changed".
    let states = Script::STATES.into_iter().filter(|s| *s != State::CookieWait);
    for state in states.filter(|s| *s != State::ShutdownAckSent) {
        let mut script = Script::in_state(state);
        let before = format!("{:?}", script.end.roll[script.id]);
        let mut parameters = ParameterWriter::new();
        parameters.ipv4([10, 0, 0, 2].into()).ipv4([10, 5, 5, 5].into());
        let sent = script.give_bytes(init_packet(&other_init(), &parameters.finish()));
        let abort = only(&sent);
        assert_eq!(abort.types(), [ChunkType::ABORT], "{state:?}");
        assert_eq!((abort.tag(), abort.reflected()), (other_init().initiate_tag, false));
        let list = vec![0, 5, 0, 8, 10, 5, 5, 5];
        assert_eq!(abort.causes(), [(CauseCode::RESTART_WITH_NEW_ADDRESSES, list)]);
        assert_eq!(format!("{:?}", script.end.roll[script.id]), before, "{state:?}");
    }
}

//= RFC 9260 5.1.3-6 5.2.2-1 5.2.2-5 5.2.2-6 5.2.2-7 5.2.2-9
#[test]
fn an_unexpected_init_gets_a_new_tag_and_a_cookie_with_tie_tags() {
    // RFC 9260 §5.2.2: "the INIT ACK chunk MUST contain a new Initiate Tag", the Tie-Tags go into
    // the cookie, and the TCB "MUST NOT be changed".
    for state in
        [State::Established, State::ShutdownPending, State::ShutdownSent, State::ShutdownReceived]
    {
        let mut script = Script::in_state(state);
        let before = format!("{:?}", script.end.roll[script.id]);
        let sent = script.give_bytes(init_packet(&other_init(), &[]));
        let ack = only(&sent);
        assert_eq!(ack.types(), [ChunkType::INIT_ACK]);
        assert_eq!(ack.tag(), other_init().initiate_tag);
        assert_ne!(ack.init().0.initiate_tag, script.tag);
        let cookie = open_cookie(&script, &ack.cookie());
        let identity = script.end.roll[script.id].identity();
        let ties = (identity.local_tie_tag, identity.peer_tie_tag);
        assert_eq!((cookie.local_tie_tag, cookie.peer_tie_tag), ties);
        assert_eq!(format!("{:?}", script.end.roll[script.id]), before, "{state:?}");
    }
}

//= RFC 9260 9.2-22
#[test]
fn an_init_in_shutdown_ack_sent_is_met_with_shutdown_ack() {
    // RFC 9260 §9.2: "it SHOULD discard the INIT chunk and retransmit the SHUTDOWN ACK chunk".
    let mut script = Script::in_state(State::ShutdownAckSent);
    let sent = script.give_bytes(init_packet(&other_init(), &[]));
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK]]);
    assert_eq!(only(&sent).tag(), PEER_TAG);
}

/// A tag of a cookie beside that of the association, as in Table 12.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Tag {
    Matches,
    Differs,
    Zero,
}

/// Gives the association a cookie with such tags, made by its own endpoint some time ago.
fn give_cookie(script: &mut Script, local: Tag, peer: Tag, ties: Tag, age: Duration) -> Vec<Sent> {
    give_cookie_with(script, PEER_TSN, local, peer, ties, age)
}

/// The same with another Initial TSN of the peer.
fn give_cookie_with(
    script: &mut Script,
    initial_tsn: Tsn,
    local: Tag,
    peer: Tag,
    ties: Tag,
    age: Duration,
) -> Vec<Sent> {
    let identity = script.end.roll[script.id].identity();
    let pick = |tag: Tag, own: u32| match tag {
        Tag::Matches => own,
        Tag::Differs => own ^ 0x5555,
        Tag::Zero => 0,
    };
    let local_tag = VerificationTag(pick(local, script.tag.0));
    let cookie = Cookie {
        local_port: PORT,
        remote_port: PORT,
        local_tag,
        local_tie_tag: pick(ties, identity.local_tie_tag),
        peer_tie_tag: pick(ties, identity.peer_tie_tag),
        initial_tsn: Tsn(77),
        peer: PeerParameters {
            omitted: false,
            tag: VerificationTag(pick(peer, identity.peer_tag.0)),
            initial_tsn,
            a_rwnd: 100_000,
            outbound_streams: 3,
            inbound_streams: 3,
            addresses: addresses(Side::Z, 1),
            extensions: Capabilities::NONE,
            adaptation: None,
            primary: None,
            offer: None,
        },
        offer: None,
        outbound_streams: 3,
        inbound_streams: 3,
        created: script.now - age,
        life: secs(60),
    };
    let sealed =
        script.end.greeter.keys_mut().seal(script.now, &mut Rng::from_seed([0; 32]), &cookie);
    script.give_bytes(packet(local_tag, |w| w.cookie_echo(&sealed)))
}

//= RFC 9260 5.1.5-8 5.2.4-3 5.2.4-7 5.2.4-8 5.2.4-9 5.2.4-10 5.2.4-11
#[test]
fn a_cookie_for_an_association_that_exists_does_what_table_12_says() {
    // RFC 9260 §5.2.4, Table 12; "For any case not shown in Table 12, the cookie SHOULD be
    // silently discarded".
    use Tag::{Differs, Matches, Zero};
    for state in [State::CookieEchoed, State::Established, State::ShutdownReceived] {
        for local in [Matches, Differs] {
            for peer in [Matches, Differs] {
                for ties in [Matches, Differs, Zero] {
                    let mut script = Script::in_state(state);
                    let before = format!("{:?}", script.end.roll[script.id]);
                    let sent = give_cookie(&mut script, local, peer, ties, secs(1));
                    let restarted = script.events.contains(&Event::Restarted);
                    let a = &script.end.roll[script.id];
                    let what = format!("{state:?} {local:?} {peer:?} {ties:?}: {:?}", types(&sent));
                    match (local, peer, ties) {
                        // A
                        (Differs, Differs, Matches) => {
                            assert!(restarted && a.state() == State::Established, "{what}");
                            assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK], "{what}");
                            assert_eq!(a.identity().local_tag.0, script.tag.0 ^ 0x5555);
                        }
                        // B, D
                        (Matches, ..) => {
                            assert!(!restarted, "{what}");
                            assert_eq!(only(&sent).types()[0], ChunkType::COOKIE_ACK, "{what}");
                            let differs = if peer == Matches { 0 } else { 0x5555 };
                            assert_eq!(a.identity().peer_tag.0, PEER_TAG.0 ^ differs, "{what}");
                            assert_eq!(only(&sent).tag(), a.identity().peer_tag);
                            let next = if state == State::CookieEchoed {
                                State::Established
                            } else {
                                state
                            };
                            assert_eq!(a.state(), next, "{what}");
                            let later = script.wait(secs(10));
                            let echoes = |p: &Sent| p.carries(ChunkType::COOKIE_ECHO);
                            assert!(!later.iter().any(echoes), "T1-cookie runs: {what}");
                        }
                        // C and what is not shown
                        _ => {
                            assert!(sent.is_empty(), "{what}");
                            assert_eq!(format!("{a:?}"), before, "{what}");
                        }
                    }
                }
            }
        }
    }
}

//= RFC 9260 5.2.4-7
#[test]
fn a_cookie_with_another_initial_tsn_is_that_of_a_restart() {
    let mut script = Script::connected(&standard());
    let (ours, theirs) = (Tag::Matches, Tag::Differs);
    let tsn = PEER_TSN.wrapping_add(5);
    let sent = give_cookie_with(&mut script, tsn, ours, theirs, Tag::Differs, secs(1));
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK]);
    assert!(script.events.contains(&Event::Restarted));
    let mut sent = script.data_at(tsn, 10);
    sent.extend(script.wait(ms(200)));
    let sack = sent.iter().find_map(Sent::sack);
    assert_eq!(sack.unwrap().cumulative_tsn_ack, tsn, "its TSNs begin again");
}

//= RFC 9260 5.2.4-11 6-10 6.10-3
#[test]
fn a_cookie_ends_cookie_wait_when_it_carries_our_tag() {
    // RFC 9260 §5.2.4 B with "Peer's Tag not known yet": ESTABLISHED, T1-init stopped.
    let mut script = Script::connecting(&standard());
    script.send(10);
    let sent = give_cookie(&mut script, Tag::Matches, Tag::Differs, Tag::Zero, secs(1));
    assert_eq!(only(&sent).types(), [ChunkType::COOKIE_ACK, ChunkType::DATA]);
    assert_eq!(script.state(), State::Established);
    assert!(script.events.iter().any(|e| matches!(e, Event::Connected { accepted: false, .. })));
    let later = script.wait(ms(3000));
    assert!(later.iter().all(|p| !p.carries(ChunkType::INIT)));
}

//= RFC 9260 5.2.4-1 5.2.4-2
#[test]
fn a_stale_cookie_that_does_not_match_both_tags_is_an_error() {
    // RFC 9260 §5.2.4 rule 3.
    for (local, peer) in [(Tag::Differs, Tag::Differs), (Tag::Matches, Tag::Differs)] {
        let mut script = Script::in_state(State::Established);
        let before = format!("{:?}", script.end.roll[script.id]);
        script.now += secs(61);
        let sent = give_cookie(&mut script, local, peer, Tag::Matches, secs(61));
        assert_eq!(only(&sent).types(), [ChunkType::ERROR]);
        assert_eq!(only(&sent).cause_codes(), [CauseCode::STALE_COOKIE]);
        assert_eq!(format!("{:?}", script.end.roll[script.id]), before);
    }
}

/// The list of an INIT ACK leaves out what its own source address shows, not that of the INIT: the two may be
/// of different families.
#[test]
fn an_init_ack_to_another_address_than_the_init_came_from_lists_ours_for_that_one() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let config = EndpointConfig {
        local_addresses: vec![ip("fd00::1"), ip("10.0.0.1")],
        association: standard(),
        ..EndpointConfig::default()
    };
    for (own, others) in [(vec![ip("fd00::1")], 0), (config.local_addresses.clone(), 1)] {
        let config = EndpointConfig { local_addresses: own, ..config.clone() };
        let mut script = Script::with_end(Endpoint::new(config, [1; 32]));
        script.connect(&standard(), &[ip("10.0.0.2")]);
        let parameters = ParameterWriter::new().ipv4([10, 0, 0, 2].into()).finish();
        let sent = script.give_datagram(Datagram {
            source: ip("fd00::2"),
            destination: ip("fd00::1"),
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: init_packet(&other_init(), &parameters).into(),
        });
        let ack = only(&sent);
        assert_eq!(ack.to.destination, ip("10.0.0.2"));
        assert_eq!(ack.to.source, (others > 0).then(|| ip("10.0.0.1")));
        let (_, list) = ack.init();
        let lists = |address: &str| match ip(address) {
            IpAddr::V4(a) => list.contains(&Parameter::Ipv4Address(a)),
            IpAddr::V6(a) => list.contains(&Parameter::Ipv6Address(a)),
        };
        assert!(lists("fd00::1"), "{list:?}");
        assert_eq!(lists("10.0.0.1"), others > 0);
    }
}

/// The address at which the INIT arrived may have no way there; where our own INIT leaves from has its turn.
#[test]
fn an_init_ack_to_another_address_than_the_init_came_from_leaves_from_where_our_init_does() {
    let ip = |text: &str| text.parse::<IpAddr>().unwrap();
    let config = EndpointConfig {
        local_addresses: vec![ip("10.1.0.1"), ip("10.2.0.1")],
        association: standard(),
        ..EndpointConfig::default()
    };
    let mut script = Script::with_end(Endpoint::new(config, [1; 32]));
    let init = script.connect(&standard(), &[ip("10.2.0.2")]);
    let mut turn = only(&init).to.source;
    assert_eq!(turn, Some(ip("10.2.0.1")));
    let parameters = ParameterWriter::new().ipv4([10, 2, 0, 2].into()).finish();
    for _ in 0..3 {
        let sent = script.give_datagram(Datagram {
            source: ip("10.1.0.2"),
            destination: ip("10.1.0.1"),
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: init_packet(&other_init(), &parameters).into(),
        });
        let to = &only(&sent).to;
        assert_eq!((to.source, to.destination), (turn, ip("10.2.0.2")));
        let next = |script: &mut Script| script.wait(ms(100)).pop();
        let init = (0..200).find_map(|_| next(&mut script)).expect("it calls again");
        turn = init.to.source;
    }
}

//= RFC 9260 5.2.1-3
/// Of several addresses that we have called and an INIT from another one reports, not each may be reached.
#[test]
fn an_init_ack_in_cookie_wait_goes_where_it_is_our_inits_turn() {
    let remotes = addresses(Side::Z, 2);
    let mut script = Script::connecting_to(&standard(), &remotes);
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &remotes);
    let init = init_packet(&other_init(), &parameters.finish());
    for turn in [0, 1, 0] {
        let sent = script.give_from([10, 5, 5, 5].into(), init.clone());
        assert_eq!(types(&sent), [[ChunkType::INIT_ACK]]);
        assert_eq!(only(&sent).to.destination, remotes[turn]);
        while !script.wait(ms(100)).iter().any(|p| p.carries(ChunkType::INIT)) {}
    }
    let sent = script.give_from(remotes[0], init);
    assert_eq!(only(&sent).to.destination, remotes[0], "§5.2.1 rule 3: where it comes from");
}
