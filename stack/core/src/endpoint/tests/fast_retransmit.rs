//! Fast Retransmit and Fast Recovery, rule by rule (RFC 9260 §7.2.4).

use super::*;
use script::{FULL, PMDCS};

fn flying(n: usize) -> Script {
    Script::flying(&bursty(), n)
}

/// Reports chunk 0 missing three times: by chunks 1 to 3.
fn three_misses(script: &mut Script) -> Vec<Sent> {
    assert!(script.sack(0, &[(2, 2)]).is_empty());
    assert!(script.sack(0, &[(2, 3)]).is_empty());
    script.sack(0, &[(2, 4)])
}

//= RFC 9260 6.7-4 6.7-5 7.2.4-2
#[test]
fn rule_1_the_third_miss_indication_marks_a_chunk() {
    let mut script = flying(12);
    let sent = three_misses(&mut script);
    assert_eq!(script.numbers(&sent), [[0]]);
}

//= RFC 9260 7.2.4-3
#[test]
fn miss_indications_follow_the_highest_tsn_newly_acknowledged() {
    // "For each incoming SACK chunk, miss indications are incremented only for missing TSNs prior
    // to the HTNA in the SACK chunk."
    let mut script = flying(12);
    script.sack(0, &[(5, 5)]);
    for _ in 0..5 {
        assert!(script.sack(0, &[(5, 5)]).is_empty(), "nothing is newly acknowledged");
    }
    script.sack(0, &[(2, 2), (5, 5)]); // HTNA is chunk 1: counts for chunk 0 only.
    script.sack(0, &[(2, 2), (5, 6)]);
    assert_eq!(script.lost(), [0]);
    script.sack(0, &[(2, 2), (5, 7)]);
    assert_eq!(script.lost(), [2, 3]);
}

//= RFC 9260 7.2.3-1
#[test]
fn rule_2_halves_the_window() {
    // §7.2.3: ssthresh = max(cwnd / 2, 4 * PMDCS), cwnd = ssthresh.
    let mut script = flying(12);
    script.sack(0, &[(2, 2)]);
    script.sack(0, &[(2, 3)]);
    let before = script.path(0).cwnd;
    script.sack(0, &[(2, 4)]);
    let after = script.path(0);
    // §7.2.4, note: the SACK may let cwnd grow first.
    assert!((before / 2..=(before + PMDCS) / 2).contains(&after.cwnd), "{before} {}", after.cwnd);
    assert_eq!(after.ssthresh, after.cwnd);

    let mut script = flying(5);
    let sent = three_misses(&mut script);
    assert!(!sent.is_empty());
    assert_eq!(script.path(0).cwnd, 4 * PMDCS, "the floor");
}

//= RFC 9260 7.2.4-4
#[test]
fn rule_3_one_packet_leaves_whatever_cwnd_says_and_the_rest_when_it_allows() {
    // "the sender SHOULD ignore the value of cwnd and SHOULD NOT delay retransmission for this
    // single packet."
    let mut script = flying(20);
    script.sack(0, &[(5, 5)]);
    script.sack(0, &[(5, 6)]);
    let sent = script.sack(0, &[(5, 7)]);
    assert_eq!(script.numbers(&sent), [[0]]);
    let p = script.path(0);
    assert!(p.flight >= p.cwnd, "four are lost, three arrived, thirteen and one are in flight");
    let mut sent = Vec::new();
    for last in 8..20 {
        let (before, cwnd) = (script.path(0).flight - PMDCS, script.path(0).cwnd);
        let now = script.sack(0, &[(5, last)]);
        assert_eq!(!now.is_empty(), before < cwnd && sent.len() < 3, "{last}");
        sent.extend(now);
    }
    assert_eq!(script.numbers(&sent), [[1], [2], [3]]);
}

//= RFC 9260 6.10-4
#[test]
fn rule_3_bundles_the_earliest_chunks_that_fit() {
    let mut script = Script::grown(&bursty(), 12);
    for _ in 0..8 {
        script.send(700);
    }
    script.sack(0, &[(4, 4)]);
    script.sack(0, &[(4, 5)]);
    let sent = script.sack(0, &[(4, 6)]);
    assert_eq!(script.numbers(&sent), [vec![0, 1], vec![2]], "cwnd allows the second packet");
}

//= RFC 9260 6.1-19 6.1-20
#[test]
fn rule_4_restarts_t3_only_for_the_first_outstanding_chunk() {
    let mut script = flying(12);
    script.now += ms(100);
    assert!(!three_misses(&mut script).is_empty());
    script.now += ms(800);
    // Now chunk 5 is lost too; it is not the first outstanding one.
    script.sack(0, &[(2, 5), (7, 7)]);
    script.sack(0, &[(2, 5), (7, 8)]);
    let sent = script.sack(0, &[(2, 5), (7, 9)]);
    assert_eq!(script.numbers(&sent), [[5]]);
    assert!(script.wait(ms(199)).is_empty());
    assert_eq!(script.stats().timeouts, 0);
    script.wait(ms(1));
    assert_eq!(script.stats().timeouts, 1, "one RTO after the fast retransmit of chunk 0");
}

#[test]
fn rule_5_a_chunk_is_fast_retransmitted_once() {
    let mut script = flying(16);
    assert!(!three_misses(&mut script).is_empty());
    for last in 5..12 {
        assert!(script.sack(0, &[(2, last)]).is_empty(), "{last}");
    }
    // Until a timeout: then it counts again, by chunks sent after it.
    let sent = script.wait(secs(1));
    assert_eq!(script.numbers(&sent)[0][0], 0);
    assert_eq!(script.stats().fast_recoveries, 1);
}

//= RFC 9260 7.2.4-5
#[test]
fn rule_6_the_window_is_cut_once_until_the_exit_point() {
    // "While in Fast Recovery, the ssthresh and cwnd SHOULD NOT change for any destinations due to
    // a subsequent Fast Recovery event."
    let mut script = flying(16);
    three_misses(&mut script);
    let cut = script.path(0);
    // Chunk 5 is lost in the same flight.
    for last in 7..10 {
        script.sack(0, &[(2, 5), (7, last)]);
    }
    assert_eq!(script.stats().retransmissions_by(crate::LossCause::FastRetransmit), 2);
    assert_eq!((script.path(0).cwnd, script.path(0).ssthresh), (cut.cwnd, cut.ssthresh));
    assert_eq!(script.stats().fast_recoveries, 1);
    // "When a SACK chunk acknowledges all TSNs up to and including this exit point, Fast Recovery
    // is exited": the next loss cuts again.
    script.sack(15, &[]);
    for _ in 0..8 {
        script.try_send(0, FULL, SendOptions::default()).unwrap();
    }
    script.poll();
    script.sack(16, &[]);
    let before = script.path(0).cwnd;
    for last in 2..5 {
        script.sack(16, &[(2, last)]);
    }
    assert_eq!(script.stats().fast_recoveries, 2);
    assert!(script.path(0).cwnd < before);
}

#[test]
fn in_fast_recovery_a_sack_that_advances_strikes_all_missing_chunks() {
    // "If an endpoint is in Fast Recovery and a SACK chunks arrives that advances the Cumulative
    // TSN Ack Point, the miss indications are incremented for all TSNs reported missing."
    let mut script = flying(16);
    three_misses(&mut script);
    script.sack(0, &[(2, 5), (7, 8)]); // Chunk 5: one miss indication.
    script.sack(5, &[(2, 3)]); // Chunk 0 arrived; nothing above chunk 5 is new: a second one.
    let sent = script.sack(5, &[(2, 4)]);
    assert_eq!(script.numbers(&sent), [[5]]);
}

//= RFC 9260 7.2.1-5 7.2.1-6 7.2.1-7 7.2.1-8
#[test]
fn cwnd_does_not_grow_in_fast_recovery() {
    // §7.2.1: "only if the current congestion window is being fully utilized and the data sender
    // is not in Fast Recovery".
    let mut script = flying(16);
    three_misses(&mut script);
    let cwnd = script.path(0).cwnd;
    for last in 5..16 {
        script.sack(0, &[(2, last)]);
        assert_eq!(script.path(0).cwnd, cwnd);
    }
}

#[test]
fn the_fault_of_an_old_kernel_sends_one_packet_again_for_every_four_sacks() {
    // Or copies would multiply, for each of them brings another SACK.
    let config = AssociationConfig {
        bundling: false,
        no_delay: true,
        ..profile("lksctp-2.6.15", "[limits]\nmax_burst = 0")
    };
    let mut script = Script::connected(&config);
    for _ in 0..26 {
        script.try_send(0, 100, SendOptions::default()).unwrap();
    }
    assert_eq!(script.poll().len(), 26);
    for last in 14..17 {
        assert!(script.sack(0, &[(14, last)]).is_empty());
    }
    // The fourth miss indication: 13 chunks are lost, one more than fit in a packet.
    assert_eq!(script.sack(0, &[(14, 17)]).len(), 2);
    for last in 18..26 {
        let sent = script.sack(0, &[(14, last)]);
        let expected: &[Vec<u32>] = match last {
            21 | 25 => &[(0..12).collect()],
            22 => &[vec![12]], // What did not fit.
            _ => &[],
        };
        assert_eq!(script.numbers(&sent), expected, "{last}");
    }
    // A SACK without news strikes nothing.
    assert!((0..5).all(|_| script.sack(0, &[(14, 25)]).is_empty()));
}

#[test]
fn a_chunk_that_the_receiver_reneged_on_counts_one_miss_indication() {
    // RFC 9260 §6.2.1 D iii.
    let mut script = flying(12);
    script.sack(0, &[(2, 4)]);
    assert!(script.sack(0, &[(2, 3)]).is_empty(), "chunk 3 was dropped: one miss indication");
    assert_eq!(script.stats().reneged, 1);
    script.sack(0, &[(2, 3), (5, 5)]);
    assert_eq!(script.lost(), []);
    script.sack(0, &[(2, 3), (5, 6)]);
    assert_eq!(script.lost(), [0, 3]);
}
