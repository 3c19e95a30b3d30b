//! Concurrent transfer: which path carries what, and what a SACK says of each of them
//! (draft-tuexen-tsvwg-sctp-multipath; Sarnow 2017 §3.2, §6.2).

use super::*;

/// Two confirmed paths at once, without heartbeats; chunk `n` leaves on path `n % 2`.
fn two_paths(multipath: &str) -> Script {
    let overrides =
        format!("[heartbeat]\nenabled = false\n[limits]\nmax_burst = 0\n[multipath]\n{multipath}");
    let config = AssociationConfig {
        no_delay: true,
        concurrent_transfer: true,
        ..profile("rfc9260", &overrides)
    };
    Script::multihomed(&config, 2)
}

fn paths(sent: &[Sent]) -> Vec<u8> {
    sent.iter().map(|p| p.to.path.unwrap().0).collect()
}

/// Sends this many chunks that each fill a packet but for little.
fn send(script: &mut Script, chunks: usize) -> Vec<u8> {
    (0..chunks).flat_map(|_| paths(&script.send(1000))).collect()
}

/// A SACK of single chunks beyond the cumulative one.
fn sack(script: &mut Script, cumulative: u32, blocks: &[u16]) -> Vec<Sent> {
    let blocks: Vec<(u16, u16)> = blocks.iter().map(|at| (*at, *at)).collect();
    script.sack(cumulative, &blocks)
}

#[test]
fn round_robin_takes_turns_as_far_as_the_windows_allow() {
    let mut script = two_paths("");
    // cwnd is 4404 bytes: five chunks of 1016 begin below it.
    assert_eq!(send(&mut script, 12), [0, 1, 0, 1, 0, 1, 0, 1, 0, 1]);
    assert_eq!((script.path(0).flight, script.path(1).flight), (5080, 5080));
}

#[test]
fn one_path_is_enough_if_the_application_does_not_ask() {
    let overrides = "[heartbeat]\nenabled = false";
    let config = AssociationConfig { no_delay: true, ..profile("freebsd-cmt", overrides) };
    let mut script = Script::multihomed(&config, 2);
    assert_eq!(send(&mut script, 6), [0; 5]);
}

#[test]
fn a_chunk_is_missing_only_if_a_later_one_of_its_path_arrived() {
    // Split Fast Retransmit: path 0 is slow, nothing is lost.
    let mut script = two_paths("");
    send(&mut script, 10);
    for blocks in [&[2][..], &[2, 4], &[2, 4, 6], &[2, 4, 6, 8]] {
        sack(&mut script, 0, blocks);
    }
    assert_eq!(script.stats().retransmitted_chunks.iter().sum::<u64>(), 0);
    // Chunk 0 is lost: three later ones of its path arrive.
    sack(&mut script, 0, &[2, 3, 4, 6, 8]);
    sack(&mut script, 0, &[2, 3, 4, 5, 6, 8]);
    let sent = script.sack(0, &[(2, 8)]);
    assert_eq!((paths(&sent)[0], script.numbers(&sent[..1])), (0, vec![vec![0]]));

    // Without it, the other path strikes.
    let mut script = two_paths("split_fast_retransmit = false");
    send(&mut script, 10);
    sack(&mut script, 0, &[2]);
    sack(&mut script, 0, &[2, 4]);
    let sent = sack(&mut script, 0, &[2, 4, 6]);
    assert!(script.numbers(&sent).concat().contains(&0));
}

/// Chunk 0 of path 0 is lost, found by three later ones, and sent again, where policy says.
fn lose_the_first(multipath: &str) -> (Script, Vec<u8>) {
    let mut script = two_paths(multipath);
    send(&mut script, 10);
    sack(&mut script, 0, &[3]);
    sack(&mut script, 0, &[3, 5]);
    let sent = sack(&mut script, 0, &[3, 5, 7]);
    let again =
        sent.iter().filter(|p| script.numbers(std::slice::from_ref(p)).concat().contains(&0));
    let taken = again.map(|p| p.to.path.unwrap().0).collect();
    (script, taken)
}

#[test]
fn a_retransmission_takes_the_path_that_the_policy_says() {
    for (policy, path) in [("same", 0), ("alternate", 1), ("largest-cwnd", 0), ("lowest-loss", 1)] {
        let (_, taken) = lose_the_first(&format!("retransmission = '{policy}'"));
        assert_eq!(taken, [path], "{policy}");
    }
}

#[test]
fn only_the_path_that_lost_is_cut_and_recovers() {
    let (mut script, _) = lose_the_first("");
    let cut = script.path(0).cwnd;
    assert_eq!((cut, script.path(1).cwnd), (4 * script::PMDCS, 4404));
    // Path 1 loses chunk 1 while path 0 still recovers.
    sack(&mut script, 0, &[3, 4, 5, 7]);
    sack(&mut script, 0, &[3, 4, 5, 6, 7]);
    sack(&mut script, 0, &[3, 4, 5, 6, 7, 8]);
    assert_eq!(script.stats().fast_recoveries, 2);
    assert_eq!(script.path(1).cwnd, 4 * script::PMDCS);
}

/// Whether chunk 0, lost again on the path that its retransmission took, leaves a second time.
fn leaves_twice(multipath: &str) -> bool {
    let (mut script, taken) = lose_the_first(multipath);
    // The rest arrives, so that both windows are open.
    script.sack(0, &[(2, 10)]);
    script.now += ms(10);
    // New chunks, sent after the retransmission, on both paths; then they arrive one by one.
    let fresh = send(&mut script, 6);
    assert!(fresh.contains(&taken[0]), "{fresh:?}");
    let mut sent = Vec::new();
    for highest in 11..=16 {
        sent.extend(script.sack(0, &[(2, highest)]));
    }
    script.numbers(&sent).concat().contains(&0)
}

#[test]
fn what_was_fast_retransmitted_is_so_again_only_with_the_fix_and_on_its_own_path() {
    assert!(!leaves_twice("retransmission = 'same'"), "RFC 9260 §7.2.4 rule 5");
    assert!(leaves_twice("retransmission = 'same'\nfast_retransmit_again = true"));
    assert!(!leaves_twice("retransmission = 'alternate'\nfast_retransmit_again = true"));
}

#[test]
fn a_path_stops_at_its_share_of_the_send_buffer() {
    // All goes to the primary path, of whose window there is more.
    for (splitting, chunks) in [("none", 5), ("outstanding", 3), ("buffered", 3)] {
        let overrides = format!(
            "[heartbeat]\nenabled = false\n[limits]\nmax_burst = 0
             [multipath]\nscheduler = 'primary'\nbuffer_splitting = '{splitting}'"
        );
        let config = AssociationConfig {
            no_delay: true,
            concurrent_transfer: true,
            send_buffer: 6000,
            ..profile("rfc9260", &overrides)
        };
        let mut script = Script::multihomed(&config, 2);
        assert_eq!(send(&mut script, 6), vec![0; chunks], "{splitting}");
    }
}

#[test]
fn what_blocks_the_buffers_leaves_again_over_the_other_path() {
    for (form, numbers) in [("lowest", vec![0]), ("blocking", vec![0, 2])] {
        let config = AssociationConfig {
            no_delay: true,
            concurrent_transfer: true,
            send_buffer: 8000,
            ..profile(
                "rfc9260",
                &format!(
                    "[heartbeat]\nenabled = false\n[multipath]\nchunk_rescheduling = '{form}'"
                ),
            )
        };
        let mut script = Script::multihomed(&config, 2);
        send(&mut script, 8);
        // Path 1 is fast; what it carried after chunk 2 arrives.
        script.now += ms(500);
        let sent = sack(&mut script, 0, &[4, 6]);
        let moved: Vec<u32> = sent
            .iter()
            .filter(|p| p.to.path == Some(PathId(1)))
            .flat_map(|p| script.numbers(std::slice::from_ref(p)).concat())
            .filter(|n| *n < 8)
            .collect();
        assert_eq!(moved, numbers, "{form}");
    }
}

#[test]
fn a_thin_stream_goes_over_both_paths_at_once_if_asked_to() {
    let mut script = two_paths("scheduler = 'redundant'");
    let sent = script.send(100);
    assert_eq!(paths(&sent), [0, 1]);
    assert_eq!(script.numbers(&sent), [[0], [0]]);
    // The second packet is not in flight: its loss changes nothing.
    assert_eq!((script.path(0).flight, script.path(1).flight), (116, 0));
    script.sack(1, &[]);
    assert_eq!(script.stats().retransmitted_chunks.iter().sum::<u64>(), 1);
}

#[test]
fn what_another_path_carries_does_not_make_a_timeout_spurious() {
    // F-RTO would believe SACKs for path 1, and path 0 is dead.
    let overrides = "[heartbeat]\nenabled = false\n[limits]\nmax_burst = 0";
    let config = AssociationConfig {
        no_delay: true,
        concurrent_transfer: true,
        ..profile("rfc9260+f-rto", overrides)
    };
    let mut script = Script::multihomed(&config, 2);
    send(&mut script, 6);
    script.wait(script.path(0).rto - ms(1));
    sack(&mut script, 0, &[2]);
    let mut sent = script.wait(ms(1));
    sent.extend(sack(&mut script, 0, &[2, 4]));
    sent.extend(sack(&mut script, 0, &[2, 4, 6]));
    assert_eq!(script.stats().spurious_timeouts, 0);
    assert!(script.numbers(&sent).concat().contains(&0), "it leaves again");
}

#[test]
fn limited_transmit_lets_one_packet_past_pacing_and_not_a_window() {
    let mut script = two_paths("pacing = 1.05\n[limited_transmit]\nenabled = true");
    send(&mut script, 2);
    script.wait(ms(100));
    script.sack(2, &[]); // Both round trips take 100 ms.
    // The next ones leave one after the other; the first of path 0 is lost, its second arrives.
    send(&mut script, 40);
    while script.path(0).flight < 2 * 1016 {
        script.wait(ms(1));
    }
    assert!(script.path(0).flight + 2 * 1016 < script.path(0).cwnd, "there is room in the window");
    let sent = sack(&mut script, 2, &[3]);
    assert_eq!(paths(&sent), [1]);
}

/// Two paths that are watched for silence. Both round trips take 100 ms, with 50 ms of variance.
fn watched() -> Script {
    let overrides = "[limits]\nmax_burst = 0\n[heartbeat]\ninterval_ms = 30000\n[multipath]\nsilent_path = true";
    let config = AssociationConfig {
        no_delay: true,
        concurrent_transfer: true,
        ..profile("rfc9260", overrides)
    };
    let mut script = Script::multihomed(&config, 2);
    send(&mut script, 2);
    script.wait(ms(100));
    script.sack(2, &[]);
    script
}

/// These, of which the second one has just been silent for as long as `recovery/silent_path.rs` says, with what leaves then.
fn silent() -> (Script, Vec<Sent>) {
    let mut script = watched();
    assert_eq!(send(&mut script, 6), [0, 1, 0, 1, 0, 1]);
    script.wait(ms(100));
    // What path 0 carried arrived; path 1 is silent.
    sack(&mut script, 2, &[1, 3, 5]);
    let before = script.wait(ms(299));
    assert!(!before.iter().any(|p| p.carries(ChunkType::DATA)), "2 SRTT + 4 RTTVAR is 400 ms");
    let sent = script.wait(ms(2));
    (script, sent)
}

#[test]
fn what_a_silent_path_carries_leaves_over_another_one_after_two_round_trips() {
    let (mut script, sent) = silent();
    let (heartbeats, data): (Vec<_>, Vec<_>) =
        sent.into_iter().partition(|p| p.carries(ChunkType::HEARTBEAT));
    assert_eq!((paths(&heartbeats), paths(&data)), (vec![1], vec![0, 0, 0]));
    assert_eq!(script.numbers(&data).concat(), [3, 5, 7]);
    assert_eq!(script.path(1).cwnd, script.path(0).cwnd, "nothing says that there was congestion");
    script.sack(8, &[]);
    assert_eq!(send(&mut script, 3), [0; 3]);
    // An answer brings it back, with a round trip of its own.
    script.wait(ms(699));
    let info = |sent: &Sent| sent.find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
    let next = script.give(|w| w.heartbeat_ack(&info(&heartbeats[0])));
    assert_eq!(script.path(1).srtt, Some(ms(700)));
    assert!(send(&mut script, 2).contains(&1));
    // It may have waited for the path to come back: how long that takes now is measured again.
    script.wait(ms(80));
    script.give(|w| w.heartbeat_ack(&info(sent::only(&next))));
    assert_eq!(script.path(1).srtt, Some(ms(80)));
}

#[test]
fn the_sack_of_one_packet_may_be_delayed_unless_there_is_a_gap() {
    for (behind, silent_after) in [(false, 600), (true, 400)] {
        let mut script = watched();
        assert_eq!(send(&mut script, 2), [0, 1]);
        let gap: &[u16] = if behind { &[2] } else { &[] };
        if behind {
            assert_eq!(send(&mut script, 1), [0]);
        }
        script.wait(ms(100));
        sack(&mut script, 3, gap);
        let asked = |sent: &[Sent]| sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT));
        assert!(!asked(&script.wait(ms(silent_after - 101))), "a gap: {behind}");
        assert!(asked(&script.wait(ms(2))), "a gap: {behind}");
    }
}

#[test]
fn a_silent_path_whose_heartbeat_was_lost_is_asked_again_and_again() {
    let (mut script, first) = silent();
    let start = first[0].at;
    let sent = script.wait(secs(5));
    let asked: Vec<_> = sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT)).collect();
    let after = |p: &&Sent| (p.at.since(start).as_millis(), p.to.path);
    // Those that wait for their answers leave at once and whenever RTO expires, which is doubled.
    let ours: Vec<_> = asked.iter().map(after).filter(|(at, _)| at % 1000 != 0).collect();
    let expected = [400, 1200, 2200, 3200, 4200].map(|at| (at, Some(PathId(1))));
    assert_eq!(ours, expected);
    // Any answer brings it back, and then nothing more is asked.
    let last = asked.last().unwrap().find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
    let next = script.give(|w| w.heartbeat_ack(&last));
    let beats: Vec<_> = next.into_iter().filter(|p| p.carries(ChunkType::HEARTBEAT)).collect();
    assert_eq!(paths(&beats), [1], "how long does it take now?");
    script.sack(8, &[]);
    let sent = script.wait(secs(5));
    assert!(!sent.iter().any(|p| p.carries(ChunkType::HEARTBEAT)));
    assert!(send(&mut script, 2).contains(&1));
}

#[test]
fn what_a_path_was_asked_before_its_answer_is_not_waited_for() {
    let (mut script, first) = silent();
    let sent = script.wait(ms(500));
    let again = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT)).unwrap();
    let info = again.find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
    script.give(|w| w.heartbeat_ack(&info));
    script.sack(8, &[]);
    // The first one was lost, and RTO passes.
    assert!(first.iter().any(|p| p.carries(ChunkType::HEARTBEAT)));
    script.wait(secs(3));
    assert_eq!((script.path(1).errors, script.path(1).state), (0, crate::PathState::Active));
    assert_eq!(script.path(1).rto, secs(1));
}

/// RFC 7829 §3.2 rule 5: "if the Path Heartbeat function is disabled [...] HEARTBEATs MUST NOT be sent."
#[test]
fn a_silent_path_without_heartbeats_is_asked_by_data() {
    let (mut script, _) = silent();
    script.sack(8, &[]);
    heartbeat::configure(&mut script, 1, |settings| settings.heartbeats = false);
    assert!(send(&mut script, 2).contains(&1));
    let sent = script.wait(secs(20));
    let asks = |p: &&Sent| p.carries(ChunkType::HEARTBEAT) && p.to.path == Some(PathId(1));
    assert_eq!(sent.iter().filter(asks).count(), 0);
}

/// RFC 9260 §8.3: HEARTBEATs begin in ESTABLISHED. Before, a peer that has not seen the COOKIE ECHO
/// would answer one by ABORT.
#[test]
fn silence_during_the_setup_is_for_t1_cookie_alone() {
    let overrides = "[multipath]\nsilent_path = true";
    let config = AssociationConfig { concurrent_transfer: true, ..profile("tresse", overrides) };
    let mut script = Script::connecting_to(&config, &addresses(Side::Z, 2));
    script.try_send(0, 100, SendOptions::default()).unwrap();
    script.wait(ms(1));
    let first = script.init_ack();
    assert!(sent::only(&first).carries(ChunkType::DATA), "it travels with COOKIE ECHO");
    let sent = script.wait(secs(20));
    assert!(sent.len() >= 3);
    assert!(sent.iter().all(|packet| packet.carries(ChunkType::COOKIE_ECHO)));
}

/// This many paths, of which the last one alone takes packets there and back, as everything sent on it is
/// acknowledged. Returns where what was sent first went, each time, until that happens.
fn until_acknowledged(policy: &str, paths: u8) -> (Script, Vec<u8>) {
    let overrides = format!(
        "[heartbeat]\nenabled = false\n[limits]\nmax_burst = 0\n[multipath]\nretransmission = '{policy}'"
    );
    let config = AssociationConfig {
        no_delay: true,
        concurrent_transfer: true,
        ..profile("rfc9260", &overrides)
    };
    let mut script = Script::multihomed(&config, paths);
    let mut tour = Vec::new();
    let mut sent = script.send(1000);
    while script.closed().is_none() {
        let first = |p: &&Sent| script.numbers(std::slice::from_ref(*p)).concat().contains(&0);
        if let Some(path) = sent.iter().find(first).and_then(|p| p.to.path) {
            tour.push(path.0);
            if path.0 == paths - 1 {
                script.sack(1, &[]);
                break;
            }
        }
        sent = script.wait_for_data();
    }
    (script, tour)
}

//= RFC 9260 6.4.1-2
#[test]
fn whatever_the_policy_a_chunk_is_not_sent_for_ever_where_nothing_comes_through() {
    let policies =
        ["same", "alternate", "largest-cwnd", "largest-ssthresh", "lowest-loss", "min-rtt"];
    for policy in policies {
        let (script, tour) = until_acknowledged(policy, 4);
        assert_eq!(script.closed(), None, "{policy}: {tour:?}");
        let most = (0..4).map(|path| tour.iter().filter(|p| **p == path).count()).max();
        assert!(most <= Some(2), "{policy}: {tour:?}");
    }
    assert_eq!(until_acknowledged("same", 4).1, [0, 0, 1, 2, 3], "at first the paper's policy");
}

/// RFC 9260 §8.1 counts consecutive retransmissions. Paths that are dead together are not counted one by
/// one, or the association would be given up before a datum has been sent on each.
#[test]
fn paths_that_die_together_do_not_use_up_the_errors_of_the_association() {
    let overrides = "[heartbeat]\nenabled = false\n[limits]\nmax_burst = 0";
    let config = AssociationConfig {
        no_delay: true,
        concurrent_transfer: true,
        ..profile("rfc9260", overrides)
    };
    let mut script = Script::multihomed(&config, 4);
    send(&mut script, 8);
    script.wait(secs(12));
    // Each path has counted its own, after 1, 3 and 7 s: twelve in all.
    assert!((0..4).all(|path| script.path(path).errors >= 3));
    assert_eq!(script.closed(), None, "one after the other they would have come to six");
    script.wait(secs(600));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

#[test]
fn a_closed_window_is_probed_whatever_share_of_it_a_path_has() {
    for splitting in ["none", "outstanding", "buffered"] {
        let mut script = two_paths(&format!("buffer_splitting = '{splitting}'"));
        send(&mut script, 1);
        script.sack_with(1, &[], 0);
        assert!(send(&mut script, 1).is_empty(), "{splitting}");
        assert_eq!(script.wait_for_data().len(), 1, "{splitting}");
    }
}
