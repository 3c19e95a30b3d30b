//! RFC 9260 §6.1, §6.5 and §6.9 for the sender.

use tresse_wire::Ppid;

use super::*;
use crate::event::Message;

const FCFS: StreamScheduler = StreamScheduler::FirstComeFirstServed;

const ORDERED: SendOptions = SendOptions {
    ppid: Ppid(0),
    unordered: false,
    sack_immediately: false,
    lifetime: None,
    reliability: None,
    context: 0,
    key: None,
    destination: None,
};
const UNORDERED: SendOptions = SendOptions { unordered: true, ..ORDERED };

fn bytes(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

/// Stream, SSN, "IUBE" and payload of the next chunk.
fn next(queue: &mut SendQueue, max: usize) -> Option<(u16, u16, String, Bytes)> {
    let announced = queue.next_len(max);
    let chunk = queue.next(max);
    assert_eq!(announced, chunk.as_ref().map(|chunk| chunk.payload.len()));
    let chunk = chunk?;
    let DataFlags { immediate, unordered, beginning, ending, .. } = chunk.flags;
    let flags = [(immediate, 'I'), (unordered, 'U'), (beginning, 'B'), (ending, 'E')];
    let flags = flags.iter().filter(|(set, _)| *set).map(|(_, letter)| letter).collect();
    Some((chunk.stream.0, chunk.mid.0 as u16, flags, chunk.payload))
}

fn expect(
    stream: u16,
    ssn: u16,
    flags: &str,
    text: &'static str,
) -> Option<(u16, u16, String, Bytes)> {
    Some((stream, ssn, flags.to_owned(), bytes(text)))
}

//= RFC 9260 6.5-3 6.5-4 6.5-5
#[test]
fn first_come_first_served_with_ssns_per_stream() {
    let mut queue = SendQueue::new(3, FCFS);
    assert_eq!((queue.streams(), queue.is_empty(), queue.next_len(100)), (3, true, None));
    for (stream, text) in [(0, "a"), (2, "b"), (0, "c")] {
        queue.push(Time::ZERO, StreamId(stream), bytes(text), ORDERED);
    }
    queue.push(Time::ZERO, StreamId(0), bytes("u"), UNORDERED);
    queue.push(Time::ZERO, StreamId(0), bytes("d"), ORDERED);
    assert_eq!((queue.messages(), queue.bytes()), (5, 5));
    assert_eq!(next(&mut queue, 100), expect(0, 0, "BE", "a"));
    assert_eq!(next(&mut queue, 100), expect(2, 0, "BE", "b"));
    assert_eq!(next(&mut queue, 100), expect(0, 1, "BE", "c"));
    // RFC 9260 §6.6: an unordered message does not count.
    assert_eq!(next(&mut queue, 100), expect(0, 0, "UBE", "u"));
    assert_eq!(next(&mut queue, 100), expect(0, 2, "BE", "d"));
    assert_eq!(next(&mut queue, 100), None);
    assert_eq!((queue.messages(), queue.bytes(), queue.is_empty()), (0, 0, true));
}

//= RFC 9260 3.3.1-6 3.3.1-7 3.3.1-11 6.9-13
#[test]
fn fragments_carry_one_ssn_and_the_bits_of_table_4() {
    let mut queue = SendQueue::new(1, FCFS);
    let options = SendOptions { ppid: Ppid(51), sack_immediately: true, ..ORDERED };
    queue.push(Time::ZERO, StreamId(0), bytes("abcdefg"), options);
    queue.push(Time::ZERO, StreamId(0), bytes("xy"), options);
    assert!(!queue.mid_message());
    assert_eq!(next(&mut queue, 3), expect(0, 0, "B", "abc"));
    assert!(queue.mid_message());
    assert_eq!((queue.bytes(), queue.messages()), (6, 2));
    // The room may change between fragments.
    assert_eq!(next(&mut queue, 1), expect(0, 0, "", "d"));
    // RFC 9260 §11.1.5: the I bit is for the last chunk.
    assert_eq!(next(&mut queue, 3), expect(0, 0, "IE", "efg"));
    assert!(!queue.mid_message());
    assert_eq!(queue.next(2).unwrap().ppid, Ppid(51));
    assert!(queue.is_empty());
}

//= RFC 9260 3.3.1-4 6.9-12
#[test]
fn unordered_fragments_all_have_the_u_bit() {
    let mut queue = SendQueue::new(1, FCFS);
    queue.push(Time::ZERO, StreamId(0), bytes("abc"), UNORDERED);
    assert_eq!(next(&mut queue, 1), expect(0, 0, "UB", "a"));
    assert_eq!(next(&mut queue, 1), expect(0, 0, "U", "b"));
    assert_eq!(next(&mut queue, 1), expect(0, 0, "UE", "c"));
}

//= RFC 9260 6.2-32
#[test]
fn nothing_leaves_without_room_and_empty_messages_are_none() {
    let mut queue = SendQueue::new(1, FCFS);
    queue.push(Time::ZERO, StreamId(0), Bytes::new(), ORDERED);
    assert!(queue.is_empty());
    queue.push(Time::ZERO, StreamId(0), bytes("a"), ORDERED);
    assert_eq!(next(&mut queue, 0), None);
    assert_eq!(next(&mut queue, 1), expect(0, 0, "BE", "a"));
}

#[test]
fn payloads_are_slices_of_the_message() {
    let mut queue = SendQueue::new(1, FCFS);
    let message = Bytes::from(vec![7; 10_000]);
    queue.push(Time::ZERO, StreamId(0), message.clone(), ORDERED);
    let mut at = message.as_ptr();
    while let Some(chunk) = queue.next(1452) {
        assert_eq!(chunk.payload.as_ptr(), at);
        at = at.wrapping_add(chunk.payload.len());
    }
    assert_eq!(at, message.as_ptr().wrapping_add(message.len()));
}

//= RFC 9260 6.1-23
#[test]
fn a_stream_stops_at_32767_ordered_messages_in_flight() {
    let mut queue = SendQueue::new(2, FCFS);
    for _ in 0..40_000 {
        queue.push(Time::ZERO, StreamId(0), bytes("ab"), ORDERED);
    }
    for ssn in 0..32_767 {
        assert_eq!(queue.next(2).unwrap().mid, Mid(ssn));
    }
    assert_eq!(next(&mut queue, 2), None);
    // Neither unordered messages nor first fragments make room, nor do other streams.
    let flags = DataFlags { ending: true, ..DataFlags::default() };
    queue.on_acked(StreamId(0), DataFlags { unordered: true, ..flags }, 1);
    queue.on_acked(StreamId(0), DataFlags { beginning: true, ..DataFlags::default() }, 1);
    queue.on_acked(StreamId(1), flags, 1);
    assert_eq!(next(&mut queue, 2), None);
    queue.on_acked(StreamId(0), flags, 1);
    assert_eq!(next(&mut queue, 1), expect(0, 32_767, "B", "a"));
    // A message once begun goes on.
    assert_eq!(next(&mut queue, 1), expect(0, 32_767, "E", "b"));
    assert_eq!(next(&mut queue, 1), None);
}

//= RFC 9260 6.5-3 6.5-4 6.5-5
#[test]
fn ssns_wrap_to_0() {
    // RFC 9260 §6.5: after 65535 comes 0.
    let mut queue = SendQueue::new(1, FCFS);
    for n in 0..140_000u32 {
        queue.push(Time::ZERO, StreamId(0), bytes("a"), ORDERED);
        let chunk = queue.next(100).unwrap();
        assert_eq!(u32::from(chunk.mid.0 as u16), n % 65_536);
        queue.on_acked(chunk.stream, chunk.flags, 1);
    }
}

#[test]
fn what_did_not_leave_comes_back_whole() {
    let mut queue = SendQueue::new(2, FCFS);
    queue.push(Time::ZERO, StreamId(0), bytes("gone"), ORDERED);
    queue.push(
        Time::ZERO,
        StreamId(1),
        bytes("partly"),
        SendOptions { ppid: Ppid(3), context: 3, ..UNORDERED },
    );
    queue.push(Time::ZERO, StreamId(0), bytes("not"), ORDERED);
    queue.next(100).unwrap();
    queue.next(3).unwrap();
    let failure = |stream, ppid, text, sent| SendFailure {
        whole: true,
        message: Message {
            stream: StreamId(stream),
            ppid: Ppid(ppid),
            unordered: sent,
            payload: bytes(text),
        },
        context: ppid,
        sent,
    };
    assert_eq!(queue.drain_unsent(), [failure(1, 3, "partly", true), failure(0, 0, "not", false)]);
    assert!(queue.is_empty() && !queue.mid_message());
    assert_eq!((queue.bytes(), queue.messages()), (0, 0));
}

#[test]
fn messages_for_streams_that_were_refused_come_back() {
    let mut queue = SendQueue::new(10, FCFS);
    for stream in [1, 9, 0, 5] {
        queue.push(Time::ZERO, StreamId(stream), bytes("abc"), ORDERED);
    }
    let refused: Vec<u16> = queue.set_streams(5).iter().map(|m| m.message.stream.0).collect();
    assert_eq!(refused, [9, 5]);
    assert_eq!((queue.streams(), queue.messages(), queue.bytes()), (5, 2, 6));
    assert_eq!(next(&mut queue, 9).unwrap().0, 1);
    assert_eq!(next(&mut queue, 9).unwrap().0, 0);

    // What has begun to leave must leave.
    queue.push(Time::ZERO, StreamId(4), bytes("abc"), ORDERED);
    queue.push(Time::ZERO, StreamId(4), bytes("def"), ORDERED);
    queue.next(2);
    assert_eq!(queue.set_streams(1).len(), 1);
    assert_eq!(next(&mut queue, 2), expect(4, 0, "E", "c"));
    assert!(queue.is_empty());
}

#[test]
fn unused_streams_cost_nothing() {
    let mut queue = SendQueue::new(u16::MAX, FCFS);
    assert_eq!(queue.table.pages(), 0);
    queue.push(Time::ZERO, StreamId(65_534), bytes("a"), ORDERED);
    queue.push(Time::ZERO, StreamId(9), bytes("a"), UNORDERED);
    while queue.next(10).is_some() {}
    assert_eq!(queue.table.pages(), 2);
}

/// A message of stream 0 that is worth sending until then.
fn push_until(queue: &mut SendQueue, text: &'static str, millis: u64) {
    let options =
        SendOptions { lifetime: Some(std::time::Duration::from_millis(millis)), ..ORDERED };
    queue.push(Time::ZERO, StreamId(0), bytes(text), options);
}

fn expire(queue: &mut SendQueue, millis: u64) -> Vec<Bytes> {
    queue
        .expire(Time::from_millis(millis))
        .into_iter()
        .map(|(_, failure)| failure.message.payload)
        .collect()
}

#[test]
fn what_is_too_old_leaves_the_queue_and_uses_no_ssn() {
    let mut queue = SendQueue::new(1, FCFS);
    push_until(&mut queue, "a", 10);
    queue.push(Time::ZERO, StreamId(0), bytes("b"), ORDERED);
    push_until(&mut queue, "cc", 5);
    push_until(&mut queue, "d", 20);
    assert_eq!(queue.deadline(), Some(Time::from_millis(5)));
    assert_eq!(expire(&mut queue, 4), [""; 0]);
    assert_eq!(expire(&mut queue, 5), ["cc"]);
    assert_eq!((queue.messages(), queue.bytes()), (3, 3));
    assert_eq!(expire(&mut queue, 15), ["a"]);
    assert_eq!(queue.deadline(), Some(Time::from_millis(20)));
    assert_eq!(next(&mut queue, 100), expect(0, 0, "BE", "b"));
    assert_eq!(next(&mut queue, 100), expect(0, 1, "BE", "d"));
    assert_eq!((queue.messages(), queue.bytes(), queue.is_empty()), (0, 0, true));
    assert_eq!((queue.deadline(), expire(&mut queue, 100)), (None, vec![]));
}

/// RFC 9260 §11.1.5: the user data will be transmitted if SCTP has attempted to transmit a chunk.
#[test]
fn a_message_of_which_a_part_has_left_does_not_expire() {
    let mut queue = SendQueue::new(1, FCFS);
    push_until(&mut queue, "abcd", 10);
    for _ in 0..10 {
        push_until(&mut queue, "x", 10);
    }
    assert_eq!(next(&mut queue, 2), expect(0, 0, "B", "ab"));
    assert_eq!(expire(&mut queue, 10).len(), 10);
    assert_eq!((queue.messages(), queue.bytes()), (1, 2));
    assert_eq!(next(&mut queue, 2), expect(0, 0, "E", "cd"));
    assert!(queue.is_empty());
}

#[test]
fn a_queue_that_stands_still_does_not_grow_by_what_expired() {
    let mut queue = SendQueue::new(1, FCFS);
    queue.push(Time::ZERO, StreamId(0), bytes("stuck"), ORDERED);
    for round in 0..1000 {
        push_until(&mut queue, "x", round);
        queue.push(Time::ZERO, StreamId(7), bytes("other"), UNORDERED);
        assert_eq!(expire(&mut queue, round), ["x"]);
        if round % 2 == 0 {
            queue.set_streams(1);
            queue.set_streams(8);
        }
        assert!(queue.memory() < 20_000, "{}", queue.memory());
    }
}

proptest::proptest! {
    /// Against a plain list of messages.
    #[test]
    fn lifetimes_are_those_of_a_list(
        steps in proptest::collection::vec((0u8..4, 1u64..50, 1usize..6), 1..200),
    ) {
        let (mut queue, mut list, mut now) = (SendQueue::new(1, FCFS), Vec::<(u64, Bytes)>::new(), 0);
        let mut begun = false;
        for (index, (step, number, size)) in steps.into_iter().enumerate() {
            match step {
                0 | 1 => {
                    let payload = Bytes::from(vec![index as u8; size]);
                    let lifetime = (step == 0).then(|| std::time::Duration::from_millis(number));
                    let until = lifetime.map_or(u64::MAX, |_| now + number);
                    list.push((until, payload.clone()));
                    let options = SendOptions { lifetime, ..UNORDERED };
                    queue.push(Time::from_millis(now), StreamId(0), payload, options);
                }
                2 => {
                    now += number;
                    let mut expired = expire(&mut queue, now);
                    let mut index = 0;
                    let mut expected = Vec::new();
                    list.retain(|(until, payload)| {
                        let kept = *until > now || (begun && index == 0);
                        index += 1;
                        if !kept {
                            expected.push(payload.clone());
                        }
                        kept
                    });
                    expired.sort();
                    expected.sort();
                    proptest::prop_assert_eq!(expired, expected);
                }
                _ => {
                    if let Some(chunk) = queue.next(3) {
                        let head = &mut list[0].1;
                        proptest::prop_assert_eq!(&chunk.payload, &head.split_to(chunk.payload.len()));
                        begun = !head.is_empty();
                        if head.is_empty() {
                            list.remove(0);
                        }
                    }
                }
            }
            proptest::prop_assert_eq!(queue.messages(), list.len());
            proptest::prop_assert_eq!(queue.bytes(), list.iter().map(|(_, p)| p.len()).sum::<usize>());
        }
    }
}
