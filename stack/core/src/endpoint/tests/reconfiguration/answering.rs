//! What the endpoint answers (RFC 6525 §5.2), to a peer that the test plays.

use super::*;

/// The peer resets streams of its own; its request number `n` follows TSN `last`.
fn peer_resets(script: &mut Script, n: u32, last: i64, list: &[u16]) -> Vec<Sent> {
    let last = Tsn(PEER_TSN.0.wrapping_add_signed(last as i32));
    let response = RequestNumber(script.first.0).wrapping_sub(1);
    let list = streams(list);
    give(script, |p| {
        p.outgoing_ssn_reset(theirs(n), response, last, list);
    })
}

//= RFC 6525 5.1.1-7 5.1.7-1 5.1.7-2 5.1.7-4 5.1.7-7 5.2.1-1 5.2.2-7 5.2.2-9 5.2.2-10
#[test]
fn incoming_streams_begin_again() {
    let mut script = agreed(&config());
    data(&mut script, 0, 1, 0);
    data(&mut script, 1, 2, 0);
    let sent = peer_resets(&mut script, 0, 1, &[1]);
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    // The event comes when what was before it is read.
    assert_eq!(told(&mut script), []);
    data(&mut script, 2, 1, 0);
    data(&mut script, 3, 2, 1);
    assert_eq!(script.recv().map(|m| m.tsn), Some(PEER_TSN));
    assert_eq!(told(&mut script), []);
    script.recv();
    let done = reset_event(ResetDirection::Incoming, &[1], Outcome::Performed);
    assert_eq!(told(&mut script), [done]);
    assert_eq!(read(&mut script), [(2, 1, 0), (3, 2, 1)]);
    // No timer runs for a response.
    assert!(asked(script.first, &script.wait(secs(20))).is_empty());
}

//= RFC 6525 5.2.1-3
#[test]
fn each_request_is_answered_with_a_sack_though_none_is_due() {
    let mut script = agreed(&config());
    data(&mut script, 0, 1, 0);
    data(&mut script, 1, 1, 1);
    script.wait(secs(1));
    assert_eq!(script.wait(secs(1)).len(), 0, "all data is acknowledged");
    // The second one is the same again.
    for _ in 0..2 {
        let sent = peer_resets(&mut script, 0, 1, &[1]);
        assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
        let sack = sent.iter().find_map(Sent::sack).unwrap();
        assert_eq!(sack.cumulative_tsn_ack, PEER_TSN.wrapping_add(1));
    }
    // A response is no request.
    reset(&mut script, ResetDirection::Incoming, &[1]);
    let sent = answer(&mut script, 0, ReconfigurationResult::DENIED);
    assert!(!sent.iter().any(|p| p.carries(ChunkType::SACK)));
}

/// They belong to the time before, whatever they waited for.
#[test]
fn what_waited_in_vain_is_read_before_the_event() {
    let mut script = agreed(&config());
    data(&mut script, 0, 1, 1); // SSN 0 never comes.
    assert!(script.recv().is_none());
    let sent = peer_resets(&mut script, 0, 0, &[1]);
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    assert_eq!(told(&mut script), []);
    assert_eq!(script.recv().map(|m| m.tsn), Some(PEER_TSN));
    assert_eq!(
        told(&mut script),
        [reset_event(ResetDirection::Incoming, &[1], Outcome::Performed)]
    );
}

/// The source of a path may be one that leads nowhere: where all data is acknowledged nothing but requests would tell, and
/// whoever waits for the response could not even shut down.
#[test]
fn a_response_leaves_from_where_the_request_arrived() {
    let local = addresses(Side::A, 2);
    let mut script = Script::with_end(pair::endpoint(Side::A, 2, &config()));
    script.connect(&config(), &addresses(Side::Z, 1));
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(&[ChunkType::RE_CONFIG.0]);
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    let response = RequestNumber(script.first.0).wrapping_sub(1);
    for destination in [local[1], local[0]] {
        let mut parameters = ParameterWriter::new();
        parameters.outgoing_ssn_reset(theirs(0), response, PEER_TSN.wrapping_sub(1), []);
        let parameters = parameters.finish();
        let packet = script::packet(script.tag, |w| w.re_config(&parameters));
        let source = addresses(Side::Z, 1)[0];
        let datagram = Datagram {
            source,
            destination,
            encapsulation: None,
            ecn: Ecn::NotEct,
            packet: packet.into(),
        };
        let sent = script.give_datagram(datagram);
        let answer = sent.iter().find(|p| p.carries(ChunkType::RE_CONFIG)).unwrap();
        assert_eq!(answer.to.source, Some(destination));
    }
}

//= RFC 6525 5.2.2-6
#[test]
fn without_a_list_all_streams_begin_again() {
    let mut script = agreed(&config());
    for stream in 0..10 {
        data(&mut script, u32::from(stream), stream, 0);
    }
    read(&mut script);
    assert_eq!(asked(script.first, &peer_resets(&mut script, 0, 9, &[])), [[Response(0, 1)]]);
    for stream in 0..10 {
        data(&mut script, 10 + u32::from(stream), stream, 0);
    }
    assert_eq!(read(&mut script).len(), 10);
    assert_eq!(told(&mut script), [reset_event(ResetDirection::Incoming, &[], Outcome::Performed)]);
}

//= RFC 6525 5.2.2-3 5.2.2-4 5.2.2-5 5.2.2-8 5.2.1-4
#[test]
fn a_reset_waits_for_what_is_missing_before_it() {
    let mut script = agreed(&config());
    data(&mut script, 1, 1, 1);
    let sent = peer_resets(&mut script, 0, 2, &[1]);
    assert_eq!(seen(&script, &sent), [[Response(0, 6)]]);
    // A peer that does not wait for the answer: this is for after the reset. Other streams are not touched.
    data(&mut script, 3, 1, 0);
    data(&mut script, 4, 1, 1);
    data(&mut script, 5, 2, 0);
    assert_eq!(read(&mut script), [(5, 2, 0)]);
    data(&mut script, 0, 1, 0);
    assert_eq!(read(&mut script), [(0, 1, 0), (1, 1, 1)]);
    assert_eq!(asked(script.first, &peer_resets(&mut script, 0, 2, &[1])), [[Response(0, 6)]]);
    assert_eq!(told(&mut script), []);
    // The last one: the answer leaves by itself, and again when it is asked for.
    let sent = data(&mut script, 2, 1, 2);
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    assert_eq!(asked(script.first, &peer_resets(&mut script, 0, 2, &[1])), [[Response(0, 1)]]);
    assert_eq!(read(&mut script), [(2, 1, 2), (3, 1, 0), (4, 1, 1)]);
    assert_eq!(
        told(&mut script),
        [reset_event(ResetDirection::Incoming, &[1], Outcome::Performed)]
    );
}

#[test]
fn fragments_and_unordered_messages_behind_a_reset_wait_too() {
    let mut script = agreed(&config());
    peer_resets(&mut script, 0, 0, &[1]);
    let chunk = |script: &mut Script, tsn: u32, unordered: bool, ends: [bool; 2]| {
        let [beginning, ending] = ends;
        let flags = DataFlags { unordered, beginning, ending, ..DataFlags::default() };
        let tsn = PEER_TSN.wrapping_add(tsn);
        script.give(|w| w.data(tsn, StreamId(1), Ssn(0), Ppid(0), flags, &[3; 10]));
    };
    chunk(&mut script, 3, false, [false, true]);
    chunk(&mut script, 1, true, [true, true]);
    chunk(&mut script, 2, false, [true, false]);
    assert_eq!(read(&mut script), []);
    data(&mut script, 0, 1, 0);
    assert_eq!(read(&mut script), [(0, 1, 0), (1, 1, 0), (2, 1, 0)]);
}

#[test]
fn what_waited_for_an_ssn_that_never_comes_is_delivered_before_the_reset() {
    let mut script = agreed(&config());
    data(&mut script, 0, 1, 2);
    data(&mut script, 1, 1, 1);
    assert_eq!(read(&mut script), []);
    assert_eq!(asked(script.first, &peer_resets(&mut script, 0, 1, &[1])), [[Response(0, 1)]]);
    data(&mut script, 2, 1, 0);
    assert_eq!(read(&mut script), [(1, 1, 1), (0, 1, 2), (2, 1, 0)]);
}

//= RFC 6525 5.2.1-4
#[test]
fn a_repeated_request_gets_the_same_answer_and_a_wrong_one_a_refusal() {
    let mut script = agreed(&config());
    assert_eq!(asked(script.first, &peer_resets(&mut script, 0, -1, &[1])), [[Response(0, 1)]]);
    data(&mut script, 0, 1, 0);
    for _ in 0..3 {
        let sent = peer_resets(&mut script, 0, -1, &[1]);
        assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
    }
    data(&mut script, 1, 1, 1);
    assert_eq!(read(&mut script).len(), 2, "it was reset once");
    assert_eq!(told(&mut script).len(), 1);
    for n in [2, 9, u32::MAX] {
        let sent = peer_resets(&mut script, n, 1, &[1]);
        assert_eq!(seen(&script, &sent), [[Response(n, 5)]]);
    }
    assert_eq!(script.stats().reconfigurations_refused, 3);
    assert_eq!(script.stats().reconfigurations_seen_again, 3);
}

/// The answer to a reset of the association after which nothing has changed: no TSN is missing.
fn tsns(script: &Script, n: u32, result: u32) -> Seen {
    let next = PEER_TSN.wrapping_add(1 << 31);
    let sent = script.stats().data_chunks_sent as u32;
    Tsns(n, result, script.first.wrapping_add(sent), next)
}

//= RFC 6525 5.2.1-5
#[test]
fn what_is_not_allowed_is_denied_and_what_does_not_exist_is_wrong() {
    let policy = ReconfigurationPolicy::DENY;
    let mut script = agreed(&AssociationConfig { reconfiguration: policy, ..config() });
    let requests: [fn(&mut ParameterWriter, RequestNumber); 5] = [
        |p, n| {
            p.outgoing_ssn_reset(n, RequestNumber(0), PEER_TSN.wrapping_sub(1), []);
        },
        |p, n| {
            p.incoming_ssn_reset(n, []);
        },
        |p, n| {
            p.ssn_tsn_reset(n);
        },
        |p, request| {
            p.add_outgoing_streams(AddStreams { request, streams: 1 });
        },
        |p, request| {
            p.add_incoming_streams(AddStreams { request, streams: 1 });
        },
    ];
    for (n, request) in requests.into_iter().enumerate() {
        let n = n as u32;
        let sent = give(&mut script, |p| request(p, theirs(n)));
        let denied = if n == 2 { tsns(&script, n, 2) } else { Response(n, 2) };
        assert_eq!(seen(&script, &sent), [[denied]]);
    }
    assert_eq!(told(&mut script), []);
    assert_eq!(script.stats().reconfigurations_refused, 5);
    let mut script = agreed(&config());
    assert_eq!(asked(script.first, &peer_resets(&mut script, 0, -1, &[3, 10])), [[Response(0, 3)]]);
    let sent = give(&mut script, |p| {
        p.incoming_ssn_reset(theirs(1), [StreamId(10)]);
    });
    assert_eq!(seen(&script, &sent), [[Response(1, 3)]]);
}

//= RFC 6525 5.1.2-5 5.1.2-6 5.2.3-1 5.2.3-2
#[test]
fn the_peer_asks_for_a_reset_of_our_streams() {
    let mut script = agreed(&config());
    send(&mut script, 1);
    send(&mut script, 2);
    let ask = |script: &mut Script, n: u32| {
        give(script, |p| {
            p.incoming_ssn_reset(theirs(n), [2, 1].map(StreamId));
        })
    };
    // What is outstanding has to arrive first.
    let sent = ask(&mut script, 0);
    assert_eq!(seen(&script, &sent), [[Response(0, 6)]]);
    let sent = script.sack(2, &[]);
    assert_eq!(seen(&script, &sent), [[Out(0, 0, 1, vec![1, 2])]]);
    // It is lost: the same again.
    let sent = ask(&mut script, 0);
    assert_eq!(seen(&script, &sent), [[Out(0, 0, 1, vec![1, 2])]]);
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(ssns(&send(&mut script, 1)), [(1, 0)]);
    let done = reset_event(ResetDirection::Outgoing, &[1, 2], Outcome::Performed);
    assert_eq!(told(&mut script), [done]);
    let sent = ask(&mut script, 0);
    assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
}

//= RFC 6525 5.2.3-3 5.2.3-4 5.2.3-5
#[test]
fn nothing_is_to_do_where_we_have_just_asked_or_nothing_was_sent() {
    let mut script = agreed(&config());
    let ask = |script: &mut Script, n: u32, list: &[u16]| {
        let list = streams(list);
        let sent = give(script, |p| {
            p.incoming_ssn_reset(theirs(n), list);
        });
        seen(script, &sent)
    };
    assert_eq!(ask(&mut script, 0, &[1, 2]), [[Response(0, 0)]]);
    for stream in [1, 2, 3] {
        send(&mut script, stream);
    }
    script.sack(3, &[]);
    reset(&mut script, ResetDirection::Outgoing, &[1, 2]);
    // Completely overlapped.
    assert_eq!(ask(&mut script, 1, &[2]), [[Response(1, 0)]]);
    // Not completely: it is processed.
    assert_eq!(ask(&mut script, 2, &[2, 3]), [[Response(2, 6)]]);
    let sent = answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(seen(&script, &sent), [[Out(1, 2, 2, vec![2, 3])]]);
    answer(&mut script, 1, ReconfigurationResult::PERFORMED);
    assert_eq!(ask(&mut script, 3, &[1, 2, 3]), [[Response(3, 0)]]);
}

//= RFC 6525 5.2.1-2
#[test]
fn two_requests_are_answered_in_one_chunk() {
    let mut script = agreed(&config());
    send(&mut script, 1);
    script.sack(1, &[]);
    let last = PEER_TSN.wrapping_sub(1);
    let both = |script: &mut Script| {
        give(script, |p| {
            p.outgoing_ssn_reset(theirs(0), RequestNumber(0), last, [StreamId(1)]);
            p.incoming_ssn_reset(theirs(1), [StreamId(1)]);
        })
    };
    // RFC 6525, appendix A.
    let sent = both(&mut script);
    assert_eq!(seen(&script, &sent), [[Response(0, 1), Out(0, 1, 0, vec![1])]]);
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    let sent = both(&mut script);
    assert_eq!(seen(&script, &sent), [[Response(0, 1), Response(1, 1)]]);
    let sent = give(&mut script, |p| {
        p.add_outgoing_streams(add(2, 5)).add_incoming_streams(add(3, 6));
    });
    // These may not stand together (RFC 6525 §3.1).
    assert_eq!(seen(&script, &sent), [vec![AddOut(1, 6)], vec![Response(2, 1)]]);
}

//= RFC 6525 3.1-1
#[test]
fn other_combinations_are_a_violation_of_the_protocol() {
    let combinations: [fn(&mut ParameterWriter); 4] = [
        |p| {
            p.incoming_ssn_reset(theirs(0), []).add_outgoing_streams(add(1, 1));
        },
        |p| {
            p.ssn_tsn_reset(theirs(0)).ssn_tsn_reset(theirs(1));
        },
        |p| {
            p.add_incoming_streams(add(0, 1)).incoming_ssn_reset(theirs(1), []);
        },
        |p| {
            p.incoming_ssn_reset(theirs(0), [])
                .incoming_ssn_reset(theirs(1), [])
                .incoming_ssn_reset(theirs(2), []);
        },
    ];
    for write in combinations {
        let mut script = agreed(&config());
        let sent = give(&mut script, write);
        assert_eq!(sent[0].cause_codes(), [CauseCode::PROTOCOL_VIOLATION]);
        assert_eq!(seen(&script, &sent), Vec::<Vec<Seen>>::new());
        // None of them was taken.
        let sent = peer_resets(&mut script, 0, -1, &[]);
        assert_eq!(seen(&script, &sent), [[Response(0, 1)]]);
        assert_eq!(script.stats().malformed_chunks, 1);
    }
}

//= RFC 6525 5.1.7-3 5.1.7-5 5.1.7-6 5.2.4-1 5.2.4-2 5.2.4-4 5.2.4-5 5.2.4-6 5.2.4-7
#[test]
fn the_peer_resets_the_association() {
    let mut script = agreed(&config());
    data(&mut script, 0, 1, 0);
    send(&mut script, 3);
    script.sack(1, &[]);
    let ask = |script: &mut Script| {
        give(script, |p| {
            p.ssn_tsn_reset(theirs(0));
        })
    };
    let sent = ask(&mut script);
    let receivers_next = PEER_TSN.wrapping_add(1).wrapping_add(1 << 31);
    let answer = Tsns(0, 1, script.tsn(1), receivers_next);
    assert_eq!(seen(&script, &sent), [[answer.clone()]]);
    // The event comes behind what was there.
    assert_eq!(told(&mut script), []);
    assert_eq!(read(&mut script), [(0, 1, 0)]);
    let (local_tsn, outcome) = (script.tsn(1), Outcome::Performed);
    let done = Event::AssociationReset { outcome, local_tsn, remote_tsn: receivers_next };
    assert_eq!(told(&mut script), [done]);
    // Both directions begin with SSN 0; what comes late from before is dropped.
    let sent = send(&mut script, 3);
    assert_eq!((ssns(&sent), sent[0].tsns()), (vec![(3, 0)], vec![script.tsn(1).0]));
    data(&mut script, 0, 1, 0);
    data(&mut script, 1, 1, 1);
    assert_eq!(read(&mut script), []);
    let new = 1 + (1 << 31);
    data(&mut script, new, 1, 0);
    let sent = data(&mut script, new + 1, 1, 1);
    assert_eq!(read(&mut script), [(new, 1, 0), (new + 1, 1, 1)]);
    assert_eq!(sent[0].sack().unwrap().cumulative_tsn_ack, receivers_next.wrapping_add(1));
    // The same answer again, though TSNs have gone on.
    let sent = ask(&mut script);
    assert_eq!(seen(&script, &sent), [[answer]]);
    assert_eq!(script.closed(), None);
}

//= RFC 6525 5.2.4-3
#[test]
fn a_reset_of_the_association_loses_nothing_that_is_outstanding() {
    let mut script = agreed(&config());
    send(&mut script, 3);
    let ask = |script: &mut Script| {
        give(script, |p| {
            p.ssn_tsn_reset(theirs(0));
        })
    };
    let waits = tsns(&script, 0, 6);
    assert_eq!(asked(script.first, &ask(&mut script)), [[waits.clone()]]);
    assert!(send(&mut script, 3).is_empty(), "it waits");
    assert_eq!(asked(script.first, &ask(&mut script)), [[waits]]);
    let sent = script.sack(1, &[]);
    let next = PEER_TSN.wrapping_add(1 << 31);
    assert_eq!(seen(&script, &sent), [[Tsns(0, 1, script.tsn(1), next)]]);
    assert_eq!(ssns(&sent), [(3, 0)]);
}

//= RFC 6525 5.1.7-3 5.1.7-5 5.1.7-6
#[test]
fn resets_of_the_association_that_cross_are_refused() {
    let mut script = agreed(&config());
    script.end.reset_association(script.now, script.id).unwrap();
    script.poll();
    let sent = give(&mut script, |p| {
        p.ssn_tsn_reset(theirs(0));
    });
    assert_eq!(seen(&script, &sent), [[tsns(&script, 0, 4)]]);
    // The same again, and with a number that is not the next one.
    for (n, result) in [(0, 4), (7, 5)] {
        let sent = give(&mut script, |p| {
            p.ssn_tsn_reset(theirs(n));
        });
        assert_eq!(seen(&script, &sent), [[tsns(&script, n, result)]]);
    }
    answer(&mut script, 0, ReconfigurationResult::ALREADY_IN_PROGRESS);
    assert!(matches!(
        told(&mut script)[..],
        [Event::AssociationReset { outcome: Outcome::Failed, .. }]
    ));
}

//= RFC 6525 5.2.5-1 5.2.5-2 5.2.5-3 5.2.6-1 5.2.6-2
#[test]
fn the_peer_adds_streams_up_to_our_limits() {
    let policy = ReconfigurationPolicy { most_outbound_streams: 12, ..config().reconfiguration };
    let limited = AssociationConfig { inbound_streams: 15, reconfiguration: policy, ..config() };
    let mut script = agreed(&limited);
    let outgoing = |script: &mut Script, n: u32, streams: u16| {
        let sent = give(script, |p| {
            p.add_outgoing_streams(add(n, streams));
        });
        seen(script, &sent)
    };
    assert_eq!(outgoing(&mut script, 0, 6), [[Response(0, 2)]]);
    assert_eq!(outgoing(&mut script, 1, u16::MAX), [[Response(1, 2)]]);
    assert_eq!(outgoing(&mut script, 2, 5), [[Response(2, 1)]]);
    assert_eq!(outgoing(&mut script, 2, 5), [[Response(2, 1)]], "once");
    assert_eq!(outgoing(&mut script, 3, 0), [[Response(3, 0)]]);
    data(&mut script, 0, 14, 0);
    assert_eq!(read(&mut script), [(0, 14, 0)]);
    let incoming = |script: &mut Script, n: u32, streams: u16| {
        let sent = give(script, |p| {
            p.add_incoming_streams(add(n, streams));
        });
        seen(script, &sent)
    };
    assert_eq!(incoming(&mut script, 4, 3), [[Response(4, 2)]]);
    assert_eq!(incoming(&mut script, 5, 2), [[AddOut(0, 2)]]);
    assert_eq!(incoming(&mut script, 5, 2), [[AddOut(0, 2)]], "again");
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(ssns(&send(&mut script, 11)), [(11, 0)]);
    let outcome = Outcome::Performed;
    let added =
        |outbound_streams| Event::StreamsAdded { outcome, outbound_streams, inbound_streams: 15 };
    assert_eq!(told(&mut script), [added(10), added(12)]);
}
