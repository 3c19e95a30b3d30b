//! ECN (RFC 3168; RFC 4960 Appendix A; draft-stewart-tsvwg-sctpecn): who agrees on it, which packets may be marked, what a
//! receiver tells and a sender makes of it.

mod attacks;
mod interplay;
mod random;

use tresse_wire::{Chunk, Cwr, Ecne, Parameter};

use super::*;
use script::{FULL, PEER_TSN, PMDCS, init_packet, packet, peer_fields, write_data, write_sack};

pub(super) fn with_ecn(config: AssociationConfig) -> AssociationConfig {
    AssociationConfig { extensions: Extensions { ecn: true, ..config.extensions }, ..config }
}

fn config() -> AssociationConfig {
    with_ecn(bursty())
}

/// An association with a peer that is ECN-capable.
fn opened(config: &AssociationConfig) -> Script {
    let mut script = Script::connecting(config);
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").ecn_capable();
    script.init_ack_with(&peer_fields(), &mut parameters);
    script.cookie_ack();
    script
}

/// The same, whose window has grown to `n` packets; all of them are in flight.
fn flying(n: usize) -> Script {
    let mut script = opened(&config());
    script.grow(n);
    for _ in 0..n {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    assert_eq!(script.poll().len(), n);
    script
}

fn write_ecne(w: &mut PacketWriter<'_>, lowest_tsn: Tsn, packets: u32) {
    w.ecne(Ecne { lowest_tsn, packets: Some(packets) });
}

/// An ECNE chunk for chunk `n` and a SACK for the first `count`.
fn echo(script: &mut Script, n: u32, packets: u32, count: u32) -> Vec<Sent> {
    let (tsn, cumulative) = (script.tsn(n), script.tsn(count).wrapping_sub(1));
    script.give(|w| {
        write_ecne(w, tsn, packets);
        write_sack(w, cumulative, &[], script::RWND);
    })
}

fn cwrs(sent: &[Sent]) -> Vec<Cwr> {
    let chunks = sent.iter().flat_map(Sent::chunks);
    chunks.filter_map(|c| if let Chunk::Cwr(cwr) = c { Some(cwr) } else { None }).collect()
}

fn ecnes(sent: &[Sent]) -> Vec<Ecne> {
    let chunks = sent.iter().flat_map(Sent::chunks);
    chunks.filter_map(|c| if let Chunk::Ecne(ecne) = c { Some(ecne) } else { None }).collect()
}

/// A packet with one DATA chunk of the peer, with this ECN field.
fn data(script: &mut Script, tsn: Tsn, ecn: Ecn) -> Vec<Sent> {
    let bytes = packet(script.tag, |w| write_data(w, tsn, 100));
    give(script, bytes, ecn)
}

fn give(script: &mut Script, bytes: Vec<u8>, ecn: Ecn) -> Vec<Sent> {
    script.give_datagram(Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: addresses(Side::A, 1)[0],
        encapsulation: None,
        ecn,
        packet: bytes.into(),
    })
}

fn capable() -> Vec<u8> {
    ParameterWriter::new().ecn_capable().finish()
}

/// An association that the peer opened.
fn accepted(ours: bool, theirs: &[u8]) -> Script {
    let config = AssociationConfig {
        extensions: Extensions { ecn: ours, ..Extensions::NONE },
        ..standard()
    };
    let mut script = Script::listening(&config);
    script.join(&peer_fields(), theirs);
    script
}

//= RFC 3168 6.1.1-2 6.1.1-3 6.1.1-6 6.1.1-7
#[test]
fn it_is_off_unless_both_offer_it() {
    assert!(!Extensions::default().ecn);
    for (ours, theirs, agreed) in
        [(true, &capable()[..], true), (true, &[], false), (false, &capable(), false)]
    {
        let mut script = accepted(ours, theirs);
        assert_eq!(script.end.info(script.id).unwrap().extensions.ecn, agreed);
        let ecn = if agreed { Ecn::Ect0 } else { Ecn::NotEct };
        assert_eq!(script.send(100)[0].to.ecn, ecn);
        let ack = Script::listening(&with_ecn(standard()));
        let mut ack = if ours { ack } else { Script::listening(&standard()) };
        let ack = ack.give_bytes(init_packet(&peer_fields(), theirs));
        assert_eq!(ack[0].init().1.contains(&Parameter::EcnCapable), ours);
        // What was not agreed on is not known: the rest of the packet is discarded without a report.
        let beat = |w: &mut PacketWriter<'_>| w.heartbeat(&[0, 1, 0, 8, 1, 2, 3, 4]);
        let tsn = script.first;
        let cwr = Cwr { lowest_tsn: PEER_TSN, any_path: false, same_window: false };
        let after_cwr = script.give(|w| {
            w.cwr(cwr);
            beat(w);
        });
        let after_ecne = script.give(|w| {
            write_ecne(w, tsn, 1);
            beat(w);
        });
        for sent in [after_cwr, after_ecne] {
            let answers = sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT_ACK));
            assert_eq!(answers, agreed);
            assert!(!sent.iter().any(|p| p.carries(ChunkType::ERROR)));
        }
        assert_eq!(script.stats().cuts_by_marks, u64::from(agreed));
    }
}

//= RFC 3168 5-1 5.2-1 5.2-2 6.1.1-8 6.1.2-1 6.1.4-1 6.1.5-1 6.1.5-2
#[test]
fn new_data_is_ect_and_nothing_else_is() {
    let config = with_ecn(standard());
    let (mut pair, a, z) = Pair::connected(&config, 2);
    pair.send(Side::A, a, 0, vec![1; 50_000]);
    pair.drop = Box::new(|p| p.from == Side::A && [8, 12].contains(&p.number));
    pair.run(secs(100));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    pair.shutdown(Side::A, a);
    pair.run(secs(2));
    let mut seen = std::collections::BTreeSet::new();
    let (mut new, mut again) = (0, 0);
    for sent in &pair.log {
        let tsns = sent.tsns();
        let fresh = tsns.iter().all(|tsn| seen.insert(*tsn));
        let setup = sent.carries(ChunkType::COOKIE_ECHO);
        if !tsns.is_empty() && fresh && !setup {
            assert_eq!(sent.to.ecn, Ecn::Ect0, "{:?}", sent.types());
            new += 1;
        } else {
            again += usize::from(!tsns.is_empty());
            assert_eq!(sent.to.ecn, Ecn::NotEct, "{:?}", sent.types());
        }
    }
    assert!(new > 30 && again >= 2, "{new} new, {again} again");
    assert_eq!(pair.end(Side::Z).associations().len(), 0);
}

//= RFC 3168 6.1.6-1
#[test]
fn a_probe_of_a_closed_window_is_not_ect() {
    let mut script = accepted(true, &capable());
    script.send(100);
    script.sack_with(1, &[], 0);
    script.try_send(0, 500, SendOptions::default()).unwrap();
    let sent = script.wait_for_data();
    let probe = sent.iter().find(|p| p.carries(ChunkType::DATA)).unwrap();
    assert_eq!(probe.to.ecn, Ecn::NotEct);
}

//= RFC 3168 6.1.1-5
#[test]
fn a_mark_is_told_with_each_sack_until_the_peer_says_cwr() {
    let mut script = accepted(true, &capable());
    let tsn = |n: u32| PEER_TSN.wrapping_add(n);
    let marked = |n: u32, packets| vec![Ecne { lowest_tsn: tsn(n), packets: Some(packets) }];
    // What the SACK of a packet has, which is delayed as ever.
    let told = |script: &mut Script, n: u32, ecn| {
        let mut sent = data(script, tsn(n), ecn);
        sent.extend(script.wait(ms(300)));
        // In front of the SACK: what was marked may still be outstanding.
        let sack = sent::only(&sent);
        assert_eq!(sack.types().last(), Some(&ChunkType::SACK));
        ecnes(&sent)
    };
    assert_eq!(told(&mut script, 0, Ecn::Ect0), []);
    assert_eq!(told(&mut script, 1, Ecn::Ce), marked(1, 1));
    assert_eq!(told(&mut script, 2, Ecn::Ce), marked(2, 2));
    assert_eq!(told(&mut script, 3, Ecn::NotEct), marked(2, 2));
    // It answers an earlier one only.
    let cwr = |n: u32| Cwr { lowest_tsn: tsn(n), any_path: false, same_window: false };
    script.give(|w| w.cwr(cwr(1)));
    assert_eq!(told(&mut script, 4, Ecn::Ect0), marked(2, 2));
    script.give(|w| w.cwr(cwr(2)));
    assert_eq!(told(&mut script, 5, Ecn::Ect0), []);
    assert_eq!(told(&mut script, 6, Ecn::Ce), marked(6, 1));
    let stats = script.stats();
    assert_eq!((stats.ce_packets_received, stats.cwrs_received), (3, 2));
    assert_eq!(stats.ecn_echoes_sent, 5);
}

#[test]
fn a_packet_of_several_chunks_is_told_by_its_lowest_tsn_and_what_cannot_be_is_not() {
    let mut script = accepted(true, &capable());
    let tsn = |n: u32| PEER_TSN.wrapping_add(n);
    let both = packet(script.tag, |w| {
        write_data(w, tsn(4), 10);
        write_data(w, tsn(1), 10);
    });
    let sent = give(&mut script, both, Ecn::Ce);
    assert_eq!(ecnes(&sent), [Ecne { lowest_tsn: tsn(1), packets: Some(1) }]);
    // No TSN that the peer may have sent; no DATA at all.
    let mut script = accepted(true, &capable());
    assert_eq!(ecnes(&data(&mut script, tsn(0x4000_0000), Ecn::Ce)), []);
    let beat = packet(script.tag, |w| w.heartbeat(&[0, 1, 0, 8, 1, 2, 3, 4]));
    give(&mut script, beat, Ecn::Ce);
    for n in 0..3 {
        assert_eq!(ecnes(&data(&mut script, tsn(n), Ecn::Ect0)), []);
    }
}

//= RFC 3168 6.1.5-1 6.1.5-2
#[test]
fn a_mark_of_what_was_there_already_is_not_told() {
    let mut script = accepted(true, &capable());
    let tsn = |n: u32| PEER_TSN.wrapping_add(n);
    data(&mut script, tsn(0), Ecn::Ect0);
    for _ in 0..2 {
        assert_eq!(ecnes(&data(&mut script, tsn(0), Ecn::Ce)), []);
    }
    // Nor beside something new, which has its own.
    let both = packet(script.tag, |w| {
        write_data(w, tsn(0), 10);
        write_data(w, tsn(1), 10);
    });
    let mut sent = give(&mut script, both, Ecn::Ce);
    sent.extend(script.wait(ms(300)));
    assert_eq!(ecnes(&sent), [Ecne { lowest_tsn: tsn(1), packets: Some(1) }]);
}

//= RFC 3168 6.1.6-2
#[test]
fn the_mark_of_a_window_probe_is_told_although_there_is_no_room() {
    let config = AssociationConfig { receive_buffer: 4096, ..with_ecn(standard()) };
    let mut script = Script::listening(&config);
    script.join(&peer_fields(), &capable());
    let mut n = 0;
    let mut sent = Vec::new();
    // Nobody reads.
    while script.stats().data_chunks_dropped == 0 {
        let bytes = packet(script.tag, |w| write_data(w, PEER_TSN.wrapping_add(n), 1000));
        let before = script.stats().data_chunks_received;
        sent = give(&mut script, bytes, Ecn::Ce);
        n += u32::from(script.stats().data_chunks_received > before);
        assert!(n < 100);
    }
    let probe = PEER_TSN.wrapping_add(n);
    assert_eq!(ecnes(&sent).last().map(|ecne| ecne.lowest_tsn), Some(probe));
}

//= RFC 3168 6.1.2-3
#[test]
fn a_window_of_one_packet_stays_one() {
    let mut script = flying(4);
    script.wait_for_data();
    assert_eq!(script.path(0).cwnd, PMDCS);
    script.now += ms(50);
    echo(&mut script, 2, 1, 0);
    assert_eq!(script.path(0).cwnd, PMDCS);
    // Its timer runs on.
    let again = script.wait(script.path(0).rto);
    assert!(again.iter().any(|p| p.carries(ChunkType::DATA)));
}

//= RFC 3168 5-2 6.1.2-2
#[test]
fn a_mark_halves_the_window_once_per_round_trip_and_nothing_is_sent_again() {
    let mut script = flying(10);
    let before = script.path(0).cwnd;
    script.now += ms(50);
    let sent = echo(&mut script, 1, 1, 2);
    let first = Cwr { lowest_tsn: script.tsn(1), any_path: false, same_window: false };
    assert_eq!(cwrs(&sent), [first]);
    let halved = script.path(0).cwnd;
    assert_eq!((halved, script.path(0).ssthresh), (before / 2, before / 2));
    // The same again is not answered at once; a later one of the same flight is, and cuts nothing.
    assert_eq!(cwrs(&echo(&mut script, 1, 1, 3)), []);
    let later = Cwr { lowest_tsn: script.tsn(7), any_path: false, same_window: true };
    assert_eq!(cwrs(&echo(&mut script, 7, 3, 4)), [later]);
    // Nor does the window grow by the SACKs that come with them.
    assert_eq!(script.path(0).cwnd, halved);
    script.sack(10, &[]);
    for _ in 0..2 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    script.poll();
    let cwnd = script.path(0).cwnd;
    echo(&mut script, 10, 1, 11);
    assert!(script.path(0).cwnd < cwnd, "sent after the cut");
    let stats = script.stats();
    assert_eq!((stats.cuts_by_marks, stats.congestion_marks), (2, 4));
    assert_eq!((stats.ecn_echoes_received, stats.ecn_echoes_ignored), (4, 0));
    assert_eq!(stats.retransmissions() + stats.losses(), 0);
    assert_eq!(script.path(0).counters.congestion_marks, 4);
}

#[test]
fn the_answer_is_given_again_after_a_round_trip() {
    let mut script = flying(10);
    echo(&mut script, 1, 1, 1);
    script.now += secs(3);
    let again = echo(&mut script, 1, 1, 1);
    assert_eq!(cwrs(&again).len(), 1);
    assert_eq!(script.stats().congestion_marks, 1);
    // The old chunk, of which there is no number, is one packet.
    let tsn = script.tsn(5);
    script.give(|w| w.ecne(Ecne { lowest_tsn: tsn, packets: None }));
    assert_eq!(script.stats().congestion_marks, 2);
}

#[test]
fn what_was_never_sent_is_ignored_and_what_is_long_over_is_answered() {
    let mut script = flying(10);
    let cwnd = script.path(0).cwnd;
    for n in [10, 11, 1000, 0x7fff_0000] {
        let tsn = script.tsn(n);
        assert_eq!(cwrs(&script.give(|w| write_ecne(w, tsn, 5))), []);
    }
    let old = script.first.wrapping_sub(100_000);
    let answer = Cwr { lowest_tsn: old, any_path: true, same_window: true };
    assert_eq!(cwrs(&script.give(|w| write_ecne(w, old, 5))), [answer]);
    assert_eq!(script.path(0).cwnd, cwnd);
    let stats = script.stats();
    assert_eq!((stats.congestion_marks, stats.ecn_echoes_ignored), (0, 5));
}

#[test]
fn a_mark_whose_sack_came_first_counts() {
    let mut script = flying(10);
    let cwnd = script.path(0).cwnd;
    script.sack(4, &[]);
    let grown = script.path(0).cwnd;
    assert!(grown >= cwnd);
    assert_eq!(cwrs(&echo(&mut script, 2, 1, 5)).len(), 1);
    assert_eq!(script.path(0).cwnd, grown / 2);
}

#[test]
fn a_loss_in_the_window_of_a_mark_does_not_cut_it_again() {
    let mut script = flying(10);
    echo(&mut script, 1, 1, 2);
    let cwnd = script.path(0).cwnd;
    // Chunk 2 is missing.
    for last in 2..=6 {
        script.sack(2, &[(2, last)]);
    }
    let stats = script.stats();
    assert_eq!((stats.fast_recoveries, stats.losses()), (1, 1));
    assert!(script.path(0).cwnd >= cwnd);
    // And a mark in that of a loss.
    let mut script = flying(10);
    for last in 2..=6 {
        script.sack(0, &[(2, last)]);
    }
    let cwnd = script.path(0).cwnd;
    assert_eq!(script.stats().fast_recoveries, 1);
    let tsn = script.tsn(3);
    let sent = script.give(|w| write_ecne(w, tsn, 1));
    assert!(cwrs(&sent)[0].same_window);
    assert_eq!((script.path(0).cwnd, script.stats().cuts_by_marks), (cwnd, 0));
}

#[test]
fn a_loss_after_the_window_of_a_mark_cuts_it() {
    let mut script = flying(10);
    echo(&mut script, 1, 1, 10);
    for _ in 0..5 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    script.poll();
    let cwnd = script.path(0).cwnd;
    for last in 2..=5 {
        script.sack(10, &[(2, last)]);
    }
    assert_eq!(script.stats().fast_recoveries, 1);
    assert!(script.path(0).cwnd < cwnd);
}

#[test]
fn both_ends_tell_each_other_and_the_peers_counts_are_right() {
    let (mut pair, a, z) = Pair::connected(&config(), 1);
    // Each tenth packet with new data is marked.
    let mut packets = 0;
    pair.mark = Box::new(move |p| {
        packets += u64::from(p.to.ecn == Ecn::Ect0);
        if p.to.ecn == Ecn::Ect0 && packets % 10 == 0 { Ecn::Ce } else { p.to.ecn }
    });
    pair.send(Side::A, a, 0, vec![1; 150_000]);
    pair.run(secs(60));
    pair.send(Side::A, a, 0, vec![1; 10]);
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 2);
    let (ours, theirs) = (pair.end(Side::A).stats(a).unwrap(), pair.end(Side::Z).stats(z).unwrap());
    assert!(theirs.ce_packets_received >= 10);
    assert_eq!(ours.congestion_marks, theirs.ce_packets_received);
    assert_eq!(ours.retransmissions() + ours.losses() + ours.timeouts, 0);
    assert!(ours.cuts_by_marks > 1 && ours.cuts_by_marks <= ours.congestion_marks);
    assert_eq!(ours.ecn_echoes_received, theirs.ecn_echoes_sent);
    assert_eq!((ours.cwrs_sent, ours.ecn_given_up), (theirs.cwrs_received, 0));
}

#[test]
fn a_way_on_which_ect_packets_vanish_is_used_without() {
    let (mut pair, a, z) = Pair::connected(&config(), 1);
    pair.drop = Box::new(|p| p.to.ecn != Ecn::NotEct);
    for _ in 0..200 {
        pair.send(Side::A, a, 0, vec![1; 1000]);
    }
    pair.run(secs(100));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 200);
    let stats = pair.end(Side::A).stats(a).unwrap();
    assert_eq!(stats.ecn_given_up, 1);
    assert!(stats.ect_packets_sent < 20 && stats.timeouts < 5, "{stats:?}");
    let traces = std::iter::from_fn(|| pair.end(Side::A).poll_trace());
    assert!(traces.into_iter().any(|(_, _, e)| matches!(e, TraceEvent::EcnGivenUp { .. })));
}

#[test]
fn a_way_that_clears_the_field_or_marks_everything_works() {
    for ecn in [Ecn::NotEct, Ecn::Ect1, Ecn::Ce] {
        let (mut pair, a, z) = Pair::connected(&config(), 1);
        pair.mark = Box::new(move |_| ecn);
        pair.send(Side::A, a, 0, vec![1; 150_000]);
        pair.run(secs(60));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 1, "{ecn:?}");
        let stats = pair.end(Side::A).stats(a).unwrap();
        assert_eq!(stats.cuts_by_marks > 0, ecn == Ecn::Ce);
        assert_eq!(stats.losses() + stats.ecn_given_up, 0);
    }
}

#[test]
fn the_window_of_the_marked_path_is_cut() {
    let config = with_ecn(AssociationConfig { concurrent_transfer: true, ..bursty() });
    let (mut pair, a, z) = Pair::connected(&config, 2);
    pair.run(secs(3));
    let second = addresses(Side::Z, 2)[1];
    let mut left = 3;
    pair.mark = Box::new(move |p| {
        let here = p.to.destination == second && p.to.ecn == Ecn::Ect0 && left > 0;
        left -= u8::from(here);
        if here { Ecn::Ce } else { p.to.ecn }
    });
    for _ in 0..300 {
        pair.send(Side::A, a, 0, vec![1; 1400]);
    }
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 300);
    let paths = pair.end(Side::A).path_stats(a);
    let marks: Vec<u64> = paths.iter().map(|path| path.counters.congestion_marks).collect();
    assert_eq!(marks, [0, 3]);
    let cwrs = pair.sent(Side::A, ChunkType::CWR);
    assert!(!cwrs.is_empty() && cwrs.iter().all(|p| p.to.destination == second));
    assert_eq!(pair.end(Side::A).stats(a).unwrap().losses(), 0);
}

//= RFC 3168 5-2
#[test]
fn every_control_answers_a_mark() {
    for control in ["cubic", "bbr", "lia", "olia", "balia", "cmt-rpv1", "cmt-rpv2", "rfc9260"] {
        let name = match control {
            "rfc9260" => "rfc9260".to_owned(),
            control => format!("rfc9260+{control}"),
        };
        let (mut pair, a, z) = Pair::connected(
            &with_ecn(AssociationConfig { no_delay: true, ..profile(&name, "") }),
            1,
        );
        let mut sent = 0;
        pair.mark = Box::new(move |p| {
            sent += u32::from(p.to.ecn == Ecn::Ect0);
            if p.to.ecn == Ecn::Ect0 && sent % 20 == 19 { Ecn::Ce } else { p.to.ecn }
        });
        for _ in 0..200 {
            pair.send(Side::A, a, 0, vec![1; 1400]);
        }
        pair.run(secs(60));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 200, "{control}");
        let stats = pair.end(Side::A).stats(a).unwrap();
        assert!(stats.cuts_by_marks > 0 && stats.losses() == 0, "{control}: {stats:?}");
    }
}
