//! What timers send again, and errors that they count (RFC 9260 §4, §8.1, §8.3, §9.2).

use super::*;
use crate::PathState;
use script::PEER_TSN;
use sent::types;

/// Destination and time of the heartbeats among packets.
fn beats(sent: &[Sent]) -> Vec<(PathId, Time)> {
    let beats = sent.iter().filter(|p| p.carries(ChunkType::HEARTBEAT));
    beats.map(|p| (p.to.path.unwrap(), p.at)).collect()
}

/// Answers the heartbeats among packets.
fn answer(script: &mut Script, sent: &[Sent]) {
    for packet in sent {
        if let Some(beat) = packet.find(ChunkType::HEARTBEAT) {
            script.give(|w| w.heartbeat_ack(beat.value));
        }
    }
}

//= RFC 9260 4-6 4-7 4-8 5.1.4-3
#[test]
fn a_cookie_echo_is_repeated_and_then_given_up() {
    // §4: "This MUST be repeated up to 'Max.Init.Retransmits' times. After that, the endpoint MUST
    // abort the initialization process and report the error to the SCTP user."
    let config = profile("rfc9260", "[limits]\nmax_init_retransmits = 3");
    let mut script = Script::connecting(&config);
    let mut sent = script.init_ack();
    // After 1, 2, 4 and 8 seconds.
    sent.extend(script.wait(ms(14_900)));
    assert_eq!(types(&sent), [[ChunkType::COOKIE_ECHO]; 4]);
    assert!(sent.windows(2).all(|pair| pair[0].bytes == pair[1].bytes));
    assert_eq!(script.closed(), None);
    script.wait(ms(200));
    assert_eq!(script.closed(), Some(&CloseReason::SetupFailed));
}

//= RFC 9260 3.3.3-18 3.3.11-2
#[test]
fn the_cookie_is_returned_as_it_came() {
    // §3.3.11: "the exact cookie"; §3.3.3: an INIT ACK may be "quite large (more than 1500 bytes)".
    for len in [1, 5, 1400, 1501, 20_000] {
        let cookie: Vec<u8> = (0..len).map(|n: u32| (n * 7) as u8).collect();
        let mut script = Script::connecting(&standard());
        let sent = script
            .init_ack_with(&script::peer_fields(), ParameterWriter::new().state_cookie(&cookie));
        assert_eq!(sent[0].find(ChunkType::COOKIE_ECHO).unwrap().value, cookie);
    }
}

//= RFC 9260 9.2-2 9.2-14
#[test]
fn t2_repeats_shutdown_with_what_has_arrived_since() {
    // §9.2: "the updated last sequential TSN received from its peer".
    let mut script = Script::in_state(State::ShutdownSent);
    let acked = |sent: &[Sent]| {
        let shutdown = sent.iter().find_map(|p| p.find(ChunkType::SHUTDOWN));
        u32::from_be_bytes(shutdown.unwrap().value.try_into().unwrap())
    };
    assert_eq!(acked(&script.wait(secs(1))), PEER_TSN.wrapping_sub(1).0);
    script.data(10);
    script.data(10);
    assert_eq!(acked(&script.wait(secs(2))), PEER_TSN.wrapping_add(1).0);
}

//= RFC 9260 8.1-6 8.3-7 8.3-11
#[test]
fn an_answered_heartbeat_resets_the_error_counters() {
    // §8.1, §8.3: that of the association and that of the address. Every second one is answered.
    let config = profile("rfc9260", "[limits]\nassociation_max_retrans = 1");
    for answered in [true, false] {
        let mut script = Script::connected(&config);
        let (mut count, mut most) = (0, 0);
        for _ in 0..600 {
            let sent = script.wait(ms(500));
            count += beats(&sent).len();
            most = most.max(script.end.path_stats(script.id).first().map_or(0, |p| p.errors));
            if answered && count % 2 == 0 && !beats(&sent).is_empty() {
                answer(&mut script, &sent);
                assert_eq!(script.path(0).errors, 0);
            }
        }
        assert_eq!(most, 1);
        assert_eq!(script.closed().is_some(), !answered);
    }
}

//= RFC 9260 8.2-3 8.3-9 8.3-10
#[test]
fn an_inactive_address_that_answers_is_active_again_and_told() {
    // §8.3: "mark the destination transport address as active if it is not so marked", "SHOULD
    // report to the upper layer".
    let config = profile("rfc9260", "[limits]\npath_max_retrans = 0");
    let mut script = Script::multihomed(&config, 2);
    let mut sent = Vec::new();
    for _ in 0..80 {
        sent.extend(script.wait(secs(1)));
        let first: Vec<Sent> = sent.drain(..).filter(|p| p.to.path == Some(PathId(0))).collect();
        answer(&mut script, &first);
    }
    let told = |s: &Script| -> Vec<PathState> {
        let change = |e: &Event| match e {
            Event::PathChanged { path: PathId(1), state, .. } => Some(*state),
            _ => None,
        };
        s.events.iter().filter_map(change).collect()
    };
    assert_eq!(told(&script), [PathState::Inactive]);
    let mut sent = Vec::new();
    while !beats(&sent).iter().any(|(path, _)| *path == PathId(1)) {
        sent = script.wait(ms(500));
    }
    answer(&mut script, &sent);
    assert_eq!(told(&script), [PathState::Inactive, PathState::Active]);
    assert_eq!(script.path(1).errors, 0);
}

//= RFC 9260 8.3-14
#[test]
fn each_idle_path_has_its_own_heartbeat_timer() {
    // §8.3: "Only one heartbeat SHOULD be sent each time the heartbeat timer expires (if multiple
    // destinations are idle)".
    let mut script = Script::multihomed(&standard(), 4);
    let mut all = Vec::new();
    for _ in 0..1200 {
        let sent = script.wait(ms(100));
        all.extend(beats(&sent));
        answer(&mut script, &sent);
    }
    for path in 0..4 {
        let count = all.iter().filter(|(p, _)| *p == PathId(path)).count();
        assert!((3..=4).contains(&count), "path {path}: {count}");
    }
    all.sort_by_key(|(_, at)| *at);
    assert!(all.windows(2).all(|w| w[0].1 < w[1].1), "two left at once");
}
