//! Strangers, peers that lie, and reports without end.

use proptest::prelude::*;

use super::*;

const HEARTBEAT: [u8; 8] = [0, 1, 0, 8, 1, 2, 3, 4];

#[test]
fn what_may_not_be_the_peers_is_not_answered() {
    let mut script = agreed();
    let tag = script.tag;
    let data = |w: &mut PacketWriter<'_>| write_data(w, PEER_TSN, 100);
    let wrong = VerificationTag(tag.0 ^ 1);
    assert!(script.give_bytes(damaged(packet(wrong, data), 300)).is_empty(), "another tag");
    let other_port = script::packet_from(PORT + 1, tag, data);
    script.give_bytes(damaged(other_port, 300));
    let stranger = addresses(Side::Z, 2)[1];
    let sent = script.give_from(stranger, damaged(packet(tag, data), 300));
    assert!(sent.is_empty(), "another address");
    let short = packet(tag, data)[..11].to_vec();
    assert!(script.give_bytes(short).is_empty(), "no header");
    assert_eq!(script.end.poll_transmit(script.now, &mut Vec::new()), None);
}

#[test]
fn some_packets_are_never_reported() {
    let mut script = agreed();
    let tag = script.tag;
    let whole = packet(tag, |w| w.heartbeat(&HEARTBEAT));
    let report = report(&whole);
    type Write<'a> = &'a dyn Fn(&mut PacketWriter<'_>);
    let writes: [Write<'_>; 5] = [
        &|w| w.packet_drop(&report),
        &|w| w.abort(false, &[]),
        &|w| w.init(&peer_fields(), &[]),
        &|w| w.init_ack(&peer_fields(), &[]),
        &|w| w.shutdown_complete(false),
    ];
    for write in writes {
        for front in [false, true] {
            let mut bytes = packet(tag, |w| {
                if front {
                    w.heartbeat(&HEARTBEAT);
                }
                write(w);
            });
            bytes[8] ^= 1; // The checksum itself.
            assert!(script.give_bytes(bytes).is_empty());
        }
    }
    assert_eq!(script.state(), State::Established);
    assert_eq!(script.stats().packet_drop_reports_sent, 0);
}

/// FreeBSD would send a SHUTDOWN at once that it sees quoted, though it was a SACK with a damaged type.
#[test]
fn no_report_has_a_shutdown_that_was_something_else() {
    let mut script = agreed();
    let tag = script.tag;
    let acked = script.tsn(0);
    let packets = [
        packet(tag, |w| w.sack(acked, 1 << 16, [].into_iter(), [].into_iter())),
        packet(tag, |w| w.heartbeat_ack(&HEARTBEAT)),
        packet(tag, |w| write_data(w, PEER_TSN, 100)),
    ];
    let mut reported = 0;
    for whole in &packets {
        for bit in 96..104 {
            let bytes = damaged(whole.clone(), bit);
            let kind = bytes[12];
            let sent = script.give_bytes(bytes);
            reported += sent.len();
            if kind == ChunkType::SHUTDOWN.0 || kind == ChunkType::SHUTDOWN_ACK.0 {
                assert!(sent.is_empty(), "{kind}");
            }
            script.wait(ms(10));
        }
    }
    assert!(reported > 12, "{reported}");
    let end = packet(tag, |w| w.shutdown(acked));
    assert_eq!(script.give_bytes(damaged(end, 100 + 8)).len(), 1, "one that was one is reported");
}

#[test]
fn no_flood_of_damaged_packets_is_answered_in_full() {
    let mut script = agreed();
    let bad = damaged(packet(script.tag, |w| write_data(w, PEER_TSN, FULL)), 300);
    let mut sent = 0;
    for n in 0..10_000 {
        sent += script.give_bytes(bad.clone()).len();
        if n % 100 == 99 {
            script.now += ms(1); // 100 000 in a second.
        }
    }
    assert!((32 + 45..=32 + 55).contains(&sent), "{sent} of 10 000 in 100 ms");
    let memory = script.stats().memory;
    assert!(memory < 200_000, "{memory} bytes");
}

/// Also if none of them may leave for a while.
#[test]
fn what_waits_is_bounded() {
    let mut script = agreed();
    let bad = damaged(packet(script.tag, |w| write_data(w, PEER_TSN, FULL)), 300);
    let datagram = Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: addresses(Side::A, 1)[0],
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: bad.into(),
    };
    for _ in 0..10_000 {
        script.end.handle_datagram(script.now, datagram.clone());
        script.now += ms(2);
    }
    assert!(script.poll().len() <= 64);
}

#[test]
fn a_report_about_something_else_does_nothing() {
    let (mut script, sent) = flying(6);
    let ours = sent[1].bytes.to_vec();
    let flip = |at: usize| damaged(ours.clone(), at * 8);
    let whole = report(&ours);
    let cases = [
        ("another port", PacketDrop { packet: &flip(1), ..whole }),
        ("the tag of the peer is another", PacketDrop { packet: &flip(7), ..whole }),
        ("another length", PacketDrop { packet: &flip(15), ..whole }),
        ("another TSN", PacketDrop { packet: &flip(19), ..whole }),
        ("another stream", PacketDrop { packet: &flip(21), ..whole }),
        ("another SSN", PacketDrop { packet: &flip(23), ..whole }),
        ("another PPID", PacketDrop { packet: &flip(27), ..whole }),
        ("other data", PacketDrop { packet: &flip(30), ..whole }),
        ("not damaged", PacketDrop { bad_checksum: false, ..whole }),
        ("a middle box", PacketDrop { from_middle_box: true, ..whole }),
        ("longer than it was", PacketDrop { truncated_from: Some(40), ..whole }),
        ("nothing", PacketDrop { packet: &[], ..whole }),
        ("half a header", PacketDrop { packet: &ours[..10], ..whole }),
        ("a header", PacketDrop { packet: &ours[..12], ..whole }),
    ];
    for (what, report) in cases {
        let again = script.give(|w| w.packet_drop(&report));
        assert!(again.is_empty(), "{what}");
    }
    let stats = script.stats();
    assert_eq!(stats.packet_drop_reports_received, 14);
    assert_eq!(stats.packet_drop_reports_ignored, 14);
    assert_eq!(stats.retransmissions(), 0);
}

#[test]
fn a_stranger_cannot_report() {
    let (mut script, sent) = flying(6);
    let tag = script.tag;
    let of = |tag| packet(tag, |w| w.packet_drop(&report(&sent[1].bytes)));
    // The tag that a middle box would know, which is in what is quoted.
    for wrong in [VerificationTag(tag.0 ^ 1), PEER_TAG] {
        assert!(script.give_bytes(of(wrong)).is_empty());
        let reflected = PacketDrop { from_middle_box: true, ..report(&sent[1].bytes) };
        assert!(script.give_bytes(packet(wrong, |w| w.packet_drop(&reflected))).is_empty());
    }
    assert_eq!(script.stats().packet_drop_reports_received, 0);
    assert_eq!(script.stats().retransmissions(), 0);
}

#[test]
fn ten_thousand_replays_bring_out_one_packet_for_each_round_trip() {
    let (mut script, sent) = flying(6);
    let cwnd = script.path(0).cwnd;
    let bytes = packet(script.tag, |w| w.packet_drop(&report(&sent[1].bytes)));
    let mut again = 0;
    for n in 0..10_000 {
        again += script.give_bytes(bytes.clone()).len();
        if n % 1000 == 999 {
            script.now += ms(10);
        }
    }
    assert_eq!(again, 1, "within 100 ms");
    assert_eq!(script.give_bytes(bytes).len(), 1, "after a round trip");
    assert!(script.path(0).cwnd <= cwnd);
}

/// A report that quotes the same chunk a hundred times, or all that there is.
#[test]
fn nothing_leaves_twice_for_one_report() {
    let (mut script, sent) = flying(6);
    let chunk = &sent[1].bytes[12..12 + 16 + 32];
    let mut quoted = sent[1].bytes[..12].to_vec();
    let mut short = chunk.to_vec();
    short[2..4].copy_from_slice(&48u16.to_be_bytes());
    for _ in 0..20 {
        quoted.extend_from_slice(&short);
    }
    assert!(script.give(|w| w.packet_drop(&report(&quoted))).is_empty(), "another length");
    let small: Vec<Sent> = (0..5).flat_map(|_| script.send(40)).collect();
    script.wait(ms(100));
    let mut quoted = sent[1].bytes[..12].to_vec();
    for _ in 0..20 {
        small.iter().for_each(|p| quoted.extend_from_slice(&p.bytes[12..]));
    }
    let again = script.give(|w| w.packet_drop(&report(&quoted)));
    let mut numbers = script.numbers(&again).concat();
    numbers.sort_unstable();
    let sent: Vec<u32> = script.numbers(&small).concat();
    assert_eq!(numbers, sent);
}

#[test]
fn a_report_before_the_association_stands_is_nothing() {
    let mut script = Script::connecting(&config());
    let bad = damaged(packet(script.tag, |w| w.heartbeat(&HEARTBEAT)), 130);
    assert!(script.give_bytes(bad.clone()).is_empty());
    script.cookie_ack();
    assert!(script.give(|w| w.packet_drop(&report(&bad))).is_empty());
    assert_eq!(script.state(), State::CookieWait);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Whatever a report quotes: the association stands, no window changes, and no more leaves than was in flight.
    #[test]
    fn any_report_is_survived(
        flags in any::<[bool; 2]>(),
        length in any::<Option<u16>>(),
        number in 0..6usize,
        bits in proptest::collection::vec(96..11_000usize, 0..5),
        cut in 0..1500usize,
    ) {
        let (mut script, sent) = flying(6);
        let cwnd = script.path(0).cwnd;
        let bytes = bits.iter().fold(sent[number].bytes.to_vec(), |bytes, bit| damaged(bytes, *bit));
        let report = PacketDrop {
            from_middle_box: flags[0],
            bad_checksum: flags[1],
            truncated_from: length,
            packet: &bytes[..cut.min(bytes.len())],
            ..report(&[])
        };
        for _ in 0..3 {
            let again = script.give(|w| w.packet_drop(&report));
            prop_assert!(script.numbers(&again).concat().len() <= 1);
        }
        prop_assert_eq!(script.state(), State::Established);
        prop_assert_eq!(script.path(0).cwnd, cwnd);
        script.sack(6, &[]);
        prop_assert_eq!(script.send(100).len(), 1);
    }
}
