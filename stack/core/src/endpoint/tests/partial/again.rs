//! What is not sent again, by whatever mechanism (RFC 3758 §4.1 TR4; RFC 7496 §3.1), and when the peer hears of it.

use std::collections::BTreeMap;

use super::*;
use crate::rng::Rng;

/// The policy of message number `n`.
fn reliability(n: u32) -> Reliability {
    match n % 5 {
        0 => Reliability::Timed(ms(20)),
        1 => Reliability::Timed(ms(70)),
        2 => Reliability::Timed(ms(300)),
        3 => Reliability::Retransmissions(n / 5 % 3),
        _ => Reliability::Full,
    }
}

/// A thin stream through loss each way: what left too late or too often.
fn thin_stream(name: &str, concurrent_transfer: bool) -> Vec<String> {
    let extensions = Extensions { partial_reliability: true, ..Extensions::NONE };
    let config =
        AssociationConfig { concurrent_transfer, extensions, no_delay: true, ..profile(name, "") };
    let (mut pair, a, z) = Pair::connected(&config, if concurrent_transfer { 2 } else { 1 });
    pair.run(secs(3));
    let mut rng = Rng::from_seed([3; 32]);
    pair.drop = Box::new(move |_| rng.next_f64() < 0.15);
    let mut began = Vec::new();
    for n in 0..150u32 {
        let options = policy(reliability(n));
        let mut payload = vec![0; 100];
        payload[..4].copy_from_slice(&n.to_be_bytes());
        let now = pair.now;
        began.push(now);
        pair.end(Side::A).send(now, a, StreamId(0), payload.into(), options).unwrap();
        // Silence between bursts: the tail is lost, too.
        pair.run(if n % 10 == 9 { secs(1) } else { ms(30) });
        pair.recv_all(Side::Z, z);
    }
    pair.run(secs(60));
    let mut times: BTreeMap<u32, u32> = BTreeMap::new();
    let mut wrong = Vec::new();
    for packet in pair.sent(Side::A, ChunkType::DATA) {
        for data in packet.data() {
            let n = u32::from_be_bytes(data.payload[..4].try_into().unwrap());
            let sent = times.entry(n).or_default();
            *sent += 1;
            let allowed = match reliability(n) {
                Reliability::Timed(time) => packet.at < began[n as usize] + time,
                Reliability::Retransmissions(most) => *sent <= most + 1,
                _ => true,
            };
            if !allowed {
                let age = packet.at.since(began[n as usize]);
                wrong.push(format!("{name}: {n}, {:?}, {age:?}, {sent} times", reliability(n)));
            }
        }
    }
    let again = times.values().filter(|times| **times > 1).count();
    assert!(times.len() > 50 && again > 5, "{name}: {} left, {again} again", times.len());
    wrong
}

//= RFC 3758 4.1-5 4.1-6
//= RFC 7496 3.1-1
#[test]
fn no_profile_sends_again_what_is_over() {
    let mut wrong = Vec::new();
    let bases = Profile::names().map(str::to_owned);
    let joined = Profile::mechanisms().map(|name| format!("rfc9260+{name}"));
    for name in bases.chain(joined) {
        wrong.extend(thin_stream(&name, false));
    }
    for name in ["rfc9260", "tresse", "rfc9260+schedule-redundant", "tresse+schedule-redundant"] {
        wrong.extend(thin_stream(name, true));
    }
    assert!(wrong.is_empty(), "{} of them, as {:#?}", wrong.len(), &wrong[..wrong.len().min(12)]);
}

/// Eight messages have been answered after 50 ms each.
fn measured(name: &str) -> Script {
    let config = AssociationConfig { no_delay: true, ..profile(name, "") };
    let mut script = agreed(&AssociationConfig { extensions: Extensions::default(), ..config });
    for n in 1..=8 {
        script.send(100);
        script.wait(ms(50));
        script.sack(n, &[]);
    }
    script.first = script.tsn(8);
    script
}

//= RFC 3758 3.5-20 4.1-6
#[test]
fn where_nothing_may_be_sent_again_forward_tsn_is_the_probe() {
    for options in [timed(20), ONCE] {
        let mut script = measured("rfc9260+tail-loss-probe");
        let begun = script.now;
        script.send_on(3, 100, options);
        let sent = script.wait(ms(700));
        // No later than the probe: two round trips, and the delay of a SACK.
        assert_eq!(types(&sent), [[ChunkType::FORWARD_TSN]]);
        assert!(sent[0].at.since(begun) < ms(400), "{:?}", sent[0].at.since(begun));
        assert_eq!(script.forwards(&sent), [(0, vec![(3, 0)])]);
        assert_eq!(script.given_up(), [(100, true)]);
        assert!(script.t3_runs());
        script.sack(1, &[]);
        // F5: it would have been marked for retransmission.
        script.send(100);
        script.wait(ms(50));
        script.sack(2, &[]);
        assert_eq!(script.path(0).ssthresh, 4 * PMDCS);
        let stats = script.stats();
        assert_eq!((stats.timeouts, stats.tail_loss_probes, script.path(0).flight), (0, 1, 0));
    }
}

//= RFC 3758 4.1-5
#[test]
fn a_probe_takes_what_may_be_sent_again() {
    let mut script = measured("rfc9260+tail-loss-probe");
    script.send_on(0, 100, policy(Reliability::Full));
    script.send_on(0, 100, timed(20));
    let sent = script.wait(ms(700));
    assert_eq!(script.numbers(&sent), [[0]], "the last one is over");
    assert_eq!(script.given_up(), [], "and may have arrived");
    // It has not, and is all that is left.
    script.sack(1, &[]);
    let sent = script.wait(secs(2));
    assert_eq!((script.forwards(&sent), script.numbers(&sent).len()), (vec![(1, vec![(0, 9)])], 0));
}

//= RFC 3758 4.1-5
#[test]
fn nothing_takes_along_what_is_over() {
    let mut script = measured("rfc9260+thin-bundle-new");
    script.send_on(0, 100, timed(20));
    script.send_on(0, 100, timed(200));
    script.wait(ms(60));
    let sent = script.send(100);
    assert_eq!(script.numbers(&sent), [[1, 2]], "the first one is over");
    // Fast retransmission of the third one.
    let mut script = measured("rfc9260+thin-bundle-fast-retransmit+thin-fast-retransmit");
    script.send(100);
    script.send_on(0, 100, timed(20));
    script.send_on(0, 100, timed(900));
    script.send(100);
    script.wait(ms(60));
    let sent = script.sack(0, &[(4, 4)]);
    assert_eq!(script.numbers(&sent).concat()[..1], [0]);
    assert!(!script.numbers(&sent).concat().contains(&1), "{:?}", script.numbers(&sent));
    assert!(script.numbers(&sent).concat().contains(&2));
}

//= RFC 3758 3.5-16
#[test]
fn it_leaves_together_with_data() {
    for len in [200, FULL] {
        let mut script = agreed(&unlimited());
        script.send_on(3, 100, ONCE);
        for _ in 0..3 {
            script.send_on(3, 200, SendOptions::default());
        }
        lose(&mut script, 0, 2);
        // New data comes at the moment when the loss is known.
        script.try_send(4, len, SendOptions::default()).unwrap();
        let sent = script.sack(0, &[(2, 4)]);
        assert_eq!(script.numbers(&sent), [[4]]);
        let with = |p: &&Sent| p.carries(ChunkType::FORWARD_TSN);
        assert_eq!(sent.iter().filter(with).count(), 1);
        let told = sent.iter().find(with).unwrap().types();
        assert_eq!(told[0], ChunkType::FORWARD_TSN);
        let beside = told[1..].iter().filter(|kind| **kind == ChunkType::DATA).count();
        // What fills a packet leaves no room for it.
        assert_eq!(beside > 0, len < FULL, "{told:?}");
    }
}

/// The first of four messages is lost, and a FORWARD TSN has left by itself.
fn told() -> Script {
    let mut script = agreed(&unlimited());
    script.send_on(3, 100, ONCE);
    for _ in 0..3 {
        script.send_on(3, 200, SendOptions::default());
    }
    let sent = lose(&mut script, 0, 3);
    assert_eq!(types(&sent), [[ChunkType::FORWARD_TSN]]);
    script
}

//= RFC 3758 3.5-16
#[test]
fn it_leaves_once_more_beside_the_next_data() {
    let mut script = told();
    // What fills a packet leaves no room for it.
    for (len, beside) in [(FULL, false), (200, true), (200, false)] {
        let sent = script.send_on(4, len, SendOptions::default());
        let told = sent.iter().any(|p| p.carries(ChunkType::FORWARD_TSN));
        assert_eq!((told, script.numbers(&sent).len()), (beside, 1), "{len}");
    }
    // Nor does it leave for a peer that has answered.
    let mut script = told();
    script.sack(4, &[]);
    let sent = script.send(200);
    assert_eq!(types(&sent), [[ChunkType::DATA]]);
}

//= RFC 3758 3.5-17
#[test]
fn data_that_left_later_and_arrived_shows_that_it_was_lost() {
    let mut script = agreed(&unlimited());
    for n in 1..=8 {
        script.send(100);
        script.wait(ms(100));
        script.sack(n, &[]);
    }
    script.first = script.tsn(8);
    script.send_on(3, 100, ONCE);
    for _ in 0..3 {
        script.send_on(3, 200, SendOptions::default());
    }
    script.wait(ms(20));
    let told = |sent: &[Sent]| sent.iter().any(|p| p.carries(ChunkType::FORWARD_TSN));
    assert!(told(&lose(&mut script, 0, 3)));
    // What left together with it says nothing of it.
    assert!(told(&script.send(200)), "once more");
    script.wait(ms(1));
    assert!(!told(&script.send(200)));
    script.wait(ms(29));
    assert!(!told(&script.sack(0, &[(2, 5)])));
    assert!(told(&script.sack(0, &[(2, 6)])), "no round trip is over, but an answer came");
    assert!(!told(&script.sack(0, &[(2, 6)])));
    // Who takes DATA and never this is told at once so often, and then twice as late each time.
    let mut times = 0;
    for last in 7..60 {
        times += u32::from(told(&script.send(200)));
        script.wait(ms(25));
        times += u32::from(told(&script.sack(0, &[(2, last)])));
    }
    assert!((4..12).contains(&times), "{times} in 1.3 s");
}

/// One that lists many streams takes the place of data.
//= RFC 3758 3.5-16
#[test]
fn a_long_one_leaves_by_itself() {
    for (streams, again) in [(6, true), (9, false)] {
        let mut script = agreed(&unlimited());
        for stream in 0..streams {
            script.send_on(stream, 20, ONCE);
        }
        for _ in 0..3 {
            script.send_on(3, 200, SendOptions::default());
        }
        let sent: Vec<Sent> = (streams + 1..=streams + 3)
            .flat_map(|end| script.sack(0, &[(streams + 1, end)]))
            .collect();
        let last = script.forwards(&sent).last().unwrap().1.len();
        assert_eq!(last, streams as usize);
        let sent = script.send(200);
        assert_eq!(script.forwards(&sent).len() == 1, again, "{streams}");
    }
}

//= RFC 3758 3.5-17 3.5-18
#[test]
fn while_sacks_come_it_is_held_back_for_half_a_second_at_most() {
    for round_trip in [100, 400, 1500] {
        let mut script = agreed(&unlimited());
        for n in 1..=40 {
            script.send(100);
            script.now += ms(round_trip);
            script.sack(n, &[]);
        }
        script.first = script.tsn(40);
        let srtt = script.path(0).srtt.unwrap();
        script.send_on(3, 100, ONCE);
        for _ in 0..3 {
            script.send_on(3, 200, SendOptions::default());
        }
        let mut told = Vec::new();
        for sack in 0..400u16 {
            let sent =
                if sack < 3 { script.sack(0, &[(2, 2 + sack)]) } else { script.sack(0, &[(2, 4)]) };
            let more = script.wait(ms(10));
            let packets = sent.iter().chain(&more);
            told.extend(packets.filter(|p| p.carries(ChunkType::FORWARD_TSN)).map(|p| p.at));
        }
        let waits: Vec<Duration> = told.windows(2).map(|two| two[1].since(two[0])).collect();
        // SACKs come every 10 ms.
        assert!(waits.iter().all(|wait| *wait <= ms(510)), "{round_trip}: {waits:?}");
        assert!((6..14).contains(&waits.len()), "{round_trip}: {waits:?}");
        assert!(waits[0] >= srtt.min(ms(500)), "F2: a full RTT, {srtt:?} {waits:?}");
    }
}

/// A copy over another path is a retransmission like any other.
//= RFC 7496 3.1-1
#[test]
fn copies_over_other_paths_are_counted() {
    for (most, together) in [(0, 1), (1, 2), (2, 2)] {
        let config = AssociationConfig {
            concurrent_transfer: true,
            no_delay: true,
            extensions: Extensions::default(),
            ..profile("rfc9260+schedule-redundant", "")
        };
        let mut script = with_two_ways(&config);
        let options = policy(Reliability::Retransmissions(most));
        let sent = script.send_on(0, 100, options);
        assert_eq!(script.numbers(&sent).len(), together);
        let sent = script.wait(secs(30));
        assert_eq!(script.numbers(&sent).len() + together, most as usize + 1, "{most}");
        assert_eq!(script.given_up(), [(100, true)]);
    }
}
