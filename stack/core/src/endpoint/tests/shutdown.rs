//! Ending gracefully (RFC 9260 §9.2).

use super::*;
use crate::SendError;
use script::{PEER_TAG, PEER_TSN};
use sent::{only, types};

const ABORT: ChunkType = ChunkType::ABORT;
const SHUTDOWN_STATES: [State; 4] =
    [State::ShutdownPending, State::ShutdownSent, State::ShutdownReceived, State::ShutdownAckSent];

/// Two ends with data under way in both directions; who shuts down does so after a head start.
fn crossing(z_after: Option<u64>, lost: (Side, u64)) {
    let (mut pair, a, z) = Pair::connected(&standard(), 1);
    let counts = pair.log.iter().filter(|p| p.from == lost.0).count() as u64;
    pair.drop = Box::new(move |p| (p.from, p.number) == (lost.0, counts + lost.1));
    for _ in 0..6 {
        pair.send(Side::A, a, 0, vec![1; 1000]);
        pair.send(Side::Z, z, 0, vec![2; 1000]);
    }
    pair.shutdown(Side::A, a);
    if let Some(after) = z_after {
        pair.run(ms(after));
        let now = pair.now;
        // It may be gone already.
        let _ = pair.end(Side::Z).shutdown(now, z);
    }
    let what = format!("Z after {z_after:?} ms, lost {lost:?}");
    pair.run(secs(30));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 6, "{what}");
    assert_eq!(pair.recv_all(Side::A, a).len(), 6, "{what}");
    for side in [Side::A, Side::Z] {
        assert_eq!(pair.closed(side), Some(&CloseReason::Shutdown), "{what}");
        assert!(!pair.saw(side, |e| matches!(e, Event::SendFailed(_))), "{what}");
    }
    pair.run(ms(1));
    for side in [Side::A, Side::Z] {
        assert!(pair.end(side).associations().is_empty(), "{what}");
        assert_eq!(pair.end(side).poll_timeout(), None, "{what}");
    }
    for packet in &pair.log {
        let ends = packet.carries(ChunkType::SHUTDOWN) || packet.carries(ChunkType::SHUTDOWN_ACK);
        assert!(!(ends && packet.carries(ChunkType::DATA)), "RFC 9260 §6.10: {what}");
    }
}

#[test]
fn all_data_arrives_however_shutdowns_cross_and_whatever_is_lost_once() {
    for z_after in [None, Some(0), Some(5), Some(15), Some(25), Some(35), Some(45)] {
        for number in 0..14 {
            for side in [Side::A, Side::Z] {
                crossing(z_after, (side, number));
            }
        }
    }
}

//= RFC 9260 3.3.8-1 9.2-1 9.2-20
#[test]
fn shutdown_waits_for_all_data_to_be_acknowledged() {
    // "remains there until all outstanding data has been acknowledged by its peer ... but
    // retransmits data to the peer endpoint if necessary to fill gaps."
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.send(1000);
    script.data(10);
    assert!(script.shutdown().is_empty());
    assert_eq!(script.state(), State::ShutdownPending);
    script.sack(1, &[]);
    assert_eq!(script.state(), State::ShutdownPending);
    let again = script.wait(ms(1100));
    assert_eq!(script.numbers(&again), [[1]], "T3-rtx");
    let sent = script.sack(2, &[]);
    assert_eq!(only(&sent).types(), [ChunkType::SHUTDOWN]);
    assert_eq!(script.state(), State::ShutdownSent);
    let cumulative = only(&sent).find(ChunkType::SHUTDOWN).unwrap().value;
    assert_eq!(cumulative, PEER_TSN.0.to_be_bytes());
}

#[test]
fn the_last_chunk_before_a_shutdown_asks_for_an_immediate_sack() {
    // §6.1: the I bit MAY be set in SHUTDOWN-PENDING.
    let mut script = Script::connecting(&standard());
    script.send(1000);
    script.send(1000);
    script.shutdown();
    script.init_ack();
    let sent = script.cookie_ack();
    let flags: Vec<bool> = sent.iter().flat_map(|p| p.data()).map(|d| d.flags.immediate).collect();
    assert_eq!(flags, [true]);
    assert_eq!(script.state(), State::ShutdownPending, "asked for before it was established");
    script.sack(2, &[]);
    assert_eq!(script.state(), State::ShutdownSent);
}

//= RFC 9260 4-10 4-12 9.2-8 9.2-21
#[test]
fn no_new_data_is_accepted_once_a_side_shuts_down() {
    // "An endpoint SHOULD reject any new data request from its upper layer."
    for state in SHUTDOWN_STATES {
        let mut script = Script::in_state(state);
        let refused = script.try_send(0, 1, SendOptions::default());
        assert_eq!(refused, Err(SendError::ShuttingDown), "{state:?}");
    }
    let mut script = Script::connecting(&standard());
    script.shutdown();
    let refused = script.try_send(0, 1, SendOptions::default());
    assert_eq!(refused, Err(SendError::ShuttingDown));
}

//= RFC 9260 9.2-7
#[test]
fn the_application_is_told_that_the_peer_shuts_down() {
    let mut script = Script::in_state(State::ShutdownReceived);
    let told = |s: &Script| s.events.iter().filter(|e| **e == Event::PeerShutdown).count();
    assert_eq!(told(&script), 1);
    let cumulative = script.first.wrapping_sub(1);
    script.give(|w| w.shutdown(cumulative));
    assert_eq!(told(&script), 1, "once");
    // "it MUST ignore ULP shutdown requests".
    script.shutdown();
    assert_eq!(script.state(), State::ShutdownReceived);
}

//= RFC 9260 9.2-4 9.2-5
#[test]
fn t2_gives_up_before_t5_where_fewer_retransmissions_are_allowed() {
    let mut script = Script::in_state(State::ShutdownSent);
    let few = profile("rfc9260", "[limits]\nassociation_max_retrans = 3");
    script.end.reconfigure(script.now, script.id, few).unwrap();
    assert_eq!(types(&script.wait(secs(15))), [[ChunkType::SHUTDOWN]; 3]);
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

//= RFC 9260 9.2-2 9.2-3 9.2-14 9.2-15 9.2-16
#[test]
fn t2_repeats_shutdown_with_the_current_tsn_and_then_gives_up() {
    // "If the timer expires, the endpoint MUST resend the SHUTDOWN chunk with the updated last
    // sequential TSN"; more than Association.Max.Retrans times: unreachable.
    for state in [State::ShutdownSent, State::ShutdownAckSent] {
        let mut script = Script::in_state(state);
        let start = script.now;
        let sent = script.wait(secs(1000));
        let kind = match state {
            State::ShutdownSent => ChunkType::SHUTDOWN,
            _ => ChunkType::SHUTDOWN_ACK,
        };
        let repeated = sent.iter().take_while(|p| p.types() == [kind]);
        let times: Vec<u64> = repeated.map(|p| p.at.since(start).as_secs()).collect();
        let all = [1, 3, 7, 15, 31, 63, 123, 183, 243, 303];
        if state == State::ShutdownAckSent {
            assert_eq!(times, all);
            assert_eq!(sent.len(), times.len(), "no heartbeats either (§8.3)");
            assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
        } else {
            // T5-shutdown-guard, 5 times RTO.Max, ends it before.
            assert_eq!(times, all[..9]);
            assert_eq!(types(&sent[9..]), [[ChunkType::ABORT]]);
            assert_eq!(script.closed(), Some(&CloseReason::ShutdownTimeout));
        }
    }
}

/// T5-shutdown-guard, 5 times RTO.Max by default.
const GUARD: Duration = secs(300);

//= RFC 9260 9.2-11 9.2-12
#[test]
fn t5_aborts_a_shutdown_that_takes_too_long() {
    // "At the expiration of this timer, the sender SHOULD abort the association by sending an
    // ABORT chunk"; recommended: 5 times RTO.Max.
    let mut script = Script::in_state(State::ShutdownSent);
    let start = script.now;
    let first = script.next;
    script.data(10);
    while script.now.since(start) < GUARD {
        assert_eq!(script.state(), State::ShutdownSent);
        script.data_at(first, 10); // This peer never gets on: T2 starts again each time.
        script.wait(ms(500));
    }
    assert_eq!(script.closed(), Some(&CloseReason::ShutdownTimeout));
    let mut script = Script::in_state(State::ShutdownSent);
    let end = script.now + GUARD;
    let sent = script.wait(GUARD);
    assert_eq!((sent.last().unwrap().types(), sent.last().unwrap().at), (vec![ABORT], end));
    assert_eq!(sent.last().unwrap().tag(), PEER_TAG);
}

#[test]
fn t5_does_not_run_while_data_is_delivered() {
    // "The sender of the SHUTDOWN chunk MAY also start an overall guard timer": before it is sent,
    // SHUTDOWN-PENDING lasts "until all outstanding data has been acknowledged".
    let mut script = Script::connected(&standard());
    for _ in 0..800 {
        script.try_send(0, 1000, SendOptions::default()).unwrap();
    }
    script.poll();
    script.shutdown();
    for n in 1..800 {
        script.wait(ms(600));
        script.sack(n, &[]);
        assert_eq!(script.state(), State::ShutdownPending, "{n}");
    }
    script.sack(800, &[]);
    assert_eq!(script.state(), State::ShutdownSent);
    script.wait(GUARD - ms(1));
    assert_eq!(script.state(), State::ShutdownSent, "it begins with the SHUTDOWN");
    script.wait(ms(1));
    assert_eq!(script.closed(), Some(&CloseReason::ShutdownTimeout));
}

#[test]
fn t5_leaves_the_peer_the_time_that_its_own_data_takes() {
    // §9.2: in SHUTDOWN-RECEIVED the peer delivers what it had accepted, which may take longer than any guard.
    let mut script = Script::in_state(State::ShutdownSent);
    for _ in 0..20 {
        script.data(10);
        script.wait(secs(60));
        assert_eq!(script.state(), State::ShutdownSent);
    }
    assert_eq!(std::iter::from_fn(|| script.recv()).count(), 20);
    // Then it has stopped.
    script.wait(GUARD - secs(61));
    assert_eq!(script.state(), State::ShutdownSent);
    script.wait(secs(1));
    assert_eq!(script.closed(), Some(&CloseReason::ShutdownTimeout));
}

#[test]
fn a_dead_peer_ends_a_pending_shutdown_by_its_errors() {
    let mut script = Script::connected(&profile("rfc9260", "[heartbeat]\nenabled = false"));
    script.send(100);
    script.shutdown();
    script.wait(GUARD + secs(50));
    assert_eq!(script.state(), State::ShutdownPending);
    script.wait(secs(50));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable), "after 363 s (§8.1)");
}

#[test]
fn a_window_that_stays_closed_ends_a_shutdown_of_either_side() {
    // §6.1 A: probes that are answered are no errors; only T5 can end that. A window that opens, if
    // only for a while, stops it.
    for state in [State::ShutdownPending, State::ShutdownReceived] {
        let mut script = Script::connected(&standard());
        script.send(1000);
        script.sack_with(1, &[], 0);
        script.send(1000);
        if state == State::ShutdownPending {
            script.shutdown();
        } else {
            let first = script.first;
            script.give(|w| w.shutdown(first));
        }
        let close = |script: &mut Script, span: u64| {
            for _ in 0..span * 10 {
                if script.wait(ms(100)).iter().any(|p| p.carries(ChunkType::DATA)) {
                    script.sack_with(1, &[], 0);
                }
            }
        };
        close(&mut script, 250);
        assert_eq!(script.state(), state);
        close(&mut script, 100);
        assert_eq!(script.closed(), Some(&CloseReason::ShutdownTimeout), "{state:?}");
    }
}

#[test]
fn sixteen_mebibytes_over_256_kbit_per_second_are_delivered() {
    const RATE: u64 = 256_000;
    const QUEUE: Duration = ms(500);
    let config = AssociationConfig { send_buffer: 32 << 20, ..profile("tresse", "") };
    let (mut pair, a, z) = Pair::connected(&config, 1);
    pair.narrow(RATE, QUEUE);
    pair.send(Side::A, a, 0, vec![5; 16 << 20]);
    pair.shutdown(Side::A, a);
    pair.run(secs(640));
    let messages = pair.recv_all(Side::Z, z);
    assert_eq!(messages.iter().map(|m| m.payload.len()).sum::<usize>(), 16 << 20);
    for side in [Side::A, Side::Z] {
        assert_eq!(pair.closed(side), Some(&CloseReason::Shutdown));
    }
}

//= RFC 9260 4-9 6.2-18 9.2-9 9.2-10
#[test]
fn in_shutdown_sent_each_packet_with_data_is_answered_by_shutdown() {
    // "MUST immediately respond to each received packet containing one or more DATA chunks with a
    // SHUTDOWN chunk and restart the T2-shutdown timer"; with gaps or duplicates "a SACK chunk
    // MUST also be sent".
    let mut script = Script::in_state(State::ShutdownSent);
    for tsn in [PEER_TSN, PEER_TSN, PEER_TSN.wrapping_add(2)] {
        assert!(script.wait(ms(900)).is_empty(), "T2 was restarted");
        let sent = script.data_at(tsn, 10);
        assert_eq!(only(&sent).types(), [ChunkType::SACK, ChunkType::SHUTDOWN]);
        let cumulative = only(&sent).find(ChunkType::SHUTDOWN).unwrap().value;
        assert_eq!(cumulative, PEER_TSN.0.to_be_bytes());
    }
    assert!(script.wait(ms(999)).is_empty());
    assert_eq!(types(&script.wait(ms(1))), [[ChunkType::SHUTDOWN]]);
}

//= RFC 9260 9.2-6
#[test]
fn any_packet_of_the_peer_gives_it_more_time() {
    // "The reception of any packet from its peer ... SHOULD clear the endpoint's retransmission
    // count and restart the T2-shutdown timer".
    let config = profile(
        "rfc9260",
        "[limits]\nassociation_max_retrans = 1\nshutdown_guard_rto_max = 100\n[rto]\nmax_ms = 1000",
    );
    let mut script = Script::connected(&config);
    script.shutdown();
    for _ in 0..3 {
        assert_eq!(types(&script.wait(ms(1500))), [[ChunkType::SHUTDOWN]]);
        script.give(|w| w.raw(&[0xbe, 0, 0, 4]));
    }
    script.wait(ms(2100));
    assert_eq!(script.closed(), Some(&CloseReason::Unreachable));
}

//= RFC 9260 4-11 9.2-7 9.2-13
#[test]
fn shutdown_acknowledges_data() {
    // "verify, by checking the Cumulative TSN Ack field of the chunk, that all its outstanding
    // DATA chunks have been received".
    let mut script = Script::connected(&standard());
    script.send(1000);
    script.send(1000);
    let first = script.first;
    assert!(script.give(|w| w.shutdown(first)).is_empty());
    assert_eq!(script.state(), State::ShutdownReceived);
    let again = script.wait(ms(1100));
    assert_eq!(script.numbers(&again), [[1]]);
    let sent = script.give(|w| w.shutdown(first.wrapping_add(1)));
    assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK]]);
    // One that acknowledges what was never sent is a violation.
    let mut script = Script::in_state(State::ShutdownReceived);
    let unsent = script.tsn(1);
    assert_eq!(types(&script.give(|w| w.shutdown(unsent))), [[ChunkType::ABORT]]);
}

//= RFC 9260 3.3.13-1 8.5.1-8 9.2-17 9.2-26
#[test]
fn shutdown_complete_has_the_peers_tag_and_no_t_bit_while_there_is_an_association() {
    // RFC 9260 §8.5.1 C.
    for state in [State::ShutdownSent, State::ShutdownAckSent] {
        let mut script = Script::in_state(state);
        let sent = script.give(|w| w.shutdown_ack());
        assert_eq!(only(&sent).types(), [ChunkType::SHUTDOWN_COMPLETE]);
        assert_eq!((only(&sent).tag(), only(&sent).reflected()), (PEER_TAG, false));
        assert_eq!(script.closed(), Some(&CloseReason::Shutdown));
        // Once it is gone, out of the blue: the tag comes back, with the T bit.
        let sent = script.give(|w| w.shutdown_ack());
        assert_eq!(only(&sent).types(), [ChunkType::SHUTDOWN_COMPLETE]);
        assert_eq!((only(&sent).tag(), only(&sent).reflected()), (script.tag, true));
    }
}

//= RFC 9260 8.5.1-13 9.2-23
#[test]
fn a_shutdown_ack_during_setup_leaves_the_setup_alone() {
    // §9.2: "lets T1-init continue running and remains in the COOKIE-WAIT or COOKIE-ECHOED state".
    for state in [State::CookieWait, State::CookieEchoed] {
        let mut script = Script::in_state(state);
        let timer = script.end.poll_timeout();
        script.give(|w| w.shutdown_ack());
        assert_eq!((script.state(), script.end.poll_timeout()), (state, timer));
    }
}

//= RFC 9260 9.2-19 9.2-25
#[test]
fn shutdowns_that_cross_are_acknowledged_at_once() {
    // "If an endpoint is in the SHUTDOWN-SENT state and receives a SHUTDOWN chunk from its peer,
    // the endpoint SHOULD respond immediately with a SHUTDOWN ACK chunk".
    let mut script = Script::in_state(State::ShutdownSent);
    let last = script.first.wrapping_sub(1);
    assert_eq!(types(&script.give(|w| w.shutdown(last))), [[ChunkType::SHUTDOWN_ACK]]);
    assert_eq!(script.state(), State::ShutdownAckSent);
    assert!(script.wait(ms(999)).is_empty(), "T2 was restarted");
    script.give(|w| w.shutdown_complete(false));
    assert_eq!(script.closed(), Some(&CloseReason::Shutdown));
    assert_eq!(script.end.poll_timeout(), None);
}

//= RFC 9260 3.3.7-1 3.3.7-2 3.3.7-4 8.4-2 9.1-1 9.1-3 9.1-4 9.1-6 9.1-7
#[test]
fn an_abort_by_the_application_carries_its_reason() {
    // RFC 9260 §9.1, §3.3.10.12.
    let mut script = Script::connected(&standard());
    script.send(100);
    script.end.abort(script.now, script.id, b"enough").unwrap();
    let sent = script.poll();
    assert_eq!(only(&sent).types(), [ChunkType::ABORT], "no DATA is bundled with it");
    assert_eq!(only(&sent).causes(), [(CauseCode::USER_INITIATED_ABORT, b"enough".to_vec())]);
    assert!(matches!(script.events[..], [.., Event::SendFailed(_), Event::Closed(_)]));

    let mut script = Script::connected(&standard());
    let causes = CauseWriter::new().user_initiated_abort(b"you too").finish();
    assert!(script.give(|w| w.abort(false, &causes)).is_empty(), "no answer to an ABORT");
    let reason = CloseReason::PeerAborted { cause: 12, value: Bytes::from_static(b"you too") };
    assert_eq!(script.closed(), Some(&reason));
}

#[test]
fn a_shutdown_is_answered_where_it_came_from() {
    // RFC 9260 §6.4: "An endpoint SHOULD transmit reply chunks [...] to the same destination transport
    // address from which it received the control chunk to which it is replying."
    let remotes = addresses(Side::Z, 2);
    let mut script = Script::multihomed(&standard(), 2);
    let cumulative = script.first.wrapping_sub(1);
    for remote in [remotes[1], remotes[0], remotes[1]] {
        let packet = script::packet(script.tag, |w| w.shutdown(cumulative));
        let sent = script.give_from(remote, packet);
        assert_eq!(types(&sent), [[ChunkType::SHUTDOWN_ACK]]);
        assert_eq!(only(&sent).to.destination, remote);
    }
}

/// SHUTDOWN ACK has to wait for what is outstanding, and T3-rtx may be backed off to a minute, while the
/// peer's T2-shutdown uses up its errors.
#[test]
fn a_repeated_shutdown_brings_out_what_is_outstanding() {
    let mut script = Script::connected(&standard());
    script.send(100);
    script.sack(1, &[]);
    script.send(100);
    for _ in 0..4 {
        script.wait_for_data();
    }
    let (acked, errors) = (script.first, script.path(0).errors);
    let shut = |script: &mut Script| script.give(|w| w.shutdown(acked));
    assert!(shut(&mut script).is_empty(), "the first one may have crossed the data");
    script.wait(secs(1));
    let sent = shut(&mut script);
    assert_eq!(script.numbers(&sent), [[1]]);
    assert_eq!(script.path(0).errors, errors, "no timer has expired");
    // The next one not before an answer can have come, but the peer hears that we live.
    assert_eq!(types(&shut(&mut script)), [[ChunkType::HEARTBEAT]]);
}

//= RFC 9260 9.2-7
/// RFC 9260 §9.2: in SHUTDOWN-RECEIVED an endpoint "MUST continue responding to SHUTDOWN chunks from its peer",
/// where they come from (§6.4). What is outstanding may have gone where nothing comes through.
#[test]
fn a_repeated_shutdown_is_answered_where_it_came_from() {
    let remotes = addresses(Side::Z, 2);
    let mut script = Script::multihomed(&standard(), 2);
    assert_eq!(script.send(100)[0].to.destination, remotes[0]);
    let (tag, acked) = (script.tag, script.first.wrapping_sub(1));
    let repeated = || script::packet(tag, |w| w.shutdown(acked));
    assert!(script.give_from(remotes[1], repeated()).is_empty(), "it may have crossed the data");
    // One that follows data acknowledges it, or says with a SACK why not.
    let with_sack = script::packet(tag, |w| {
        script::write_sack(w, acked, &[], script::RWND);
        w.shutdown(acked);
    });
    assert!(script.give_from(remotes[1], with_sack).is_empty());
    // The data may be under way, but the peer hears that we live.
    let sent = script.give_from(remotes[1], repeated());
    assert_eq!(types(&sent), [[ChunkType::HEARTBEAT]]);
    assert_eq!(only(&sent).to.destination, remotes[1]);
    assert!(script.give_from(remotes[1], repeated()).is_empty(), "one at a time");
    script.wait(ms(999));
    let sent = script.give_from(remotes[1], repeated());
    assert!(script.numbers(&sent).is_empty(), "the data has an RTO");
    // T3-rtx expires after 1 s, on the second path, whose RTO the heartbeat has doubled, after 3 s, and on
    // the first one, to which the data is back, not before 5 s.
    script.wait(ms(3501));
    let sent = script.give_from(remotes[0], repeated());
    assert_eq!((script.numbers(&sent), sent[0].to.destination), (vec![vec![0]], remotes[0]));
}

/// A SHUTDOWN that answers DATA is no sign of what is missing. If it brought that out again, each copy would
/// bring the next SHUTDOWN, for ever where the round trip takes longer than RTO before any backoff.
#[test]
fn a_shutdown_that_answers_data_brings_nothing_out_again() {
    let mut script = Script::connected(&standard());
    for _ in 0..2 {
        script.send(100);
    }
    let (acked, nothing) = (script.first, script.first.wrapping_sub(1));
    script.give(|w| w.shutdown(nothing));
    script.wait_for_data();
    script.wait(secs(1));
    let with_sack = |w: &mut PacketWriter<'_>| {
        script::write_sack(w, nothing, &[], script::RWND);
        w.shutdown(nothing);
    };
    assert!(script.give(with_sack).is_empty(), "the copy of an acknowledged one has arrived");
    let sent = script.give(|w| w.shutdown(acked));
    assert!(script.numbers(&sent).concat().iter().all(|n| *n > 0), "{:?}", types(&sent));
}

/// RFC 9260 §6.2: a receiver that is short of memory drops what it has reported in gap blocks, and the SACK that
/// says so may be lost. SHUTDOWN reports no gaps, but a Cumulative TSN Ack right before a chunk says that it is
/// missing.
#[test]
fn a_shutdown_says_what_was_dropped() {
    let mut script = Script::flying(&standard(), 4);
    script.sack(1, &[(2, 3)]);
    let acked = script.tsn(1);
    script.give(|w| w.shutdown(acked));
    let sent = script.wait_for_data();
    assert_eq!(script.numbers(&sent), [[2]]);
    assert_eq!(script.stats().reneged, 2);
    script.sack(4, &[]);
    assert_eq!(script.state(), State::ShutdownAckSent);
}

/// A repeated SHUTDOWN is answered too while the peer's window is closed: whoever waits
/// for it to open must not be given up.
#[test]
fn a_repeated_shutdown_is_answered_while_the_window_is_closed() {
    let mut script = Script::connected(&standard());
    for _ in 0..2 {
        script.send(1000);
    }
    script.sack_with(1, &[], 0);
    let acked = script.first;
    script.give(|w| w.shutdown(acked));
    // The probes become rare, and the peer has room for none of them.
    for _ in 0..4 {
        script.wait_for_data();
        script.give(|w| {
            script::write_sack(w, acked, &[], 0);
            w.shutdown(acked);
        });
    }
    assert!(script.wait(secs(2)).is_empty());
    let sent = script.give(|w| w.shutdown(acked));
    assert_eq!(types(&sent), [[ChunkType::HEARTBEAT]]);
}

/// What was tried since T2-shutdown expired may not work: where the peer's data arrives it gets its answer.
#[test]
fn data_that_arrives_in_shutdown_sent_is_answered_from_where_it_arrived() {
    let sources: Vec<IpAddr> = addresses(Side::A, 2);
    let config = EndpointConfig {
        local_addresses: sources.clone(),
        association: standard(),
        ..EndpointConfig::default()
    };
    let mut script = Script::with_end(Endpoint::new(config, [1; 32]));
    script.connect(&standard(), &addresses(Side::Z, 1));
    script.init_ack();
    script.cookie_ack();
    script.shutdown();
    while script.path(0).local != Some(sources[1]) {
        script.wait(ms(500));
    }
    let tsn = script.next;
    let packet = script::packet(script.tag, |w| script::write_data(w, tsn, 5));
    let sent = script.give_datagram(Datagram {
        source: addresses(Side::Z, 1)[0],
        destination: sources[0],
        encapsulation: None,
        ecn: Ecn::NotEct,
        packet: packet.into(),
    });
    assert_eq!(types(&sent), [[ChunkType::SACK, ChunkType::SHUTDOWN]]);
    let from = only(&sent).to.source.or(script.path(0).local);
    assert_eq!(from, Some(sources[0]));
}
