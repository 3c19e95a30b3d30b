//! Peers are given up no sooner than by RFC 9260's own timers, and found again no later.

use super::*;
use crate::PathState;
use crate::rng::Rng;

/// What happens to an association, whatever its profile.
#[derive(Clone, Debug)]
struct Outage {
    overrides: String,
    paths: u8,
    /// How many of them fail.
    dead: u8,
    one_way: Duration,
    /// A message of so many bytes each `interval`, also while nothing gets through.
    len: usize,
    interval: Duration,
    /// The first message behind the beginning of the outage leaves so much later.
    pause: Duration,
    length: Duration,
    heartbeats: bool,
}

impl Outage {
    fn draw(seed: u64) -> Outage {
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.to_le_bytes());
        let mut rng = Rng::from_seed(bytes);
        let mut pick = |from: u64, to: u64| from + rng.next_u64() % (to - from + 1);
        let one_way = ms([1, 5, 20, 50, 120][pick(0, 4) as usize]);
        let min = [1000, 1000, 300, 2000][pick(0, 3) as usize];
        let max = [60_000, 60_000, 10_000, 5000][pick(0, 3) as usize];
        let (association, path) = (pick(2, 10), pick(1, 6));
        let heartbeats = pick(0, 1) == 1;
        let paths = pick(1, 3) as u8;
        let overrides = format!(
            "[rto]\nmin_ms = {min}\nmax_ms = {max}\ninitial_ms = {min}\n[heartbeat]\nenabled = {heartbeats}\n\
             [limits]\nassociation_max_retrans = {association}\npath_max_retrans = {path}"
        );
        // Anything from half a second to nine minutes, short ones as often as long ones.
        let length = ms(500 << pick(0, 9)) + ms(pick(0, 30_000));
        Outage {
            overrides,
            paths,
            dead: pick(1, paths.into()) as u8,
            one_way,
            len: [50, 1000, 20_000][pick(0, 2) as usize],
            interval: ms([50, 250, 3000][pick(0, 2) as usize]),
            pause: ms(pick(0, 400)),
            length,
            heartbeats,
        }
    }

    /// When the last message has arrived, counted from the end of the outage; `None` if the association
    /// has ended.
    fn play(&self, name: &str) -> Option<Duration> {
        let config = AssociationConfig { no_delay: true, ..profile(name, &self.overrides) };
        let (mut pair, a, z) = Pair::connected(&config, self.paths);
        pair.delay = self.one_way;
        let mut sent = 0;
        let mut send = |pair: &mut Pair| {
            let (now, len) = (pair.now, self.len);
            let end = pair.end(Side::A);
            let message = Bytes::from(vec![1; len]);
            let done = end.send(now, a, StreamId(0), message, SendOptions::default());
            sent += u32::from(done.is_ok());
        };
        let mut got = 0;
        // Long enough for every address to be confirmed and measured.
        for _ in 0..secs(6).as_millis() / self.interval.as_millis() {
            send(&mut pair);
            pair.run(self.interval);
            got += pair.recv_all(Side::Z, z).len();
        }
        pair.run(secs(3));
        let (start, end) = (pair.now, pair.now + self.length);
        let dead: Vec<IpAddr> =
            [Side::A, Side::Z].iter().flat_map(|side| addresses(*side, self.dead)).collect();
        pair.drop =
            Box::new(move |p| p.at >= start && p.at < end && dead.contains(&p.to.destination));
        pair.run(self.pause.min(self.length));
        for _ in 0..3 {
            send(&mut pair);
            pair.run(self.interval.min(end.since(pair.now)));
        }
        pair.run(end.since(pair.now));
        for _ in 0..4000 {
            got += pair.recv_all(Side::Z, z).len();
            if pair.closed(Side::A).is_some() || pair.closed(Side::Z).is_some() {
                return None;
            }
            if got >= sent as usize {
                return Some(pair.now.since(end));
            }
            pair.run(ms(50));
        }
        panic!("{got} of {sent} messages after 200 s, {name}: {self:?}");
    }
}

//= RFC 7829 4-1
#[test]
fn whatever_outage_rfc_9260_survives_is_survived_and_ends_no_later() {
    let (mut survived, mut failures) = (0, Vec::new());
    for seed in 0..250 {
        let outage = Outage::draw(seed);
        // With heartbeats when an association ends depends on their jitter.
        let more = if outage.heartbeats { outage.length / 3 + secs(40) } else { Duration::ZERO };
        let longer = Outage { length: outage.length + more, ..outage.clone() };
        let Some(standard) = longer.play("rfc9260") else { continue };
        survived += 1;
        let Some(ours) = outage.play("tresse") else {
            failures.push(format!("seed {seed}: given up: {outage:?}"));
            continue;
        };
        // The time of a tail loss probe that T3-rtx waits for (RFC 8985 §7.3).
        let late = 8 * outage.one_way + ms(300);
        if !outage.heartbeats && ours > standard + late {
            failures.push(format!("seed {seed}: {ours:?}, not {standard:?}: {outage:?}"));
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
    assert!(survived > 100, "{survived}");
}

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
