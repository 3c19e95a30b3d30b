//! RFC 9260 §5.1, §6.2 and §6.7, sentence by sentence.

use super::*;

const NEW: PacketFacts = PacketFacts {
    new_data: true,
    duplicates: false,
    dropped: false,
    gap: false,
    had_gap: false,
    immediate: false,
    ends_in_duplicate: false,
};

fn at(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn ack(delay_ms: f64, packets: u32) -> DelayedAck {
    DelayedAck::new(&SackParameters { delay_ms, packets, ..SackParameters::default() })
}

/// One that has had its first packet acknowledged, with the standard parameters.
fn running() -> DelayedAck {
    let mut ack = DelayedAck::new(&SackParameters::default());
    ack.on_packet(at(0), NEW);
    ack.on_sent();
    ack
}

#[test]
fn the_first_data_is_acknowledged_at_once() {
    let mut ack = DelayedAck::new(&SackParameters::default());
    assert!(!ack.due() && !ack.pending() && ack.deadline().is_none());
    ack.on_packet(at(0), NEW);
    assert!(ack.due() && ack.pending() && ack.deadline().is_none());
    ack.on_sent();
    assert!(!ack.due() && !ack.pending() && ack.deadline().is_none());
    ack.on_packet(at(1), NEW);
    assert!(!ack.due());
}

#[test]
fn dropped_data_does_not_count_as_the_first() {
    let mut ack = DelayedAck::new(&SackParameters::default());
    ack.on_packet(at(0), PacketFacts { new_data: false, dropped: true, ..NEW });
    assert!(ack.due());
    ack.on_sent();
    ack.on_packet(at(1), NEW);
    assert!(ack.due());
}

//= RFC 9260 6.2-9
#[test]
fn every_second_packet_and_200_ms() {
    let mut ack = running();
    ack.on_packet(at(10), NEW);
    assert!(!ack.due() && ack.pending());
    assert_eq!(ack.deadline(), Some(at(210)));
    ack.on_packet(at(20), NEW);
    assert!(ack.due());
    assert_eq!(ack.deadline(), None);
    ack.on_sent();
    // The count starts again.
    ack.on_packet(at(30), NEW);
    assert!(!ack.due());
}

#[test]
fn the_deadline_belongs_to_the_first_unacknowledged_packet() {
    let mut ack = ack(200.0, 10);
    ack.on_packet(at(0), NEW);
    ack.on_sent();
    ack.on_packet(at(10), NEW);
    ack.on_packet(at(100), NEW);
    assert_eq!(ack.deadline(), Some(at(210)));
    ack.on_timeout(at(209));
    assert!(!ack.due());
    ack.on_timeout(at(210));
    assert!(ack.due() && ack.deadline().is_none());
    ack.on_sent();
    ack.on_timeout(at(1000));
    assert!(!ack.due());
}

//= RFC 9260 6.2-13 6.2-14
//= RFC 6458 8.1.19-1
#[test]
fn parameters_are_honoured() {
    let mut every = ack(0.0, 2);
    every.on_packet(at(0), NEW);
    every.on_sent();
    every.on_packet(at(1), NEW);
    assert!(every.due(), "a delay of 0 means every packet");

    let mut first = ack(200.0, 1);
    first.on_packet(at(0), NEW);
    first.on_sent();
    first.on_packet(at(1), NEW);
    assert!(first.due());

    // RFC 9260 §6.2: SACK.Delay MUST NOT be more than 500 ms.
    for (millis, delay) in [(9999.0, 500), (33.0, 33)] {
        let mut late = ack(millis, 2);
        late.on_packet(at(0), NEW);
        late.on_sent();
        late.on_packet(at(0), NEW);
        assert_eq!(late.deadline(), Some(at(delay)));
    }
    for odd in [f64::NAN, -1.0, f64::NEG_INFINITY] {
        let mut odd = ack(odd, 2);
        odd.on_packet(at(0), NEW);
        odd.on_sent();
        odd.on_packet(at(0), NEW);
        assert!(odd.due());
    }
}

#[test]
fn duplicates_alone_are_answered_at_once() {
    let mut ack = running();
    ack.on_packet(at(1), PacketFacts { duplicates: true, ..NEW });
    assert!(!ack.due(), "with new data: MAY, not MUST");
    ack.on_packet(at(1), PacketFacts { new_data: false, duplicates: true, ..NEW });
    assert!(ack.due());

    let mut ack = running();
    ack.on_packet(at(1), PacketFacts { new_data: false, duplicates: true, ..NEW });
    assert!(ack.due());
}

#[test]
fn dropped_data_the_i_bit_and_gaps_are_answered_at_once() {
    for facts in [
        PacketFacts { dropped: true, ..NEW },
        PacketFacts { dropped: true, new_data: false, ..NEW },
        PacketFacts { immediate: true, ..NEW },
        PacketFacts { gap: true, ..NEW },
    ] {
        let mut ack = running();
        ack.on_packet(at(1), facts);
        assert!(ack.due(), "{facts:?}");
        ack.on_sent();
        ack.on_packet(at(2), NEW);
        assert!(!ack.due(), "{facts:?}");
    }
}

#[test]
fn what_fills_a_gap_or_ends_in_a_duplicate_is_answered_at_once_where_a_profile_says_so() {
    let filled = PacketFacts { had_gap: true, ..NEW };
    let repeated = PacketFacts { duplicates: true, ends_in_duplicate: true, ..NEW };
    for (when_filled, if_last_is_duplicate) in [(false, false), (true, false), (false, true)] {
        let parameters =
            SackParameters { when_filled, if_last_is_duplicate, ..SackParameters::default() };
        for (facts, due) in [(filled, when_filled), (repeated, if_last_is_duplicate)] {
            let mut ack = running();
            ack.reconfigure(at(1), &parameters);
            ack.on_packet(at(1), facts);
            assert_eq!(ack.due(), due, "{facts:?} {parameters:?}");
        }
    }
}

//= RFC 9260 6.2-9
#[test]
fn packets_without_data_do_not_matter() {
    let mut ack = running();
    for gap in [false, true] {
        ack.on_packet(at(1), PacketFacts { new_data: false, gap, immediate: true, ..NEW });
        assert!(!ack.due() && !ack.pending() && ack.deadline().is_none());
    }
}

#[test]
fn other_reasons_make_it_due() {
    let mut ack = running();
    ack.request();
    assert!(ack.due() && !ack.pending());
    ack.on_sent();
    assert!(!ack.due());
}

//= RFC 9260 6.2-10
#[test]
fn one_sack_for_a_packet_at_most() {
    // RFC 9260 §6.2: no more than one SACK chunk for every incoming packet.
    let mut ack = running();
    let everything = PacketFacts {
        new_data: true,
        duplicates: true,
        dropped: true,
        gap: true,
        had_gap: true,
        immediate: true,
        ends_in_duplicate: true,
    };
    for i in 0..100 {
        ack.on_packet(at(i), everything);
        assert!(ack.due());
        ack.on_sent();
        ack.on_timeout(at(10_000));
        assert!(!ack.due());
    }
}
