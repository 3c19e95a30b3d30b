//! Each request of the application ends in one event, whatever the peer answers, and a policy that denies lets through what
//! was asked for and nothing else.

use super::*;
use crate::error::ReconfigurationError;

/// The peer may ask for nothing.
fn denying() -> AssociationConfig {
    AssociationConfig { reconfiguration: ReconfigurationPolicy::DENY, ..config() }
}

/// The peer resets streams in answer to the request with number `n`.
fn reset_in_answer(script: &mut Script, n: u32, last_tsn: Tsn, list: &[u16]) -> Vec<Vec<Seen>> {
    let (response, list) = (ours(script, n), streams(list));
    let sent = give(script, |p| {
        p.outgoing_ssn_reset(theirs(0), response, last_tsn, list);
    });
    seen(script, &sent)
}

fn incoming(list: &[u16], outcome: Outcome) -> Event {
    reset_event(ResetDirection::Incoming, list, outcome)
}

fn added(outcome: Outcome, inbound_streams: u16) -> Event {
    Event::StreamsAdded { outcome, outbound_streams: 10, inbound_streams }
}

/// A minute and more in which the peer says nothing of it.
fn wait(script: &mut Script) -> Vec<Vec<Seen>> {
    let sent = script.wait(secs(70));
    seen(script, &sent)
}

const NONE: Vec<Vec<Seen>> = Vec::new();

#[test]
fn more_incoming_streams_than_our_limit_are_not_asked_for() {
    let mut script = agreed(&AssociationConfig { inbound_streams: 13, ..config() });
    let (now, id) = (script.now, script.id);
    let refused = Err(ReconfigurationError::TooManyStreams { limit: 3 });
    assert_eq!(script.end.add_streams(now, id, 0, 4), refused);
    assert_eq!(script.end.add_streams(now, id, 1, 4), refused);
    assert!(script.poll().is_empty());
    script.end.add_streams(now, id, 0, 3).unwrap();
    assert_eq!(asked(script.first, &script.poll()), [[AddIn(0, 3)]]);
    // The peer takes the room for streams that it wants by itself.
    give(&mut script, |p| {
        p.add_outgoing_streams(add(0, 2));
    });
    assert_eq!(told(&mut script), [added(Outcome::Performed, 12)]);
    let sent = give(&mut script, |p| {
        p.add_outgoing_streams(add(1, 3));
    });
    assert_eq!(seen(&script, &sent), [[Response(1, 2)]]);
    assert_eq!(told(&mut script), [added(Outcome::Failed, 12)]);
    assert_eq!(script.end.add_streams(script.now, id, 0, 1), Ok(()));
}

#[test]
fn an_answer_that_cannot_be_done_ends_the_request() {
    for (config, list, result) in [
        (config(), &[2, 99][..], ReconfigurationResult::WRONG_SSN),
        (denying(), &[2, 99], ReconfigurationResult::DENIED),
        (denying(), &[2, 3], ReconfigurationResult::DENIED),
        (denying(), &[3], ReconfigurationResult::DENIED),
        (denying(), &[], ReconfigurationResult::DENIED),
    ] {
        let mut script = agreed(&config);
        data(&mut script, 0, 3, 0);
        reset(&mut script, ResetDirection::Incoming, &[2]);
        let answered = reset_in_answer(&mut script, 0, PEER_TSN, list);
        assert_eq!(answered, [[Response(0, result.0)]], "{list:?}");
        assert_eq!(told(&mut script), [incoming(&[2], Outcome::Failed)], "{list:?}");
        // Nothing was reset, and nothing is asked again.
        data(&mut script, 1, 3, 1);
        assert_eq!(read(&mut script), [(0, 3, 0), (1, 3, 1)], "{list:?}");
        assert_eq!((wait(&mut script), told(&mut script)), (NONE, vec![]), "{list:?}");
        assert_eq!(reset(&mut script, ResetDirection::Incoming, &[2]).len(), 1);
    }
}

#[test]
fn who_lets_the_peer_reset_streams_is_told_of_those_that_were() {
    let mut script = agreed(&config());
    reset(&mut script, ResetDirection::Incoming, &[2]);
    let last = PEER_TSN.wrapping_sub(1);
    assert_eq!(reset_in_answer(&mut script, 0, last, &[2, 3]), [[Response(0, 1)]]);
    assert_eq!(told(&mut script), [incoming(&[2, 3], Outcome::Performed)]);
}

//= RFC 6525 5.1.2-5
#[test]
fn what_was_asked_for_passes_a_policy_that_denies() {
    let all: Vec<u16> = (0..10).collect();
    for (wanted, list) in [(&[2, 5][..], &[5, 2, 2][..]), (&[], &[]), (&[], &all), (&all, &[])] {
        let mut script = agreed(&denying());
        let sent = reset(&mut script, ResetDirection::Incoming, wanted);
        assert_eq!(sent.len(), 1);
        let last = PEER_TSN.wrapping_sub(1);
        assert_eq!(reset_in_answer(&mut script, 0, last, list), [[Response(0, 1)]], "{list:?}");
        assert!(matches!(
            told(&mut script)[..],
            [Event::StreamsReset { outcome: Outcome::Performed, .. }]
        ));
        // Once: the next one is one of its own.
        let (response, list) = (ours(&script, 0), streams(list));
        let sent = give(&mut script, |p| {
            p.outgoing_ssn_reset(theirs(1), response, last, list);
        });
        assert_eq!(seen(&script, &sent), [[Response(1, 2)]]);
        assert_eq!(told(&mut script), []);
    }
}

//= RFC 6525 5.2.3-4
#[test]
fn an_acknowledgement_may_come_before_the_reset() {
    for config in [config(), denying()] {
        let mut script = agreed(&config);
        data(&mut script, 0, 2, 0);
        reset(&mut script, ResetDirection::Incoming, &[2]);
        answer(&mut script, 0, ReconfigurationResult::PERFORMED);
        // RFC 6525 §5.2.7 H1: the timer stops; the request is still the one under way.
        let sent = script.wait(secs(30));
        assert_eq!((seen(&script, &sent), told(&mut script)), (NONE, vec![]));
        let (now, id) = (script.now, script.id);
        let refused = Err(ReconfigurationError::InProgress);
        assert_eq!(script.end.add_streams(now, id, 1, 0), refused);
        assert_eq!(reset_in_answer(&mut script, 0, PEER_TSN, &[2]), [[Response(0, 1)]]);
        assert_eq!(read(&mut script), [(0, 2, 0)]);
        assert_eq!(told(&mut script), [incoming(&[2], Outcome::Performed)]);
        assert_eq!((wait(&mut script), told(&mut script)), (NONE, vec![]));
        assert_eq!(reset(&mut script, ResetDirection::Outgoing, &[2]).len(), 1);
    }
}

#[test]
fn an_acknowledgement_may_come_before_the_streams() {
    let mut script = agreed(&denying());
    script.end.add_streams(script.now, script.id, 0, 2).unwrap();
    script.poll();
    answer(&mut script, 0, ReconfigurationResult::PERFORMED);
    assert_eq!(told(&mut script), []);
    let add_streams = |script: &mut Script, n: u32, streams: u16| {
        let sent = give(script, |p| {
            p.add_outgoing_streams(add(n, streams));
        });
        seen(script, &sent)
    };
    assert_eq!(add_streams(&mut script, 0, 50_000), [[Response(0, 2)]], "not asked for");
    assert_eq!(add_streams(&mut script, 1, 1), [[Response(1, 2)]], "nor that");
    assert_eq!(add_streams(&mut script, 2, 2), [[Response(2, 1)]]);
    assert_eq!(told(&mut script), [added(Outcome::Performed, 12)]);
    assert_eq!(add_streams(&mut script, 3, 2), [[Response(3, 2)]], "once");
    assert_eq!((wait(&mut script), told(&mut script)), (NONE, vec![]));
}

#[test]
fn more_streams_than_were_asked_for_are_none_that_were() {
    let mut script = agreed(&denying());
    script.end.add_streams(script.now, script.id, 0, 1).unwrap();
    script.poll();
    let sent = give(&mut script, |p| {
        p.add_outgoing_streams(add(0, 50_000));
    });
    assert_eq!((seen(&script, &sent), told(&mut script)), (vec![vec![Response(0, 2)]], vec![]));
    // It is still to be answered.
    let sent = answer(&mut script, 0, ReconfigurationResult::DENIED);
    assert_eq!(seen(&script, &sent), NONE);
    assert_eq!(told(&mut script), [added(Outcome::Denied, 10)]);
}

#[test]
fn an_acknowledgement_that_nothing_follows_is_a_failure() {
    for adds in [false, true] {
        let mut script = agreed(&config());
        if adds {
            script.end.add_streams(script.now, script.id, 0, 2).unwrap();
            script.poll();
        } else {
            reset(&mut script, ResetDirection::Incoming, &[2]);
        }
        answer(&mut script, 0, ReconfigurationResult::PERFORMED);
        let max = script.end.config(script.id).unwrap().profile.rto.max();
        let sent = script.wait(max - ms(1));
        assert_eq!((seen(&script, &sent), told(&mut script)), (NONE, vec![]));
        script.wait(ms(1));
        let failed =
            if adds { added(Outcome::Failed, 10) } else { incoming(&[2], Outcome::Failed) };
        assert_eq!(told(&mut script), [failed]);
        assert_eq!((wait(&mut script), told(&mut script)), (NONE, vec![]));
        assert_eq!(reset(&mut script, ResetDirection::Incoming, &[2]).len(), 1);
    }
}

#[test]
fn the_end_of_the_association_ends_what_was_promised_or_begun() {
    for begun in [false, true] {
        let mut script = agreed(&denying());
        reset(&mut script, ResetDirection::Incoming, &[2]);
        if begun {
            // Something is missing that was sent before.
            assert_eq!(reset_in_answer(&mut script, 0, PEER_TSN, &[2]), [[Response(0, 6)]]);
        } else {
            answer(&mut script, 0, ReconfigurationResult::PERFORMED);
        }
        assert_eq!(told(&mut script), []);
        script.end.abort(script.now, script.id, b"").unwrap();
        assert_eq!(told(&mut script), [incoming(&[2], Outcome::Failed)]);
        assert!(matches!(script.events.last(), Some(Event::Closed(_))));
    }
}

//= RFC 6525 5.1.2-10 5.1.3-6 5.2.1-2
/// RFC 6525 §3.1: "each RE-CONFIG chunk holds at least one parameter and at most two parameters".
#[test]
fn a_response_stands_beside_one_reset_of_outgoing_streams_or_alone() {
    for (direction, expected) in [
        (ResetDirection::Outgoing, vec![vec![Response(0, 1), Out(0, 0, 0, vec![4])]]),
        (
            ResetDirection::Both,
            vec![vec![Out(0, 0, 0, vec![4]), In(1, vec![4])], vec![Response(0, 1)]],
        ),
    ] {
        let mut script = agreed(&config());
        send(&mut script, 4);
        assert!(reset(&mut script, direction, &[4]).is_empty(), "something is outstanding");
        // That is acknowledged in the packet that brings a request of the peer.
        let list = ParameterWriter::new().add_outgoing_streams(add(0, 5)).finish();
        let cumulative = script.first;
        let sent = script.give(|w| {
            script::write_sack(w, cumulative, &[], script::RWND);
            w.re_config(&list);
        });
        assert_eq!(seen(&script, &sent), expected, "{direction:?}");
    }
}

/// Writes the parameters of a chunk with this Sender's Last Assigned TSN.
type Write = fn(&mut ParameterWriter, Tsn);

/// RFC 6525 §3.1, in either order.
#[test]
fn what_may_stand_together_is_processed() {
    let last = PEER_TSN.wrapping_sub(1);
    let chunks: [(Write, Vec<Vec<Seen>>); 4] = [
        (
            |p, last| {
                p.outgoing_ssn_reset(theirs(0), RequestNumber(0), last, [])
                    .incoming_ssn_reset(theirs(1), []);
            },
            vec![vec![Response(0, 1), Response(1, 0)]],
        ),
        (
            |p, last| {
                p.incoming_ssn_reset(theirs(0), []).outgoing_ssn_reset(
                    theirs(1),
                    RequestNumber(0),
                    last,
                    [],
                );
            },
            vec![vec![Response(0, 0), Response(1, 1)]],
        ),
        (
            |p, _| {
                p.add_outgoing_streams(add(0, 1)).add_incoming_streams(add(1, 2));
            },
            vec![vec![AddOut(0, 2)], vec![Response(0, 1)]],
        ),
        (
            |p, _| {
                p.add_incoming_streams(add(0, 2)).add_outgoing_streams(add(1, 1));
            },
            vec![vec![AddOut(0, 2)], vec![Response(1, 1)]],
        ),
    ];
    for (write, expected) in chunks {
        let mut script = agreed(&config());
        let sent = give(&mut script, |p| write(p, last));
        assert_eq!(seen(&script, &sent), expected);
    }
}

//= RFC 9260 3.2.2-2
/// RFC 9260 §3.2.1, the highest bits of the type: 10 and 11 skip it, 00 and 01 stop; 01 and 11 report it.
#[test]
fn an_unknown_parameter_hides_a_request_only_if_its_bits_say_so() {
    let last = PEER_TSN.wrapping_sub(1);
    for (kind, skipped, reported) in
        [(0x0123, false, false), (0x4123, false, true), (0x8123, true, false), (0xc123, true, true)]
    {
        for before in [1, 5] {
            let mut script = agreed(&config());
            let sent = give(&mut script, |p| {
                for _ in 0..before {
                    p.raw(tresse_wire::ParameterType(kind), &[1, 2, 3, 4, 5]);
                }
                p.outgoing_ssn_reset(theirs(0), RequestNumber(0), last, [StreamId(1)]);
            });
            let answers = if skipped { vec![vec![Response(0, 1)]] } else { NONE };
            assert_eq!(seen(&script, &sent), answers, "{kind:#x}");
            let causes: Vec<CauseCode> = sent.iter().flat_map(Sent::cause_codes).collect();
            let expected: &[_] = if reported { &[CauseCode::UNRECOGNIZED_PARAMETERS] } else { &[] };
            assert_eq!(causes, expected, "{kind:#x}");
        }
    }
    // However many there are, the report is short.
    let mut script = agreed(&config());
    let sent = give(&mut script, |p| {
        for _ in 0..100 {
            p.raw(tresse_wire::ParameterType(0xc123), &[1; 10]);
        }
    });
    assert!(sent[0].find(ChunkType::ERROR).unwrap().value.len() <= 260);
}
