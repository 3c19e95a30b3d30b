//! Which of our addresses a path is used from, and when it is left for another.

use super::*;
use sent::types;

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn ips(text: &[&str]) -> Vec<IpAddr> {
    text.iter().map(|a| ip(a)).collect()
}

/// An association of an end with two addresses, all of whose packets leave from the first.
fn with_two_sources(config: &AssociationConfig) -> Script {
    with_sources(config, &["10.0.0.1", "10.0.1.1"])
}

fn with_sources(config: &AssociationConfig, sources: &[&str]) -> Script {
    let config = EndpointConfig {
        local_addresses: ips(sources),
        association: config.clone(),
        ..EndpointConfig::default()
    };
    let mut script = Script::with_end(Endpoint::new(config.clone(), [1; 32]));
    let config = &config.association;
    script.connect(config, &addresses(Side::Z, 1));
    script.init_ack();
    script.cookie_ack();
    assert_eq!(script.path(0).local, Some(ip("10.0.0.1")));
    script
}

/// A packet of the peer arrives at `destination`.
fn hear_at(script: &mut Script, destination: &str) -> Vec<Sent> {
    let tsn = script.next;
    script.next = tsn.wrapping_add(1);
    give_at(script, destination, |w| script::write_data(w, tsn, 5))
}

fn give_at(
    script: &mut Script,
    destination: &str,
    write: impl FnOnce(&mut PacketWriter<'_>),
) -> Vec<Sent> {
    let packet = script::packet(script.tag, write);
    script.give_datagram(Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: ip(destination),
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: packet.into(),
    })
}

#[test]
fn one_loss_does_not_move_a_path_that_has_worked() {
    let mut script = with_two_sources(&standard());
    script.send(10);
    script.sack(1, &[]);
    script.send(10);
    script.wait_for_data();
    assert_eq!(script.path(0).errors, 1);
    hear_at(&mut script, "10.0.1.1");
    assert_eq!(script.path(0).local, Some(ip("10.0.0.1")));
}

/// A heartbeat is answered where what is larger gets lost: it says nothing for the source that the data has left
/// from.
#[test]
fn a_source_that_only_heartbeats_get_away_from_is_left() {
    let mut script = with_two_sources(&standard());
    let (first, second) = (Some(ip("10.0.0.1")), Some(ip("10.0.1.1")));
    let answer = |script: &mut Script, sent: &[Sent]| {
        let from_first = sent.iter().filter(|p| p.to.source == first);
        for beat in from_first.filter_map(|p| p.find(ChunkType::HEARTBEAT)) {
            give_at(script, "10.0.0.1", |w| w.heartbeat_ack(beat.value));
        }
    };
    script.send(10);
    script.sack(1, &[]);
    script.send(script::FULL);
    let mut sent = script.wait_for_data();
    assert_eq!(script.path(0).local, first, "one loss is none");
    let (now, id) = (script.now, script.id);
    script.end.request_heartbeat(now, id, PathId(0)).unwrap();
    sent.extend(script.poll());
    answer(&mut script, &sent);
    assert_eq!(script.path(0).errors, 0);
    let sent = script.wait_for_data();
    assert_eq!(script.path(0).local, second);
    // Nor does the search bring it back, before the other one could show that it works.
    assert!(sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT) && p.to.source == first));
    answer(&mut script, &sent);
    assert_eq!(script.path(0).local, second);
    // If that does not work either, the first one has its turn.
    script.wait_for_data();
    assert_eq!(script.path(0).local, first);
}

/// Something is lost, and of the heartbeats that ask for another source those are answered that left from
/// `working`.
fn lose_one(script: &mut Script, working: &str) {
    let sent = script.wait_for_data();
    let asks = |p: &&Sent| p.carries(ChunkType::HEARTBEAT) && p.to.source == Some(ip(working));
    let beat = sent.iter().find(asks).expect("other sources are asked for").clone();
    give_at(script, working, |w| w.heartbeat_ack(beat.find(ChunkType::HEARTBEAT).unwrap().value));
}

#[test]
fn an_answered_search_moves_no_path_that_has_lost_a_single_packet() {
    // docs/adr/0010: a path keeps its source for as long as it is answered; what follows from another one,
    // congestion control from the beginning, is much for one loss.
    let sources = ["10.0.0.1", "10.0.1.1", "10.0.2.1"];
    let mut script = with_sources(&standard(), &sources);
    script.send(10);
    script.sack(1, &[]);
    script.send(10);
    lose_one(&mut script, "10.0.2.1");
    let source = |script: &Script| script.path(0).local.unwrap().to_string();
    assert_eq!((script.path(0).errors, source(&script).as_str()), (1, "10.0.0.1"));
    // With the second loss there is evidence, and of the others one is known to work.
    script.wait_for_data();
    assert_eq!((script.path(0).errors, source(&script).as_str()), (2, "10.0.2.1"));

    // An answer in between, and all begins again.
    let mut script = with_sources(&standard(), &sources);
    script.send(10);
    script.sack(1, &[]);
    for count in 2..6 {
        script.send(10);
        lose_one(&mut script, "10.0.2.1");
        script.sack(count, &[]);
        assert_eq!((script.path(0).errors, source(&script).as_str()), (0, "10.0.0.1"), "{count}");
    }
}

#[test]
fn only_what_left_from_a_source_proves_it() {
    let mut script = with_two_sources(&standard());
    script.send(10);
    script.wait_for_data();
    script.wait_for_data();
    let moved = ip("10.0.1.1");
    assert_eq!((script.path(0).errors, script.path(0).local), (2, Some(moved)));
    // One RTO is for an answer to what leaves from there.
    hear_at(&mut script, "10.0.0.1");
    assert_eq!(script.path(0).local, Some(moved));
    // What is acknowledged left from the first source at first.
    let proven =
        |script: &Script| script.end.roll[script.id].paths()[PathId(0)].address.is_proven();
    script.sack(1, &[]);
    assert_eq!((script.path(0).errors, proven(&script)), (0, false));
    script.wait(script.path(0).rto);
    hear_at(&mut script, "10.0.0.1");
    assert_eq!(script.path(0).local, Some(ip("10.0.0.1")), "so it is left again");
    script.wait(ms(1));
    script.send(10);
    script.sack(2, &[]);
    assert!(proven(&script));
}

/// A short queue on the way has no room for several packets: what is sent again must not be behind those that
/// ask for another source.
#[test]
fn what_is_sent_again_leaves_before_other_sources_are_asked_for() {
    let mut script = with_sources(&standard(), &["10.0.0.1", "10.0.1.1", "10.0.2.1"]);
    script.send(10);
    let sent = script.wait_for_data();
    let (data, asks) = ([ChunkType::DATA], [ChunkType::HEARTBEAT]);
    assert_eq!(types(&sent), [data, asks, asks]);
}

//= RFC 9260 9.2-6
#[test]
fn a_shutdown_keeps_the_source_from_where_it_brings_something_out() {
    let shut = || {
        let mut script = with_two_sources(&standard());
        script.send(10);
        script.sack(1, &[]);
        assert_eq!(types(&script.shutdown()), [[ChunkType::SHUTDOWN]]);
        script
    };
    let mut script = shut();
    for _ in 0..5 {
        let sent = script.wait(script.path(0).rto);
        assert_eq!(
            (types(&sent), sent[0].to.source),
            (vec![vec![ChunkType::SHUTDOWN]], Some(ip("10.0.0.1")))
        );
        hear_at(&mut script, "10.0.0.1");
    }
    assert_eq!((script.path(0).errors, script.path(0).local), (0, Some(ip("10.0.0.1"))));
    // What is sent again and again may come from a peer that hears nothing.
    let mut script = shut();
    let tsn = script.next;
    hear_at(&mut script, "10.0.0.1");
    for _ in 0..2 {
        script.wait(script.path(0).rto);
        give_at(&mut script, "10.0.0.1", |w| script::write_data(w, tsn, 5));
    }
    assert_eq!((script.path(0).errors, script.path(0).local), (2, Some(ip("10.0.1.1"))));
}

//= RFC 7829 3.2-13
#[test]
fn without_heartbeats_no_source_is_searched_but_the_next_one_is_taken() {
    for (enabled, beats) in [("true", true), ("false", false)] {
        let config = profile("rfc9260", &format!("[heartbeat]\nenabled = {enabled}"));
        let mut script = with_two_sources(&config);
        script.send(10);
        let mut sent = script.wait_for_data();
        sent.extend(script.wait_for_data());
        assert_eq!(sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT)), beats);
        assert_eq!(script.path(0).local, Some(ip("10.0.1.1")));
    }
}

#[test]
fn a_profile_may_keep_a_path_on_its_source() {
    let config = profile("rfc9260", "[heartbeat]\nother_sources = false");
    let mut script = with_two_sources(&config);
    script.send(10);
    let mut sent = script.wait_for_data();
    sent.extend(script.wait_for_data());
    assert!(!sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT)));
    assert_eq!((script.path(0).errors, script.path(0).local), (2, Some(ip("10.0.0.1"))));
}

#[test]
fn while_all_addresses_are_lost_none_is_left() {
    let mut script = with_two_sources(&standard());
    let now = script.now;
    script.end.set_host_addresses(now, &ips(&["10.0.0.1", "10.0.1.1"]));
    script.end.set_host_addresses(now, &[]);
    assert_eq!(script.path(0).local, Some(ip("10.0.0.1")));
}

#[test]
fn a_sack_does_not_leave_from_an_address_that_has_gone() {
    let mut script = with_two_sources(&standard());
    let now = script.now;
    script.end.set_host_addresses(now, &ips(&["10.0.0.1", "10.0.1.1"]));
    hear_at(&mut script, "10.0.0.1");
    assert!(hear_at(&mut script, "10.0.1.1").is_empty(), "it is delayed");
    script.end.set_host_addresses(now, &ips(&["10.0.0.1"]));
    let sent = script.wait(secs(1));
    let sack = sent.iter().find(|p| p.carries(ChunkType::SACK)).unwrap();
    assert_eq!(sack.to.source, Some(ip("10.0.0.1")));
}

#[test]
fn what_ends_an_association_leaves_from_where_the_peer_has_reached_us() {
    // Of the pair of addresses that the peer has just used it is known that it works. SHUTDOWN COMPLETE is
    // sent once, and who has sent it may leave.
    for at in ["10.0.0.1", "10.0.1.1"] {
        let mut script = with_two_sources(&standard());
        let cumulative = script.first.wrapping_sub(1);
        let sent = give_at(&mut script, at, |w| w.shutdown(cumulative));
        assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK]]);
        assert_eq!(sent[0].to.source, Some(ip(at)));

        let mut script = with_two_sources(&standard());
        script.shutdown();
        let sent = give_at(&mut script, at, |w| w.shutdown_ack());
        assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_COMPLETE]]);
        assert_eq!(sent[0].to.source, Some(ip(at)));
    }
}

#[test]
fn a_shutdown_ack_that_had_to_wait_leaves_from_there_too() {
    let mut script = with_two_sources(&standard());
    let cumulative = script.first.wrapping_sub(1);
    script.send(10);
    assert!(give_at(&mut script, "10.0.1.1", |w| w.shutdown(cumulative)).is_empty());
    let sent = script.sack(1, &[]);
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK]]);
    assert_eq!(sent[0].to.source, Some(ip("10.0.1.1")));
}

/// What is not answered is blamed on the source that it left from: one that a search has found since is not
/// left again before anything was sent from there.
#[test]
fn a_source_is_not_blamed_for_what_left_from_another() {
    let mut script = with_two_sources(&standard());
    script.send(10);
    script.wait_for_data();
    let sent = script.wait_for_data();
    assert_eq!(script.path(0).local, Some(ip("10.0.1.1")));
    let of_the_search = |p: &&Sent| p.to.source == Some(ip("10.0.0.1"));
    let beat = sent.iter().filter(of_the_search).find_map(|p| p.find(ChunkType::HEARTBEAT));
    let beat = beat.expect("the other source is tried").value.to_vec();
    script.wait(ms(10));
    script.give_datagram(Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: ip("10.0.0.1"),
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: script::packet(script.tag, |w| w.heartbeat_ack(&beat)).into(),
    });
    assert_eq!(script.path(0).local, Some(ip("10.0.0.1")));
    script.wait_for_data();
    assert_eq!(script.path(0).local, Some(ip("10.0.0.1")), "the data had left from 10.0.1.1");
}

/// The COOKIE ECHO may come from another address than the INIT, of the other family even: where it arrived
/// is no source for the path to the first.
#[test]
fn a_cookie_echo_from_elsewhere_says_nothing_of_the_first_path() {
    let local_addresses = ips(&["10.0.0.1", "fd00::1"]);
    let config = EndpointConfig { local_addresses, accept: true, ..EndpointConfig::default() };
    let mut script = Script::with_end(Endpoint::new(config, [1; 32]));
    let (first, second) = (ip("10.0.0.2"), ip("fd00::2"));
    let mut parameters = ParameterWriter::new();
    script::write_addresses(&mut parameters, &[first, second]);
    let init = script::init_packet(&script::peer_fields(), &parameters.finish());
    let give = |script: &mut Script, source, destination: &str, packet: Vec<u8>| {
        let packet = packet.into();
        let destination = ip(destination);
        script.give_datagram(Datagram {
            source,
            destination,
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet,
        })
    };
    let ack = give(&mut script, first, "10.0.0.1", init);
    let ack = sent::only(&ack).clone();
    let tag = ack.init().0.initiate_tag;
    let echo = script::packet(tag, |w| w.cookie_echo(&ack.cookie()));
    give(&mut script, second, "fd00::1", echo);
    script.id = script.end.associations()[0];
    let sources: Vec<_> =
        (0..2).map(|path| (script.path(path).remote, script.path(path).local)).collect();
    let expected = [(first, ip("10.0.0.1")), (second, ip("fd00::1"))];
    assert_eq!(sources, expected.map(|(remote, local)| (remote, Some(local))));
}

/// What has answered our INIT may be gone before the COOKIE ECHO gets there.
#[test]
fn a_cookie_echo_without_answer_leaves_from_another_source() {
    let sources = ips(&["10.0.0.1", "10.0.1.1"]);
    let config = EndpointConfig {
        local_addresses: sources.clone(),
        association: standard(),
        ..EndpointConfig::default()
    };
    let mut script = Script::with_end(Endpoint::new(config, [1; 32]));
    script.connect(&standard(), &addresses(Side::Z, 1));
    let mut sent = script.init_ack();
    sent.extend(script.wait(secs(20)));
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ECHO]; 5]);
    let from: Vec<IpAddr> = sent.iter().map(|p| p.to.source.unwrap()).collect();
    let turns = [0, 0, 1, 0, 1].map(|i: usize| sources[i]);
    assert_eq!(from, turns, "one packet can be lost; then they take turns");
}
