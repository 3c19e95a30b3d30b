//! The peer's receive window and probing it when it is closed (RFC 9260 §6.1 A, §6.2.1).

use super::*;
use sent::only;

/// The window is closed, and one message waits for it.
fn closed() -> Script {
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.sack_with(1, &[], 0);
    assert!(script.send(1000).is_empty(), "no new data beyond the window");
    script
}

//= RFC 9260 6.1-1 6.1-2 6.1-17 6.2.1-1
#[test]
fn a_window_smaller_than_the_next_chunk_is_closed() {
    // RFC 9260 §6.1 A: "rwnd is smaller than the size of the next DATA chunk".
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.sack_with(1, &[], 1999);
    let sent = script.send(1000);
    assert_eq!(script.numbers(&sent), [[1]]);
    assert!(script.send(1000).is_empty(), "§6.2.1 B: 999 bytes are left");
    let sent = script.sack_with(2, &[], 1000);
    assert_eq!(script.numbers(&sent), [[2]]);
}

//= RFC 9260 6.2.1-1
#[test]
fn what_is_outstanding_after_a_sack_counts_against_its_window() {
    // RFC 9260 §6.2.1 D ii: "a_rwnd minus the number of bytes still outstanding after processing
    // the Cumulative TSN Ack and the Gap Ack Blocks".
    let mut script = Script::connected(&standard());
    for _ in 0..3 {
        script.send(1000);
    }
    script.sack_with(1, &[(2, 2)], 1500);
    assert_eq!(script.stats().peer_rwnd, 500);
}

//= RFC 9260 6.1-5 6.1-7
#[test]
fn the_first_probe_leaves_after_one_rto_and_alone() {
    // RFC 9260 §6.1 A: "SHOULD send the first zero window probe after 1 RTO when it detects that
    // the receiver has closed its window".
    let mut script = closed();
    script.send(1000);
    let rto = script.path(0).rto;
    assert!(script.wait(rto - ms(1)).is_empty());
    let sent = script.wait(ms(1));
    assert_eq!(script.numbers(&sent), [[1]]);
}

#[test]
fn a_peer_without_room_gets_what_it_waits_for_chunk_by_chunk() {
    // RFC 9260 §6.1 A: "regardless of the value of rwnd (including if it is 0), the data sender can
    // always have one DATA chunk in flight". A peer whose buffer is full of later chunks makes room
    // for the one that it waits for and drops the rest of the packet.
    let mut script = Script::connected(&standard());
    for _ in 0..5 {
        script.send(100);
    }
    script.sack_with(1, &[], 0);
    let sent = script.wait(script.path(0).rto);
    assert_eq!(script.numbers(&sent), [[1]]);
    for n in 2..4 {
        let sent = script.sack_with(n, &[], 0);
        assert_eq!(script.numbers(&sent), [[n]], "at once, not after another T3-rtx");
    }
    let sent = script.sack_with(4, &[], 10_000);
    assert_eq!(script.numbers(&sent), [[4]]);
}

//= RFC 9260 6.1-3 6.1-4
#[test]
fn no_probe_is_sent_while_data_is_in_flight() {
    // RFC 9260 §6.1 A: "only ... when all outstanding DATA chunks have been cumulatively
    // acknowledged and no DATA chunks are in flight".
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.send(1000);
    script.sack_with(1, &[], 0);
    script.send(1000);
    let sent = script.wait(secs(20));
    assert!(script.numbers(&sent).concat().iter().all(|n| *n == 1), "retransmissions only");
}

//= RFC 9260 6.1-5 6.1-6 6.1-7 6.1-8
#[test]
fn probing_is_no_error_as_long_as_the_peer_answers() {
    // RFC 9260 §6.1 A: "If the sender continues to receive SACK chunks from the peer while doing
    // zero window probing, the unacknowledged window probes SHOULD NOT increment the error
    // counter", "SHOULD increase the probe interval exponentially", and "Zero window probing does
    // not affect the calculation of cwnd".
    let mut script = closed();
    let cwnd = script.path(0).cwnd;
    let mut times = vec![script.now];
    let end = script.now + secs(2000);
    while script.now < end {
        let sent = script.wait(ms(100));
        if sent.iter().any(|p| p.carries(ChunkType::DATA)) {
            times.push(sent[0].at);
            assert!(script.sack_with(1, &[], 0).is_empty());
        }
        if let Some(p) = sent.iter().find(|p| p.carries(ChunkType::HEARTBEAT)) {
            let info = p.find(ChunkType::HEARTBEAT).unwrap().value.to_vec();
            script.give(|w| w.heartbeat_ack(&info));
        }
        assert_eq!(script.path(0).errors, 0);
    }
    assert_eq!(script.state(), State::Established);
    assert!(script.path(0).cwnd <= cwnd, "idle decay only");
    assert!(script.path(0).cwnd >= 4 * 1452.min(cwnd / 4));
    let gaps: Vec<u64> = times.windows(2).map(|w| w[1].since(w[0]).as_secs()).collect();
    assert_eq!(gaps[..10], [1, 1, 2, 4, 8, 16, 32, 60, 60, 60], "up to RTO.Max");
}

#[test]
fn a_peer_that_answers_no_probe_is_unreachable() {
    // RFC 9260 §8.1: Association.Max.Retrans holds for probes that nobody answers.
    let mut script = closed();
    script.wait(secs(1000));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

#[test]
fn a_window_that_opens_is_used_at_once() {
    // Before the first probe, while one is outstanding, and after it was taken.
    let mut script = closed();
    script.now += ms(500);
    let sent = script.sack_with(1, &[], 100_000);
    assert_eq!(script.numbers(&sent), [[1]]);

    let mut script = closed();
    script.send(1000);
    script.wait(secs(1));
    script.sack_with(1, &[], 0);
    script.now += ms(100);
    let sent = script.sack_with(1, &[], 100_000);
    assert_eq!(script.numbers(&sent), [[1], [2]], "the probe was dropped by the receiver");

    let mut script = closed();
    script.send(1000);
    script.wait(secs(1));
    let sent = script.sack_with(2, &[], 100_000);
    assert_eq!(script.numbers(&sent), [[2]], "the probe was accepted");
    assert_eq!(script.stats().zero_window_probes, 1);
    script.sack_with(3, &[], 0);
    assert!(script.wait(secs(20)).iter().all(|p| !p.carries(ChunkType::DATA)));
}

#[test]
fn an_accepted_probe_that_leaves_the_window_closed_is_followed_by_another() {
    let mut script = closed();
    script.send(1000);
    script.wait(secs(1));
    assert!(script.sack_with(2, &[], 0).is_empty());
    let sent = script.wait(secs(4));
    assert_eq!(script.numbers(&sent)[0], [2]);
}

#[test]
fn a_message_sent_while_the_window_is_closed_and_nothing_outstanding_is_probed_for() {
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.sack_with(1, &[], 0);
    script.wait(secs(10));
    assert!(script.send(1000).is_empty());
    let sent = script.wait(secs(1));
    assert_eq!(script.numbers(&sent), [[1]]);
}

#[test]
fn a_lost_window_update_is_made_up_for() {
    // RFC 9260 §6.1 A: "This rule allows the sender to probe for a change in rwnd that the sender
    // missed due to the SACK chunks having been lost".
    let config = AssociationConfig { receive_buffer: 8192, ..standard() };
    let (mut pair, a, z) = Pair::connected(&config, 1);
    for n in 0..40 {
        pair.send(Side::A, a, 0, vec![n; 1000]);
    }
    pair.run(secs(3));
    let before = pair.log.len();
    pair.drop = Box::new(|p| p.from == Side::Z && p.types() == [ChunkType::SACK]);
    let mut got = pair.recv_all(Side::Z, z).len();
    pair.run(ms(1));
    assert!(pair.log.len() > before, "an update was sent, and lost");
    pair.drop = Box::new(|_| false);
    for _ in 0..60 {
        pair.run(secs(1));
        got += pair.recv_all(Side::Z, z).len();
    }
    assert_eq!(got, 40);
}

#[test]
fn a_slow_reader_costs_nothing_but_time() {
    // Two live ends, a buffer of a few packets, and a reader that takes one message a second.
    let config = AssociationConfig { receive_buffer: 4096, ..standard() };
    let (mut pair, a, z) = Pair::connected(&config, 1);
    for n in 0..60 {
        pair.send(Side::A, a, 0, vec![n; 1000]);
    }
    let mut got = Vec::new();
    for _ in 0..80 {
        pair.run(secs(1));
        let now = pair.now;
        got.extend(pair.end(Side::Z).recv(now, z).map(|m| m.payload[0]));
    }
    assert_eq!(got, (0..60).collect::<Vec<u8>>());
    assert_eq!(pair.end(Side::A).path_stats(a)[0].errors, 0);
    let stats = pair.end(Side::A).stats(a).unwrap();
    assert_eq!(stats.timeouts, 0, "{stats:?}");
}

//= RFC 9260 6.1-9
#[test]
fn chunks_are_not_cut_to_fit_a_small_window() {
    // RFC 9260 §6.1 A: the sender avoids silly window syndrome: no chunk is made small because
    // the window is.
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.sack_with(1, &[], 700);
    assert!(script.send(5000).is_empty());
    let sent = script.sack_with(1, &[], 2000);
    assert_eq!(only(&sent).data()[0].payload.len(), 1452);
}

//= RFC 9260 6.1-7
#[test]
fn half_a_buffer_that_is_too_small_for_the_next_chunk_is_tried_at_once() {
    let buffer = 2000;
    let mut script = Script::connecting(&standard());
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie");
    let fields = InitFields { a_rwnd: buffer, ..script::peer_fields() };
    script.init_ack_with(&fields, &mut parameters);
    script.cookie_ack();
    script.send(1200);
    assert!(script.send(1200).is_empty());
    let sent = script.sack_with(1, &[], buffer / 2);
    assert_eq!(script.numbers(&sent), [[1]]);
    assert!(script.send(1200).is_empty());
    assert!(script.sack_with(2, &[], buffer / 2 - 1).is_empty(), "this window may yet open");
}

/// Chunks behind gaps can fill a window: then each chunk that fills a gap is a probe, and it is taken. The
/// loss of one is no reason to wait longer and longer, up to a minute each.
#[test]
fn probes_that_are_taken_do_not_become_rarer() {
    let mut script = closed();
    let mut waits = Vec::new();
    for number in 2..6 {
        let before = script.now;
        script.wait_for_data();
        waits.push(script.now.since(before));
        script.send(1000);
        script.sack_with(number, &[], 0);
    }
    assert!(waits.iter().all(|wait| *wait <= secs(2)), "{waits:?}");
}

/// A probe that nobody answers is an error like any other (§6.1 A), and no sooner: mechanisms that let timers
/// expire prematurely must not use up Association.Max.Retrans while the window is closed.
#[test]
fn unanswered_probes_end_an_association_no_sooner_than_other_data() {
    let ends_after = |name: &str| {
        // When heartbeats add their errors depends on chance.
        let mut script = Script::connected(&profile(name, "[heartbeat]\nenabled = false\n"));
        for _ in 0..3 {
            script.send(1000);
        }
        // T3-rtx of what is outstanding, and of the probes that follow it.
        script.sack_with(1, &[], 0);
        let began = script.now;
        while script.closed().is_none() {
            script.wait(secs(1));
        }
        assert_eq!(script.closed(), Some(&CloseReason::Unreachable), "{name}");
        script.now.since(began)
    };
    // Eleven expirations of RFC 9260's own timer: 1, 2, 4, 8, 16 and 32 s, and five of RTO.Max.
    for name in ["rfc9260", "tresse"] {
        assert!(ends_after(name) >= secs(363), "{name}: {:?}", ends_after(name));
    }
}
