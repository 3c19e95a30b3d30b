//! Peers that lie about marks, and strangers.

use proptest::prelude::*;

use super::*;

#[test]
fn several_echoes_in_one_packet_are_answered_once_and_counted_as_they_leave() {
    let mut script = flying(10);
    script.now += ms(50);
    let tsns: Vec<Tsn> = (1..6).map(|n| script.tsn(n)).collect();
    let old = script.first.wrapping_sub(50_000);
    let sent = script.give(|w| {
        tsns.iter().for_each(|tsn| write_ecne(w, *tsn, 1));
        write_ecne(w, old, 1);
    });
    let answers = cwrs(&sent);
    assert_eq!(answers.len(), 1);
    assert_eq!(answers[0].lowest_tsn, tsns[4], "the latest one");
    assert_eq!(script.stats().cwrs_sent, 1);
    assert_eq!(script.stats().cuts_by_marks, 1);
}

#[test]
fn an_echo_of_any_length_harms_nobody() {
    let mut script = flying(10);
    let cwnd = script.path(0).cwnd;
    let give = |script: &mut Script, kind: u8, length: u16, body: usize| {
        let mut bytes = packet(script.tag, |w| w.cookie_ack());
        bytes.truncate(12);
        bytes.extend([kind, 0]);
        bytes.extend(length.to_be_bytes());
        bytes.resize(12 + 4 + body.next_multiple_of(4), 0xff);
        tresse_wire::write_checksum(&mut bytes);
        script.give_bytes(bytes)
    };
    for length in 0..=u16::MAX {
        let body = if length < 300 || length % 4096 == 0 { usize::from(length) } else { 8 };
        for kind in [ChunkType::ECNE.0, ChunkType::CWR.0] {
            give(&mut script, kind, length, body.saturating_sub(4));
        }
    }
    assert_eq!(script.state(), State::Established);
    assert!(script.path(0).cwnd <= cwnd);
    script.sack(10, &[]);
    assert_eq!(script.send(100).len(), 1);
}

#[test]
fn an_echo_before_the_association_stands_is_nothing() {
    let mut script = Script::connecting(&config());
    let tsn = script.first;
    assert!(script.give(|w| write_ecne(w, tsn, 1)).is_empty());
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie").ecn_capable();
    script.init_ack_with(&peer_fields(), &mut parameters);
    assert!(script.give(|w| write_ecne(w, tsn, 1)).is_empty());
    script.cookie_ack();
    assert_eq!(script.stats().cuts_by_marks + script.stats().cwrs_sent, 0);
}

#[test]
fn an_echo_from_an_address_that_is_no_path_is_nothing() {
    let mut script = flying(10);
    let (cwnd, tsn) = (script.path(0).cwnd, script.tsn(3));
    let bytes = packet(script.tag, |w| write_ecne(w, tsn, 1));
    let sent = script.give_from(IpAddr::from([192, 0, 2, 77]), bytes);
    assert_eq!((cwrs(&sent).len(), script.path(0).cwnd), (0, cwnd));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_peer_that_echoes_at_random_cuts_a_flight_once_and_gets_no_more_than_it_gives(
        lies in prop::collection::vec((any::<u32>(), any::<u32>(), 0..3u8, any::<bool>()), 1..200),
    ) {
        let mut script = flying(20);
        let least = 4 * PMDCS;
        for (n, packets, kind, far) in lies {
            script.now += ms(1);
            let tsn = if far { Tsn(n) } else { script.tsn(n % 25).wrapping_sub(3) };
            let bytes = packet(script.tag, |w| match kind {
                0 => w.ecne(Ecne { lowest_tsn: tsn, packets: None }),
                1 => write_ecne(w, tsn, packets),
                _ => w.cwr(Cwr { lowest_tsn: tsn, any_path: n & 1 != 0, same_window: false }),
            });
            let given = bytes.len();
            let sent = script.give_bytes(bytes);
            prop_assert!(sent.iter().map(|p| p.bytes.len()).sum::<usize>() <= given);
        }
        let stats = script.stats();
        prop_assert!(stats.cuts_by_marks <= 1);
        prop_assert_eq!(stats.retransmissions() + stats.losses(), 0);
        prop_assert!(script.path(0).cwnd >= least);
        script.sack(20, &[]);
        prop_assert!(script.path(0).cwnd >= least);
    }

    #[test]
    fn answers_to_marks_of_a_peer_that_makes_them_up_end_what_they_name(
        cwrs in prop::collection::vec((any::<i32>(), any::<bool>()), 1..50),
    ) {
        let mut script = accepted(true, &capable());
        data(&mut script, PEER_TSN, Ecn::Ect0);
        data(&mut script, PEER_TSN.wrapping_add(1), Ecn::Ce);
        let mut owed = true;
        for (distance, any_path) in cwrs {
            let lowest_tsn = PEER_TSN.wrapping_add(1).wrapping_add(distance.cast_unsigned());
            script.give(|w| w.cwr(Cwr { lowest_tsn, any_path, same_window: false }));
            owed &= distance < 0;
        }
        let mut sent = data(&mut script, PEER_TSN.wrapping_add(2), Ecn::Ect0);
        sent.extend(script.wait(ms(300)));
        prop_assert_eq!(!ecnes(&sent).is_empty(), owed);
        prop_assert_eq!(script.state(), State::Established);
    }
}
