//! Path verification (RFC 9260 §5.4): how often addresses are asked that may not be the peer's, and what
//! those that it has listed mean to others.

use super::heartbeat::{beats, configure, info, unconfirmed};
use super::*;
use script::peer_fields;

/// Where the heartbeats to unconfirmed addresses went, and when, in seconds from `start`.
fn asked(sent: &[Sent], start: Time) -> Vec<(u8, f64)> {
    let asked = beats(sent).into_iter().filter(|(path, _)| *path != 0);
    asked.map(|(path, at)| (path, at.since(start).as_secs_f64())).collect()
}

//= RFC 9260 5.4-1
#[test]
fn unconfirmed_addresses_share_no_more_heartbeats_per_rto_than_max_burst() {
    // §5.4: "The number of packets containing HEARTBEAT chunks sent at each RTO SHOULD be limited by
    // 'HB.Max.Burst'", whatever the number of addresses; those come first that had the fewest.
    for burst in [1, 4] {
        let config = profile("rfc9260", &format!("[heartbeat]\nmax_burst = {burst}"));
        let (mut script, mut sent) = unconfirmed(&config, 16);
        // Verification cost no more than what the peer has sent.
        for _ in 0..4 {
            sent.extend(script.data(1000));
        }
        let start = script.now;
        sent.extend(script.wait(secs(300)));
        let asked = asked(&sent, start);
        let firsts: Vec<u8> = asked.iter().take(15).map(|one| one.0).collect();
        assert_eq!(firsts, (1..16).collect::<Vec<_>>());
        // The least RTO of these paths is one second at least.
        for (_, at) in &asked {
            let within = asked.iter().filter(|(_, t)| *t >= *at && *t < *at + 1.0).count();
            assert!(within <= burst, "{within} from {at} s on");
        }
        let last_first = asked[14].1;
        assert!((last_first - (14 / burst) as f64).abs() < 1e-9, "{last_first}");
        assert!(asked.len() > 45, "each of them more than once: {}", asked.len());
        assert!(
            sent.iter()
                .all(|p| { p.to.path == Some(PathId(0)) || p.types() == [ChunkType::HEARTBEAT] })
        );
    }
}

#[test]
fn what_is_confirmed_takes_no_probes_from_the_others() {
    let (mut script, mut sent) = unconfirmed(&standard(), 4);
    let start = script.now;
    sent.extend(script.wait(ms(0)));
    let first = sent.iter().find(|p| p.to.path == Some(PathId(1))).map(info).unwrap();
    script.give_from([10, 0, 1, 2].into(), script::packet(script.tag, |w| w.heartbeat_ack(&first)));
    let later = asked(&script.wait(secs(10)), start);
    assert!(later.iter().all(|(path, _)| *path != 1), "{later:?}");
    assert_eq!((later[0], later[1]), ((2, 1.0), (3, 2.0)));
}

/// Answers each heartbeat to path 1 after `rtt`, until it is confirmed; how long that took.
fn confirmed_after(script: &mut Script, sent: Vec<Sent>, rtt: Duration) -> Option<Duration> {
    let start = script.now;
    let mut underway = sent;
    while script.now.since(start) < secs(600) {
        underway.extend(script.wait(ms(100)));
        let (due, rest): (Vec<Sent>, _) =
            underway.into_iter().partition(|p| script.now.since(p.at) >= rtt);
        underway = rest;
        for beat in due.iter().filter(|p| p.to.path == Some(PathId(1))) {
            let answer = script::packet(script.tag, |w| w.heartbeat_ack(&info(beat)));
            underway.extend(script.give_from([10, 0, 1, 2].into(), answer));
        }
        if script.path(1).state == crate::PathState::Active {
            return Some(script.now.since(start));
        }
    }
    None
}

#[test]
fn a_path_whose_round_trips_take_longer_than_rto_is_confirmed() {
    // Each probe waits one RTO for its answer, and RTO doubles: 1, 2, 4 ... seconds.
    for (rtt, most) in [(ms(900), 1), (secs(3), 7), (secs(20), 52)] {
        let config = profile("rfc9260", "[heartbeat]\nenabled = false");
        let (mut script, sent) = unconfirmed(&config, 2);
        let took = confirmed_after(&mut script, sent, rtt).unwrap();
        assert!(took <= secs(most), "{rtt:?}: {took:?}");
        assert!(script.path(1).srtt.is_some_and(|srtt| srtt >= rtt), "{:?}", script.path(1).srtt);
        assert_eq!(script.path(1).errors, 0);
    }
}

//= RFC 9260 5.4-5 5.4-6
/// The peer may have sent a COOKIE ACK that was lost, and the address that was called be gone since.
#[test]
fn a_cookie_echo_that_is_not_answered_goes_to_other_addresses_too() {
    // §5.4: "A COOKIE ECHO chunk MAY be sent to an UNCONFIRMED address, but it MUST be bundled with a HEARTBEAT
    // chunk including a nonce, and the size of the SCTP packet MUST NOT exceed the PMTU."
    let remotes = addresses(Side::Z, 3);
    for (cookie_len, fits) in [(100, true), (1420, true), (1440, false)] {
        let mut script = Script::connecting(&standard());
        script.try_send(0, 20, SendOptions::default()).unwrap();
        let mut parameters = ParameterWriter::new();
        parameters.state_cookie(&vec![7; cookie_len]);
        script::write_addresses(&mut parameters, &remotes);
        let start = script.now;
        let mut sent = script.init_ack_with(&peer_fields(), &mut parameters);
        sent.extend(script.wait(secs(10)));
        let to = |remote: IpAddr| -> Vec<(u64, &Sent)> {
            let there = sent.iter().filter(|p| p.to.destination == remote);
            there.map(|p| (p.at.since(start).as_secs(), p)).collect()
        };
        let at = |remote| to(remote).iter().map(|(at, _)| *at).collect::<Vec<_>>();
        assert_eq!(at(remotes[0]), [0, 1, 3, 7], "as if it were alone");
        let others = if fits { [vec![3], vec![7]] } else { [vec![], vec![]] };
        assert_eq!([at(remotes[1]), at(remotes[2])], others, "{cookie_len}");
        for (_, packet) in to(remotes[1]) {
            assert_eq!(packet.types(), [ChunkType::COOKIE_ECHO, ChunkType::HEARTBEAT]);
            assert!(packet.bytes.len() + 20 <= 1500);
        }
    }
}

#[test]
fn the_heartbeat_behind_a_cookie_echo_confirms_its_address() {
    let remotes = addresses(Side::Z, 2);
    let mut script = Script::connecting(&standard());
    let mut parameters = ParameterWriter::new();
    parameters.state_cookie(b"cookie");
    script::write_addresses(&mut parameters, &remotes);
    script.init_ack_with(&peer_fields(), &mut parameters);
    let sent = script.wait(secs(4));
    let echo = sent.iter().find(|p| p.to.destination == remotes[1]).unwrap();
    let info = info(echo);
    let answer = script::packet(script.tag, |w| {
        w.cookie_ack();
        w.heartbeat_ack(&info);
    });
    script.give_from(remotes[1], answer);
    assert_eq!(script.state(), State::Established);
    assert_eq!(script.path(1).state, crate::PathState::Active);
    assert_eq!(script.path(1).errors, 0);
}

#[test]
fn a_change_of_the_host_asks_of_its_paths_a_few_at_a_time() {
    let mut script = Script::multihomed(&standard(), 8);
    let (now, start) = (script.now, script.now);
    script.end.set_host_addresses(now, &addresses(Side::A, 8));
    let sent = script.wait(secs(8));
    let asked = asked(&sent, start);
    let at_once = asked.iter().filter(|(_, at)| *at < 1.0).count();
    assert_eq!(at_once, 1, "{asked:?}");
    let paths: std::collections::BTreeSet<u8> = asked.iter().map(|(path, _)| *path).collect();
    assert_eq!(paths, (1..8).collect(), "long before HB.interval is over");
}

#[test]
fn an_address_that_another_peer_has_only_listed_can_be_called() {
    let mut script = Script::listening(&standard());
    let victim = IpAddr::from([10, 0, 1, 2]);
    let list = ParameterWriter::new().ipv4([10, 0, 1, 2].into()).finish();
    script.join(&peer_fields(), &list);
    let first = script.id;
    script.poll();
    // The true owner of that address is called.
    let sent = script.connect(&standard(), &[victim]);
    assert_eq!((sent[0].types(), sent[0].to.destination), (vec![ChunkType::INIT], victim));
    assert_ne!(script.id, first);
    let cookie = ParameterWriter::new().state_cookie(b"cookie").finish();
    let fields = InitFields { initiate_tag: VerificationTag(77), ..peer_fields() };
    let answer = script::packet(script.tag, |w| w.init_ack(&fields, &cookie));
    let sent = script.give_from(victim, answer);
    assert_eq!(sent[0].types(), [ChunkType::COOKIE_ECHO]);
    script.give_from(victim, script::packet(script.tag, |w| w.cookie_ack()));
    assert_eq!(script.state(), State::Established);
    assert_eq!(script.end.associations().len(), 2);
    // One that is confirmed is somebody's.
    let again = script.end.connect(script.now, &[victim], PORT, standard());
    assert_eq!(again, Err(crate::NotOpened::Exists));
}

#[test]
fn a_lower_threshold_holds_for_the_errors_that_there_are() {
    let mut script = Script::multihomed(&profile("rfc9260", "[heartbeat]\nenabled = false"), 2);
    script.send(10);
    (0..3).for_each(|_| drop(script.wait_for_data()));
    let errors = script.path(0).errors.max(script.path(1).errors);
    let path = u8::from(script.path(1).errors == errors);
    assert!(errors >= 2, "{errors}");
    configure(&mut script, path, |settings| settings.max_retrans = errors);
    assert_eq!(script.path(path).state, crate::PathState::Active);
    configure(&mut script, path, |settings| settings.max_retrans = errors - 1);
    assert_eq!(script.path(path).state, crate::PathState::Inactive);
    script.poll();
    let told = script.events.iter().any(|event| {
        matches!(event, Event::PathChanged { path: p, state: crate::PathState::Inactive, .. }
            if p.0 == path)
    });
    assert!(told, "{:?}", script.events);
    configure(&mut script, path, |settings| settings.max_retrans = 9);
    assert_eq!(script.path(path).state, crate::PathState::Inactive, "until it is answered");
}
