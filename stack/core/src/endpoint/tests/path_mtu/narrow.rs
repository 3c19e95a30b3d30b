//! Paths that are narrower than the base, or become so, without ICMP: a search begins for what is lost, whichever profile recovers
//! it, and however little is sent.

use super::*;
use crate::Reliability;

/// With a search, and a profile of this name.
fn config(name: &str) -> AssociationConfig {
    AssociationConfig {
        mtu_discovery: MtuDiscovery::probes(1500),
        no_delay: true,
        ..profile(name, "")
    }
}

/// The same, with messages that are given up.
fn giving_up(name: &str, reliability: Reliability) -> AssociationConfig {
    AssociationConfig {
        extensions: Extensions { partial_reliability: true, ..Extensions::NONE },
        reliability,
        ..config(name)
    }
}

/// A path of 600 bytes.
fn narrow(config: &AssociationConfig) -> (Pair, AssociationId, AssociationId) {
    let mut pair = Pair::new(config, 1);
    pair.drop = Box::new(|sent| is_too_large(sent, 600));
    let (a, z) = pair.connect(config);
    (pair, a, z)
}

/// COOKIE ECHO takes data along, until two of them are lost.
#[test]
fn a_large_message_before_the_association_is_up() {
    for name in ["rfc9260", "tresse"] {
        let config = config(name);
        let mut pair = Pair::new(&config, 1);
        pair.drop = Box::new(|sent| is_too_large(sent, 600));
        let a = pair.open(Side::A, &config);
        pair.send(Side::A, a, 0, vec![1; 1000]);
        pair.run(secs(20));
        let z = pair.end(Side::Z).associations()[0];
        assert_eq!(pair.recv_all(Side::Z, z).len(), 1, "{name}");
    }
}

/// T3-rtx took it for that: the window grows as at the beginning.
#[test]
fn packets_that_were_too_large_are_no_congestion() {
    for name in ["rfc9260", "tresse"] {
        let (mut pair, a, _) = narrow(&config(name));
        for _ in 0..40 {
            pair.send(Side::A, a, 0, vec![1; 1000]);
        }
        let ssthresh = path(&mut pair, a).ssthresh;
        pair.run(secs(2));
        assert!(path(&mut pair, a).ssthresh < ssthresh, "{name}");
        while path(&mut pair, a).mtu > 512 {
            pair.run(ms(100));
        }
        let now = path(&mut pair, a);
        assert_eq!(now.ssthresh, ssthresh, "{name}");
        assert!(now.cwnd <= 1280, "{name}: {}", now.cwnd);
    }
}

/// RACK sends again each round trip, so that T3-rtx never expires.
#[test]
fn one_large_message_among_small_ones() {
    for name in ["rfc9260", "tresse"] {
        for every in [50, 200] {
            let (mut pair, a, z) = narrow(&config(name));
            pair.send(Side::A, a, 0, vec![1; 1000]);
            for _ in 0..100 {
                pair.send(Side::A, a, 1, vec![2; 100]);
                pair.run(ms(every));
            }
            pair.run(secs(20));
            assert_eq!(pair.recv_all(Side::Z, z).len(), 101, "{name} {every}");
            assert_eq!(path(&mut pair, a).mtu, 512);
        }
    }
}

/// What is lost is bundled again.
#[test]
fn small_messages_in_a_packet_that_is_too_large() {
    for name in ["rfc9260", "tresse"] {
        for together in [true, false] {
            let (mut pair, a, z) = narrow(&config(name));
            let now = pair.now;
            for _ in 0..4 {
                let message = Bytes::from(vec![1; 250]);
                let end = pair.end(Side::A);
                end.send(now, a, StreamId(0), message, SendOptions::default()).unwrap();
                if !together {
                    pair.run(ms(1));
                }
            }
            for _ in 0..100 {
                pair.run(ms(100));
                pair.send(Side::A, a, 1, vec![2; 100]);
            }
            pair.run(secs(20));
            assert_eq!(pair.recv_all(Side::Z, z).len(), 104, "{name} {together}");
        }
    }
}

/// Each is given up before it is lost for the third time, or at all.
#[test]
fn messages_that_may_be_given_up() {
    for name in ["rfc9260", "tresse"] {
        for reliability in [Reliability::Timed(ms(200)), Reliability::Retransmissions(0)] {
            let config = giving_up(name, reliability);
            let (mut pair, a, z) = narrow(&config);
            for _ in 0..200 {
                pair.send(Side::A, a, 0, vec![1; 1000]);
                pair.run(ms(500));
            }
            let received = pair.recv_all(Side::Z, z).len();
            assert!(received > 150, "{name} {reliability:?}: {received}");
        }
    }
}

/// FORWARD TSN is answered, so that T3-rtx never expires, and nothing is known to be lost: the window takes one fragment of each.
#[test]
fn messages_that_are_all_given_up_in_flight() {
    for name in ["rfc9260", "tresse"] {
        for later in [1400, 600] {
            let config = giving_up(name, Reliability::Timed(ms(200)));
            let (mut pair, a, z) = narrower_later(&config, 1500, later);
            for _ in 0..400 {
                pair.send(Side::A, a, 0, vec![1; 2300]);
                pair.run(ms(50));
            }
            let received = pair.recv_all(Side::Z, z).len();
            assert!(received > 200, "{name} {later}: {received}");
        }
    }
}

/// What probes a closed window is dropped for that, and given up with the rest of its message.
#[test]
fn what_a_closed_window_drops_says_nothing() {
    for name in ["rfc9260", "tresse"] {
        let config = AssociationConfig {
            extensions: Extensions { partial_reliability: true, ..Extensions::NONE },
            receive_buffer: 4096,
            ..config(name)
        };
        let mut pair = Pair::new(&config, 1);
        let (a, z) = connect(&mut pair, &config);
        pair.run(secs(5));
        pair.recv_all(Side::Z, z);
        for _ in 0..8 {
            pair.send(Side::A, a, 1, vec![1; 512]);
        }
        for _ in 0..1000 {
            let now = pair.now;
            let options = SendOptions {
                reliability: Some(Reliability::Timed(ms(200))),
                ..SendOptions::default()
            };
            let message = Bytes::from(vec![2; 2300]);
            let _ = pair.end(Side::A).send(now, a, StreamId(0), message, options);
            pair.run(ms(100));
        }
        let stats = path(&mut pair, a);
        assert_eq!((stats.mtu, stats.counters.mtu_black_holes), (1500, 0), "{name}");
        assert!(!pair.recv_all(Side::Z, z).is_empty());
    }
}

/// Each packet that is lost by chance is followed by others, some as large and some smaller.
#[test]
fn bundles_of_all_sizes_that_are_lost_by_chance() {
    for name in ["rfc9260", "tresse"] {
        let config = config(name);
        let mut pair = Pair::new(&config, 1);
        let (a, z) = connect(&mut pair, &config);
        pair.run(secs(5));
        let mut x = 1u64;
        pair.drop = Box::new(move |_| {
            x = x.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (x >> 33) % 100 < 3
        });
        let (mut sent, mut received) = (1, 0);
        for n in 0..3000u64 {
            received += pair.recv_all(Side::Z, z).len();
            for part in 0..12u64 {
                let size = 20 + (n * 31 + part * 17) % 100;
                let (now, message) = (pair.now, Bytes::from(vec![1; size as usize]));
                let end = pair.end(Side::A);
                let taken = end.send(now, a, StreamId(0), message, SendOptions::default());
                sent += usize::from(taken.is_ok());
            }
            pair.run(ms(20));
        }
        let holes = path(&mut pair, a).counters.mtu_black_holes;
        assert!(holes <= 1, "{name}: {holes}");
        pair.drop = Box::new(|_| false);
        pair.run(secs(60));
        received += pair.recv_all(Side::Z, z).len();
        assert_eq!(received, sent, "{name}");
    }
}

/// What is lost on the narrow path leaves again over the wide one, and small messages clear the errors of both.
#[test]
fn the_primary_path_of_two() {
    for name in ["rfc9260", "tresse"] {
        let config = config(name);
        let mut pair = Pair::new(&config, 2);
        let wide = addresses(Side::Z, 2)[1];
        pair.drop = Box::new(move |sent| sent.to.destination != wide && is_too_large(sent, 600));
        let (a, z) = pair.connect(&config);
        for n in 0..200 {
            pair.send(Side::A, a, 0, vec![1; if n % 4 == 0 { 1000 } else { 100 }]);
            pair.run(secs(1));
        }
        assert_eq!(pair.recv_all(Side::Z, z).len(), 200, "{name}");
        let found = path(&mut pair, a);
        assert_eq!(found.mtu, 512, "{name}");
        assert!(found.timeouts <= 3, "{name}: {}", found.timeouts);
    }
}

/// RFC 8899 §4.3, where recovery sends again what T3-rtx would wait for.
//= RFC 8899 4.3-1
#[test]
fn a_path_that_becomes_narrow_under_a_large_message() {
    for name in ["rfc9260", "tresse"] {
        let (mut pair, a, z) = narrower_later(&config(name), 1500, 1400);
        assert_eq!(path(&mut pair, a).mtu, 1500);
        for n in 0..200 {
            pair.send(Side::A, a, 0, vec![2; if n == 10 { 5000 } else { 100 }]);
            pair.run(ms(100));
        }
        pair.run(secs(10));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 200, "{name}");
        let found = path(&mut pair, a);
        assert_eq!((found.mtu, found.counters.mtu_black_holes), (1400, 1), "{name}");
    }
}

/// A path on which packets of `found` bytes got through for a minute, and then those of `later` only.
fn narrower_later(
    config: &AssociationConfig,
    found: usize,
    later: usize,
) -> (Pair, AssociationId, AssociationId) {
    let mut pair = Pair::new(config, 1);
    let real = Rc::new(Cell::new(found));
    let limit = Rc::clone(&real);
    pair.drop = Box::new(move |sent| is_too_large(sent, limit.get()));
    let (a, z) = connect(&mut pair, config);
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    real.set(later);
    (pair, a, z)
}

/// The base was found to get through, or data has proved it, and one day it does not.
#[test]
fn a_path_that_becomes_narrower_than_the_base() {
    for name in ["rfc9260", "tresse"] {
        for found in [1280, 1200] {
            let (mut pair, a, z) = narrower_later(&config(name), found, 600);
            for n in 0..100 {
                pair.send(Side::A, a, n % 2, vec![2; if n == 10 { 1000 } else { 100 }]);
                pair.run(ms(200));
            }
            pair.run(secs(60));
            assert_eq!(pair.recv_all(Side::Z, z).len(), 100, "{name} {found}");
            assert_eq!(path(&mut pair, a).mtu, 512, "{name} {found}");
        }
    }
}

/// RACK sends the bundle again, of which each chunk is small.
#[test]
fn a_bundle_under_which_the_path_becomes_narrow() {
    for name in ["rfc9260", "tresse"] {
        let (mut pair, a, z) = narrower_later(&config(name), 1500, 1300);
        let now = pair.now;
        for _ in 0..4 {
            let (message, options) = (Bytes::from(vec![1; 340]), SendOptions::default());
            pair.end(Side::A).send(now, a, StreamId(0), message, options).unwrap();
        }
        for _ in 0..30 {
            pair.run(ms(100));
            pair.send(Side::A, a, 1, vec![2; 100]);
        }
        pair.run(secs(5));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 34, "{name}");
    }
}

/// Each is given up before it leaves again; FORWARD TSN chunks are answered all the time.
#[test]
fn messages_with_a_lifetime_under_which_the_path_becomes_narrow() {
    for name in ["rfc9260", "tresse"] {
        let config = AssociationConfig {
            extensions: Extensions { partial_reliability: true, ..Extensions::NONE },
            reliability: Reliability::Timed(ms(200)),
            ..config(name)
        };
        let (mut pair, a, z) = narrower_later(&config, 1500, 1400);
        for n in 0..400 {
            pair.send(Side::A, a, 0, vec![1; if n % 4 == 3 { 50 } else { 1420 }]);
            pair.run(ms(200));
        }
        let received = pair.recv_all(Side::Z, z).len();
        assert!(received > 300, "{name}: {received}");
        assert_eq!(path(&mut pair, a).mtu, 1400, "{name}");
    }
}

/// Heartbeats return the path all the time, and its source is left for another: the probes of the base are counted all the same.
#[test]
fn a_primary_path_that_fails_for_its_size_again_and_again() {
    for name in ["rfc9260", "tresse"] {
        let config = config(name);
        let mut pair = Pair::new(&config, 2);
        let wide = addresses(Side::Z, 2)[1];
        let real = Rc::new(Cell::new(1300));
        let limit = Rc::clone(&real);
        pair.drop =
            Box::new(move |sent| sent.to.destination != wide && is_too_large(sent, limit.get()));
        let (a, z) = pair.connect(&config);
        for n in 0..300 {
            if n == 100 {
                real.set(1200);
            }
            pair.send(Side::A, a, 0, vec![1; if n % 2 == 0 { 3000 } else { 100 }]);
            pair.run(ms(300));
        }
        pair.run(secs(10));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 300, "{name}");
        let found = path(&mut pair, a);
        assert!(found.mtu < 1200 && found.timeouts < 10, "{name}: {found:?}");
    }
}

/// What is no data may be too large as well.
#[test]
fn a_request_to_reset_many_streams() {
    for name in ["rfc9260", "tresse"] {
        let config = AssociationConfig {
            extensions: Extensions { stream_reconfiguration: true, ..Extensions::NONE },
            outbound_streams: 400,
            inbound_streams: 400,
            ..config(name)
        };
        let (mut pair, a, _) = narrow(&config);
        let streams: Vec<StreamId> = (0..300).map(StreamId).collect();
        let now = pair.now;
        pair.end(Side::A).reset_streams(now, a, crate::ResetDirection::Outgoing, &streams).unwrap();
        pair.run(secs(60));
        assert!(pair.saw(Side::A, |event| matches!(event, Event::StreamsReset { .. })), "{name}");
    }
}

/// Losses that come by chance are no black hole, as long as large packets get through between them.
#[test]
fn losses_by_chance_change_nothing() {
    for name in ["rfc9260", "tresse"] {
        let config = config(name);
        let mut pair = Pair::new(&config, 1);
        let (a, z) = connect(&mut pair, &config);
        pair.run(secs(5));
        pair.drop = Box::new(|sent| sent.number % 11 == 0);
        for _ in 0..300 {
            pair.send(Side::A, a, 0, vec![2; 3000]);
            pair.run(ms(200));
        }
        pair.run(secs(20));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 301, "{name}");
        let found = path(&mut pair, a);
        assert_eq!((found.mtu, found.counters.mtu_black_holes), (1500, 0), "{name}");
    }
}

/// A router names the MTU before anything was probed: what becomes of full packets later begins nothing anew.
#[test]
fn a_router_tells_before_the_search() {
    let (mut pair, a, z) = narrow(&config("rfc9260"));
    pair.send(Side::A, a, 0, vec![1; 1000]);
    let quoted = pair.log.iter().rfind(|sent| sent.from == Side::A).unwrap().bytes.clone();
    let kind = IcmpKind::TooBig { mtu: 600 };
    let icmp = Icmp { destination: addresses(Side::Z, 1)[0], kind, quoted: Some(quoted) };
    let now = pair.now;
    pair.end(Side::A).handle_icmp(now, &icmp);
    for _ in 0..30 {
        pair.send(Side::A, a, 0, vec![1; 1000]);
        pair.run(ms(500));
    }
    assert_eq!(pair.recv_all(Side::Z, z).len(), 31);
    let found = path(&mut pair, a);
    assert_eq!((found.mtu, found.counters.mtu_probes_sent), (512, 0));
}

/// Packets are of use that hold what nobody bundles, or pieces that are small anyway; or nothing was lost but what was small.
#[test]
fn what_larger_packets_would_not_help_begins_nothing() {
    let plain = searching(9000);
    let no_bundling = AssociationConfig { bundling: false, ..plain.clone() };
    let pieces = AssociationConfig { max_segment: Some(100), ..plain.clone() };
    for (config, size, together, outage) in
        [(no_bundling, 700, 2, false), (pieces, 300, 1, false), (plain, 100, 1, true)]
    {
        let mut pair = Pair::new(&config, 1);
        let silent = Rc::new(Cell::new(false));
        let is_silent = Rc::clone(&silent);
        pair.drop = Box::new(move |_| is_silent.get());
        let (a, z) = pair.connect(&config);
        for n in 0..60 {
            silent.set(outage && (20..24).contains(&n));
            for _ in 0..together {
                pair.send(Side::A, a, 0, vec![1; size]);
            }
            pair.run(secs(1));
        }
        assert_eq!(pair.recv_all(Side::Z, z).len(), 60 * together);
        assert_eq!(path(&mut pair, a).counters.mtu_probes_sent, 0, "{size}");
    }
}

/// Who must not have a message fragmented is told what fits, and may wait for more.
#[test]
fn a_message_that_is_refused_for_its_size_begins_a_search() {
    let config = AssociationConfig { fragmentation: false, ..searching(9000) };
    let mut pair = Pair::new(&config, 1);
    let (a, _) = pair.connect(&config);
    let try_it = |pair: &mut Pair| {
        let (now, large) = (pair.now, Bytes::from(vec![1; 1400]));
        pair.end(Side::A).send(now, a, StreamId(0), large, SendOptions::default())
    };
    assert!(matches!(try_it(&mut pair), Err(crate::SendError::TooLarge { .. })));
    pair.run(secs(10));
    try_it(&mut pair).unwrap();
}
