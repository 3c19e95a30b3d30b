//! RFC 9260 §6.5, §6.6 and §6.9 for the receiver, and what a faulty or hostile peer may send.

use bytes::Bytes;
use tresse_wire::{DataFlags, Fsn, Mid, Ppid, Ssn, StreamId, Tsn};

use super::*;

const FIRST: u64 = (1 << 32) + 1000;

/// Flags from letters, such as "UB".
fn flags(letters: &str) -> DataFlags {
    let has = |letter| letters.contains(letter);
    DataFlags {
        retransmission: has('R'),
        immediate: has('I'),
        unordered: has('U'),
        beginning: has('B'),
        ending: has('E'),
    }
}

/// A chunk of stream `stream`, `n` TSNs after the first one.
fn chunk(n: u64, stream: u16, ssn: u16, letters: &str, text: &'static str) -> InChunk {
    let seq = FIRST + n;
    InChunk {
        seq,
        tsn: Tsn(seq as u32),
        stream: StreamId(stream),
        mid: Mid(ssn.into()),
        fsn: Fsn(0),
        ppid: Ppid(u32::from(stream) + 100),
        flags: flags(letters),
        payload: Bytes::from_static(text.as_bytes()),
    }
}

fn inbound() -> Inbound {
    Inbound::new(10, 1000, FIRST)
}

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// All waiting messages, as text.
fn texts(inbound: &mut Inbound) -> Vec<String> {
    let mut found = Vec::new();
    while let Some(received) = inbound.pop() {
        found.push(String::from_utf8(received.payload.to_vec()).unwrap());
    }
    found
}

/// Takes chunks in turn; what is ready in the end.
fn receive_all(chunks: &[InChunk]) -> Result<Vec<String>, InboundError> {
    let mut inbound = inbound();
    for chunk in chunks {
        inbound.receive(at(0), chunk.clone())?;
    }
    let found = texts(&mut inbound);
    Ok(found)
}

#[test]
fn a_whole_message_goes_straight_through_without_a_copy() {
    let mut inbound = inbound();
    let data = Bytes::from(vec![1; 900]);
    let whole = InChunk { payload: data.clone(), ..chunk(0, 3, 0, "BE", "") };
    inbound.receive(at(5), whole).unwrap();
    assert_eq!((inbound.ready(), inbound.buffered()), (1, 900));
    let received = inbound.pop().unwrap();
    assert_eq!(received.payload.as_ptr(), data.as_ptr());
    assert_eq!(received.completed_at, at(5));
    assert_eq!((received.tsn, received.ssn), (Tsn(1000), Ssn(0)));
    let ReceivedMessage { stream, ppid, unordered, .. } = received;
    assert_eq!((stream, ppid, unordered), (StreamId(3), Ppid(103), false));
    assert_eq!((inbound.ready(), inbound.buffered(), inbound.pop()), (0, 0, None));
}

#[test]
fn fragments_in_order_are_joined() {
    let mut inbound = inbound();
    inbound.receive(at(1), chunk(0, 2, 0, "B", "one ")).unwrap();
    inbound.receive(at(2), chunk(1, 2, 0, "", "two ")).unwrap();
    assert_eq!((inbound.ready(), inbound.buffered()), (0, 64));
    inbound.receive(at(3), chunk(2, 2, 0, "E", "three")).unwrap();
    let received = inbound.pop().unwrap();
    assert_eq!(received.payload, "one two three");
    assert_eq!((received.tsn, received.completed_at), (Tsn(1000), at(3)));
    assert_eq!(inbound.buffered(), 0);
}

//= RFC 9260 6-11 6.9-1 6.9-14
#[test]
fn fragments_in_any_order_are_joined() {
    let parts = ["B", "", "", "", "E"];
    let text = ["a", "b", "c", "d", "e"];
    // All orders of five fragments, before a message that is missing or not.
    for missing in [0, 1] {
        let mut order = [0usize, 1, 2, 3, 4];
        permutations(&mut order, 0, &mut |order| {
            let mut inbound = inbound();
            for (step, &i) in order.iter().enumerate() {
                assert_eq!(inbound.ready(), 0);
                let part = chunk(missing + i as u64, 0, 0, parts[i], text[i]);
                inbound.receive(at(step as u64), part).unwrap();
            }
            let received = inbound.pop().unwrap();
            assert_eq!(received.payload, "abcde");
            assert_eq!((received.completed_at, received.tsn.0), (at(4), 1000 + missing as u32));
            assert_eq!(inbound.buffered(), 0);
        });
    }
}

fn permutations(items: &mut [usize; 5], fixed: usize, visit: &mut impl FnMut(&[usize; 5])) {
    if fixed == items.len() {
        return visit(items);
    }
    for i in fixed..items.len() {
        items.swap(fixed, i);
        permutations(items, fixed + 1, visit);
        items.swap(fixed, i);
    }
}

//= RFC 9260 6.6-1 6.6-2
#[test]
fn ordered_messages_wait_for_those_before_them() {
    let mut inbound = inbound();
    inbound.receive(at(0), chunk(3, 0, 3, "BE", "d")).unwrap();
    inbound.receive(at(1), chunk(1, 0, 1, "BE", "b")).unwrap();
    inbound.receive(at(2), chunk(2, 0, 2, "BE", "c")).unwrap();
    assert_eq!((inbound.ready(), inbound.buffered()), (0, 3 * 64));
    inbound.receive(at(3), chunk(0, 0, 0, "BE", "a")).unwrap();
    let times: Vec<Time> = inbound.delivery_times();
    assert_eq!(times, [at(3), at(1), at(2), at(0)]);
    assert_eq!(inbound.buffered(), 0);
}

impl Inbound {
    fn delivery_times(&mut self) -> Vec<Time> {
        std::iter::from_fn(|| self.pop()).map(|received| received.completed_at).collect()
    }
}

//= RFC 9260 3.3.1-3
#[test]
fn streams_and_unordered_messages_do_not_wait_for_each_other() {
    // RFC 9260 §6.6: a gap holds up its own stream only, and unordered messages never wait.
    let mut inbound = inbound();
    inbound.receive(at(0), chunk(1, 0, 1, "BE", "held")).unwrap();
    inbound.receive(at(0), chunk(2, 1, 0, "BE", "other stream")).unwrap();
    inbound.receive(at(0), chunk(3, 0, 999, "UBE", "unordered")).unwrap();
    inbound.receive(at(0), chunk(5, 0, 8, "UE", "fragments")).unwrap();
    inbound.receive(at(0), chunk(4, 0, 7, "UB", "unordered ")).unwrap();
    assert_eq!(texts(&mut inbound), ["other stream", "unordered", "unordered fragments"]);
    inbound.receive(at(0), chunk(0, 0, 0, "BE", "missing")).unwrap();
    assert_eq!(texts(&mut inbound), ["missing", "held"]);
    // The edge passed what was delivered out of order.
    inbound.receive(at(0), chunk(6, 1, 1, "BE", "next")).unwrap();
    assert_eq!(texts(&mut inbound), ["next"]);
    assert_eq!(inbound.buffered(), 0);
}

#[test]
fn the_ssn_order_wins_over_the_tsn_order() {
    // No TSN is missing, an SSN is: held all the same, also past the edge.
    let swapped = [chunk(0, 0, 1, "BE", "b"), chunk(1, 0, 2, "BE", "c"), chunk(2, 0, 0, "BE", "a")];
    assert_eq!(receive_all(&swapped).unwrap(), ["a", "b", "c"]);

    let fragmented = [
        chunk(0, 0, 1, "B", "b"),
        chunk(4, 0, 2, "E", "d"),
        chunk(3, 0, 2, "B", "c"),
        chunk(1, 0, 1, "E", "b"),
        chunk(2, 1, 0, "BE", "x"),
        chunk(5, 0, 0, "BE", "a"),
    ];
    assert_eq!(receive_all(&fragmented).unwrap(), ["x", "a", "bb", "cd"]);
}

#[test]
fn chunks_of_streams_that_do_not_exist_are_passed_over() {
    // RFC 9260 §6.5: acknowledged and discarded.
    let chunks = [
        chunk(1, 10, 0, "BE", "no"),
        chunk(3, 11, 0, "E", "no"),
        chunk(2, 11, 0, "B", "no"),
        chunk(4, 0, 1, "BE", "b"),
        chunk(0, 0, 0, "BE", "a"),
        chunk(5, 10, 0, "BE", "no"),
        chunk(6, 0, 2, "BE", "c"),
    ];
    assert_eq!(receive_all(&chunks).unwrap(), ["a", "b", "c"]);
}

#[test]
fn contradictions_are_found_by_the_neighbour() {
    let both: [(&[InChunk; 2], &str); 11] = [
        (&[chunk(0, 0, 0, "B", "a"), chunk(1, 0, 1, "B", "b")], "begins within"),
        (&[chunk(0, 0, 0, "B", "a"), chunk(1, 0, 1, "BE", "b")], "begins within"),
        (&[chunk(0, 0, 0, "BE", "a"), chunk(1, 0, 0, "", "b")], "does not begin"),
        (&[chunk(0, 0, 0, "BE", "a"), chunk(1, 0, 1, "E", "b")], "does not begin"),
        (&[chunk(0, 0, 0, "B", "a"), chunk(1, 1, 0, "", "b")], "change within"),
        (&[chunk(0, 0, 0, "B", "a"), chunk(1, 0, 1, "E", "b")], "change within"),
        (&[chunk(0, 0, 0, "B", "a"), chunk(1, 0, 0, "UE", "b")], "change within"),
        (&[chunk(0, 0, 0, "UB", "a"), chunk(1, 0, 0, "E", "b")], "change within"),
        (&[chunk(0, 0, 0, "UB", "a"), chunk(1, 1, 0, "UE", "b")], "change within"),
        (&[chunk(0, 0, 0, "B", "a"), chunk(1, 10, 0, "E", "b")], "within"),
        (&[chunk(0, 10, 0, "B", "a"), chunk(1, 0, 0, "E", "b")], ""),
    ];
    for (pair, reason) in both {
        for beyond in [0, 5] {
            for reverse in [false, true] {
                let mut pair = pair.clone();
                for chunk in &mut pair {
                    chunk.seq += beyond;
                }
                if reverse {
                    pair.reverse();
                }
                let Err(InboundError::Inconsistent(why)) = receive_all(&pair) else {
                    panic!("{pair:?}")
                };
                assert!(why.contains(reason), "{why}: {pair:?}");
            }
        }
    }
}

#[test]
fn the_first_chunk_must_begin_a_message() {
    for letters in ["", "E", "U", "UE"] {
        assert!(receive_all(&[chunk(0, 0, 0, letters, "a")]).is_err());
        // Beyond a gap nothing is proven yet.
        assert!(receive_all(&[chunk(1, 0, 0, letters, "a")]).is_ok());
    }
}

#[test]
fn neighbours_of_delivered_messages_are_known() {
    let mut after = inbound();
    after.receive(at(0), chunk(2, 0, 0, "UBE", "a")).unwrap();
    assert!(after.receive(at(0), chunk(3, 0, 0, "UE", "b")).is_err());
    assert!(after.receive(at(0), chunk(1, 0, 0, "UB", "b")).is_err());
    assert_eq!(texts(&mut after), ["a"]);
}

//= RFC 9260 3.3.1-2 6.6-3
#[test]
fn unordered_fragments_may_have_any_ssn() {
    // RFC 9260 §3.3.1: the receiver MUST ignore the field.
    let chunks = [chunk(2, 0, 9, "UE", "c"), chunk(0, 0, 7, "UB", "a"), chunk(1, 0, 8, "U", "b")];
    assert_eq!(receive_all(&chunks).unwrap(), ["abc"]);
}

#[test]
fn ssns_behind_and_doubled_are_violations() {
    let behind = [chunk(0, 0, 0, "BE", "a"), chunk(1, 0, 0, "BE", "b")];
    assert!(matches!(receive_all(&behind), Err(InboundError::Inconsistent(_))));
    // Beyond a gap as well: one missing TSN cannot hide 65 535 messages.
    let behind = [chunk(0, 0, 0, "BE", "a"), chunk(2, 0, 0, "BE", "b")];
    assert!(matches!(receive_all(&behind), Err(InboundError::Inconsistent(_))));
    let behind = [chunk(0, 0, 0, "BE", "a"), chunk(1, 0, 0x8001, "BE", "b")];
    assert!(matches!(receive_all(&behind), Err(InboundError::Inconsistent(_))));
    let doubled = [chunk(1, 0, 4, "BE", "a"), chunk(3, 0, 5, "BE", "b"), chunk(2, 0, 4, "BE", "b")];
    assert!(matches!(receive_all(&doubled), Err(InboundError::Inconsistent(_))));
}

#[test]
fn more_than_32768_ordered_messages_may_be_in_flight() {
    // RFC 9260 §6.1 allows 2^16 - 1: only the first TSN is missing, SSNs pass half their range.
    let mut inbound = inbound();
    for n in 1..65_535u64 {
        inbound.receive(at(0), chunk(n, 0, n as u16, "BE", "a")).unwrap();
    }
    assert_eq!(inbound.ready(), 0);
    inbound.receive(at(0), chunk(0, 0, 0, "BE", "a")).unwrap();
    for n in 0..65_535u32 {
        assert_eq!(u32::from(inbound.pop().unwrap().ssn.0), n);
    }
    assert_eq!((inbound.pop(), inbound.buffered()), (None, 0));
}

#[test]
fn messages_have_a_limit() {
    let large = |n, letters, len| InChunk {
        payload: Bytes::from(vec![0; len]),
        ..chunk(n, 0, 0, letters, "")
    };
    let too_large = [
        vec![large(0, "BE", 1001)],
        vec![large(5, "BE", 1001)],
        vec![large(0, "B", 600), large(1, "", 401)],
        vec![large(0, "B", 600), large(1, "E", 401)],
        vec![large(6, "", 401), large(5, "B", 600)],
        vec![large(1, "", 401), large(2, "", 300), large(0, "B", 300)],
    ];
    for chunks in too_large {
        assert_eq!(receive_all(&chunks), Err(InboundError::MessageTooLarge));
    }
    assert!(receive_all(&[large(0, "BE", 1000)]).is_ok());
    assert!(receive_all(&[large(1, "", 400), large(0, "B", 300), large(2, "E", 300)]).is_ok());
}

#[test]
fn tsns_behind_or_repeated_are_ignored_and_distant_ones_refused() {
    let mut inbound = inbound();
    inbound.receive(at(0), chunk(0, 0, 0, "BE", "a")).unwrap();
    inbound.receive(at(0), chunk(0, 0, 1, "BE", "x")).unwrap();
    inbound.receive(at(0), chunk(3, 1, 0, "BE", "b")).unwrap();
    inbound.receive(at(0), chunk(3, 1, 0, "BE", "x")).unwrap();
    inbound.receive(at(0), chunk(3, 99, 0, "BE", "x")).unwrap();
    inbound.receive(at(0), chunk(0, 99, 0, "BE", "x")).unwrap();
    assert!(inbound.receive(at(0), chunk(1 << 20, 1, 0, "BE", "x")).is_err());
    assert!(inbound.receive(at(0), chunk(1 << 20, 99, 0, "BE", "x")).is_err());
    assert_eq!(texts(&mut inbound), ["a", "b"]);
}

#[test]
fn dropped_chunks_can_come_again() {
    let mut inbound = inbound();
    for part in [
        chunk(1, 0, 1, "B", "b"),
        chunk(2, 0, 1, "", "c"),
        chunk(3, 0, 1, "E", "d"),
        chunk(4, 0, 2, "BE", "e"),
        chunk(5, 1, 0, "BE", "delivered"),
    ] {
        inbound.receive(at(0), part).unwrap();
    }
    assert_eq!(texts(&mut inbound), ["delivered"]);
    assert_eq!(inbound.buffered(), 4 * 64);
    // Never received, delivered, beyond everything.
    assert!(!inbound.discard(FIRST) && !inbound.discard(FIRST + 5) && !inbound.discard(u64::MAX));
    // The highest one held, not the highest one received.
    assert_eq!(inbound.discard_highest(FIRST + 4), None);
    assert_eq!(inbound.discard_highest(FIRST), Some(FIRST + 4));
    assert_eq!(inbound.discard_highest(FIRST), Some(FIRST + 3));
    assert!(!inbound.discard(FIRST + 3));
    assert_eq!(inbound.buffered(), 2 * 64);
    for part in [chunk(0, 0, 0, "BE", "a"), chunk(4, 0, 2, "BE", "e"), chunk(3, 0, 1, "E", "d")] {
        inbound.receive(at(0), part).unwrap();
    }
    assert_eq!(texts(&mut inbound), ["a", "bcd", "e"]);
    assert_eq!((inbound.buffered(), inbound.discard_highest(0)), (0, None));
    assert!(!inbound.discard(FIRST + 4));
}

#[test]
fn any_part_of_a_run_can_be_dropped() {
    for complete in [false, true] {
        for victim in 1..=5 {
            let mut inbound = inbound();
            let letters = ["", "B", "", "", "", "E"];
            let text = ["", "a", "b", "c", "d", "e"];
            let part = |n: u64| chunk(n, 0, 1, letters[n as usize], text[n as usize]);
            let last = if complete { 5 } else { 4 };
            for n in 1..=last {
                inbound.receive(at(0), part(n)).unwrap();
            }
            assert_eq!(inbound.discard(FIRST + victim), victim <= last);
            inbound.receive(at(0), chunk(0, 0, 0, "BE", "-")).unwrap();
            assert_eq!(texts(&mut inbound), ["-"]);
            for n in [5, victim] {
                if n > last || n == victim {
                    inbound.receive(at(0), part(n)).unwrap();
                }
            }
            assert_eq!(texts(&mut inbound), ["abcde"], "{victim}");
            assert_eq!(inbound.buffered(), 0);
        }
    }
}

/// A slice of a packet of 1500 bytes.
fn slice_of_packet(len: usize) -> Bytes {
    Bytes::from(vec![9; 1500]).slice(100..100 + len)
}

#[test]
fn small_slices_of_large_packets_are_copied_when_held() {
    let mut inbound = inbound();
    let (small, large) = (slice_of_packet(700), slice_of_packet(800));
    for (n, payload) in [(1, &small), (2, &large)] {
        let held = InChunk { payload: payload.clone(), ..chunk(n, 0, n as u16, "BE", "") };
        inbound.receive(at(0), held).unwrap();
    }
    inbound.receive(at(0), chunk(0, 0, 0, "BE", "")).unwrap();
    inbound.pop();
    assert_ne!(inbound.pop().unwrap().payload.as_ptr(), small.as_ptr());
    assert_eq!(inbound.pop().unwrap().payload.as_ptr(), large.as_ptr());

    inbound.begin_packet(9000);
    let held = InChunk { payload: large.clone(), ..chunk(4, 1, 0, "BE", "") };
    inbound.receive(at(0), held).unwrap();
    assert_ne!(inbound.pop().unwrap().payload.as_ptr(), large.as_ptr());
}

#[test]
fn a_slow_reader_does_not_keep_packets_alive() {
    let mut inbound = inbound();
    let small = slice_of_packet(10);
    for n in 0..=BACKLOG as u64 {
        let whole = InChunk { payload: small.clone(), ..chunk(n, 0, n as u16, "BE", "") };
        inbound.receive(at(0), whole).unwrap();
    }
    assert_eq!(inbound.buffered(), (BACKLOG + 1) * 64);
    for _ in 0..BACKLOG {
        assert_eq!(inbound.pop().unwrap().payload.as_ptr(), small.as_ptr());
    }
    assert_ne!(inbound.pop().unwrap().payload.as_ptr(), small.as_ptr());
}

#[test]
fn an_unfinished_message_leaves_the_window_half_open() {
    let mut inbound = Inbound::new(1, 10_000, FIRST);
    let part =
        |n, letters| InChunk { payload: Bytes::from(vec![0; 1000]), ..chunk(n, 0, 0, letters, "") };
    inbound.receive(at(0), part(0, "B")).unwrap();
    assert_eq!(inbound.occupied(4000), 1000);
    for n in 1..8 {
        inbound.receive(at(0), part(n, "")).unwrap();
    }
    assert_eq!((inbound.buffered(), inbound.occupied(4000)), (8000, 2000));
    // What is held beyond a gap counts as ever: it can be dropped.
    inbound.receive(at(0), part(9, "")).unwrap();
    inbound.receive(at(0), part(10, "")).unwrap();
    inbound.receive(at(0), part(11, "")).unwrap();
    assert_eq!(inbound.occupied(4000), 3000);
    for _ in 0..3 {
        inbound.discard_highest(0);
    }
    // Complete, it waits for the application.
    inbound.receive(at(0), part(8, "E")).unwrap();
    assert_eq!(inbound.occupied(4000), 9000);
    inbound.pop();
    assert_eq!(inbound.occupied(4000), 0);
}

#[test]
fn long_messages_take_linear_time_in_any_order() {
    // Every chunk but the first of the window: backwards, and from the middle outwards.
    const CHUNKS: u64 = 65_534;
    let backwards: Vec<u64> = (1..=CHUNKS).rev().collect();
    let outwards: Vec<u64> =
        (0..CHUNKS / 2).flat_map(|i| [CHUNKS / 2 - i, CHUNKS / 2 + 1 + i]).collect();
    let every_other: Vec<u64> =
        (1..=CHUNKS).step_by(2).chain((1..=CHUNKS).rev().filter(|n| n % 2 == 0)).collect();
    for order in [backwards, outwards, every_other] {
        let mut inbound = Inbound::new(1, 16 << 20, FIRST);
        for n in order {
            let letters = if n == 1 {
                "B"
            } else if n == CHUNKS {
                "E"
            } else {
                ""
            };
            inbound.receive(at(0), chunk(n, 0, 1, letters, "0123456789abcdef")).unwrap();
        }
        assert_eq!(inbound.ready(), 0);
        assert_eq!(inbound.buffered() as u64, CHUNKS * 64);
        inbound.receive(at(1), chunk(0, 0, 0, "BE", "x")).unwrap();
        assert_eq!(inbound.pop().unwrap().payload, "x");
        assert_eq!(inbound.pop().unwrap().payload.len() as u64, CHUNKS * 16);
        assert_eq!(inbound.buffered(), 0);
    }
}

#[test]
fn all_streams_can_hold_messages_and_give_their_lists_back() {
    let mut inbound = Inbound::new(u16::MAX, 1000, FIRST);
    let streams = 20_000u16;
    for round in 0..3u64 {
        let first = round * (1 + 2 * u64::from(streams));
        let ssn = 2 * round as u16;
        for stream in 0..streams {
            let n = first + 1 + 2 * u64::from(stream);
            inbound.receive(at(0), chunk(n + 1, stream, ssn + 1, "BE", "b")).unwrap();
        }
        assert_eq!(inbound.ready(), 0);
        for stream in 0..streams {
            let n = first + 1 + 2 * u64::from(stream);
            inbound.receive(at(0), chunk(n, stream, ssn, "BE", "a")).unwrap();
        }
        assert_eq!(texts(&mut inbound).len(), 2 * usize::from(streams));
        inbound.receive(at(0), chunk(first, 0, 0, "UBE", "u")).unwrap();
        assert_eq!(texts(&mut inbound), ["u"]);
        assert_eq!(inbound.buffered(), 0);
    }
}
