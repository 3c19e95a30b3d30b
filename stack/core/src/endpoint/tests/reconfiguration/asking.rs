//! What the endpoint asks (RFC 6525 §5.1), of a peer that the test plays.

use super::*;
use crate::error::ReconfigurationError;
use crate::ids::{PathId, PathState};
use crate::settings::PathSettings;

//= RFC 6525 5.1.1-1 4.1-2 4.2-2 4.3-2 4.4-3 4.5-3 4.6-3
#[test]
fn the_extension_is_offered_and_nothing_else_is_in_init() {
    let offers = |config: &AssociationConfig| {
        let mut script = Script::listening(config);
        let sent = script.connect(config, &addresses(Side::Z, 1));
        let (_, parameters) = sent[0].init();
        parameters.iter().any(|parameter| match parameter {
            Parameter::SupportedExtensions(types) => types.contains(&ChunkType::RE_CONFIG.0),
            Parameter::Ipv4Address(_) | Parameter::SupportedAddressTypes(_) => false,
            Parameter::Unknown(raw) => {
                assert_eq!(raw.parameter_type, tresse_wire::ParameterType::PADDING);
                false
            }
            other => panic!("{other:?}"),
        })
    };
    assert!(offers(&config()));
    assert!(!offers(&standard()));
    assert!(AssociationConfig::default().extensions.stream_reconfiguration, "by default");
}

//= RFC 6525 5.1.1-2 5.1.1-3
#[test]
fn a_peer_without_the_extension_is_asked_nothing() {
    let mut script = Script::connected(&config());
    let (now, id) = (script.now, script.id);
    let refused = Err(ReconfigurationError::NotSupported);
    let outgoing = ResetDirection::Outgoing;
    assert_eq!(script.end.reset_streams(now, id, outgoing, &[]), refused);
    assert_eq!(script.end.reset_association(now, id), refused);
    assert_eq!(script.end.add_streams(now, id, 1, 1), refused);
    assert!(script.poll().is_empty());
}

//= RFC 6525 5.1.2-2 5.1.2-3 5.1.2-4 5.1.2-7 5.1.2-8 5.1.2-9 5.1.2-10 5.1.2-11 5.1.1-6
#[test]
fn outgoing_streams_are_reset_by_number_or_all() {
    let mut script = agreed(&config());
    send(&mut script, 3);
    script.sack(1, &[]);
    // No request of the peer so far: the next one less 1.
    let sent = reset(&mut script, ResetDirection::Outgoing, &[3, 5, 3]);
    assert_eq!(seen(&script, &sent), [[Out(0, -1, 0, vec![3, 5])]]);
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    let sent = reset(&mut script, ResetDirection::Outgoing, &[]);
    assert_eq!(seen(&script, &sent), [[Out(1, -1, 0, vec![])]]);
    answer(&mut script, 1, ReconfigurationResult::PERFORMED);
    let expected = [&[3, 5][..], &[]]
        .map(|list| reset_event(ResetDirection::Outgoing, list, Outcome::Performed));
    assert_eq!(told(&mut script), expected);
}

//= RFC 6525 5.1.2-1 5.2.7-4 5.2.7-1 5.2.7-2
#[test]
fn what_is_sent_meanwhile_waits_and_begins_with_ssn_0() {
    let mut script = agreed(&config());
    assert_eq!(ssns(&send(&mut script, 3)), [(3, 0)]);
    assert_eq!(ssns(&send(&mut script, 4)), [(4, 0)]);
    // Something of stream 3 is outstanding.
    assert!(reset(&mut script, ResetDirection::Outgoing, &[3]).is_empty());
    assert!(send(&mut script, 3).is_empty());
    assert_eq!(ssns(&send(&mut script, 4)), [(4, 1)], "others go on");
    let sent = script.sack(3, &[]);
    assert_eq!(seen(&script, &sent), [[Out(0, -1, 2, vec![3])]]);
    assert_eq!(ssns(&send(&mut script, 4)), [(4, 2)]);
    assert!(send(&mut script, 3).is_empty());
    assert_eq!(told(&mut script), []);
    let sent = answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(ssns(&sent), [(3, 0), (3, 1)]);
    assert_eq!(ssns(&send(&mut script, 4)), [(4, 3)]);
    // The timer has stopped.
    script.sack(7, &[]);
    assert!(asked(script.first, &script.wait(secs(20))).is_empty());
}

#[test]
fn without_a_reset_ssns_go_on() {
    for (result, outcome) in [
        (ReconfigurationResult::DENIED, Outcome::Denied),
        (ReconfigurationResult::WRONG_SSN, Outcome::Failed),
        (ReconfigurationResult::ALREADY_IN_PROGRESS, Outcome::Failed),
        (ReconfigurationResult::BAD_SEQUENCE_NUMBER, Outcome::Failed),
        (ReconfigurationResult(77), Outcome::Failed),
    ] {
        let mut script = agreed(&config());
        send(&mut script, 3);
        script.sack(1, &[]);
        reset(&mut script, ResetDirection::Outgoing, &[3]);
        send(&mut script, 3);
        assert_eq!(ssns(&answer(&mut script, 0, result)), [(3, 1)], "{result}");
        let expected = reset_event(ResetDirection::Outgoing, &[3], outcome);
        assert_eq!(told(&mut script), [expected]);
    }
}

#[test]
fn a_fragmented_message_that_has_begun_leaves_before_the_reset() {
    let mut script = agreed(&config());
    script.try_send(2, 20_000, SendOptions::default()).unwrap();
    let first = script.poll();
    assert!(!first[0].data()[0].flags.ending);
    script.end.reset_streams(script.now, script.id, ResetDirection::Outgoing, &[]).unwrap();
    send(&mut script, 2);
    let (mut acked, mut asked) =
        (first.iter().map(|p| p.tsns().len()).sum::<usize>() as u32, Vec::new());
    while asked.is_empty() {
        let sent = script.sack(acked, &[]);
        assert!(sent.iter().flat_map(|p| p.data()).all(|d| d.ssn == Ssn(0) && !d.flags.beginning));
        acked += sent.iter().map(|p| p.tsns().len()).sum::<usize>() as u32;
        asked = seen(&script, &sent);
    }
    assert_eq!(asked, [[Out(0, -1, acked - 1, vec![])]]);
    let sent = answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(ssns(&sent), [(2, 0)]);
}

#[test]
fn a_parked_message_can_expire_and_fails_with_the_association() {
    let mut script = agreed(&config());
    send(&mut script, 1);
    reset(&mut script, ResetDirection::Outgoing, &[1]);
    let options = SendOptions { lifetime: Some(ms(50)), context: 7, ..SendOptions::default() };
    script.try_send(1, 100, options).unwrap();
    script.try_send(1, 100, SendOptions { context: 8, ..SendOptions::default() }).unwrap();
    script.wait(ms(60));
    let expired = |e: &Event| matches!(e, Event::Expired(f) if f.context == 7 && !f.sent);
    assert!(script.events.iter().any(expired), "{:?}", script.events);
    script.end.abort(script.now, script.id, b"").unwrap();
    script.poll();
    let failed = |e: &Event| matches!(e, Event::SendFailed(f) if f.context == 8 && !f.sent);
    assert!(script.events.iter().any(failed), "{:?}", script.events);
    let expected = reset_event(ResetDirection::Outgoing, &[1], Outcome::Failed);
    assert!(script.events.contains(&expected), "{:?}", script.events);
}

//= RFC 6525 5.1.1-4 5.1.1-5
#[test]
fn one_request_is_in_flight() {
    let mut script = agreed(&config());
    reset(&mut script, ResetDirection::Incoming, &[1]);
    let (now, id) = (script.now, script.id);
    let refused = Err(ReconfigurationError::InProgress);
    let outgoing = ResetDirection::Outgoing;
    assert_eq!(script.end.reset_streams(now, id, outgoing, &[]), refused);
    assert_eq!(script.end.add_streams(now, id, 1, 0), refused);
    // What waiting does not help is said at once.
    let none = script.end.reset_streams(now, id, outgoing, &[StreamId(60_000)]);
    assert!(matches!(none, Err(ReconfigurationError::NoStream { stream: 60_000, .. })), "{none:?}");
    assert_eq!(script.end.add_streams(now, id, 0, 0), Err(ReconfigurationError::Nothing));
    // What the peer asks for waits as well.
    send(&mut script, 1);
    script.sack(1, &[]);
    let sent = give(&mut script, |p| {
        p.incoming_ssn_reset(theirs(0), [StreamId(1)]);
    });
    assert_eq!(seen(&script, &sent), [[Response(0, 6)]]);
    let sent = answer(&mut script, 0, ReconfigurationResult::DENIED);
    assert_eq!(seen(&script, &sent), [[Out(1, 0, 0, vec![1])]]);
}

//= RFC 6525 5.1.1-8 5.1.1-9
#[test]
fn the_request_is_sent_again_with_backoff_until_the_peer_is_given_up() {
    let mut script = agreed(&config());
    let sent = reset(&mut script, ResetDirection::Incoming, &[1]);
    let (first, rto) = (sent[0].clone(), script.path(0).rto);
    let begun = script.now;
    let again = script.wait(secs(600));
    let again: Vec<&Sent> = again.iter().filter(|p| p.carries(ChunkType::RE_CONFIG)).collect();
    // Heartbeats go unanswered, too.
    assert!((4..=10).contains(&again.len()), "{}", again.len());
    assert!(again.iter().all(|p| p.find(ChunkType::RE_CONFIG) == first.find(ChunkType::RE_CONFIG)));
    let waits: Vec<Duration> = std::iter::once(begun)
        .chain(again.iter().map(|p| p.at))
        .collect::<Vec<_>>()
        .windows(2)
        .map(|w| w[1].since(w[0]))
        .collect();
    assert_eq!(waits[0], rto);
    assert!(waits.windows(2).all(|w| w[1] >= w[0]), "{waits:?}");
    assert_eq!(waits[1], 2 * rto);
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
    let failed = reset_event(ResetDirection::Incoming, &[1], Outcome::Failed);
    assert_eq!(told(&mut script), [failed]);
    assert!(matches!(script.events.last(), Some(Event::Closed(_))));
}

//= RFC 6525 5.1.1-9
#[test]
fn each_time_in_vain_is_an_error_of_the_destination() {
    let mut script = agreed(&config());
    // So that nothing else is counted.
    let settings = PathSettings { heartbeats: false, ..script.path(0).settings };
    script.end.configure_path(script.now, script.id, PathId(0), settings).unwrap();
    reset(&mut script, ResetDirection::Incoming, &[1]);
    for errors in 1..=6 {
        let rto = script.path(0).rto;
        let sent = script.wait(rto);
        assert_eq!(seen(&script, &sent), [[In(0, vec![1])]]);
        let path = script.path(0);
        assert_eq!((path.errors, path.rto), (errors, (2 * rto).min(secs(60))));
        // RFC 9260 §8.2: Path.Max.Retrans is 5.
        let state = if errors > 5 { PathState::Inactive } else { PathState::Active };
        assert_eq!(path.state, state, "{errors}");
    }
    answer(&mut script, 0, ReconfigurationResult::DENIED);
    assert_eq!((script.path(0).errors, script.path(0).state), (0, PathState::Active));
}

/// Lets `span` pass, in which the peer answers each heartbeat and acknowledges all data, and nothing else.
fn deaf(script: &mut Script, span: Duration) -> usize {
    let end = script.now + span;
    let (mut asked, mut acknowledged) = (0, 0);
    while script.now < end && script.closed().is_none() {
        let sent = script.wait(secs(1));
        asked += sent.iter().filter(|p| p.carries(ChunkType::RE_CONFIG)).count();
        for info in sent.iter().filter_map(|p| p.find(ChunkType::HEARTBEAT)) {
            let info = info.value.to_vec();
            script.give(|w| w.heartbeat_ack(&info));
        }
        let data: u32 = sent.iter().map(|p| p.data().len() as u32).sum();
        if data > 0 {
            acknowledged += data;
            script.sack(acknowledged, &[]);
        }
    }
    asked
}

//= RFC 6525 5.1.1-9
/// RFC 9260 §8.1: "The counter MUST be reset each time a DATA chunk sent to that peer endpoint is acknowledged (by the
/// reception of a SACK chunk). When a HEARTBEAT ACK chunk is received from the peer endpoint, the counter SHOULD also be
/// reset."
#[test]
fn a_peer_that_answers_all_but_a_request_keeps_its_association() {
    let eager = AssociationConfig { profile: Profile::tresse(), ..config() };
    for config in [config(), eager] {
        let mut script = agreed(&config);
        reset(&mut script, ResetDirection::Incoming, &[1]);
        let asked = deaf(&mut script, secs(3600));
        assert!(asked > 30, "it is asked again and again, {asked} times");
        assert_eq!(script.closed(), None);
        assert_ne!(script.path(0).state, PathState::Inactive);
        assert_eq!(told(&mut script), [], "nothing is known yet");
    }
}

//= RFC 6525 5.1.1-9
#[test]
fn data_that_is_acknowledged_keeps_it_too_without_heartbeats() {
    let mut script = agreed(&config());
    let settings = PathSettings { heartbeats: false, ..script.path(0).settings };
    script.end.configure_path(script.now, script.id, PathId(0), settings).unwrap();
    reset(&mut script, ResetDirection::Incoming, &[1]);
    let begun = script.now;
    let mut count = 0;
    while script.now.since(begun) < secs(3600) {
        send(&mut script, 3);
        count += 1;
        script.sack(count, &[]);
        script.wait(secs(20));
    }
    assert_eq!((script.closed(), script.path(0).state), (None, PathState::Active));
    // RFC 6525 §5.1.1 has it counted: with nothing else from the peer the association ends.
    script.wait(secs(3600));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

//= RFC 6525 5.2.7-3
#[test]
fn in_progress_is_no_error() {
    let mut script = agreed(&config());
    reset(&mut script, ResetDirection::Incoming, &[1]);
    let rto = script.path(0).rto;
    for _ in 0..40 {
        answer(&mut script, 0, ReconfigurationResult::IN_PROGRESS);
        let sent = script.wait(rto);
        assert_eq!(seen(&script, &sent), [[In(0, vec![1])]]);
        for info in sent.iter().filter_map(|p| p.find(ChunkType::HEARTBEAT)) {
            let info = info.value.to_vec();
            script.give(|w| w.heartbeat_ack(&info));
        }
    }
    assert_eq!((script.closed(), script.path(0).errors), (None, 0));
}

//= RFC 9260 8.1-4
/// As after a heartbeat: where nothing but answers comes, the data is still missing.
#[test]
fn nor_does_it_forgive_data_that_is_outstanding() {
    let mut script = agreed(&config());
    script.send(100);
    reset(&mut script, ResetDirection::Incoming, &[1]);
    for _ in 0..600 {
        answer(&mut script, 0, ReconfigurationResult::IN_PROGRESS);
        script.wait(secs(1));
        if script.closed().is_some() {
            break;
        }
    }
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

//= RFC 6525 5.1.3-1 5.1.3-2 5.1.3-3 5.1.3-4 5.1.3-5 5.1.3-6 5.1.3-7 5.2.2-1 5.2.2-2
#[test]
fn incoming_streams_are_reset_by_a_request_of_the_peer() {
    let mut script = agreed(&config());
    data(&mut script, 0, 2, 0);
    let sent = reset(&mut script, ResetDirection::Incoming, &[2]);
    assert_eq!(seen(&script, &sent), [[In(0, vec![2])]]);
    let response = ours(&script, 0);
    let sent = give(&mut script, |p| {
        p.outgoing_ssn_reset(theirs(0), response, PEER_TSN, [StreamId(2)]);
    });
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    assert_eq!(read(&mut script), [(0, 2, 0)]);
    let done = reset_event(ResetDirection::Incoming, &[2], Outcome::Performed);
    assert_eq!(told(&mut script), [done]);
    data(&mut script, 1, 2, 0);
    assert_eq!(read(&mut script), [(1, 2, 0)]);
    // The request is answered: nothing is sent again, and the next one may leave.
    assert!(asked(script.first, &script.wait(secs(20))).is_empty());
    assert_eq!(
        asked(script.first, &reset(&mut script, ResetDirection::Incoming, &[])),
        [[In(1, vec![])]]
    );
}

#[test]
fn both_directions_are_asked_for_in_one_chunk() {
    let mut script = agreed(&config());
    let sent = reset(&mut script, ResetDirection::Both, &[4]);
    assert_eq!(seen(&script, &sent), [[Out(0, -1, u32::MAX, vec![4]), In(1, vec![4])]]);
    // RFC 6525, appendix A: one chunk answers both.
    let (performed, response) = (ReconfigurationResult::PERFORMED, ours(&script, 1));
    let first =
        ReconfigurationResponse { request: ours(&script, 0), result: performed, next_tsns: None };
    let last = PEER_TSN.wrapping_sub(1);
    let sent = give(&mut script, |p| {
        p.reconfiguration_response(&first).outgoing_ssn_reset(
            theirs(0),
            response,
            last,
            [StreamId(4)],
        );
    });
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    let both = [ResetDirection::Outgoing, ResetDirection::Incoming];
    assert_eq!(told(&mut script), both.map(|d| reset_event(d, &[4], Outcome::Performed)));
    assert!(reset(&mut script, ResetDirection::Outgoing, &[4]).len() == 1);
}

#[test]
fn streams_that_do_not_exist_and_lists_that_are_too_long_are_refused() {
    let mut script = agreed(&config());
    let (now, id) = (script.now, script.id);
    let refused = Err(ReconfigurationError::NoStream { stream: 10, streams: 10 });
    for direction in [ResetDirection::Outgoing, ResetDirection::Incoming, ResetDirection::Both] {
        assert_eq!(script.end.reset_streams(now, id, direction, &streams(&[1, 10])), refused);
    }
    let wide = AssociationConfig { outbound_streams: u16::MAX, ..config() };
    let (mut pair, a, _) = Pair::connected(&wide, 1);
    let many: Vec<u16> = (0..2000).collect();
    let (now, outgoing) = (pair.now, ResetDirection::Outgoing);
    let error = pair.end(Side::A).reset_streams(now, a, outgoing, &streams(&many)).unwrap_err();
    let ReconfigurationError::TooManyStreams { limit } = error else { panic!("{error}") };
    let result =
        pair.end(Side::A).reset_streams(now, a, ResetDirection::Both, &streams(&many[..limit]));
    assert_eq!(result, Ok(()));
    pair.run(secs(1));
    assert!(pair.sent(Side::A, ChunkType::RE_CONFIG).iter().all(|p| p.bytes.len() <= 1480));
    assert_eq!(
        pair.events.iter().filter(|(_, _, e)| matches!(e, Event::StreamsReset { .. })).count(),
        3,
        "nothing was to do for the other one"
    );
}

//= RFC 6525 5.1.4-1 5.1.4-2 5.1.4-3 5.1.4-4 5.1.4-5 5.1.4-6 5.2.7-5 5.2.7-6
#[test]
fn an_association_is_reset_with_new_tsns() {
    let mut script = agreed(&config());
    data(&mut script, 0, 2, 0);
    send(&mut script, 3);
    script.end.reset_association(script.now, script.id).unwrap();
    assert!(script.poll().is_empty(), "something is outstanding");
    assert!(send(&mut script, 4).is_empty());
    let sent = script.sack(1, &[]);
    assert_eq!(seen(&script, &sent), [[Seen::Tsn(0)]]);
    assert!(send(&mut script, 3).is_empty());
    // The peer has done it, and its data overtakes the answer.
    data(&mut script, 1, 2, 0);
    assert_eq!(read(&mut script), [(0, 2, 0)]);
    let next_tsns = Some((PEER_TSN.wrapping_add(1), Tsn(77)));
    let (request, result) = (ours(&script, 0), ReconfigurationResult::PERFORMED);
    let response = ReconfigurationResponse { request, result, next_tsns };
    let sent = give(&mut script, |p| {
        p.reconfiguration_response(&response);
    });
    assert_eq!(ssns(&sent), [(4, 0), (3, 0)]);
    assert_eq!(sent.iter().flat_map(Sent::tsns).collect::<Vec<_>>(), [77, 78]);
    let (local_tsn, remote_tsn) = (Tsn(77), PEER_TSN.wrapping_add(2));
    let done = Event::AssociationReset { outcome: Outcome::Performed, local_tsn, remote_tsn };
    assert_eq!(told(&mut script), [done]);
    assert_eq!(read(&mut script), [(1, 2, 0)]);
    data(&mut script, 2, 2, 1);
    assert_eq!(read(&mut script), [(2, 2, 1)]);
    // An acknowledgement from before comes late.
    assert!(script.sack(1, &[]).is_empty());
    assert_eq!(script.closed(), None);
    script.give(|w| script::write_sack(w, Tsn(78), &[], script::RWND));
    assert_eq!(script.stats().send_buffered, 0);
}

#[test]
fn an_association_that_is_not_reset_goes_on() {
    let mut script = agreed(&config());
    data(&mut script, 0, 2, 0);
    script.end.reset_association(script.now, script.id).unwrap();
    script.poll();
    assert!(send(&mut script, 3).is_empty());
    data(&mut script, 1, 2, 1);
    assert_eq!(read(&mut script), [(0, 2, 0)]);
    let sent = answer(&mut script, 0, ReconfigurationResult::DENIED);
    assert_eq!(ssns(&sent), [(3, 0)]);
    assert_eq!(sent[0].tsns(), [script.first.0]);
    assert_eq!(read(&mut script), [(1, 2, 1)]);
    assert!(matches!(
        told(&mut script)[..],
        [Event::AssociationReset { outcome: Outcome::Denied, .. }]
    ));
}

//= RFC 6525 5.1.4-7
#[test]
fn an_association_is_reset_once_in_30_seconds() {
    let mut script = agreed(&config());
    script.end.reset_association(script.now, script.id).unwrap();
    script.poll();
    answer(&mut script, 0, ReconfigurationResult::DENIED);
    let too_soon = Err(ReconfigurationError::TooSoon);
    assert_eq!(script.end.reset_association(script.now, script.id), too_soon);
    script.now += secs(30);
    assert_eq!(script.end.reset_association(script.now, script.id), Ok(()));
}

//= RFC 6525 5.1.5-1 5.1.5-2 5.2.7-7 5.2.7-8
#[test]
fn added_outgoing_streams_are_used_once_the_peer_agrees() {
    let mut script = agreed(&config());
    script.end.add_streams(script.now, script.id, 3, 0).unwrap();
    assert_eq!(asked(script.first, &script.poll()), [[AddOut(0, 3)]]);
    let no_stream =
        |script: &mut Script, stream| script.try_send(stream, 10, SendOptions::default()).is_err();
    assert!(no_stream(&mut script, 10));
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(ssns(&send(&mut script, 12)), [(12, 0)]);
    assert!(no_stream(&mut script, 13));
    let added = |outcome, outbound_streams| Event::StreamsAdded {
        outcome,
        outbound_streams,
        inbound_streams: 10,
    };
    assert_eq!(told(&mut script), [added(Outcome::Performed, 13)]);
    script.end.add_streams(script.now, script.id, 1, 0).unwrap();
    script.poll();
    answer(&mut script, 1, ReconfigurationResult::DENIED);
    assert!(no_stream(&mut script, 13));
    assert_eq!(told(&mut script), [added(Outcome::Denied, 13)]);
}

//= RFC 6525 5.1.6-1
#[test]
fn added_incoming_streams_come_with_a_request_of_the_peer() {
    let mut script =
        agreed(&AssociationConfig { reconfiguration: ReconfigurationPolicy::DENY, ..config() });
    script.end.add_streams(script.now, script.id, 0, 2).unwrap();
    assert_eq!(asked(script.first, &script.poll()), [[AddIn(0, 2)]]);
    let sent = give(&mut script, |p| {
        p.add_outgoing_streams(add(0, 2));
    });
    // It was asked for, whatever the peer may ask for by itself.
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    data(&mut script, 0, 11, 0);
    assert_eq!(read(&mut script), [(0, 11, 0)]);
    let outcome = Outcome::Performed;
    let added = Event::StreamsAdded { outcome, outbound_streams: 10, inbound_streams: 12 };
    assert_eq!(told(&mut script), [added]);
    assert!(asked(script.first, &script.wait(secs(20))).is_empty(), "it is answered");
}

#[test]
fn both_may_be_added_at_once() {
    let mut script = agreed(&config());
    let (now, id) = (script.now, script.id);
    assert_eq!(script.end.add_streams(now, id, 0, 0), Err(ReconfigurationError::Nothing));
    let refused = Err(ReconfigurationError::TooManyStreams { limit: 65_525 });
    assert_eq!(script.end.add_streams(now, id, 65_526, 0), refused);
    script.end.add_streams(now, id, 1, 2).unwrap();
    assert_eq!(asked(script.first, &script.poll()), [[AddOut(0, 1), AddIn(1, 2)]]);
}

#[test]
fn it_is_too_early_or_too_late_outside_of_established() {
    let outgoing = ResetDirection::Outgoing;
    let ask = |script: &mut Script| {
        script.end.reset_streams(script.now, script.id, outgoing, &[]).unwrap_err()
    };
    let mut script = Script::connecting(&config());
    assert_eq!(ask(&mut script), ReconfigurationError::NotEstablished);
    let mut script = agreed(&config());
    send(&mut script, 0);
    script.shutdown();
    assert_eq!(ask(&mut script), ReconfigurationError::ShuttingDown);
    script.id = AssociationId::default();
    assert_eq!(ask(&mut script), ReconfigurationError::NoAssociation);
}

/// The peer says that it has not reset the association, then that it has, and only the former comes through, late: what came
/// since then is from after the reset, however little room there is.
#[test]
fn what_is_kept_is_let_through_up_to_the_tsn_that_the_peer_names() {
    let config = AssociationConfig { receive_buffer: 4096, ..config() };
    let mut script = agreed(&config);
    let (now, id) = (script.now, script.id);
    script.end.reset_association(now, id).unwrap();
    script.poll();
    data(&mut script, 0, 0, 0);
    let request = ours(&script, 0);
    let next_tsns = Some((PEER_TSN.wrapping_add(1), Tsn(77)));
    let answer = |script: &mut Script, result| {
        let response = ReconfigurationResponse { request, result, next_tsns };
        give(script, |p| {
            p.reconfiguration_response(&response);
        })
    };
    for n in 1..4 {
        // The peer has nothing outstanding by now, and begins again.
        script.data_at(PEER_TSN.wrapping_add(n), 1000);
    }
    for _ in 0..3 {
        script.wait(secs(3));
        answer(&mut script, ReconfigurationResult::IN_PROGRESS);
    }
    assert_eq!(script.recv().map(|m| m.tsn), Some(PEER_TSN));
    assert!(script.recv().is_none(), "it is not known yet");
    answer(&mut script, ReconfigurationResult::PERFORMED);
    assert!(told(&mut script).iter().any(|event| matches!(event, Event::AssociationReset { .. })));
    assert_eq!(script.recv().map(|m| m.tsn), Some(PEER_TSN.wrapping_add(1)));
}
