//! NR-SACKs: agreed on, written, and believed (draft-natarajan-tsvwg-sctp-nrsack).

use tresse_wire::{Chunk, SackFlags};

use super::*;
use script::{PEER_TSN, RWND, peer_fields, write_data};
use sent::only;

fn config(mode: &str) -> AssociationConfig {
    let overrides = format!("[sack]\nnr_sack = '{mode}'");
    AssociationConfig { no_delay: true, ..profile("rfc9260", &overrides) }
}

/// An association that both ends agreed on, whose first DATA has arrived.
fn agreed(config: &AssociationConfig) -> Script {
    let mut script = Script::connecting(config);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(&[ChunkType::NR_SACK.0]);
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    script.give(|w| ordered(w, 0, 0));
    script
}

/// Chunk number `n` of the peer.
fn nth(n: u32) -> Tsn {
    PEER_TSN.wrapping_add(n)
}

/// One whole ordered message of 1000 bytes on stream 1, or on the next one for odd chunks.
fn ordered(w: &mut PacketWriter<'_>, n: u32, ssn: u16) {
    let stream = StreamId(1 + n as u16 % 2);
    w.data(nth(n), stream, Ssn(ssn), Ppid(0), DataFlags::UNFRAGMENTED, &[n as u8; 1000]);
}

type Blocks = Vec<(u16, u16)>;

/// Cumulative TSN Ack (from `PEER_TSN`, which is 0), Gap Ack Blocks and NR Gap Ack Blocks.
#[track_caller]
fn nr_sack(sent: &[Sent]) -> (i64, Blocks, Blocks) {
    assert_eq!(only(sent).types(), [ChunkType::NR_SACK]);
    let Some(Chunk::NrSack(chunk)) = only(sent).chunks().next() else { unreachable!() };
    let pairs = |blocks: tresse_wire::GapAckBlocks<'_>| blocks.map(|b| (b.start, b.end)).collect();
    let cumulative = chunk.sack.cumulative_tsn_ack.distance(PEER_TSN);
    (i64::from(cumulative), pairs(chunk.sack.gap_blocks()), pairs(chunk.nr_gap_blocks()))
}

/// An NR-SACK of the peer for the first `count` chunks of the endpoint, and blocks of both kinds.
fn give(script: &mut Script, count: u32, gaps: &[(u16, u16)], nr: &[(u16, u16)]) -> Vec<Sent> {
    let cumulative = script.tsn(count).wrapping_sub(1);
    let block = |(start, end): &(u16, u16)| GapAckBlock { start: *start, end: *end };
    script.give(|w| {
        let (gaps, nr) = (gaps.iter().map(block), nr.iter().map(block));
        w.nr_sack(SackFlags::default(), cumulative, RWND, gaps, nr, [].into_iter());
    })
}

#[test]
fn both_ends_must_offer_them() {
    for (a, z, kind) in [
        ("delivered", "all", ChunkType::NR_SACK),
        ("off", "all", ChunkType::SACK),
        ("delivered", "off", ChunkType::SACK),
    ] {
        let mut pair = Pair::new(&config(z), 1);
        let (a_id, z_id) = pair.connect(&config(a));
        pair.send(Side::A, a_id, 0, vec![1; 100]);
        pair.send(Side::Z, z_id, 0, vec![1; 100]);
        pair.run(secs(1));
        for (side, id) in [(Side::A, a_id), (Side::Z, z_id)] {
            assert_eq!(pair.end(side).info(id).unwrap().nr_sack, kind == ChunkType::NR_SACK);
            let other = if kind == ChunkType::SACK { ChunkType::NR_SACK } else { ChunkType::SACK };
            assert!(!pair.sent(side, kind).is_empty(), "{a} {z}");
            assert!(pair.sent(side, other).is_empty(), "{a} {z}");
        }
    }
}

#[test]
fn what_was_delivered_is_kept() {
    let mut script = agreed(&config("delivered"));
    // Unordered: delivered though chunk 1 is missing.
    assert_eq!(nr_sack(&script.give(|w| write_data(w, nth(2), 10))), (0, vec![], vec![(2, 2)]));
    // Ordered, and the first of its stream: delivered too; the second of the other stream waits.
    assert_eq!(nr_sack(&script.give(|w| ordered(w, 3, 0))), (0, vec![], vec![(2, 3)]));
    let sent = script.give(|w| ordered(w, 4, 2));
    assert_eq!(nr_sack(&sent), (0, vec![(4, 4)], vec![(2, 3)]));
    let sent = script.give(|w| ordered(w, 6, 1));
    // The one between them came, and both went.
    assert_eq!(nr_sack(&sent), (0, vec![], vec![(2, 4), (6, 6)]));
    assert_eq!(std::iter::from_fn(|| script.recv()).count(), 5);
}

#[test]
fn a_message_is_kept_when_it_is_whole() {
    let mut script = agreed(&config("delivered"));
    let fragment = |w: &mut PacketWriter<'_>, n: u32, beginning, ending| {
        let flags = DataFlags { beginning, ending, unordered: true, ..DataFlags::UNFRAGMENTED };
        w.data(nth(n), StreamId(0), Ssn(0), Ppid(0), flags, &[0; 10]);
    };
    assert_eq!(nr_sack(&script.give(|w| fragment(w, 2, true, false))).1, [(2, 2)]);
    assert_eq!(nr_sack(&script.give(|w| fragment(w, 4, false, true))).1, [(2, 2), (4, 4)]);
    let sent = script.give(|w| fragment(w, 3, false, false));
    assert_eq!(nr_sack(&sent), (0, vec![], vec![(2, 4)]));
    assert_eq!(nr_sack(&script.give(|w| write_data(w, nth(1), 10))), (4, vec![], vec![]));
}

#[test]
fn everything_is_kept_if_the_receiver_never_reneges() {
    let mut script = agreed(&config("all"));
    assert_eq!(nr_sack(&script.give(|w| ordered(w, 4, 5))), (0, vec![], vec![(4, 4)]));
    assert_eq!(nr_sack(&script.give(|w| ordered(w, 6, 6))), (0, vec![], vec![(4, 4), (6, 6)]));
}

/// Fills a buffer of 8192 bytes with chunks beyond the missing chunk 1, none of which can be
/// delivered.
fn full(mode: &str) -> Script {
    let mut script = agreed(&AssociationConfig { receive_buffer: 8192, ..config(mode) });
    while script.recv().is_some() {}
    for n in 1..=8 {
        let sent = script.give(|w| ordered(w, 2 * n, 1 + n as u16));
        assert_eq!(sent.len(), 1, "{n}");
    }
    script
}

#[test]
fn what_is_kept_is_not_dropped_for_want_of_room() {
    // RFC 9260 §6.2 would drop the largest TSN held.
    let held: Blocks = (1..=8).map(|n| (2 * n, 2 * n)).collect();
    let mut script = full("delivered");
    let sent = script.give(|w| ordered(w, 3, 1));
    let (_, gaps, _) = nr_sack(&sent);
    assert!(gaps.contains(&(2, 4)) && !gaps.contains(&(16, 16)), "{gaps:?}");

    let mut script = full("all");
    for n in [3, 5] {
        let sent = script.give(|w| ordered(w, n, 1));
        assert_eq!(nr_sack(&sent), (0, vec![], held.clone()), "no room, and nothing is dropped");
    }
    // What everything waits for comes in all the same, and then the next.
    let sent = script.give(|w| ordered(w, 1, 0));
    assert_eq!((nr_sack(&sent).0, script.recv().is_some()), (2, true));
    let sent = script.give(|w| ordered(w, 3, 1));
    assert_eq!(nr_sack(&sent).0, 4);
}

#[test]
fn what_is_kept_stays_bounded() {
    // Chunks of one byte cost more memory than window: they are refused at the hard limit, but for
    // those that everything waits for.
    let mut script = agreed(&AssociationConfig { receive_buffer: 4096, ..config("all") });
    while script.recv().is_some() {}
    let tiny = |w: &mut PacketWriter<'_>, n: u32| {
        w.data(nth(n), StreamId(1), Ssn(n as u16), Ppid(0), DataFlags::UNFRAGMENTED, &[0]);
    };
    for n in 2..1000 {
        script.give(|w| tiny(w, 2 * n));
    }
    let stats = script.stats();
    assert!(stats.data_chunks_dropped > 0, "{stats:?}");
    let held = stats.receive_buffered;
    assert!((4096..=5 * 4096).contains(&held), "{held}");
    let (cumulative, _, kept) = nr_sack(&script.give(|w| tiny(w, 5)));
    assert!(cumulative == 0 && !kept.iter().any(|b| b.0 <= 5 && 5 <= b.1), "not the first");
    for n in [1, 2, 3, 5, 7] {
        assert_eq!(nr_sack(&script.give(|w| tiny(w, n))).0, i64::from(n + u32::from(n > 2)));
    }
    let received = std::iter::from_fn(|| script.recv()).count();
    assert_eq!(received, 8);
    assert_eq!(script.stats().reneged, 0);
}

#[test]
fn what_is_kept_leaves_the_send_buffer() {
    let config = AssociationConfig { send_buffer: 4000, ..config("delivered") };
    let mut script = agreed(&config);
    for _ in 0..4 {
        script.send(1000);
    }
    assert!(script.try_send(0, 1000, SendOptions::default()).is_err());
    give(&mut script, 0, &[(2, 2)], &[]);
    assert_eq!(script.stats().send_buffered, 4000, "it could be taken back");
    give(&mut script, 0, &[], &[(2, 4)]);
    assert_eq!(script.stats().send_buffered, 1000);
    assert!(script.events.iter().any(|e| matches!(e, Event::Writable)));
    // Late, over another path: nothing is taken back.
    script.sack(0, &[]);
    script.sack(0, &[(2, 2)]);
    assert_eq!((script.stats().send_buffered, script.stats().reneged), (1000, 0));
    assert_eq!(script.path(0).flight, 1016);
    let sent = script.wait_for_data();
    assert_eq!(script.numbers(&sent), [[0]], "only what is not acknowledged");
    give(&mut script, 4, &[], &[]);
    assert_eq!(script.stats().send_buffered, 0);
}

#[test]
fn what_is_kept_is_not_reported_as_failed() {
    let mut script = agreed(&config("delivered"));
    for len in [1000, 2000, 100] {
        script.send(len); // The second one has two fragments.
    }
    give(&mut script, 0, &[(2, 2)], &[(3, 4)]);
    script.end.abort(script.now, script.id, b"").unwrap();
    script.poll();
    let failed: Vec<usize> = script
        .events
        .iter()
        .filter_map(
            |e| if let Event::SendFailed(m) = e { Some(m.message.payload.len()) } else { None },
        )
        .collect();
    assert_eq!(failed, [1000, 2000], "the first one, and the second as a whole");
}

#[test]
fn promises_that_overlap_or_are_broken_change_nothing() {
    let mut script = agreed(&config("delivered"));
    for _ in 0..10 {
        script.send(100);
    }
    // In any order, over each other, and over Gap Ack Blocks that report the same.
    give(&mut script, 0, &[(2, 3), (2, 8)], &[(4, 5), (2, 4), (3, 5), (2, 5)]);
    assert_eq!((script.stats().send_buffered, script.path(0).flight), (600, 3 * 116));
    // The four are withdrawn again and again, and what could be taken back is left alone.
    for n in 0..1000u16 {
        let kept = [(2, 2 + n % 4)];
        give(&mut script, 0, &[(6, 8)], if n % 2 == 0 { &kept } else { &[] });
    }
    let stats = script.stats();
    assert_eq!((stats.reneged, stats.contradictory_sacks), (0, 0));
    assert_eq!((stats.send_buffered, script.path(0).flight), (600, 3 * 116));
    assert_eq!(script.state(), State::Established);
    // What is not promised may be taken back, and is sent again.
    give(&mut script, 0, &[], &[]);
    assert_eq!((script.stats().reneged, script.path(0).flight), (3, 6 * 116));
}

/// The send buffer is empty as long as the first chunk is missing, so that the application may go on for ever.
#[test]
fn a_peer_that_keeps_all_but_the_first_holds_65_535_chunks_up_and_no_more() {
    let mut script = agreed(&AssociationConfig { send_buffer: 4000, ..config("delivered") });
    // Of the ordered messages of a stream half as many may be outstanding.
    let unordered = SendOptions { unordered: true, ..SendOptions::default() };
    let mut outstanding = 0;
    loop {
        while script.try_send(0, 1, unordered).is_ok() {}
        script.poll();
        let info = script.end.info(script.id).unwrap();
        if info.unacknowledged_chunks == outstanding {
            break;
        }
        outstanding = info.unacknowledged_chunks;
        give(&mut script, 0, &[], &[(2, outstanding as u16)]);
    }
    assert_eq!(outstanding, 65_535);
    let stats = script.stats();
    assert!(stats.send_buffered <= 4000 && stats.memory < 16 << 20, "{stats:?}");
    assert_eq!(script.state(), State::Established);
}

#[test]
fn one_that_was_not_agreed_on_is_unknown() {
    // RFC 9260 §3.2: highest bits 00, "stop processing this SCTP packet".
    let mut script = Script::connected(&config("all"));
    script.send(100);
    let cumulative = script.tsn(0);
    script.give(|w| {
        w.nr_sack(
            SackFlags::default(),
            cumulative,
            RWND,
            [].into_iter(),
            [].into_iter(),
            [].into_iter(),
        );
        write_data(w, nth(0), 10);
    });
    assert_eq!((script.stats().data_chunks_received, script.stats().send_buffered), (0, 100));
    assert_eq!(script.state(), State::Established);
}

#[test]
fn one_without_sense_changes_nothing() {
    let mut script = agreed(&config("delivered"));
    for _ in 0..3 {
        script.send(1000);
    }
    for (gaps, nr) in [((0, 1), (2, 2)), ((2, 2), (3, 2))] {
        give(&mut script, 0, &[gaps], &[nr]);
    }
    assert_eq!(script.stats().malformed_chunks, 2);
    assert_eq!((script.stats().send_buffered, script.path(0).flight), (3000, 3048));
    // What was never sent cannot have arrived (RFC 9260 §12.4).
    for (gaps, nr) in [((2, 2), (2, 9)), ((2, 9), (2, 2))] {
        let mut script = agreed(&config("delivered"));
        for _ in 0..3 {
            script.send(1000);
        }
        give(&mut script, 0, &[gaps], &[nr]);
        assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
    }
}
