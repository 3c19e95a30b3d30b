//! A peer that floods, lies, or did not agree: bounded, counted, and nothing of another is lost.

use super::*;

#[test]
fn a_peer_that_did_not_offer_it_is_not_heard() {
    let mut script = Script::connected(&config());
    let sent = give(&mut script, |p| {
        p.outgoing_ssn_reset(theirs(0), RequestNumber(0), PEER_TSN, []);
    });
    assert!(sent.is_empty());
    // RFC 9260 §3.2: the rest of the packet is processed.
    let parameters = ParameterWriter::new().ssn_tsn_reset(theirs(0)).finish();
    script.give(|w| {
        w.re_config(&parameters);
        script::write_data(w, PEER_TSN, 10);
    });
    assert!(script.recv().is_some());
    let mut script = Script::connecting(&standard());
    let mut offer = ParameterWriter::new();
    offer.state_cookie(b"cookie").supported_extensions(&[ChunkType::RE_CONFIG.0]);
    script.init_ack_with(&peer_fields(), &mut offer);
    script.cookie_ack();
    let sent = give(&mut script, |p| {
        p.ssn_tsn_reset(theirs(0));
    });
    assert!(sent.is_empty(), "we did not offer it");
}

#[test]
fn malformed_parameters_are_counted_and_change_nothing() {
    let mut script = agreed(&config());
    send(&mut script, 1);
    script.sack(1, &[]);
    let mut malformed = 0;
    for kind in 13..=18u16 {
        for len in 0..40usize {
            let list = ParameterWriter::new()
                .raw(tresse_wire::ParameterType(kind), &vec![0xff; len])
                .finish();
            let before = script.stats();
            script.give(|w| w.re_config(&list));
            let after = script.stats();
            malformed += after.malformed_chunks - before.malformed_chunks;
            assert_eq!(after.reconfigurations_received, 0, "{kind} {len}");
        }
    }
    assert!(malformed > 100, "{malformed}");
    assert_eq!(script.closed(), None);
    assert_eq!(told(&mut script), []);
    assert_eq!(ssns(&send(&mut script, 1)), [(1, 1)]);
}

#[test]
fn a_flood_of_resets_is_bounded_while_nobody_reads() {
    let mut script = agreed(&config());
    data(&mut script, 0, 1, 0);
    let memory = script.stats().memory;
    let mut refused = 0;
    for n in 0..5000 {
        let sent = give(&mut script, |p| {
            p.outgoing_ssn_reset(theirs(n), RequestNumber(0), PEER_TSN, (0..10).map(StreamId));
        });
        let answers = seen(&script, &sent).concat();
        let [Response(_, result)] = answers[..] else { panic!("{answers:?}") };
        refused += usize::from(result != 1);
    }
    assert!(refused > 4900, "{refused}");
    assert!(script.stats().memory < memory + 40_000, "{memory} {}", script.stats().memory);
    assert_eq!(script.stats().reconfigurations_received, 5000);
    // Once what was there is read, it goes on.
    assert_eq!(read(&mut script), [(0, 1, 0)]);
    script.poll();
    assert!(told(&mut script).len() >= 64);
    assert_eq!(script.closed(), None);
}

#[test]
fn streams_added_by_the_tens_of_thousands_cost_nothing() {
    let mut script = agreed(&config());
    let memory = script.stats().memory;
    let sent = give(&mut script, |p| {
        p.add_outgoing_streams(add(0, 65_525));
    });
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    let sent = give(&mut script, |p| {
        p.add_outgoing_streams(add(1, 1));
    });
    assert_eq!(seen(&script, &sent), [[Response(1, 2)]], "no more than 65535");
    give(&mut script, |p| {
        p.add_incoming_streams(add(2, 65_525));
    });
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(ssns(&send(&mut script, 65_534)), [(65_534, 0)]);
    data(&mut script, 0, 65_534, 0);
    assert_eq!(read(&mut script), [(0, 65_534, 0)]);
    assert!(script.stats().memory < memory + 64_000, "{}", script.stats().memory);
}

#[test]
fn a_reset_far_ahead_holds_up_nothing_but_its_streams() {
    let mut script = agreed(&config());
    let last = PEER_TSN.wrapping_add(1 << 30);
    let sent = give(&mut script, |p| {
        p.outgoing_ssn_reset(theirs(0), RequestNumber(0), last, [StreamId(1)]);
    });
    assert_eq!(seen(&script, &sent), [[Response(0, 6)]]);
    for n in 0..200u32 {
        data(&mut script, n, 1, n as u16);
    }
    assert_eq!(read(&mut script).len(), 200);
    // Another one is refused, and we go on with our own.
    let sent = give(&mut script, |p| {
        p.outgoing_ssn_reset(theirs(1), RequestNumber(0), last, []);
    });
    assert_eq!(seen(&script, &sent), [[Response(1, 4)]]);
    assert_eq!(reset(&mut script, ResetDirection::Outgoing, &[2]).len(), 1);
}

#[test]
fn answers_to_what_was_not_asked_are_ignored() {
    let mut script = agreed(&config());
    for n in [0, 1, u32::MAX] {
        for result in 0..8 {
            assert!(answer(&mut script, n, ReconfigurationResult(result)).is_empty());
        }
    }
    reset(&mut script, ResetDirection::Outgoing, &[1]);
    assert!(answer(&mut script, 1, ReconfigurationResult::PERFORMED).is_empty());
    assert_eq!(told(&mut script), []);
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    answer(&mut script, 0, ReconfigurationResult::DENIED);
    assert_eq!(
        told(&mut script),
        [reset_event(ResetDirection::Outgoing, &[1], Outcome::Performed)]
    );
}

#[test]
fn a_reset_of_the_association_without_tsns_is_a_violation() {
    let mut script = agreed(&config());
    script.end.reset_association(script.now, script.id).unwrap();
    script.poll();
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
    assert!(matches!(
        told(&mut script)[..],
        [Event::AssociationReset { outcome: Outcome::Failed, .. }]
    ));
}

#[test]
fn before_and_after_it_is_dropped() {
    for state in [State::CookieEchoed, State::ShutdownAckSent] {
        let mut script = Script::connecting(&config());
        let mut offer = ParameterWriter::new();
        offer.state_cookie(b"cookie").supported_extensions(&[ChunkType::RE_CONFIG.0]);
        script.init_ack_with(&peer_fields(), &mut offer);
        if state == State::ShutdownAckSent {
            script.cookie_ack();
            let cumulative = script.first.wrapping_sub(1);
            script.give(|w| w.shutdown(cumulative));
        }
        assert_eq!(script.state(), state);
        let sent = give(&mut script, |p| {
            p.ssn_tsn_reset(theirs(0));
        });
        assert!(seen(&script, &sent).is_empty(), "{state:?}");
    }
}
