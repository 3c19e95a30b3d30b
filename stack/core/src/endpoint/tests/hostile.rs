//! Peers with a valid tag that try to cost memory and work.

use super::*;

/// A low limit, so that tests are short.
fn strict() -> AssociationConfig {
    AssociationConfig {
        no_delay: true,
        ..profile("rfc9260", "[limits]\nmax_burst = 0\ncontradictory_sacks = 20")
    }
}

#[test]
fn who_takes_back_and_repeats_for_ever_is_aborted() {
    let mut script = Script::flying(&strict(), 10);
    for _ in 0..20 {
        script.sack(0, &[(2, 10)]);
        assert!(script.sack(0, &[]).is_empty());
    }
    assert_eq!(script.stats().contradictory_sacks, 19);
    // What tells anything new is believed.
    script.sack(1, &[]);
    for _ in 0..20 {
        script.sack(1, &[(2, 9)]);
        script.sack(1, &[]);
    }
    assert_eq!(script.closed(), None);
    let sent = script.sack(1, &[(2, 9)]);
    assert!(sent::only(&sent).carries(ChunkType::ABORT));
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

#[test]
fn as_many_late_sacks_as_chunks_are_outstanding_are_no_lie() {
    let mut script = Script::flying(&strict(), 40);
    for _ in 0..40 {
        script.sack(0, &[(2, 39)]);
        script.sack(0, &[(2, 38)]);
    }
    assert_eq!(script.closed(), None);
    for _ in 0..2 {
        script.sack(0, &[(2, 39)]);
        script.sack(0, &[(2, 38)]);
    }
    assert!(matches!(script.closed(), Some(CloseReason::ProtocolViolation(_))));
}

//= RFC 9260 6.2-26
#[test]
fn a_receiver_short_of_memory_may_drop_as_often_as_it_must() {
    // §6.2: "a receiver may drop the DATA chunk with the largest TSN value that is being held for
    // reordering"; it comes again, and is dropped again.
    let config = profile("rfc9260", "[limits]\ncontradictory_sacks = 3");
    let mut script = Script::connected(&AssociationConfig { no_delay: true, ..config });
    for _ in 0..3 {
        script.send(100);
    }
    for _ in 0..8 {
        script.sack(0, &[(2, 3)]);
        script.sack(0, &[]);
        let again = script.wait_for_data();
        assert_eq!(script.numbers(&again), [[0, 1, 2]]);
    }
    assert_eq!((script.stats().reneged, script.stats().contradictory_sacks), (16, 0));
    assert_eq!(script.closed(), None);
}
