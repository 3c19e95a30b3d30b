//! Events that wait to be polled.

use super::*;
use crate::{PathState, SendOptions};
use script::{packet, write_data};

/// The peer sends `packet`, and nobody polls events.
fn give_unheard(script: &mut Script, packet: Vec<u8>) {
    script.end.handle_datagram(
        script.now,
        Datagram {
            source: addresses(Side::Z, 1)[0],
            destination: addresses(Side::A, 1)[0],
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: packet.into(),
        },
    );
}

#[test]
fn a_flood_of_errors_fills_no_memory_and_hides_nothing() {
    let mut script = Script::connected(&standard());
    let causes = CauseWriter::new().protocol_violation(&[7; 1000]).finish();
    let flood = |script: &mut Script, packets: usize| {
        for _ in 0..packets {
            let bytes = packet(script.tag, |w| w.error(&causes));
            give_unheard(script, bytes);
        }
    };
    flood(&mut script, 25_000);
    assert!(script.end.roll.events() <= 256, "{}", script.end.roll.events());
    // What a program lives on is told behind it.
    let tsn = script.next;
    let data = packet(script.tag, |w| write_data(w, tsn, 5));
    give_unheard(&mut script, data);
    script.poll();
    let errors = |script: &Script| {
        script.events.iter().filter(|e| matches!(e, Event::PeerError { .. })).count()
    };
    assert!(script.events.contains(&Event::Readable));
    assert!((200..=256).contains(&errors(&script)), "{}", errors(&script));
    // What was polled makes room again.
    script.events.clear();
    flood(&mut script, 10);
    script.poll();
    assert_eq!(errors(&script), 10);
    flood(&mut script, 1000);
    let abort = packet(script.tag, |w| w.abort(false, &[]));
    give_unheard(&mut script, abort);
    script.poll();
    assert!(
        matches!(script.closed(), Some(CloseReason::PeerAborted { .. })),
        "{:?}",
        script.closed()
    );
}

#[test]
fn what_was_not_told_of_a_path_is_no_state_before() {
    let limits = "[limits]\npf_max_retrans = 0\npath_max_retrans = 1\n[heartbeat]\nenabled = false";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", limits) };
    let mut script = Script::multihomed(&config, 2);
    script.poll();
    let causes = CauseWriter::new().protocol_violation(&[7; 1000]).finish();
    for _ in 0..300 {
        let bytes = packet(script.tag, |w| w.error(&causes));
        give_unheard(&mut script, bytes);
    }
    let expire = |script: &mut Script| {
        script.now = script.end.poll_timeout().expect("T3-rtx or a heartbeat runs");
        script.end.handle_timeout(script.now);
    };
    let payload = Bytes::from_static(b"lost");
    script.end.send(script.now, script.id, StreamId(0), payload, SendOptions::default()).unwrap();
    let state = |script: &Script| script.path(0).state;
    while state(&script) == PathState::Active {
        let mut bytes = Vec::new();
        while script.end.poll_transmit(script.now, &mut bytes).is_some() {}
        expire(&mut script);
    }
    assert_eq!(state(&script), PathState::PotentiallyFailed);
    script.poll();
    let told = |script: &Script| {
        let states = |e: &Event| match e {
            Event::PathChanged { path: PathId(0), before, state, .. } => Some((*before, *state)),
            _ => None,
        };
        script.events.iter().filter_map(states).collect::<Vec<_>>()
    };
    assert!(told(&script).is_empty());
    while state(&script) == PathState::PotentiallyFailed {
        expire(&mut script);
        script.poll();
    }
    assert_eq!(told(&script), [(PathState::Active, PathState::Inactive)]);
}

#[test]
fn a_flood_of_one_association_takes_no_room_from_another() {
    let mut script = Script::listening(&standard());
    script.join(&script::peer_fields(), &[]);
    let (tag, causes) = (script.tag, CauseWriter::new().protocol_violation(b"x").finish());
    for _ in 0..1000 {
        give_unheard(&mut script, packet(tag, |w| w.error(&causes)));
    }
    let other = IpAddr::from([10, 0, 0, 77]);
    let init = script::init_packet(&script::peer_fields(), &[]);
    script.end.handle_datagram(
        script.now,
        Datagram {
            source: other,
            destination: addresses(Side::A, 1)[0],
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: init.into(),
        },
    );
    let mut buffer = Vec::new();
    let mut cookie = Vec::new();
    while let Some(to) = script.end.poll_transmit(script.now, &mut buffer) {
        let bytes = Bytes::copy_from_slice(&buffer);
        let sent = Sent { from: Side::A, at: script.now, to, number: 0, bytes };
        if sent.carries(ChunkType::INIT_ACK) {
            cookie = packet(sent.init().0.initiate_tag, |w| w.cookie_echo(&sent.cookie()));
        }
    }
    script.give_from(other, cookie);
    let connected = script.events.iter().filter(|e| matches!(e, Event::Connected { .. })).count();
    assert_eq!(connected, 2);
}

#[test]
fn restarts_that_nobody_hears_of_are_one() {
    let config = profile("rfc9260", "[limits]\nrestarts_per_source = 0\ninits_per_source = 0");
    let mut script = Script::connected(&AssociationConfig { no_delay: true, ..config });
    let restart = |script: &mut Script, count: u32| {
        let fields = InitFields {
            initiate_tag: VerificationTag(1000 + count),
            initial_tsn: Tsn(count),
            ..script::peer_fields()
        };
        give_unheard(script, script::init_packet(&fields, &[]));
        let mut buffer = Vec::new();
        script.end.poll_transmit(script.now, &mut buffer).unwrap();
        let to = Transmit {
            destination: addresses(Side::Z, 1)[0],
            source: None,
            encapsulation: None,
            path: None,
            ecn: Ecn::NotEct,
            labels: IpLabels::default(),
            fragments: IpFragments::Forbidden,
        };
        let bytes = Bytes::copy_from_slice(&buffer);
        let ack = Sent { from: Side::A, at: script.now, to, number: 0, bytes };
        let tag = ack.init().0.initiate_tag;
        give_unheard(script, packet(tag, |w| w.cookie_echo(&ack.cookie())));
        while script.end.poll_transmit(script.now, &mut buffer).is_some() {}
    };
    for round in 0..2 {
        script.events.clear();
        (0..1000).for_each(|n| restart(&mut script, 1000 * round + n));
        script.poll();
        let restarts = script.events.iter().filter(|e| **e == Event::Restarted).count();
        assert_eq!(restarts, 1, "{round}");
    }
}
