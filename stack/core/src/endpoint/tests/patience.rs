//! Peers are given up no sooner than by RFC 9260's own timers.

use super::*;
use crate::PathState;

#[test]
fn a_signalling_association_lives_through_half_a_minute() {
    // A thin stream with an RTO of 200 ms used its errors up in 26 s.
    let config = profile("tresse", "[heartbeat]\nenabled = false");
    let (mut pair, a, z) = Pair::connected(&config, 1);
    // A loss that is repaired earns a guess.
    let mut lost = false;
    pair.drop = Box::new(move |p| !p.tsns().is_empty() && !std::mem::replace(&mut lost, true));
    for _ in 0..10 {
        pair.send(Side::A, a, 0, vec![1; 100]);
        pair.run(ms(500));
    }
    assert!(pair.end(Side::A).path_stats(a)[0].rto < ms(300), "a thin stream's");
    pair.drop = Box::new(|_| true);
    pair.send(Side::A, a, 0, vec![1; 100]);
    let before = pair.log.len();
    pair.run(ms(900));
    assert_eq!(pair.log.len() - before, 2, "it probes once at once");
    pair.run(ms(200));
    assert_eq!(pair.log.len() - before, 3, "and then when RFC 9260 would");
    let path = pair.end(Side::A).path_stats(a)[0].clone();
    assert_eq!(path.state, PathState::PotentiallyFailed);
    pair.run(ms(28_900));
    // Expirations of RFC 9260 after 1, 3, 7 and 15 s.
    let path = pair.end(Side::A).path_stats(a)[0].clone();
    assert_eq!((path.state, path.errors), (PathState::PotentiallyFailed, 4));
    pair.drop = Box::new(|_| false);
    pair.run(ms(1500));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 11, "no later than at 31 s");
    assert_eq!(pair.end(Side::A).path_stats(a)[0].state, PathState::Active);
    // One that stays away is given up when RFC 9260 would: after 363 s, once RTT is measured again.
    pair.send(Side::A, a, 0, vec![1; 100]);
    pair.run(ms(500));
    pair.drop = Box::new(|_| true);
    pair.send(Side::A, a, 0, vec![1; 100]);
    pair.run(secs(361));
    assert_eq!(pair.closed(Side::A), None);
    pair.run(secs(4));
    assert_eq!(pair.closed(Side::A), Some(&CloseReason::Unreachable));
}

#[test]
fn without_patience_a_thin_stream_is_given_up_within_half_a_minute() {
    let off = "[heartbeat]\nenabled = false\n[limits]\npatience = false\n[budget]\nenabled = false";
    let config = profile("tresse", off);
    let (mut pair, a, _) = Pair::connected(&config, 1);
    for _ in 0..10 {
        pair.send(Side::A, a, 0, vec![1; 100]);
        pair.run(ms(500));
    }
    pair.drop = Box::new(|_| true);
    pair.send(Side::A, a, 0, vec![1; 100]);
    let start = pair.now;
    while pair.closed(Side::A).is_none() {
        pair.run(secs(1));
    }
    let silence = pair.now.since(start);
    assert!((secs(26)..=secs(27)).contains(&silence), "{silence:?}");
}

#[test]
fn setting_up_and_shutting_down_are_as_patient() {
    // T1-cookie with Max.Init.Retransmits, 8: 1, 2, 4 ... 60, 60 s; T2-shutdown with 10.
    let config = profile("tresse", "");
    let given_up = |mut script: Script| {
        let start = script.now;
        let first = script.wait(ms(900));
        assert!(first.is_empty(), "nothing is known of the path: no guesses");
        while script.closed().is_none() {
            script.wait(secs(1));
        }
        script.now.since(start).as_secs()
    };
    let mut script = Script::connecting(&config);
    script.now += ms(20);
    script.init_ack();
    let setup = given_up(script);
    assert!((243..=245).contains(&setup), "{setup} s");
    let mut script = Script::connecting(&config);
    script.now += ms(20);
    script.init_ack();
    script.now += ms(20);
    script.cookie_ack();
    let cumulative = script.first.wrapping_sub(1);
    script.give(|w| w.shutdown(cumulative));
    assert_eq!(script.state(), State::ShutdownAckSent);
    let shutdown = given_up(script);
    assert!((363..=365).contains(&shutdown), "{shutdown} s");
}

//= RFC 7829 4.1-3
#[test]
fn inactive_paths_are_tried_in_turn() {
    // RFC 7829 §4.1 rules 1 and 3: of those that are inactive, the one "with the lowest error count
    // (fewest consecutive timeouts)".
    let limits = "[limits]\npath_max_retrans = 0\n[heartbeat]\nenabled = false";
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", limits) };
    let mut script = Script::multihomed(&config, 3);
    script.send(100);
    let sent = script.wait(secs(20));
    let paths: Vec<u8> = sent.iter().map(|p| p.to.path.unwrap().0).collect();
    assert!([0, 1, 2].iter().all(|p| script.path(*p).state == PathState::Inactive));
    assert!([0, 1, 2].iter().all(|p| paths[2..].contains(p)), "{paths:?}");
}

/// RFC 9260 §6.4, §6.3.3 E2: what times out takes the next path in turn, each with an RTO of its own. Early
/// timers must not move that: in another order a doubled RTO comes sooner.
#[test]
fn what_rfc_9260_would_have_tried_on_several_paths_is_tried() {
    let tries = |name: &str| {
        let overrides = "[heartbeat]\nenabled = false";
        let config = AssociationConfig { no_delay: true, ..profile(name, overrides) };
        let (mut pair, a, _) = Pair::connected(&config, 3);
        for _ in 0..60 {
            pair.send(Side::A, a, 0, vec![1; 50]);
            pair.run(ms(50));
        }
        pair.run(secs(3));
        pair.drop = Box::new(|_| true);
        let (start, before) = (pair.now, pair.log.len());
        pair.send(Side::A, a, 0, vec![1; 50]);
        pair.run(secs(40));
        let times = pair.log[before..].iter().map(|p| p.at.since(start).as_millis());
        times.collect::<std::collections::BTreeSet<_>>()
    };
    let (standard, ours) = (tries("rfc9260"), tries("tresse"));
    // 1, 1, 1, 2, 2, 2, 4, 4, 4, 8, 8 s.
    assert_eq!(standard.len(), 12, "{standard:?}");
    assert!(standard.is_subset(&ours), "{standard:?} {ours:?}");
}

/// Who asks for SACKs at once measures a shorter RTT, and is not to give up sooner because of that.
#[test]
fn sacks_that_come_at_once_make_nobody_impatient() {
    let given_up = |name: &str| {
        let overrides = "[heartbeat]\nenabled = false\n[rto]\nmin_ms = 300\n[limits]\nassociation_max_retrans = 4";
        let config = AssociationConfig { no_delay: true, ..profile(name, overrides) };
        let (mut pair, a, _) = Pair::connected(&config, 1);
        pair.delay = ms(100);
        for _ in 0..20 {
            pair.send(Side::A, a, 0, vec![1; 50]);
            pair.run(ms(500));
        }
        pair.drop = Box::new(|_| true);
        pair.send(Side::A, a, 0, vec![1; 50]);
        let start = pair.now;
        while pair.closed(Side::A).is_none() {
            pair.run(ms(100));
        }
        pair.now.since(start)
    };
    let (standard, ours) = (given_up("rfc9260"), given_up("tresse"));
    assert!(ours >= standard && ours < 4 * standard, "{ours:?}, not {standard:?}");
}

/// With concurrent transfer other paths answer all the time. They must not renew the patience with one where
/// nothing comes through.
#[test]
fn a_path_without_answers_fails_while_others_answer() {
    let overrides = "[heartbeat]\nenabled = false\n[limits]\npatience = true";
    let config = AssociationConfig {
        no_delay: true,
        concurrent_transfer: true,
        ..profile("rfc9260", overrides)
    };
    let mut script = Script::multihomed(&config, 2);
    let mut arrived = std::collections::BTreeSet::new();
    let mut sent = Vec::new();
    let failed = (0..2000).any(|_| {
        sent.extend(script.wait(ms(200)));
        sent.extend(script.send(1000));
        sent.retain(|packet: &Sent| packet.to.path == Some(PathId(0)));
        arrived.extend(script.numbers(&sent).concat());
        let count = (0..).find(|n| !arrived.contains(n)).unwrap();
        let gaps: Vec<(u16, u16)> = arrived
            .iter()
            .filter(|n| **n > count)
            .map(|n| ((n - count + 1) as u16, (n - count + 1) as u16))
            .collect();
        sent = script.sack(count, &gaps);
        script.path(1).state == PathState::Inactive
    });
    assert!(failed, "it goes on for ever");
    assert_eq!(script.closed(), None);
}

/// The same with one path at a time: each timer is early by RFC 9260, and what it takes elsewhere is
/// acknowledged at once.
#[test]
fn a_path_that_everything_is_taken_from_early_fails() {
    let overrides = "[heartbeat]\nenabled = false\n[limits]\npatience = true";
    let config = profile("rfc9260+thin-no-backoff", overrides);
    let mut script = Script::multihomed(&AssociationConfig { no_delay: true, ..config }, 2);
    let start = script.now;
    let failed = (1..300).any(|count| {
        let first = script.send(100).pop().expect("it is sent at once");
        assert_eq!(first.to.path, Some(PathId(0)));
        let again = script.wait_for_data();
        assert!(script.now.since(first.at) < ms(1200), "without backoff");
        assert_eq!(sent::only(&again).to.path, Some(PathId(1)));
        script.sack(count, &[]);
        script.path(0).state == PathState::Inactive
    });
    assert!(failed, "it goes on for ever");
    // Six errors of RFC 9260 take 1 + 2 + 4 + 8 + 16 + 32 s.
    let after = script.now.since(start).as_secs();
    assert!((63..=126).contains(&after), "{after} s");
}
