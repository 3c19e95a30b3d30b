//! Packet drop reports (draft-stewart-sctp-pktdrprep): who agrees on them, what is reported, and what a report does.

mod attacks;

use tresse_wire::{Chunk, PacketDrop};

use super::*;
use crate::ids::LossCause;
use script::{FULL, PEER_TAG, PEER_TSN, PMDCS, packet, peer_fields, write_data};
use sent::only;

fn config() -> AssociationConfig {
    with_reports(bursty())
}

fn with_reports(config: AssociationConfig) -> AssociationConfig {
    let extensions = Extensions { packet_drop_reports: true, ..config.extensions };
    AssociationConfig { extensions, ..config }
}

/// An association that the endpoint opened over a round trip of 100 ms, with a peer that has these types of chunks.
fn opened(config: &AssociationConfig, types: &[u8]) -> Script {
    let mut script = Script::connecting(config);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").supported_extensions(types);
    // The round trip of the handshake is known, too.
    script.wait(ms(100));
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.wait(ms(100));
    script.cookie_ack();
    script
}

fn agreed() -> Script {
    opened(&config(), &[ChunkType::PACKET_DROP.0])
}

/// The same with `n` full packets in flight that were sent 100 ms ago.
fn flying(n: usize) -> (Script, Vec<Sent>) {
    let mut script = agreed();
    let (mut given, mut left, mut acked) = (0, 0, 0);
    while script.path(0).cwnd < n * PMDCS || acked < given {
        while script.path(0).cwnd < n * PMDCS && given < left + n as u32 {
            script.try_send(0, FULL, SendOptions::default()).unwrap();
            given += 1;
        }
        left += script.poll().len() as u32;
        script.wait(ms(100));
        let arrived = left;
        while acked < arrived {
            acked += 1;
            left += script.sack(acked, &[]).len() as u32;
        }
    }
    script.first = script.tsn(acked);
    for _ in 0..n {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    let sent = script.poll();
    assert_eq!(sent.len(), n);
    script.wait(ms(100));
    (script, sent)
}

/// The packet with a bit of it flipped.
fn damaged(mut bytes: Vec<u8>, bit: usize) -> Vec<u8> {
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

/// What the peer says of a packet with a wrong checksum.
fn report(packet: &[u8]) -> PacketDrop<'_> {
    PacketDrop {
        from_middle_box: false,
        bad_checksum: true,
        truncated_from: None,
        bandwidth: 1 << 16,
        queued: 0,
        packet,
    }
}

fn reported(sent: &[Sent]) -> Vec<Chunk<'_>> {
    let chunks = sent.iter().flat_map(Sent::chunks);
    chunks.filter(|chunk| matches!(chunk, Chunk::PacketDrop(_))).collect()
}

#[test]
fn they_are_off_unless_both_offer_them() {
    assert!(!Extensions::default().packet_drop_reports);
    let types = [ChunkType::PACKET_DROP.0];
    for (ours, theirs) in [(true, true), (true, false), (false, true)] {
        let config = if ours { config() } else { bursty() };
        let offer = if theirs { &types[..] } else { &[] };
        let called = opened(&config, offer);
        let mut calling = Script::listening(&config);
        let parameters = ParameterWriter::new().supported_extensions(offer).finish();
        calling.join(&peer_fields(), &parameters);
        for mut script in [called, calling] {
            let agreed = ours && theirs;
            let info = script.end.info(script.id).unwrap();
            assert_eq!(info.extensions.packet_drop_reports, agreed);
            let bad = damaged(packet(script.tag, |w| write_data(w, PEER_TSN, 100)), 300);
            assert_eq!(reported(&script.give_bytes(bad)).len(), usize::from(agreed));
            // What was not agreed on is skipped, and what follows is not.
            let sent = script.send(100);
            script.wait(ms(100));
            let sent = script.give(|w| {
                w.packet_drop(&report(&sent[0].bytes));
                w.heartbeat(&[0, 1, 0, 8, 1, 2, 3, 4]);
            });
            assert!(sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT_ACK)));
            assert_eq!(sent.iter().any(|p| p.carries(ChunkType::DATA)), agreed);
            assert_eq!(script.stats().packet_drop_reports_received, u64::from(agreed));
        }
    }
}

#[test]
fn the_offer_is_made_in_both_directions() {
    for ours in [true, false] {
        let config = if ours { config() } else { bursty() };
        let listed = |sent: &Sent| {
            let lists = sent.init().1;
            lists.iter().any(|parameter| match parameter {
                tresse_wire::Parameter::SupportedExtensions(types) => types.contains(&0x81),
                _ => false,
            })
        };
        let init = Script::listening(&config).connect(&config, &addresses(Side::Z, 1));
        assert_eq!(listed(&init[0]), ours);
        let mut script = Script::listening(&config);
        let ack = script.give_bytes(script::init_packet(&peer_fields(), &[]));
        assert_eq!(listed(&ack[0]), ours);
    }
}

#[test]
fn a_damaged_packet_goes_back_as_it_came() {
    let mut script = agreed();
    let invalid = script.end.endpoint_stats().invalid_packets;
    let bad = damaged(packet(script.tag, |w| write_data(w, PEER_TSN, 100)), 40 * 8);
    let sent = script.give_bytes(bad.clone());
    assert_eq!(only(&sent).types(), [ChunkType::PACKET_DROP]);
    assert_eq!(sent[0].tag(), PEER_TAG);
    let Some(Chunk::PacketDrop(report)) = sent[0].chunks().next() else { unreachable!() };
    assert!(report.bad_checksum && !report.from_middle_box);
    assert_eq!((report.truncated_from, report.packet), (None, &bad[..]));
    assert_eq!(report.bandwidth, standard().receive_buffer);
    assert_eq!(script.stats().packet_drop_reports_sent, 1);
    // It was not taken.
    assert_eq!(script.stats().data_chunks_received, 0);
    assert_eq!(script.end.endpoint_stats().invalid_packets, invalid + 1);
    assert_eq!(script.stats().packets_received, 2, "INIT ACK and COOKIE ACK");
}

#[test]
fn what_does_not_fit_a_packet_is_cut_off() {
    let mut script = agreed();
    for len in [PMDCS - 16 - 12 - 16, PMDCS - 16 - 12 - 16 + 4, FULL, 3000] {
        let bad = damaged(packet(script.tag, |w| write_data(w, PEER_TSN, len)), 300);
        let sent = script.give_bytes(bad.clone());
        let Some(Chunk::PacketDrop(report)) = only(&sent).chunks().next() else { unreachable!() };
        let whole = bad.len() <= PMDCS - 16;
        let quoted = bad.len().min(PMDCS - 16);
        assert_eq!(report.packet, &bad[..quoted]);
        assert_eq!(report.truncated_from, (!whole).then_some(bad.len() as u16));
        assert!(sent[0].bytes.len() <= 12 + PMDCS);
        assert!(sent[0].bytes.len() <= bad.len() + 28, "never more than its own headers longer");
    }
}

#[test]
fn what_is_quoted_is_sent_again_at_once_and_costs_no_window() {
    let (mut script, sent) = flying(10);
    let (cwnd, flight) = (script.path(0).cwnd, script.path(0).flight);
    while script.end.poll_trace().is_some() {}
    for bit in [8 * 8, 200 * 8, 1400 * 8 + 3] {
        let number = bit % 7 + 2;
        let bad = damaged(sent[number].bytes.to_vec(), bit);
        let again = script.give(|w| w.packet_drop(&report(&bad)));
        assert_eq!(script.numbers(&again), [[number as u32]], "bit {bit}");
        let told: Vec<_> = std::iter::from_fn(|| script.end.poll_trace()).map(|t| t.2).collect();
        assert!(told.contains(&TraceEvent::DropReport { quoted: bad.len(), helped: true }));
        let lost = |event: &TraceEvent| matches!(event, TraceEvent::Lost { tsn, .. } if *tsn == script.tsn(number as u32));
        assert_eq!(told.iter().filter(|event| lost(event)).count(), 1);
    }
    script.give(|w| w.packet_drop(&PacketDrop { packet: &[], ..report(&[]) }));
    let mut told = std::iter::from_fn(|| script.end.poll_trace()).map(|(_, _, event)| event);
    assert!(told.any(|event| event == TraceEvent::DropReport { quoted: 0, helped: false }));
    let stats = script.stats();
    assert_eq!(stats.retransmissions_by(LossCause::PacketDropReport), 3);
    assert_eq!(stats.retransmissions(), 3);
    assert_eq!((stats.packet_drop_reports_received, stats.packet_drop_reports_ignored), (4, 1));
    assert_eq!((script.path(0).cwnd, script.path(0).flight), (cwnd, flight));
    assert_eq!(stats.fast_recoveries, 0);
    // SACKs that report what was sent before the repair do not bring it out once more.
    for gaps in [&[(2, 2)][..], &[(2, 2), (5, 5)], &[(2, 2), (5, 6)], &[(2, 2), (5, 7)]] {
        assert!(script.sack(3, gaps).is_empty(), "{gaps:?}");
    }
}

#[test]
fn a_repair_that_is_damaged_is_sent_again_and_one_that_is_lost_is_found_by_sacks() {
    let (mut script, sent) = flying(10);
    let mut bytes = sent[0].bytes.clone();
    for _ in 0..2 {
        let again = script.give(|w| w.packet_drop(&report(&bytes)));
        assert_eq!(script.numbers(&again), [[0]]);
        bytes = again[0].bytes.clone();
        script.wait(ms(100));
    }
    script.sack(0, &[(2, 10)]);
    for _ in 0..3 {
        script.send(FULL);
        script.wait(ms(1));
    }
    let again: Vec<Sent> = (11..=13).flat_map(|end| script.sack(0, &[(2, end)])).collect();
    assert!(script.numbers(&again).concat().contains(&0), "three SACKs after the repair");
    assert_eq!(script.stats().retransmissions_by(LossCause::FastRetransmit), 1);
}

#[test]
fn a_chunk_is_repeated_for_reports_only_so_often() {
    let (mut script, sent) = flying(3);
    let mut times = 0;
    for _ in 0..20 {
        let again = script.give(|w| w.packet_drop(&report(&sent[0].bytes)));
        times += again.iter().filter(|p| p.carries(ChunkType::DATA)).count();
        script.now += ms(100);
    }
    assert_eq!(times, 7, "eight transmissions in all");
}

#[test]
fn part_of_a_packet_is_enough() {
    let (mut script, sent) = flying(4);
    // The common header, the chunk header and 31 bytes.
    for (len, number) in [(12 + 16 + 31, 0), (12 + 16 + 30, 1)] {
        let bytes = &sent[number].bytes;
        let cut = PacketDrop { truncated_from: Some(bytes.len() as u16), ..report(&bytes[..len]) };
        let again = script.give(|w| w.packet_drop(&cut));
        assert_eq!(again.len(), usize::from(number == 0));
    }
}

#[test]
fn interleaved_chunks_are_repeated_too() {
    let mut config = config();
    config.extensions.interleaving = true;
    let types = [ChunkType::PACKET_DROP.0, ChunkType::I_DATA.0];
    let mut script = opened(&config, &types);
    let sent = script.send(1000);
    script.wait(ms(100));
    assert_eq!(sent[0].types(), [ChunkType::I_DATA]);
    let again = script.give(|w| w.packet_drop(&report(&sent[0].bytes)));
    assert_eq!(only(&again).types(), [ChunkType::I_DATA]);
}

#[test]
fn a_sack_that_is_damaged_leaves_again() {
    let mut script = agreed();
    let sent = script.data(100);
    assert!(only(&sent).carries(ChunkType::SACK));
    let again = script.give(|w| w.packet_drop(&report(&sent[0].bytes)));
    assert_eq!(only(&again).sack(), sent[0].sack());
}

/// It acknowledges a round trip late. Nor is the first one on its way that was sent before it, and is later than it.
#[test]
fn a_sack_that_comes_again_is_no_sample_of_a_round_trip() {
    for overtaken in [false, true] {
        let mut script = agreed();
        let before = script.path(0).srtt;
        script.send(100);
        script.send(100);
        script.wait(ms(100));
        let cumulative = script.tsn(1);
        let sack = packet(script.tag, |w| script::write_sack(w, cumulative, &[], script::RWND));
        let sent = script.give_bytes(damaged(sack, (12 + 8) * 8));
        assert_eq!(reported(&sent).len(), 1);
        if overtaken {
            script.wait(ms(1));
            script.sack(0, &[]);
        }
        script.wait(ms(100));
        script.sack(2, &[]);
        assert_eq!((script.path(0).flight, script.path(0).srtt), (0, before), "{overtaken}");
        // What leaves then is one.
        script.send(100);
        script.wait(ms(140));
        script.sack(3, &[]);
        assert!(script.path(0).srtt > before, "{overtaken}");
    }
}

#[test]
fn so_do_the_chunks_of_an_end() {
    let mut script = agreed();
    let sent = script.shutdown();
    assert_eq!(only(&sent).types(), [ChunkType::SHUTDOWN]);
    let again = script.give(|w| w.packet_drop(&report(&sent[0].bytes)));
    assert_eq!(only(&again).types(), [ChunkType::SHUTDOWN]);
    let mut script = agreed();
    let cumulative = script.first.wrapping_sub(1);
    let sent = script.give(|w| w.shutdown(cumulative));
    assert_eq!(only(&sent).types(), [ChunkType::SHUTDOWN_ACK]);
    let again = script.give(|w| w.packet_drop(&report(&sent[0].bytes)));
    assert_eq!(only(&again).types(), [ChunkType::SHUTDOWN_ACK]);
}

/// With authentication of data, what is quoted behind an AUTH chunk is found.
#[test]
fn chunks_that_are_authenticated_are_found() {
    let mut config = config();
    config.extensions.authentication = true;
    let chunks = vec![ChunkType::DATA, ChunkType::PACKET_DROP];
    config.authentication =
        std::sync::Arc::new(crate::auth::Authentication { chunks, ..Default::default() });
    let (mut pair, a, z) = Pair::connected(&config, 1);
    pair.send(Side::A, a, 0, vec![1; 1000]);
    pair.run(ms(500));
    pair.log.clear();
    let mut first = true;
    pair.damage = Box::new(move |p| p.carries(ChunkType::DATA) && std::mem::take(&mut first));
    pair.send(Side::A, a, 0, vec![2; 1000]);
    pair.run(ms(50));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 2);
    let reports = pair.sent(Side::Z, ChunkType::PACKET_DROP);
    assert_eq!(only(&reports.into_iter().cloned().collect::<Vec<_>>()).types()[0], ChunkType::AUTH);
    let stats = pair.end(Side::A).stats(a).unwrap();
    assert_eq!(stats.retransmissions_by(LossCause::PacketDropReport), 1);
}

/// The last packet of a message is damaged: nothing follows that a SACK could report, so that only T3-rtx would tell.
#[test]
fn the_last_packet_is_repaired_within_a_round_trip() {
    for (reports, least, most) in [(true, 40, 45), (false, 900, 1500)] {
        let config = if reports { config() } else { bursty() };
        let (mut pair, a, z) = Pair::connected(&config, 1);
        pair.send(Side::A, a, 0, vec![1; 1000]);
        pair.run(ms(500));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
        let mut first = true;
        pair.damage = Box::new(move |p| p.carries(ChunkType::DATA) && std::mem::take(&mut first));
        pair.send(Side::A, a, 0, vec![2; 1000]);
        let mut waited = 0;
        while pair.recv_all(Side::Z, z).is_empty() {
            pair.run(ms(1));
            waited += 1;
            assert!(waited < 10_000);
        }
        // There, the report back, there again: 10 ms each.
        assert!((least - 10..=most).contains(&waited), "{reports}: {waited} ms");
        let cwnd = pair.end(Side::A).path_stats(a)[0].cwnd;
        assert_eq!(cwnd >= 4380, reports, "only a timeout reduces it: {cwnd}");
    }
}
