//! T3-rtx and round-trip times (RFC 9260 §6.3), and windows after a timeout or a pause (§7.2).

use tresse_wire::data_chunk_len;

use super::*;
use script::{FULL, PMDCS};
use sent::{only, types};

/// RTO.Min out of the way.
fn quick() -> AssociationConfig {
    AssociationConfig { no_delay: true, ..profile("rfc9260", "[rto]\nmin_ms = 10") }
}

//= RFC 9260 6.1-18 6.1-20
#[test]
fn r1_sending_starts_the_timer() {
    let mut script = Script::connected(&standard());
    script.send(100);
    script.now += ms(600);
    script.send(100);
    assert!(script.wait(ms(399)).is_empty(), "it is not restarted by the second chunk");
    let sent = script.wait(ms(1));
    assert_eq!(script.numbers(&sent), [[0, 1]]);
}

#[test]
fn r2_the_timer_stops_when_all_is_acknowledged() {
    let mut script = Script::connected(&standard());
    script.send(100);
    script.send(100);
    script.sack(2, &[]);
    assert!(script.wait(secs(20)).is_empty());
    assert_eq!(script.stats().timeouts, 0);
}

#[test]
fn r3_the_timer_restarts_when_the_earliest_chunk_is_acknowledged() {
    let mut script = Script::connected(&standard());
    script.send(100);
    script.send(100);
    script.now += ms(600);
    script.sack(1, &[]);
    assert!(script.wait(ms(999)).is_empty());
    let sent = script.wait(ms(1));
    assert_eq!(script.numbers(&sent), [[1]]);
    // Not by a later chunk.
    let mut script = Script::connected(&standard());
    script.send(100);
    script.send(100);
    script.now += ms(600);
    script.sack(0, &[(2, 2)]);
    assert!(script.wait(ms(399)).is_empty());
    let sent = script.wait(ms(1));
    assert_eq!(script.numbers(&sent), [[0]]);
}

#[test]
fn r4_reneging_starts_the_timer_of_the_path() {
    // Chunk 0 goes to the second path; the first one has nothing outstanding, until the receiver
    // reneges on chunk 1.
    let mut script = Script::multihomed(&standard(), 2);
    script.send(1000);
    script.send(1000);
    script.now += ms(900);
    script.sack(0, &[(2, 2)]);
    let sent = script.wait(ms(100));
    assert_eq!(only(&sent).to.path, Some(PathId(1)));
    let first = &script.end.roll[script.id].paths()[PathId(0)];
    assert_eq!(first.t3.deadline(), None);
    script.now += ms(500);
    script.sack(0, &[]);
    assert_eq!(script.stats().reneged, 1);
    let first = &script.end.roll[script.id].paths()[PathId(0)];
    assert_eq!(first.t3.deadline(), Some(script.now + secs(2)), "its RTO was doubled");
}

//= RFC 9260 6.1-21 7.2.1-2 7.2.3-2
#[test]
fn e1_e2_a_timeout_sets_cwnd_to_one_packet_and_doubles_rto() {
    // §7.2.3: ssthresh = max(cwnd / 2, 4 * PMDCS), cwnd = PMDCS; §6.3.3 E2, bounded by RTO.Max.
    let mut script = Script::flying(&bursty(), 20);
    let before = script.path(0);
    script.wait(secs(1));
    let after = script.path(0);
    assert_eq!((after.cwnd, after.ssthresh), (PMDCS, before.cwnd / 2));
    assert_eq!((after.rto, after.timeouts), (secs(2), 1));
    let mut times = Vec::new();
    for rto in [2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(script.path(0).rto, secs(rto));
        let sent = script.wait(secs(rto));
        times.push(sent[0].at);
    }
    assert_eq!(script.path(0).ssthresh, 4 * PMDCS, "the floor");
    assert!(times.windows(2).all(|w| w[0] < w[1]));
}

//= RFC 9260 6.1-1 6.3.3-2 7.2.1-2
#[test]
fn e3_one_packet_is_in_flight_after_a_timeout() {
    // §6.3.3 E3: the earliest chunks that fit one packet; §7.2.3: "no more than one SCTP packet
    // will be in flight for that address until the endpoint receives acknowledgement".
    for (len, first) in [(600, vec![0, 1]), (1000, vec![0]), (FULL, vec![0])] {
        let mut script = Script::grown(&bursty(), 20);
        for _ in 0..10 {
            script.send(len);
        }
        let sent = script.wait(secs(1));
        assert_eq!(script.numbers(&sent), std::slice::from_ref(&first), "{len}");
        assert!(script.poll().is_empty());
        assert!(script.send(10).is_empty(), "nor does new data leave");
        // "Any DATA chunks that ... did not fit ... SHOULD be ... sent as soon as cwnd allows."
        let sent = script.sack(first.len() as u32, &[]);
        assert_eq!(script.numbers(&sent)[0][0], first.len() as u32);
    }
}

/// As in TCP a packet's bytes may be in flight after a timeout (`congestion.fill_packet_after_timeout`): small
/// new messages follow as long as they would have fitted the packet, and no full one does.
#[test]
fn small_messages_follow_a_timeout_as_far_as_one_packet_goes() {
    let parameters = "[congestion]\nfill_packet_after_timeout = true";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", parameters) };
    for len in [10, 100, 400, FULL] {
        let mut script = Script::grown(&config, 20);
        script.send(len);
        let sent = script.wait(secs(1));
        assert_eq!(script.numbers(&sent), [vec![0]], "{len}");
        let after: usize = (0..200).map(|_| script.send(len).len()).sum();
        assert_eq!(after, PMDCS / data_chunk_len(len) - 1, "{len}");
        // The SACK ends it: slow start goes on.
        assert!(!script.sack(1, &[]).is_empty());
    }
}

/// §6.3.3 E3: the rest is "sent as soon as cwnd allows (normally, when a SACK chunk arrives)". Another path's
/// cwnd allows it at once; ns-2 waits for the SACK (`RTX_LIMIT_ONE_PACKET`).
#[test]
fn what_does_not_fit_the_first_packet_takes_another_path_at_once_or_after_a_sack() {
    for (waits, first, then) in [
        (false, vec![vec![0], vec![1], vec![2]], vec![]),
        (true, vec![vec![0]], vec![vec![1], vec![2]]),
    ] {
        let parameters = format!("[congestion]\none_packet_until_sack = {waits}");
        let config = AssociationConfig { no_delay: true, ..profile("rfc9260", &parameters) };
        let mut script = Script::multihomed(&config, 2);
        for _ in 0..3 {
            script.send(FULL);
        }
        let sent = script.wait(secs(1));
        assert_eq!(script.numbers(&sent), first, "{waits}");
        assert!(sent.iter().all(|sent| sent.to.path == Some(PathId(1))));
        let sent = script.sack(1, &[]);
        assert_eq!(script.numbers(&sent), then, "{waits}");
    }
}

//= RFC 9260 6.3.1-4
#[test]
fn karn_retransmitted_chunks_are_not_measured() {
    // §6.3.1 C5; §6.3.3: RTO stays doubled until new data is measured, which collapses it.
    let mut script = Script::connected(&standard());
    let srtt = script.path(0).srtt;
    script.send(100);
    script.wait(secs(1));
    script.now += ms(300);
    script.sack(1, &[]);
    assert_eq!((script.path(0).srtt, script.path(0).rto), (srtt, secs(2)));
    script.send(100);
    script.now += ms(40);
    script.sack(2, &[]);
    assert_eq!(script.path(0).last_rtt, Some(ms(40)));
    assert_eq!(script.path(0).rto, secs(1));
}

//= RFC 9260 6.3.1-4
#[test]
fn karn_holds_for_probes_and_early_timeouts_too() {
    let mut script = Script::connected(&profile("tresse", ""));
    let before = (script.path(0).srtt, script.path(0).last_rtt);
    script.send(100);
    let again = script.wait(secs(3));
    assert!(again.iter().any(|p| p.carries(ChunkType::DATA)));
    script.now += ms(300);
    script.sack(1, &[]);
    assert_eq!((script.path(0).srtt, script.path(0).last_rtt), before);
    script.send(100);
    script.now += ms(40);
    script.sack(2, &[]);
    assert_eq!(script.path(0).last_rtt, Some(ms(40)));
}

//= RFC 9260 6.3.1-5
#[test]
fn chunks_behind_a_retransmitted_one_are_not_measured_either() {
    // §6.3.1 C5: "only ... using a DATA chunk with TSN r if no DATA chunk with TSN less than or
    // equal to r was retransmitted since the DATA chunk with TSN r was sent first".
    let mut script = Script::flying(&bursty(), 8);
    script.now += ms(10);
    script.sack(1, &[]); // A sample; the next one is due.
    script.send(FULL);
    let last = script.path(0).last_rtt;
    script.now += ms(20);
    for end in 2..5 {
        script.sack(1, &[(2, end)]);
    }
    script.now += ms(20);
    script.sack(9, &[]);
    assert_eq!(script.path(0).last_rtt, last);
}

//= RFC 9260 6.3.1-1 6.3.1-2 6.3.1-3
#[test]
fn one_measurement_per_round_trip() {
    // §6.3.1 C4.
    let mut script = Script::connected(&quick());
    for _ in 0..3 {
        script.send(100);
        script.now += ms(10);
    }
    script.now += ms(70);
    script.sack(1, &[]);
    assert_eq!(script.path(0).last_rtt, Some(ms(100)));
    script.now += ms(50);
    script.sack(3, &[]);
    assert_eq!(script.path(0).last_rtt, Some(ms(100)));
    script.send(100);
    script.now += ms(30);
    script.sack(4, &[]);
    assert_eq!(script.path(0).last_rtt, Some(ms(30)));
}

#[test]
fn the_handshake_gives_the_first_measurement_unless_it_was_repeated() {
    // §6.3.1 C2, C5.
    let mut script = Script::connecting(&quick());
    script.now += ms(80);
    script.init_ack();
    assert_eq!(script.path(0).srtt, Some(ms(80)));
    assert_eq!(script.path(0).rto, ms(240), "SRTT + 4 RTTVAR, with RTTVAR = R / 2");
    let mut script = Script::connecting(&quick());
    script.wait(ms(1500));
    script.init_ack();
    assert_eq!(script.path(0).srtt, None);
}

//= RFC 9260 6.1-8 7.1-1 7.2.1-10 7.2.1-11 7.2.2-4
#[test]
fn cwnd_decays_while_nothing_is_sent() {
    // §7.2.1: "adjusted to max(cwnd / 2, 4 * PMDCS) once per RTO. Before the first cwnd adjustment,
    // the ssthresh of the transport address SHOULD be set to the cwnd."
    let mut script = Script::grown(&bursty(), 20);
    let before = script.path(0).cwnd;
    script.wait(ms(999));
    script.send(100);
    assert_eq!(script.path(0).cwnd, before);
    script.sack(1, &[]);
    script.wait(ms(2500));
    script.send(100);
    assert_eq!((script.path(0).cwnd, script.path(0).ssthresh), (before / 4, before));
    script.sack(2, &[]);
    script.wait(secs(25));
    script.send(100);
    assert_eq!(script.path(0).cwnd, 4 * PMDCS);
}

//= RFC 9260 7.2.1-10
#[test]
fn a_shorter_timer_does_not_make_cwnd_decay_sooner() {
    // RTO is 150 ms here, and 1 s by RFC 9260, where each RTO of a pause takes a half.
    let after = |patience: bool, pause| {
        let limits = format!("[limits]\npatience = {patience}");
        let overrides = format!("[thin_rto_min]\nmin_ms = 150\n{limits}");
        let mut script = Script::grown(&profile("rfc9260+thin-rto-min", &overrides), 20);
        script.send(100);
        script.sack(1, &[]);
        let before = script.path(0).cwnd;
        script.wait(pause);
        script.send(100);
        (before, script.path(0).cwnd)
    };
    let (before, kept) = after(true, ms(999));
    assert_eq!(kept, before);
    assert_eq!(after(true, ms(2500)).1, before / 4);
    assert!(after(false, ms(999)).1 < before, "the thin stream's own RTO");
}

//= RFC 9260 8.1-3 8.1-4
//= RFC 6951 5.5-2
#[test]
fn too_many_errors_end_the_association_and_report_what_was_lost() {
    // RFC 9260 §8.1: more than Association.Max.Retrans.
    let config =
        profile("rfc9260", "[limits]\nassociation_max_retrans = 3\n[heartbeat]\nenabled = false");
    let mut script = Script::connected(&config);
    script.send(100);
    script.wait(secs(14)); // 1 + 2 + 4 seconds, and the last one of 8.
    assert_eq!(script.closed(), None);
    let sent = script.wait(secs(2));
    assert!(types(&sent).concat().iter().all(|kind| *kind == ChunkType::ABORT));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
    assert!(script.events.iter().any(|e| matches!(e, Event::SendFailed(_))));
    assert!(script.wait(secs(100)).is_empty());
}

//= RFC 9260 8.1-5
#[test]
fn the_error_counter_is_reset_by_an_acknowledgement() {
    // RFC 9260 §8.1: "MUST be reset each time a DATA chunk sent to that peer endpoint is
    // acknowledged".
    let config =
        profile("rfc9260", "[limits]\nassociation_max_retrans = 2\n[heartbeat]\nenabled = false");
    let mut script = Script::connected(&config);
    for n in 1..10 {
        script.send(100);
        script.wait(script.path(0).rto * 3);
        script.sack(n, &[]);
        script.send(1);
        script.sack(n, &[]);
        assert_eq!(script.closed(), None, "{n}");
        script.first = script.first.wrapping_add(1);
        script.sack(n, &[]);
    }
}
