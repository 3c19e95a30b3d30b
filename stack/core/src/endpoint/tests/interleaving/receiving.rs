//! RFC 8260 §2.2.3: what is taken, and what ends the association.

use super::*;

//= RFC 8260 2.2.3-1 2.2.3-2
#[test]
fn messages_come_between_fragments_of_others() {
    let mut script = agreed(&config("round-robin"));
    script.fragment(0, 'B', 0, 0, 0);
    script.fragment(1, 'B', 1, 0, 0);
    script.fragment(2, 'E', 0, 0, 1);
    script.fragment(3, 'W', 2, 0, 0);
    script.fragment(5, 'E', 1, 0, 2);
    script.fragment(4, 'M', 1, 0, 1);
    assert_eq!(script.read_numbers(), [vec![0, 2], vec![3], vec![1, 4, 5]]);
    assert_eq!(script.stats().data_chunks_received, 6);
    script.fragment(6, 'W', 0, 1, 0);
    let message = script.recv().unwrap();
    assert_eq!((message.ppid, message.ssn, message.unordered), (Ppid(77), Ssn(1), false));
}

#[test]
fn what_comes_twice_is_told_and_dropped() {
    let mut script = agreed(&config("round-robin"));
    script.fragment(0, 'B', 0, 0, 0);
    let sent = script.fragment(0, 'B', 0, 0, 0);
    assert_eq!(sent[0].sack().unwrap().duplicates().count(), 1);
    script.fragment(1, 'E', 0, 0, 1);
    assert_eq!(script.read_numbers(), [vec![0, 1]]);
}

#[test]
fn a_stream_that_there_is_not_is_answered() {
    let mut script = agreed(&config("round-robin"));
    let sent = script.fragment(0, 'W', 10, 0, 0);
    let codes: Vec<CauseCode> = sent.iter().flat_map(Sent::cause_codes).collect();
    assert_eq!(codes, [CauseCode::INVALID_STREAM_IDENTIFIER]);
    script.fragment(1, 'W', 0, 0, 0);
    assert_eq!(script.read_numbers(), [vec![1]]);
}

//= RFC 8260 2.2.3-3
#[test]
fn the_other_chunk_is_a_violation() {
    for interleaving in [true, false] {
        let mut config = config("round-robin");
        config.extensions.interleaving = interleaving;
        for state in [State::Established, State::ShutdownPending, State::ShutdownSent] {
            let mut script = with_peer(&config, &[ChunkType::I_DATA]);
            match state {
                State::ShutdownPending => {
                    script.send(10);
                    script.shutdown();
                }
                State::ShutdownSent => drop(script.shutdown()),
                _ => {}
            }
            assert_eq!(script.state(), state);
            let sent =
                if interleaving { script.data(10) } else { script.fragment(0, 'W', 0, 0, 0) };
            assert!(is_violation(&script, &sent), "{state:?}");
        }
    }
}

#[test]
fn an_empty_chunk_is_answered_with_abort() {
    let mut script = agreed(&config("round-robin"));
    let sent =
        script.give(|w| w.raw(&[64, 3, 0, 20, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]));
    assert_eq!(sent::only(&sent).cause_codes(), [CauseCode::NO_USER_DATA]);
}

#[test]
fn contradictions_end_the_association() {
    let mut script = agreed(&config("round-robin"));
    script.fragment(0, 'B', 0, 0, 0);
    script.fragment(1, 'M', 0, 0, 1);
    let sent = script.fragment(2, 'M', 0, 0, 1);
    assert!(is_violation(&script, &sent));
}

#[test]
fn messages_that_are_never_whole_end_the_association() {
    let mut config = config("round-robin");
    (config.max_message_size, config.receive_buffer) = (10_000, 4096);
    let mut script = agreed(&config);
    // A first fragment on each stream, and another one on each, and so on.
    let mut most = 0;
    for n in 0..10_000 {
        let (stream, fsn) = ((n % 10) as u16, n / 10);
        script.fragment(n, if fsn == 0 { 'B' } else { 'M' }, stream, 0, fsn);
        if script.state() == State::Closed {
            break;
        }
        most = most.max(script.end.roll[script.id].memory());
    }
    assert!(
        matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))),
        "{:?}",
        script.closed()
    );
    assert!((40_000..200_000).contains(&most), "{most}");
}

#[test]
fn messages_larger_than_the_buffer_come_through_side_by_side() {
    let mut config = config("round-robin");
    (config.max_message_size, config.receive_buffer) = (50_000, 4096);
    let mut script = agreed(&config);
    let mut read = Vec::new();
    for n in 0..1000u32 {
        let (stream, fsn) = ((n % 4) as u16, n / 4);
        let part = match fsn {
            0 => 'B',
            249 => 'E',
            _ => 'M',
        };
        script.fragment(n, part, stream, 0, fsn);
        read.extend(script.read_numbers().iter().map(Vec::len));
    }
    assert_eq!(read, [250; 4]);
}

#[test]
fn out_of_room_the_last_chunks_are_dropped_and_come_again() {
    let mut config = config("round-robin");
    config.receive_buffer = 4096;
    let mut script = agreed(&config);
    // Number 0 is missing; what follows fills the buffer.
    for n in 1..60 {
        script.fragment(n, if n < 9 { 'B' } else { 'M' }, (n % 8) as u16, 0, n / 8);
    }
    let held = script.stats().data_chunks_received;
    let sent = script.fragment(0, 'W', 9, 0, 0);
    assert_eq!(script.read_numbers(), [vec![0]]);
    let sack = sent.iter().find_map(Sent::sack).unwrap();
    assert!(sack.cumulative_tsn_ack.distance(PEER_TSN) >= 0);
    assert!(held < 59, "{held}");
}

//= RFC 8260 2.1-3
#[test]
fn the_i_bit_asks_for_a_sack_at_once() {
    for immediate in [false, true] {
        let mut script = agreed(&config("round-robin"));
        // The first chunk is acknowledged at once in any case.
        script.fragment(0, 'W', 0, 0, 0);
        let flags = DataFlags { immediate, ..DataFlags::UNFRAGMENTED };
        let sent = script.give(|w| {
            w.i_data(&IData {
                tsn: PEER_TSN.wrapping_add(1),
                stream: StreamId(0),
                mid: Mid(1),
                ppid: Ppid(0),
                fsn: Fsn(0),
                flags,
                payload: b"now",
            });
        });
        assert_eq!(sent.iter().any(|packet| packet.sack().is_some()), immediate);
    }
}
