//! FORWARD TSN chunks that arrive: the receiver's half of PR-SCTP (RFC 3758 §3.6).

use tresse_wire::SkippedStream;

use super::*;
use partial::{agreed, offering};
use script::PEER_TSN;

/// Chunk number `n` of the peer.
fn nth(n: u32) -> Tsn {
    PEER_TSN.wrapping_add(n)
}

/// A fragment, as `B`, `M`, `E` or `W` for a whole message, of a message on a stream; its payload is its number.
fn write(w: &mut PacketWriter<'_>, n: u32, part: char, stream: u16, ssn: Option<u16>) {
    let flags = DataFlags {
        beginning: matches!(part, 'B' | 'W'),
        ending: matches!(part, 'E' | 'W'),
        unordered: ssn.is_none(),
        ..DataFlags::default()
    };
    let payload = [n as u8; 100];
    w.data(nth(n), StreamId(stream), Ssn(ssn.unwrap_or(0)), Ppid(0), flags, &payload);
}

impl Script {
    fn part(&mut self, n: u32, part: char, stream: u16, ssn: Option<u16>) -> Vec<Sent> {
        self.give(|w| write(w, n, part, stream, ssn))
    }

    fn forward(&mut self, n: u32, skipped: &[(u16, u16)]) -> Vec<Sent> {
        let skipped = skipped
            .iter()
            .map(|(stream, ssn)| SkippedStream { stream: StreamId(*stream), ssn: Ssn(*ssn) });
        self.give(|w| w.forward_tsn(nth(n), skipped))
    }

    /// Up to where FORWARD TSN chunks went, how many streams they list, how many chunks were dropped, and whether anything was
    /// passed over, as trace events tell.
    fn passed_over(&mut self) -> Vec<(i32, usize, usize, bool)> {
        let passed = |event| match event {
            TraceEvent::PassedOver { tsn, streams, dropped, advanced } => {
                Some((tsn.distance(PEER_TSN), streams, dropped, advanced))
            }
            _ => None,
        };
        std::iter::from_fn(|| self.end.poll_trace()).filter_map(|(_, _, e)| passed(e)).collect()
    }

    /// What can be read: the numbers of the chunks of each message.
    fn read(&mut self) -> Vec<Vec<u8>> {
        let parts = |m: ReceivedMessage| m.payload.chunks(100).map(|c| c[0]).collect();
        std::iter::from_fn(|| self.recv()).map(parts).collect()
    }
}

/// Cumulative TSN Ack and gap blocks of the only SACK.
#[track_caller]
fn sack(sent: &[Sent]) -> (i32, Vec<(u16, u16)>) {
    let sack = sent.iter().find_map(Sent::sack).expect("a SACK");
    let gaps = sack.gap_blocks().map(|b| (b.start, b.end)).collect();
    (sack.cumulative_tsn_ack.distance(PEER_TSN), gaps)
}

//= RFC 3758 3.2-2 3.6-2 3.6-3
#[test]
fn the_example_of_the_rfc() {
    let mut script = agreed(&offering());
    // 102 received, 103 missing, 104 and 105 received, 106 missing, 107 received.
    for n in [0, 2, 3, 5] {
        script.part(n, 'W', 0, None);
    }
    let sent = script.forward(1, &[]);
    assert_eq!(sack(&sent), (3, vec![(2, 2)]));
    assert_eq!(script.stats().forward_tsns_received, 1);
    assert_eq!(script.passed_over(), [(1, 0, 0, true)]);
    // The beginning of a message, the end of which was given up.
    script.part(6, 'B', 1, Some(0));
    script.forward(7, &[(1, 0), (2, 0)]);
    assert_eq!(script.passed_over(), [(7, 2, 1, true)]);
}

//= RFC 3758 3.6-4 3.6-5
#[test]
fn one_that_is_out_of_date_is_answered_and_moves_nothing() {
    let mut script = agreed(&offering());
    for n in [0, 1, 3] {
        script.part(n, 'W', 0, None);
    }
    for n in [0, 1] {
        assert_eq!(sack(&script.forward(n, &[(0, 100)])), (1, vec![(2, 2)]));
        assert_eq!(script.passed_over(), [(n as i32, 1, 0, false)]);
    }
    // Serial arithmetic: far behind.
    let sent = script.give(|w| w.forward_tsn(PEER_TSN.wrapping_sub(1 << 30), [].into_iter()));
    assert_eq!(sack(&sent), (1, vec![(2, 2)]));
    assert_eq!(script.stats().forward_tsns_received, 3);
    script.part(2, 'W', 0, Some(0));
    assert_eq!(script.read().len(), 4, "no SSN was passed over");
}

//= RFC 3758 3.6-1 3.6-6
#[test]
fn it_is_acknowledged_like_data() {
    let mut script = agreed(&offering());
    script.part(0, 'W', 0, None);
    // Without a gap the SACK is delayed; the second packet brings it.
    assert_eq!(script.forward(1, &[]).len(), 0);
    assert_eq!(sack(&script.part(2, 'W', 0, None)), (2, vec![]));
    assert_eq!(script.forward(3, &[]).len(), 0);
    let sent = script.wait(ms(200));
    assert_eq!(sack(&sent), (3, vec![]));
    // What comes late was received, as far as anybody knows.
    let sent = script.part(3, 'W', 0, None);
    let found = sent.iter().find_map(Sent::sack).unwrap();
    assert_eq!(found.duplicates().collect::<Vec<_>>(), [nth(3)]);
    assert_eq!(script.read(), [[0], [2]]);
}

//= RFC 3758 3.6-7 3.6-8
#[test]
fn stranded_messages_are_delivered_in_order() {
    let mut script = agreed(&offering());
    script.part(0, 'W', 1, Some(0));
    // 1 and 4 are missing: SSN 1 of stream 1 and SSN 0 of stream 2.
    for (n, stream, ssn) in [(2, 1, 2), (3, 1, 3), (5, 2, 1), (6, 1, 5)] {
        script.part(n, 'W', stream, Some(ssn));
    }
    assert_eq!(script.read(), [[0]]);
    script.forward(1, &[(1, 1)]);
    assert_eq!(script.read(), [[2], [3]]);
    script.forward(4, &[(2, 0)]);
    assert_eq!(script.read(), [[5]]);
    // SSN 4 of stream 1 comes behind SSN 5.
    script.part(7, 'W', 1, Some(4));
    assert_eq!(script.read(), [[7], [6]]);
}

//= RFC 3758 3.6-7
#[test]
fn several_messages_of_a_stream_are_passed_over_at_once() {
    let mut script = agreed(&offering());
    for (n, ssn) in [(1, 1), (3, 3), (5, 5), (6, 6), (8, 8)] {
        script.part(n, 'W', 1, Some(ssn));
    }
    script.forward(4, &[(1, 4)]);
    assert_eq!(script.read(), [[1], [3], [5], [6]]);
}

//= RFC 3758 3.6-9 3.6-10
#[test]
fn what_lacks_a_part_is_dropped_and_what_may_become_whole_is_not() {
    let mut script = agreed(&offering());
    // Message A is 0 to 2, of which 2 is missing; B is 3 to 5, of which 4 is; C is 6 to 8, of which 8 is.
    for (n, part, ssn) in
        [(0, 'B', 0), (1, 'M', 0), (3, 'B', 1), (5, 'E', 1), (6, 'B', 2), (7, 'M', 2)]
    {
        script.part(n, part, 1, Some(ssn));
    }
    let held = script.stats().receive_buffered;
    script.forward(4, &[(1, 1)]);
    let stats = script.stats();
    assert!(stats.receive_buffered < held);
    assert_eq!(stats.chunks_passed_over, 3, "0 and 1 in one piece, 3, and the end of B");
    assert_eq!(script.read(), [[0u8; 0]; 0]);
    script.part(8, 'E', 1, Some(2));
    assert_eq!(script.read(), [[6, 7, 8]]);
    assert_eq!(script.stats().receive_buffered, 0);
}

//= RFC 3758 3.6-9
#[test]
fn remnants_of_what_was_passed_over_are_dropped() {
    let mut script = agreed(&offering());
    // 0 to 3 are one message. The peer passes over its beginning only, and the rest arrives.
    script.part(2, 'M', 1, Some(0));
    script.forward(1, &[(1, 0)]);
    script.part(3, 'E', 1, Some(0));
    script.part(4, 'W', 1, Some(1));
    assert_eq!(script.read(), [[4]]);
    assert_eq!((script.closed(), script.stats().receive_buffered), (None, 0));
    // The same beyond the first missing chunk.
    script.part(7, 'M', 1, Some(2));
    script.part(8, 'E', 1, Some(2));
    script.part(9, 'W', 1, Some(3));
    script.forward(6, &[(1, 2)]);
    assert_eq!(script.read(), [[9]]);
    assert_eq!(script.stats().receive_buffered, 0);
}

#[test]
fn a_message_from_the_middle_is_still_an_error_elsewhere() {
    let mut script = agreed(&offering());
    script.forward(1, &[]);
    script.part(2, 'W', 1, Some(0));
    script.part(3, 'M', 1, Some(1));
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

#[test]
fn far_ahead_is_out_of_range_and_costs_nothing() {
    let mut script = agreed(&offering());
    script.part(0, 'W', 0, None);
    for n in [70_000, 1 << 20, i32::MAX as u32, 1 << 31] {
        let sent = script.forward(n, &[(0, 9)]);
        assert_eq!(sack(&sent), (0, vec![]), "{n}");
    }
    assert_eq!(script.stats().data_chunks_dropped, 4);
    script.forward(65_535, &[]);
    assert_eq!(sack(&script.wait(ms(200))).0, 65_535);
}

#[test]
fn a_flood_of_them_is_bounded() {
    let mut script = agreed(&offering());
    script.part(0, 'W', 0, None);
    script.read();
    let before = script.stats().memory;
    let streams: Vec<(u16, u16)> = (0..350).map(|n| (n * 187, n)).collect();
    let mut n = 0;
    for step in 0..3000u32 {
        // Something is held far beyond each.
        script.part(n + 40_000, 'B', 9, None);
        n += 65_535 - step % 7;
        script.forward(n, &streams);
    }
    let stats = script.stats();
    assert!(stats.memory < before + (64 << 10), "{before} {}", stats.memory);
    assert_eq!((stats.receive_buffered, script.closed()), (0, None));
}

#[test]
fn streams_that_do_not_exist_and_ssns_of_the_past_say_nothing() {
    let mut script = agreed(&offering());
    script.part(0, 'W', 1, Some(0));
    script.part(1, 'W', 1, Some(1));
    // There are ten streams.
    script.forward(2, &[(10, 5), (65_535, 0), (1, 0), (1, 40_000)]);
    script.part(3, 'W', 1, Some(2));
    assert_eq!(script.read(), [[0], [1], [3]]);
}

#[test]
fn no_other_message_is_delivered_for_it() {
    // Fragments of several messages on several streams; whatever is passed over, only whole ones come out.
    let mut script = agreed(&offering());
    for (n, part, stream, ssn) in [
        (1, 'E', 1, Some(0)),
        (2, 'B', 2, Some(0)),
        (3, 'E', 2, Some(0)),
        (5, 'E', 2, Some(1)),
        (6, 'B', 1, None),
        (7, 'E', 1, None),
        (9, 'B', 3, Some(0)),
    ] {
        script.part(n, part, stream, ssn);
    }
    script.forward(8, &[(1, 0), (2, 1), (3, 7)]);
    let mut read = script.read();
    read.sort();
    assert_eq!(read, [[2, 3], [6, 7]]);
}

#[test]
fn in_shutdown_sent_it_is_answered_like_data() {
    let mut script = agreed(&offering());
    script.part(0, 'W', 0, None);
    script.shutdown();
    let sent = script.forward(1, &[]);
    let shutdown = sent.iter().find_map(|p| p.find(ChunkType::SHUTDOWN)).expect("SHUTDOWN");
    assert_eq!(shutdown.value, nth(1).0.to_be_bytes());
}

#[test]
fn nr_sacks_follow() {
    let overrides = "[sack]\nnr_sack = 'delivered'";
    let config = AssociationConfig {
        extensions: Extensions::default(),
        no_delay: true,
        ..profile("rfc9260", overrides)
    };
    let mut script = Script::connecting(&config);
    let mut parameters = ParameterWriter::new();
    let types = [ChunkType::NR_SACK.0];
    parameters.state_cookie(b"cookie").supported_extensions(&types).forward_tsn_supported();
    script.init_ack_with(&script::peer_fields(), &mut parameters);
    script.cookie_ack();
    for n in [0, 2, 4, 6] {
        script.part(n, 'W', 0, None);
    }
    let sent = script.forward(3, &[]);
    let found = sent.iter().flat_map(Sent::chunks).find_map(|chunk| match chunk {
        tresse_wire::Chunk::NrSack(nr) => Some((
            nr.sack.cumulative_tsn_ack.distance(PEER_TSN),
            nr.nr_gap_blocks().map(|b| (b.start, b.end)).collect::<Vec<_>>(),
        )),
        _ => None,
    });
    assert_eq!(found, Some((4, vec![(2, 2)])));
}
