//! Both ends are ours, and the wire between them loses, delays and repeats.

use super::*;

fn wide() -> AssociationConfig {
    AssociationConfig { outbound_streams: 8, ..config() }
}

fn ask(pair: &mut Pair, side: Side, id: AssociationId, direction: ResetDirection, list: &[u16]) {
    let now = pair.now;
    pair.end(side).reset_streams(now, id, direction, &streams(list)).unwrap();
}

fn resets(pair: &Pair, side: Side) -> Vec<(ResetDirection, Outcome)> {
    let one = |(s, _, event): &(Side, AssociationId, Event)| match event {
        Event::StreamsReset { direction, outcome, .. } if *s == side => {
            Some((*direction, *outcome))
        }
        _ => None,
    };
    pair.events.iter().filter_map(one).collect()
}

fn ssns_of(messages: &[ReceivedMessage]) -> Vec<(u16, u16)> {
    messages.iter().map(|m| (m.stream.0, m.ssn.0)).collect()
}

/// RFC 8831 §6.7: an end closes a channel by resetting its outgoing stream, and the other one does the same.
#[test]
fn a_data_channel_is_closed_and_its_streams_used_again() {
    let (mut pair, a, z) = Pair::connected(&wide(), 1);
    for round in 0..3 {
        for n in 0..3u8 {
            pair.send(Side::A, a, 5, vec![n; 10]);
            pair.send(Side::Z, z, 5, vec![n; 10]);
        }
        ask(&mut pair, Side::A, a, ResetDirection::Outgoing, &[5]);
        pair.run(secs(1));
        for (side, id) in [(Side::Z, z), (Side::A, a)] {
            let messages = pair.recv_all(side, id);
            assert_eq!(ssns_of(&messages), [(5, 0), (5, 1), (5, 2)], "{round}");
        }
        pair.run(ms(1));
        assert_eq!(
            resets(&pair, Side::Z).last(),
            Some(&(ResetDirection::Incoming, Outcome::Performed))
        );
        ask(&mut pair, Side::Z, z, ResetDirection::Outgoing, &[5]);
        pair.run(secs(1));
        assert_eq!(resets(&pair, Side::A).len(), 2 * (round + 1));
    }
}

/// The streams of one direction that a side was told were reset.
fn done(pair: &Pair, side: Side, wanted: ResetDirection) -> Vec<u16> {
    let outcome = Outcome::Performed;
    let lists = pair.events.iter().filter(|(s, ..)| *s == side).filter_map(|(.., e)| match e {
        Event::StreamsReset { direction, streams, outcome: o }
            if (*direction, *o) == (wanted, outcome) =>
        {
            Some(streams)
        }
        _ => None,
    });
    let mut all: Vec<u16> = lists.flatten().map(|s| s.0).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn requests_that_cross_are_done_and_both_ends_agree() {
    use ResetDirection::{Both, Incoming, Outgoing};
    for (first, second) in [
        (Outgoing, Outgoing),
        (Incoming, Incoming),
        (Both, Both),
        (Outgoing, Incoming),
        (Both, Incoming),
    ] {
        let (mut pair, a, z) = Pair::connected(&wide(), 1);
        for stream in 0..8 {
            pair.send(Side::A, a, stream, vec![1; 10]);
            pair.send(Side::Z, z, stream, vec![1; 10]);
        }
        pair.run(secs(1));
        ask(&mut pair, Side::A, a, first, &[1, 2]);
        ask(&mut pair, Side::Z, z, second, &[2, 3]);
        pair.run(secs(5));
        pair.recv_all(Side::A, a);
        pair.recv_all(Side::Z, z);
        pair.run(ms(1));
        let told = [resets(&pair, Side::A), resets(&pair, Side::Z)].concat();
        // Of two ends that each need a request of the other, one is refused.
        let failed = told.iter().filter(|(_, outcome)| !outcome.is_success()).count();
        let both_need = first != Outgoing && second != Outgoing;
        let what = format!("{first:?} {second:?} {told:?}");
        assert_eq!(failed, usize::from(both_need), "{what}");
        for stream in 0..8 {
            pair.send(Side::A, a, stream, vec![2; 10]);
            pair.send(Side::Z, z, stream, vec![2; 10]);
        }
        pair.run(secs(1));
        for (from, to, id) in [(Side::A, Side::Z, z), (Side::Z, Side::A, a)] {
            let reset = done(&pair, from, Outgoing);
            assert_eq!(reset, done(&pair, to, Incoming), "{what}");
            let expected: Vec<_> =
                (0..8).map(|stream| (stream, u16::from(!reset.contains(&stream)))).collect();
            assert_eq!(ssns_of(&pair.recv_all(to, id)), expected, "{what}");
        }
        if first != Incoming {
            assert!(done(&pair, Side::A, Outgoing).starts_with(&[1, 2]), "{what}");
        }
        if second != Incoming {
            assert!(done(&pair, Side::Z, Outgoing).ends_with(&[2, 3]), "{what}");
        }
    }
}

#[test]
fn whichever_packet_is_lost_the_reset_is_done_once() {
    for direction in [ResetDirection::Outgoing, ResetDirection::Incoming, ResetDirection::Both] {
        for (side, lost) in
            [(Side::A, 1), (Side::A, 2), (Side::A, 3), (Side::Z, 1), (Side::Z, 2), (Side::Z, 3)]
        {
            let (mut pair, a, z) = Pair::connected(&wide(), 1);
            for _ in 0..2 {
                pair.send(Side::A, a, 4, vec![1; 10]);
                pair.send(Side::Z, z, 4, vec![1; 10]);
            }
            pair.run(secs(1));
            let mut seen = 0;
            pair.drop = Box::new(move |p| {
                let hit = p.from == side && p.carries(ChunkType::RE_CONFIG);
                seen += u32::from(hit);
                hit && seen == lost
            });
            ask(&mut pair, Side::A, a, direction, &[4]);
            pair.send(Side::A, a, 4, vec![2; 10]);
            pair.send(Side::Z, z, 4, vec![2; 10]);
            pair.run(secs(30));
            let (at_z, at_a) = (pair.recv_all(Side::Z, z), pair.recv_all(Side::A, a));
            pair.run(ms(1));
            let expected = if direction == ResetDirection::Both { 2 } else { 1 };
            let (mine, theirs) = (resets(&pair, Side::A), resets(&pair, Side::Z));
            let what = format!("{direction:?} {side:?} {lost} {mine:?} {theirs:?}");
            assert_eq!((mine.len(), theirs.len()), (expected, expected), "{what}");
            let outgoing = direction != ResetDirection::Incoming;
            assert_eq!(
                ssns_of(&at_z),
                [(4, 0), (4, 1), (4, if outgoing { 0 } else { 2 })],
                "{what}"
            );
            assert_eq!(at_a.len(), 3, "{what}");
        }
    }
}

#[test]
fn the_association_begins_again_under_load_and_nothing_is_lost() {
    for lost in 0..6 {
        let (mut pair, a, z) = Pair::connected(&wide(), 1);
        for n in 0..50u8 {
            pair.send(Side::A, a, 1, vec![n; 1000]);
            pair.send(Side::Z, z, 2, vec![n; 1000]);
        }
        let mut seen = 0;
        pair.drop = Box::new(move |p| {
            let hit = p.carries(ChunkType::RE_CONFIG);
            seen += u32::from(hit);
            hit && seen == lost
        });
        let now = pair.now;
        pair.end(Side::A).reset_association(now, a).unwrap();
        for n in 50..90u8 {
            pair.send(Side::A, a, 1, vec![n; 1000]);
            pair.send(Side::Z, z, 2, vec![n; 1000]);
        }
        pair.run(secs(60));
        for (side, id, stream) in [(Side::A, a, 2), (Side::Z, z, 1)] {
            let messages = pair.recv_all(side, id);
            let numbers: Vec<u8> = messages.iter().map(|m| m.payload[0]).collect();
            assert_eq!(numbers, (0..90).collect::<Vec<u8>>(), "{lost}");
            assert!(messages.iter().all(|m| m.stream == StreamId(stream)));
            pair.run(ms(1));
            let done = |e: &Event| {
                matches!(e, Event::AssociationReset { outcome: Outcome::Performed, .. })
            };
            assert!(pair.saw(side, done), "{lost}");
            let new = messages.iter().skip_while(|m| m.payload[0] < 50).map(|m| m.ssn.0);
            // A had asked before it sent these; Z had sent them before it was asked.
            let first = if side == Side::Z { 0 } else { 50 };
            assert!(new.eq(first..first + 40), "{lost}");
        }
        pair.send(Side::A, a, 1, vec![1]);
        pair.send(Side::Z, z, 2, vec![1]);
        pair.run(secs(1));
        assert_eq!(ssns_of(&pair.recv_all(Side::Z, z)), [(1, 40)]);
        assert_eq!(ssns_of(&pair.recv_all(Side::A, a)), [(2, 0)]);
        // It can still end gracefully.
        pair.shutdown(Side::A, a);
        pair.run(secs(10));
        assert_eq!(pair.closed(Side::Z), Some(&CloseReason::Shutdown));
    }
}

#[test]
fn streams_are_added_in_both_directions() {
    let (mut pair, a, z) = Pair::connected(&wide(), 1);
    let now = pair.now;
    pair.end(Side::A).add_streams(now, a, 2, 3).unwrap();
    pair.run(secs(1));
    let added = |side| {
        pair.events.iter().rev().find_map(|(s, _, event)| match event {
            Event::StreamsAdded { outbound_streams, inbound_streams, outcome } if *s == side => {
                Some((*outbound_streams, *inbound_streams, *outcome))
            }
            _ => None,
        })
    };
    assert_eq!(added(Side::A), Some((10, 11, Outcome::Performed)));
    assert_eq!(added(Side::Z), Some((11, 10, Outcome::Performed)));
    pair.send(Side::A, a, 9, vec![1; 10]);
    pair.send(Side::Z, z, 10, vec![1; 10]);
    pair.run(secs(1));
    assert_eq!(ssns_of(&pair.recv_all(Side::Z, z)), [(9, 0)]);
    assert_eq!(ssns_of(&pair.recv_all(Side::A, a)), [(10, 0)]);
}

#[test]
fn a_shutdown_waits_for_what_a_reset_holds_back() {
    let (mut pair, a, z) = Pair::connected(&wide(), 1);
    pair.send(Side::A, a, 1, vec![1; 10]);
    ask(&mut pair, Side::A, a, ResetDirection::Outgoing, &[1]);
    pair.send(Side::A, a, 1, vec![2; 10]);
    pair.shutdown(Side::A, a);
    pair.run(secs(10));
    assert_eq!(ssns_of(&pair.recv_all(Side::Z, z)), [(1, 0), (1, 0)]);
    assert_eq!(pair.closed(Side::A), Some(&CloseReason::Shutdown));
    assert_eq!(pair.closed(Side::Z), Some(&CloseReason::Shutdown));
}

/// Z crashes and opens an association again.
fn restart(pair: &mut Pair, config: &AssociationConfig) -> AssociationId {
    let end = EndpointConfig {
        local_addresses: addresses(Side::Z, 1),
        accept: true,
        association: config.clone(),
        ..EndpointConfig::default()
    };
    pair.replace(Side::Z, Endpoint::new(end, [77; 32]));
    let z = pair.open(Side::Z, config);
    pair.run(secs(1));
    assert!(pair.saw(Side::A, |e| matches!(e, Event::Restarted)));
    z
}

#[test]
fn a_peer_that_restarts_begins_with_request_numbers_of_its_own() {
    let config = wide();
    let (mut pair, a, _) = Pair::connected(&config, 1);
    pair.drop = Box::new(|p| p.carries(ChunkType::RE_CONFIG));
    ask(&mut pair, Side::A, a, ResetDirection::Outgoing, &[1]);
    pair.run(ms(100));
    pair.drop = Box::new(|_| false);
    let z = restart(&mut pair, &config);
    assert_eq!(resets(&pair, Side::A), [(ResetDirection::Outgoing, Outcome::Failed)]);
    ask(&mut pair, Side::A, a, ResetDirection::Outgoing, &[1]);
    ask(&mut pair, Side::Z, z, ResetDirection::Outgoing, &[1]);
    pair.run(secs(1));
    assert_eq!(resets(&pair, Side::A).len(), 3);
    assert_eq!(resets(&pair, Side::Z).len(), 2);
}

/// Nobody is to take it for one of the second life, whose messages come behind those that were not read.
#[test]
fn a_reset_that_waits_is_told_before_the_restart_of_the_peer() {
    let config = wide();
    let (mut pair, a, z) = Pair::connected(&config, 1);
    pair.send(Side::Z, z, 1, vec![1; 10]);
    ask(&mut pair, Side::Z, z, ResetDirection::Outgoing, &[1]);
    pair.send(Side::Z, z, 1, vec![2; 10]);
    pair.run(secs(1));
    assert_eq!(resets(&pair, Side::A), []);
    restart(&mut pair, &config);
    let at =
        |is: fn(&Event) -> bool| pair.events.iter().position(|(s, _, e)| *s == Side::A && is(e));
    let told = at(|e| matches!(e, Event::StreamsReset { .. }));
    assert!(told.is_some() && told < at(|e| matches!(e, Event::Restarted)));
    assert_eq!(ssns_of(&pair.recv_all(Side::A, a)), [(1, 0), (1, 0)]);
}
