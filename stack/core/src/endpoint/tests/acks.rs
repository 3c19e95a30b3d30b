//! Acknowledging DATA (RFC 9260 §6.2, §6.7).

use super::*;
use script::{PEER_TSN, write_data};
use sent::{only, types};

/// An association whose first DATA has arrived and was acknowledged.
fn started() -> Script {
    started_with(&standard())
}

fn started_with(config: &AssociationConfig) -> Script {
    let mut script = Script::connected(config);
    script.data(10);
    script
}

/// Cumulative TSN Ack (from `PEER_TSN`, which is 0), gap blocks and duplicates of a lone SACK.
#[track_caller]
fn sack(sent: &[Sent]) -> (i64, Vec<(u16, u16)>, Vec<u32>) {
    assert_eq!(only(sent).types(), [ChunkType::SACK]);
    let sack = only(sent).sack().unwrap();
    let number = |tsn: Tsn| tsn.distance(PEER_TSN);
    let gaps = sack.gap_blocks().map(|g| (g.start, g.end)).collect();
    let duplicates = sack.duplicates().map(|t| number(t) as u32).collect();
    (i64::from(number(sack.cumulative_tsn_ack)), gaps, duplicates)
}

/// Chunk number `n` of the peer.
fn nth(n: u32) -> Tsn {
    PEER_TSN.wrapping_add(n)
}

//= RFC 9260 5.1-19 6-11 6.2-1 6.2-7 6.2-8
#[test]
fn every_second_packet_is_acknowledged_at_once() {
    // RFC 9260 §6.2: "for at least every second packet (not every second DATA chunk)".
    let mut script = started();
    let two_chunks = script.give(|w| {
        write_data(w, nth(1), 10);
        write_data(w, nth(2), 10);
    });
    assert!(two_chunks.is_empty());
    assert_eq!(sack(&script.data_at(nth(3), 10)), (3, vec![], vec![]));
    assert!(script.data_at(nth(4), 10).is_empty());
    assert_eq!(sack(&script.data_at(nth(5), 10)), (5, vec![], vec![]));
}

//= RFC 9260 6.2-1 6.2-7 6.2-8
#[test]
fn a_single_packet_is_acknowledged_within_200_ms() {
    // RFC 9260 §6.2: "within 200 ms of the arrival of any unacknowledged DATA chunk".
    let mut script = started();
    assert!(script.data_at(nth(1), 10).is_empty());
    assert!(script.wait(ms(199)).is_empty());
    assert_eq!(sack(&script.wait(ms(1))), (1, vec![], vec![]));
    assert!(script.wait(secs(10)).is_empty());
}

//= RFC 9260 6-10 6.1-16 6.10-3
#[test]
fn a_sack_rides_with_outbound_data() {
    // RFC 9260 §6.1: "the sender SHOULD create a SACK chunk and bundle it with the outbound DATA".
    let mut script = started();
    script.data_at(nth(1), 10);
    let sent = script.send(10);
    assert_eq!(only(&sent).types(), [ChunkType::SACK, ChunkType::DATA], "control chunks first");
    assert!(script.wait(ms(500)).is_empty(), "the delayed one is not needed any more");
}

//= RFC 9260 6.2-20 6.2-21
#[test]
fn a_packet_of_duplicates_is_acknowledged_at_once_and_reports_them() {
    // RFC 9260 §6.2: "the endpoint MUST immediately send a SACK chunk with no delay"; §3.3.4: a
    // TSN that came again twice is listed twice.
    let mut script = started();
    assert_eq!(sack(&script.data_at(nth(0), 10)), (0, vec![], vec![0]));
    let sent = script.give(|w| {
        write_data(w, nth(0), 10);
        write_data(w, nth(0), 10);
    });
    assert_eq!(sack(&sent), (0, vec![], vec![0, 0]));
    let mixed = script.give(|w| {
        write_data(w, nth(0), 10);
        write_data(w, nth(1), 10);
    });
    let reported = if mixed.is_empty() { script.wait(ms(200)) } else { mixed };
    assert_eq!(sack(&reported), (1, vec![], vec![0]));
    assert_eq!(script.stats().duplicate_chunks_received, 4);
    assert_eq!(script.stats().messages_received, 0);
    assert_eq!(std::iter::from_fn(|| script.recv()).count(), 2, "nothing is delivered twice");
}

#[test]
fn linux_goes_by_the_last_chunk_of_a_packet() {
    // RFC 9260 §6.2: with new DATA beside the duplicates "the endpoint MAY immediately send a SACK chunk".
    let linux = profile("rfc9260", "[sack]\nif_last_is_duplicate = true");
    for (config, at_once) in [(standard(), false), (linux, true)] {
        let mut script = started_with(&config);
        let repeated_last = script.give(|w| {
            write_data(w, nth(1), 10);
            write_data(w, nth(0), 10);
        });
        assert_eq!(repeated_last.len(), usize::from(at_once));
        let mut script = started_with(&config);
        let new_last = script.give(|w| {
            write_data(w, nth(0), 10);
            write_data(w, nth(1), 10);
        });
        assert!(new_last.is_empty());
    }
}

//= RFC 9260 6.2-15 6.2-16 6.7-1 7.2.4-1
#[test]
fn gaps_are_reported_at_once_until_they_are_filled() {
    // RFC 9260 §6.7: "it SHOULD send a SACK chunk with Gap Ack Blocks immediately. The data
    // receiver continues sending a SACK chunk after receipt of each SCTP packet that does not fill
    // the gap." The TSNs wrap around meanwhile.
    let mut script = started();
    assert_eq!(sack(&script.data_at(nth(2), 10)), (0, vec![(2, 2)], vec![]));
    assert_eq!(sack(&script.data_at(nth(3), 10)), (0, vec![(2, 3)], vec![]));
    assert_eq!(sack(&script.data_at(nth(6), 10)), (0, vec![(2, 3), (6, 6)], vec![]));
    assert_eq!(sack(&script.data_at(nth(5), 10)), (0, vec![(2, 3), (5, 6)], vec![]));
    assert_eq!(sack(&script.data_at(nth(3), 10)), (0, vec![(2, 3), (5, 6)], vec![3]));
    assert_eq!(sack(&script.data_at(nth(1), 10)), (3, vec![(2, 3)], vec![]));
    assert_eq!(sack(&script.data_at(nth(4), 10)), (6, vec![], vec![]));
    assert!(script.data_at(nth(7), 10).is_empty(), "delayed as before");
    assert_eq!(nth(7), Tsn(4));
}

//= RFC 9260 6.2-19
#[test]
fn the_i_bit_asks_for_a_sack_without_delay() {
    // RFC 9260 §6.2: "the receiver SHOULD immediately respond with the corresponding SACK chunk".
    let mut script = started();
    let flags = DataFlags { immediate: true, ..DataFlags::UNFRAGMENTED };
    let sent = script.give(|w| w.data(nth(1), StreamId(0), Ssn(0), Ppid(0), flags, b"now"));
    assert_eq!(sack(&sent), (1, vec![], vec![]));
}

//= RFC 9260 6.2-10
#[test]
fn a_packet_is_never_answered_by_two_sacks() {
    // RFC 9260 §6.2: "MUST NOT generate more than one SACK chunk for every incoming packet".
    let mut script = started();
    let sent = script.give(|w| {
        for n in [1, 4, 4, 9, 3, 0, 60_000, 4_000_000] {
            write_data(w, nth(n), 10);
        }
    });
    assert_eq!(sack(&sent), (1, vec![(2, 3), (8, 8), (59_999, 59_999)], vec![4, 0]));
}

#[test]
fn tsns_that_no_sack_could_report_are_dropped() {
    // §3.3.4: Gap Ack Blocks have 16 bits; §6.2: what is dropped is answered at once, without it.
    let mut script = started();
    for far in [65_536, 1 << 20, (1 << 31) - 1, 1 << 31] {
        assert_eq!(sack(&script.data_at(nth(far), 10)), (0, vec![], vec![]), "{far}");
    }
    assert_eq!(sack(&script.data_at(nth(65_535), 10)), (0, vec![(65_535, 65_535)], vec![]));
    // Behind us: a duplicate, however old.
    let old = nth(1 << 31).wrapping_add(1);
    assert_eq!(sack(&script.data_at(old, 10)).2.len(), 1);
}

//= RFC 9260 6.2-17 6.7-6 6.7-7
#[test]
fn as_many_gap_blocks_as_fit_are_reported_lowest_first() {
    // RFC 9260 §6.7: "the endpoint MUST send only one SACK chunk. This single SACK chunk MUST
    // report the Gap Ack Blocks from the lowest to highest TSNs, within the size limit".
    let mut script = started_with(&AssociationConfig { mtu: 512, ..standard() });
    let mut last = Vec::new();
    for n in (2..1000).step_by(2).rev() {
        last = script.data_at(nth(n), 1);
    }
    let (cumulative, gaps, _) = sack(&last);
    assert!(only(&last).bytes.len() <= 492, "within the PMTU less the IP header");
    assert_eq!(gaps.len(), (492 - 12 - 16) / 4);
    assert!(cumulative == 0 && gaps[0] == (2, 2) && gaps.windows(2).all(|w| w[0].1 < w[1].0));
}

//= RFC 9260 6.2-31
#[test]
fn an_empty_data_chunk_is_answered_with_abort() {
    // RFC 9260 §6.2: "it SHOULD send an ABORT chunk with a 'No User Data' error cause".
    let mut script = started();
    let tsn = nth(1).0.to_be_bytes();
    let chunk = [&[0, 3, 0, 16][..], &tsn, &[0; 8]].concat();
    let sent = script.give(|w| w.raw(&chunk));
    assert_eq!(only(&sent).types(), [ChunkType::ABORT]);
    assert_eq!(only(&sent).causes(), [(CauseCode::NO_USER_DATA, tsn.to_vec())]);
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

//= RFC 9260 6.5-2
#[test]
fn data_on_a_stream_that_does_not_exist_is_acknowledged_and_reported() {
    // RFC 9260 §6.5: "it SHOULD acknowledge the reception of the DATA chunk following the normal
    // procedure, immediately send an ERROR chunk with cause set to 'Invalid Stream Identifier' ...
    // and discard the DATA chunk".
    let mut script = started();
    while script.recv().is_some() {}
    let flags = DataFlags::UNFRAGMENTED;
    let sent = script.give(|w| w.data(nth(1), StreamId(10), Ssn(0), Ppid(0), flags, b"lost"));
    let error = only(&sent);
    assert_eq!(error.causes(), [(CauseCode::INVALID_STREAM_IDENTIFIER, vec![0, 10, 0, 0])]);
    assert_eq!(error.types(), [ChunkType::ERROR, ChunkType::SACK]);
    assert_eq!(error.sack().unwrap().cumulative_tsn_ack, nth(1));
    assert!(script.recv().is_none());
    script.give(|w| w.data(nth(2), StreamId(9), Ssn(0), Ppid(0), flags, b"fine"));
    assert_eq!(&script.recv().unwrap().payload[..], b"fine");
}

//= RFC 9260 5.4-2 6.4-3 6.7-2
#[test]
fn sacks_go_where_the_last_data_came_from_if_that_is_confirmed() {
    // RFC 9260 §6.7: "try to send the SACK chunk to the same destination address from which the
    // last DATA chunk was received"; §5.4: "MUST NOT send any chunks to an UNCONFIRMED address".
    let remotes = addresses(Side::Z, 2);
    for confirmed in [false, true] {
        let mut script = Script::connecting_to(&standard(), &remotes[..1 + usize::from(confirmed)]);
        let mut parameters = ParameterWriter::new();
        parameters.ipv4([10, 0, 1, 2].into()).state_cookie(b"c");
        script.init_ack_with(&script::peer_fields(), &mut parameters);
        script.cookie_ack();
        let packet = script::packet(script.tag, |w| write_data(w, nth(0), 10));
        let sent = script.give_from(remotes[1], packet);
        let sack = sent.iter().find(|p| p.carries(ChunkType::SACK)).unwrap();
        assert_eq!(sack.to.destination, remotes[usize::from(confirmed)]);
        // So do the errors and answers that a packet causes.
        let error = script::packet(script.tag, |w| w.raw(&[0xfe, 0, 0, 4]));
        let sent = script.give_from(remotes[1], error);
        let error = sent.iter().find(|p| p.carries(ChunkType::ERROR)).unwrap();
        assert_eq!(error.to.destination, remotes[usize::from(confirmed)]);
    }
}

//= RFC 9260 6.2-2 6.2-4 6.2-5 6.2-11 6.2-22 6.2-25
#[test]
fn a_full_buffer_drops_new_data_and_says_so_at_once() {
    // RFC 9260 §6.2: "When the receiver's advertised window is 0, the receiver MUST drop any new
    // incoming DATA chunk with a TSN larger than the largest TSN received so far", and "MUST
    // immediately send back a SACK chunk".
    let config = AssociationConfig { receive_buffer: 4096, ..standard() };
    let mut script = Script::connected(&config);
    for n in 0..4 {
        script.data_at(nth(n), 1024);
    }
    for _ in 0..2 {
        let sent = script.data_at(nth(4), 1);
        assert_eq!(sack(&sent), (3, vec![], vec![]));
        assert_eq!(only(&sent).sack().unwrap().a_rwnd, 0);
    }
    assert_eq!(script.stats().data_chunks_dropped, 2);
    // What has been read makes room, and the peer is told.
    script.recv().unwrap();
    let sent = script.poll();
    assert_eq!(only(&sent).sack().unwrap().a_rwnd, 1024);
    script.data_at(nth(4), 1000);
    assert_eq!(script.stats().data_chunks_dropped, 2);
}

//= RFC 9260 6.2-2
#[test]
fn what_an_earlier_window_promised_is_taken_though_it_is_0_by_now() {
    // Small messages take more memory than their bytes, so the window closes faster than it is used.
    // What the peer sent meanwhile is taken, within bounds.
    let config = AssociationConfig { receive_buffer: 4096, ..standard() };
    let mut script = Script::connected(&config);
    let (mut closed, mut after) = (false, 0);
    for n in 0..400 {
        let before = script.stats().data_chunks_received;
        let sent = script.data_at(nth(n), 1);
        after += u64::from(closed) * (script.stats().data_chunks_received - before);
        closed |= sent.iter().filter_map(Sent::sack).any(|sack| sack.a_rwnd == 0);
    }
    assert!(closed && after > 0, "{after}");
    assert!(script.stats().data_chunks_dropped > 0, "nor more than twice the buffer");
}

//= RFC 9260 6.2-3 6.2-27 6.2-28
#[test]
fn with_a_full_buffer_a_lower_tsn_displaces_the_highest() {
    // RFC 9260 §6.2: "the receiver SHOULD drop the largest TSN held for reordering and accept the
    // new incoming DATA chunk"; what was dropped is in no Gap Ack Block until it comes again.
    let config = AssociationConfig { receive_buffer: 4096, ..standard() };
    let mut script = Script::connected(&config);
    let ordered = |n: u32| {
        move |w: &mut PacketWriter<'_>| {
            let flags = DataFlags::UNFRAGMENTED;
            w.data(nth(n), StreamId(0), Ssn(n as u16), Ppid(0), flags, &[1; 1024]);
        }
    };
    for n in 1..5 {
        script.give(ordered(n));
    }
    let sent = script.give(ordered(0));
    assert_eq!(sack(&sent), (3, vec![], vec![]), "chunk 4 made way for chunk 0");
    while script.recv().is_some() {}
    let mut sent = script.give(ordered(4));
    sent.extend(script.wait(ms(200)));
    assert_eq!(sack(&sent[sent.len() - 1..]).0, 4);
    assert_eq!(script.recv().unwrap().ssn, Ssn(4));
}

//= RFC 9260 6.2-6 6.2-12
#[test]
fn the_window_is_not_opened_in_silly_steps() {
    // RFC 9260 §6.2: "The receiver MUST avoid sending a large number of window updates".
    let mut script = Script::connected(&AssociationConfig { receive_buffer: 65_536, ..standard() });
    for n in 0..600 {
        script.data_at(nth(n), 100);
    }
    let mut updates = 0;
    while script.recv().is_some() {
        updates += script.poll().len();
    }
    assert!((1..=16).contains(&updates), "{updates}");
    assert_eq!(types(&script.wait(secs(1))), [] as [Vec<ChunkType>; 0]);
}
