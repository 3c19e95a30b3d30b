//! The path MTU as probes find it (DPLPMTUD, RFC 8899; PAD, RFC 4820).

mod narrow;

use std::cell::Cell;
use std::rc::Rc;

use super::*;
use crate::datagram::{Icmp, IcmpKind};
use crate::stats::PathStats;
use crate::{LossCause, MtuDiscovery, PathState, TraceEvent};

/// IP takes so much of a packet.
const IP: usize = 20;

fn searching(max: usize) -> AssociationConfig {
    AssociationConfig {
        mtu_discovery: MtuDiscovery::probes(max),
        no_delay: true,
        ..profile("rfc9260", "")
    }
}

/// Whether a path of `real` bytes loses the packet without a word. What may be fragmented gets through.
fn is_too_large(sent: &Sent, real: usize) -> bool {
    sent.bytes.len() + IP > real && !sent.to.fragments.are_allowed()
}

/// A pair that has searched for a minute on a path of `real` bytes.
fn searched(config: &AssociationConfig, real: usize) -> (Pair, AssociationId, AssociationId) {
    let mut pair = Pair::new(config, 1);
    pair.drop = Box::new(move |sent| is_too_large(sent, real));
    let (a, z) = connect(&mut pair, config);
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    (pair, a, z)
}

/// An association with data under way that makes a search worth while.
fn connect(pair: &mut Pair, config: &AssociationConfig) -> (AssociationId, AssociationId) {
    let ids = pair.connect(config);
    pair.send(Side::A, ids.0, 0, vec![0; 15_000]);
    ids
}

fn path(pair: &mut Pair, id: AssociationId) -> PathStats {
    pair.end(Side::A).path_stats(id).remove(0)
}

fn probes(pair: &Pair) -> Vec<&Sent> {
    pair.sent(Side::A, ChunkType::PAD)
}

//= RFC 8899 3-1 3-2 3-3 3-4 3-5 3-16 3-20 4.1-2 4.4-1 5-2 6.2-1 6.2-2 6.2.2-1
#[test]
fn packets_become_as_large_as_the_path_takes() {
    for (max, real, found) in [(1500, 1500, 1500), (9000, 9000, 9000), (1500, 1460, 1460)] {
        let (mut pair, a, z) = searched(&searching(max), real);
        assert_eq!(path(&mut pair, a).mtu, found, "{real}");
        for probe in probes(&pair) {
            assert_eq!(probe.types(), [ChunkType::HEARTBEAT, ChunkType::PAD]);
            assert!(!probe.to.fragments.are_allowed());
        }
        let begun = pair.log.len();
        pair.send(Side::A, a, 0, vec![7; 50_000]);
        pair.run(secs(5));
        assert_eq!(pair.recv_all(Side::Z, z)[0].payload.len(), 50_000);
        let largest = pair.log[begun..].iter().map(|sent| sent.bytes.len() + IP).max();
        assert_eq!(largest, Some(found & !3), "all of it is used");
        let info = pair.end(Side::A).info(a).unwrap();
        assert_eq!(
            info.fragmentation_point,
            ((found - IP) & !3) - 12 - 16,
            "the application is told"
        );
        let stats = pair.end(Side::A).stats(a).unwrap();
        assert_eq!((stats.timeouts, stats.retransmitted_chunks), (0, [0; LossCause::ALL.len()]));
    }
}

/// RFC 9260 §3.2 has PAD skipped by whoever does not know it; pion/sctp and sctp-proto drop the packet.
#[test]
fn a_peer_that_drops_packets_with_pad_is_searched_as_well() {
    for (max, real, found) in [(1500, 1500, 1500), (9000, 9000, 9000), (1500, 1460, 1460)] {
        let config = searching(max);
        let mut pair = Pair::new(&config, 1);
        pair.drop = Box::new(move |sent| {
            is_too_large(sent, real) || sent.types().contains(&ChunkType::PAD)
        });
        let (a, z) = connect(&mut pair, &config);
        pair.run(secs(60));
        assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
        let stats = path(&mut pair, a);
        assert_eq!((stats.mtu, stats.errors), (found, 0), "{real}");
        let longest = pair.sent(Side::A, ChunkType::HEARTBEAT).into_iter().filter(|sent| {
            sent.types() == [ChunkType::HEARTBEAT] && !sent.to.fragments.are_allowed()
        });
        let longest = longest.map(|sent| sent.bytes.len() + IP).filter(|len| *len <= real).max();
        assert_eq!(longest, Some(found & !3), "the probe has just the size that it proves");
        pair.send(Side::A, a, 0, vec![7; 50_000]);
        pair.run(secs(5));
        assert_eq!(pair.recv_all(Side::Z, z)[0].payload.len(), 50_000);
    }
}

/// Small messages need no large packets, nor those who send none. Ten packets that could have been larger begin a search, on every
/// path.
#[test]
fn nothing_is_probed_until_larger_packets_are_of_use() {
    let config = searching(9000);
    let mut pair = Pair::new(&config, 2);
    let (a, z) = pair.connect(&config);
    for _ in 0..200 {
        pair.send(Side::A, a, 0, vec![1; 100]);
        pair.run(ms(100));
    }
    // Nine packets that are full, each with one that is not.
    for _ in 0..9 {
        pair.send(Side::A, a, 0, vec![1; 1500]);
        pair.run(secs(60));
    }
    assert_eq!(pair.recv_all(Side::Z, z).len(), 209);
    assert!(probes(&pair).is_empty());
    pair.send(Side::A, a, 0, vec![1; 1500]);
    pair.run(secs(60));
    let found = pair.end(Side::A).path_stats(a);
    assert_eq!(found.iter().map(|path| path.mtu).collect::<Vec<_>>(), [9000; 2]);
    assert!(pair.sent(Side::Z, ChunkType::PAD).is_empty(), "it has nothing to send");
    // Messages that just fill packets, too, if there are others behind them.
    let mut pair = Pair::new(&config, 1);
    let (a, _) = pair.connect(&config);
    let point = pair.end(Side::A).info(a).unwrap().fragmentation_point;
    for _ in 0..20 {
        pair.send(Side::A, a, 0, vec![1; point]);
    }
    pair.run(secs(60));
    assert_eq!(path(&mut pair, a).mtu, 9000);
}

/// RFC 8899 §5.2, BASE: what data has proved needs no probe, and holds if none is answered.
#[test]
fn what_data_has_proved_is_kept_where_no_probe_is_answered() {
    for (size, least, pause) in [(3000, 1280, 2500), (600, 648, 2500), (100, 512, 4000)] {
        let config = AssociationConfig { bundling: false, ..searching(1500) };
        let mut pair = Pair::new(&config, 1);
        let silent = Rc::new(Cell::new(false));
        let is_silent = Rc::clone(&silent);
        pair.drop = Box::new(move |sent| {
            is_silent.get()
                || (sent.from == Side::A && sent.types().contains(&ChunkType::HEARTBEAT))
        });
        let (a, z) = pair.connect(&config);
        // T3-rtx expires twice: that may be for the size of packets, and begins a search. So does what waits behind it.
        silent.set(true);
        pair.send(Side::A, a, 0, vec![1; size]);
        pair.run(ms(pause));
        silent.set(false);
        for _ in 1..100 {
            pair.send(Side::A, a, 0, vec![1; size]);
            pair.run(ms(100));
        }
        assert_eq!(pair.recv_all(Side::Z, z).len(), 100);
        let stats = path(&mut pair, a);
        assert!(stats.counters.mtu_probes_sent > 3, "{stats:?}");
        assert_eq!(stats.counters.mtu_probes_acked, 0);
        assert_eq!(stats.mtu, least, "messages of {size} bytes were acknowledged");
    }
}

/// As docs/carriers.md has it.
#[test]
fn the_likely_size_is_known_after_two_round_trips() {
    let config = searching(9000);
    let mut pair = Pair::new(&config, 1);
    let a = pair.open(Side::A, &config);
    while pair.end(Side::A).info(a).unwrap().state != crate::AssociationState::Established {
        pair.run(ms(1));
    }
    assert_eq!(path(&mut pair, a).mtu, 1280);
    pair.send(Side::A, a, 0, vec![0; 50_000]);
    let mut waited = 0;
    while path(&mut pair, a).counters.mtu_probes_sent == 0 {
        pair.run(ms(1));
        waited += 1;
    }
    assert!(ms(waited) <= 4 * pair.delay + ms(2), "ten packets are two windows");
    let two = 4 * pair.delay + ms(2);
    pair.run(two);
    assert!(path(&mut pair, a).mtu >= 1500);
}

/// RFC 8899 §5.2, BASE: data does not wait for the search, nor is lost by it. RFC 8899 §3, 7: "Loss of a probe packet SHOULD
/// NOT be treated as an indication of congestion".
//= RFC 8899 3-13
#[test]
fn data_flows_from_the_beginning_and_lost_probes_are_no_errors() {
    let config = searching(9000);
    let mut pair = Pair::new(&config, 1);
    pair.drop = Box::new(|sent| is_too_large(sent, 1300));
    let (a, z) = pair.connect(&config);
    for _ in 0..40 {
        pair.send(Side::A, a, 0, vec![1; 3000]);
        pair.run(ms(250));
    }
    assert_eq!(pair.recv_all(Side::Z, z).len(), 40);
    let found = path(&mut pair, a);
    assert_eq!((found.mtu, found.errors, found.timeouts), (1280, 0, 0));
    let lost = found.counters.mtu_probes_sent - found.counters.mtu_probes_acked;
    assert!((2..=4).contains(&lost), "{lost} probes lost");
    let again = pair.end(Side::A).stats(a).unwrap().retransmitted_chunks;
    assert_eq!(again, [0; LossCause::ALL.len()]);
}

/// RFC 8899 §4.3.
//= RFC 8899 4.3-1
//= RFC 6951 5.6-3
#[test]
fn a_path_that_becomes_narrow_is_found_out_without_icmp() {
    let config = searching(1500);
    let mut pair = Pair::new(&config, 1);
    let real = Rc::new(Cell::new(1500));
    let limit = Rc::clone(&real);
    pair.drop = Box::new(move |sent| is_too_large(sent, limit.get()));
    let (a, z) = connect(&mut pair, &config);
    pair.run(secs(5));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(path(&mut pair, a).mtu, 1500);
    real.set(1400);
    // Small messages get through all the time: no error counter tells of it.
    for n in 0..200 {
        pair.send(Side::A, a, 0, vec![2; if n % 10 == 0 { 5000 } else { 100 }]);
        pair.run(ms(100));
    }
    pair.run(secs(60));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 200);
    let found = path(&mut pair, a);
    assert_eq!((found.mtu, found.counters.mtu_black_holes), (1400, 1));
    // Larger ones are tried again after ten minutes.
    real.set(1500);
    pair.run(secs(700));
    assert_eq!(path(&mut pair, a).mtu, 1500);
}

/// RFC 8899 §5.2: the search goes on when the path answers again, by acknowledging data as well, however long a recess it
/// was to have.
#[test]
fn a_search_goes_on_as_soon_as_the_path_answers_again() {
    let config = searching(1500);
    let mut pair = Pair::new(&config, 1);
    let silent = Rc::new(Cell::new(false));
    let is_silent = Rc::clone(&silent);
    pair.drop = Box::new(move |_| is_silent.get());
    let (a, z) = connect(&mut pair, &config);
    pair.run(secs(5));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(path(&mut pair, a).mtu, 1500);
    silent.set(true);
    pair.send(Side::A, a, 0, vec![1; 3000]);
    // T3-rtx expires twice, after one second and two more: that looks like a black hole.
    pair.run(secs(4));
    let found = path(&mut pair, a);
    assert_eq!((found.mtu, found.counters.mtu_black_holes), (1280, 1));
    silent.set(false);
    pair.run(secs(6));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    assert_eq!(path(&mut pair, a).mtu, 1500);
}

/// RFC 8899 §4.6.2: what a router says is probed.
//= RFC 8899 3-9 3-10 4.6.1-1 4.6.1-2 4.6.1-3 4.6.1-4 4.6.2-1 4.6.2-2 6.2.1.4-1 6.2.1.4-2 6.2.2.4-1 6.2.2.4-2 8-2 8-3
#[test]
fn what_a_router_says_is_not_taken_for_true() {
    let (mut pair, a, _) = searched(&searching(1500), 1500);
    let quoted = pair.log.iter().rfind(|sent| sent.from == Side::A).unwrap().bytes.clone();
    let now = pair.now;
    let mut stranger = quoted.to_vec();
    stranger[4] ^= 1; // The verification tag.
    let icmp = Icmp {
        destination: addresses(Side::Z, 1)[0],
        kind: IcmpKind::TooBig { mtu: 1432 },
        quoted: Some(stranger.into()),
    };
    pair.end(Side::A).handle_icmp(now, &icmp);
    assert_eq!(path(&mut pair, a).mtu, 1500, "who lacks the tag says nothing");
    let icmp = Icmp {
        destination: addresses(Side::Z, 1)[0],
        kind: IcmpKind::TooBig { mtu: 1432 },
        quoted: Some(quoted),
    };
    pair.end(Side::A).handle_icmp(now, &icmp);
    assert_eq!(path(&mut pair, a).mtu, 1280, "the base, until a probe says more");
    pair.run(secs(30));
    assert_eq!(path(&mut pair, a).mtu, 1432);
    pair.run(secs(700));
    assert_eq!(path(&mut pair, a).mtu, 1500, "it was a lie");
}

/// What the trace tells of it, each as it happens.
#[test]
fn each_step_of_the_search_is_told() {
    let config = AssociationConfig { trace: true, ..searching(1500) };
    let mut pair = Pair::new(&config, 1);
    let real = Rc::new(Cell::new(1500));
    let limit = Rc::clone(&real);
    pair.drop = Box::new(move |sent| is_too_large(sent, limit.get()));
    let (a, _) = connect(&mut pair, &config);
    let told = |pair: &mut Pair| {
        let events: Vec<_> = std::iter::from_fn(|| pair.end(Side::A).poll_trace()).collect();
        let line = |event: TraceEvent| match event {
            TraceEvent::Mtu { old, new, cause, .. } => {
                Some(format!("{old} to {new}: {}", cause.name()))
            }
            TraceEvent::MtuSearch { state, mtu, .. } => {
                Some(format!("{} at {mtu}", state.map_or("off", |state| state.name())))
            }
            TraceEvent::MtuProbe { length, pad_chunk, .. } => {
                Some(format!("probe {}, PAD: {pad_chunk}", length + IP))
            }
            _ => None,
        };
        events.into_iter().filter_map(|(_, _, event)| line(event)).collect::<Vec<_>>()
    };
    pair.run(secs(5));
    let steps = told(&mut pair);
    let expected = [
        "base at 1280",
        "probe 1280, PAD: true",
        "searching at 1280",
        "probe 1500, PAD: true",
        "1280 to 1500: probe",
        "complete at 1500",
    ];
    assert_eq!(steps.iter().filter(|step| expected.contains(&step.as_str())).count(), steps.len());
    assert_eq!(steps[..2], expected[..2], "{steps:?}");
    assert_eq!(steps[steps.len() - 2..], expected[4..], "{steps:?}");
    // A router says that packets are too large, and one day they vanish.
    let quoted = pair.log.iter().rfind(|sent| sent.from == Side::A).unwrap().bytes.clone();
    let kind = IcmpKind::TooBig { mtu: 1400 };
    let icmp = Icmp { destination: addresses(Side::Z, 1)[0], kind, quoted: Some(quoted) };
    let now = pair.now;
    pair.end(Side::A).handle_icmp(now, &icmp);
    pair.run(secs(5));
    let steps = told(&mut pair);
    assert_eq!(steps[..2], ["1500 to 1280: icmp", "base at 1280"], "{steps:?}");
    assert!(steps.contains(&"1280 to 1400: probe".to_owned()), "{steps:?}");
    real.set(1300);
    pair.send(Side::A, a, 0, vec![2; 5000]);
    pair.run(secs(60));
    let steps = told(&mut pair);
    assert!(steps.contains(&"1400 to 1280: black-hole".to_owned()), "{steps:?}");
    real.set(600);
    set(&mut pair, a, |path| path.mtu_discovery = MtuDiscovery::probes(9000));
    pair.run(secs(60));
    let steps = told(&mut pair);
    assert!(steps.contains(&"1280 to 512: unanswered".to_owned()), "{steps:?}");
    set(&mut pair, a, |path| path.mtu_discovery = MtuDiscovery::Off);
    pair.run(secs(1));
    let steps = told(&mut pair);
    assert_eq!(steps, ["512 to 1500: configured", "off at 1500"]);
}

/// Answers to probes that never arrived, which nobody can know: with another nonce, time or path, cut off; old ones again; and
/// routers that name what no link has. Nothing becomes larger by them, nor smaller than 512 bytes, and data gets through.
#[test]
fn lies_about_probes_change_nothing() {
    let (mut pair, a, z) = searched(&searching(9000), 1300);
    assert_eq!(path(&mut pair, a).mtu, 1280);
    // Ports and tag are those of the peer's packets.
    let header = pair.log.iter().rfind(|sent| sent.from == Side::Z).unwrap().bytes[..8].to_vec();
    let infos: Vec<Vec<u8>> = probes(&pair)
        .iter()
        .map(|p| p.find(ChunkType::HEARTBEAT).unwrap().value.to_vec())
        .collect();
    assert!(infos.len() > 3, "it has probed");
    let destination = addresses(Side::Z, 1)[0];
    let acked = path(&mut pair, a).counters.mtu_probes_acked;
    let before = pair.end(Side::A).stats(a).unwrap().packets_received;
    for n in 0..2_000_usize {
        let mut lie = infos[n % infos.len()].clone();
        // Behind the header of the parameter.
        let at = 4 + n % (lie.len() - 4);
        match n % 3 {
            0 => lie[at] ^= 1 << (n / 3 % 8),
            1 => lie.truncate(at),
            // One that was answered long ago.
            _ => lie.clone_from(&infos[0]),
        }
        let mut bytes = script::packet(VerificationTag(1), |w| w.heartbeat_ack(&lie));
        bytes[..8].copy_from_slice(&header);
        tresse_wire::write_checksum(&mut bytes);
        pair.inject(Side::A, destination, bytes);
    }
    assert!(pair.end(Side::A).stats(a).unwrap().packets_received >= before + 2_000);
    let found = path(&mut pair, a);
    assert_eq!((found.mtu, found.counters.mtu_probes_acked), (1280, acked));
    let quoted = pair.log.iter().rfind(|sent| sent.from == Side::A).unwrap().bytes.clone();
    for mtu in [0, 1, 60, 67, 9000, 65_535] {
        let icmp =
            Icmp { destination, kind: IcmpKind::TooBig { mtu }, quoted: Some(quoted.clone()) };
        let now = pair.now;
        pair.end(Side::A).handle_icmp(now, &icmp);
        let found = path(&mut pair, a).mtu;
        assert!((512..=1280).contains(&found), "{mtu}: {found}");
    }
    pair.send(Side::A, a, 0, vec![5; 20_000]);
    pair.run(secs(10));
    assert_eq!(pair.recv_all(Side::Z, z)[0].payload, vec![5; 20_000]);
    assert!(path(&mut pair, a).mtu <= 1300);
}

/// RFC 8899 §5.2, ERROR.
#[test]
fn below_the_base_routers_fragment_or_packets_are_small() {
    let (mut pair, a, z) = searched(&searching(1500), 600);
    assert_eq!(path(&mut pair, a).mtu, 512);
    pair.send(Side::A, a, 0, vec![3; 5000]);
    pair.run(secs(5));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1);
    let stats = path(&mut pair, a);
    assert!(stats.counters.mtu_probes_sent < 12, "{stats:?}");
}

//= RFC 8899 3-24
/// RFC 8899 §5.2: nothing is probed where nobody answers, or when the association ends.
#[test]
fn a_dead_path_is_not_probed() {
    let (mut pair, a, _) = searched(&searching(9000), 1500);
    let before = path(&mut pair, a).counters.mtu_probes_sent;
    pair.drop = Box::new(|_| true);
    pair.run(secs(590));
    assert_eq!(path(&mut pair, a).state, PathState::Inactive);
    let sent = path(&mut pair, a).counters.mtu_probes_sent;
    assert_eq!(sent, before, "while it is dead");
    pair.drop = Box::new(|sent| is_too_large(sent, 9000));
    pair.run(secs(200));
    assert_eq!(path(&mut pair, a).mtu, 9000, "it has come back as another one");
}

/// Nobody who has not asked for it sends a probe, and whoever gets one answers.
//= RFC 4820 3-4
//= RFC 8899 4.1-1
#[test]
fn it_is_off_unless_asked_for_and_needs_nothing_of_the_peer() {
    let (pair, ..) = searched(&profile("rfc9260", ""), 9000);
    assert!(probes(&pair).is_empty());
    let bad = AssociationConfig {
        mtu_discovery: MtuDiscovery::probes(1000),
        ..AssociationConfig::default()
    };
    let why = bad.check().unwrap_err().to_string();
    assert!(why.contains("mtu_discovery.max is 1000, not in 1500 to 65535"), "{why}");
    // PAD before another chunk: what follows is read.
    let mut script = Script::connected(&profile("rfc9260", ""));
    let answer = script.give(|w| {
        w.pad(40);
        w.heartbeat(&[1, 2, 3, 4]);
    });
    assert_eq!(answer[0].types(), [ChunkType::HEARTBEAT_ACK]);
}

fn set(pair: &mut Pair, id: AssociationId, change: impl FnOnce(&mut crate::PathSettings)) {
    let mut settings = path(pair, id).settings;
    change(&mut settings);
    let now = pair.now;
    pair.end(Side::A).configure_path(now, id, PathId(0), settings).unwrap();
}

/// Bytes of the largest IP packet with data that leaves for a message of 50 000 bytes, and whether it may be fragmented.
fn largest(pair: &mut Pair, a: AssociationId, z: AssociationId) -> (usize, IpFragments) {
    let begun = pair.log.len();
    pair.send(Side::A, a, 0, vec![7; 50_000]);
    pair.run(secs(5));
    assert_eq!(pair.recv_all(Side::Z, z).len(), 1, "it arrives");
    let sizes = pair.log[begun..].iter().map(|sent| (sent.bytes.len() + IP, sent.to.fragments));
    sizes.max().unwrap()
}

#[test]
fn discovery_of_one_path_begins_and_ends_at_run_time() {
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", "") };
    let (mut pair, a, z) = searched(&config, 9000);
    assert_eq!(largest(&mut pair, a, z), (1500, IpFragments::Forbidden), "nobody has asked");
    set(&mut pair, a, |path| path.mtu_discovery = MtuDiscovery::probes(9000));
    assert_eq!(path(&mut pair, a).mtu, 1280, "it begins with the base");
    pair.run(secs(60));
    assert_eq!(largest(&mut pair, a, z), (9000, IpFragments::Forbidden));
    // What probes have found to be too large is not believed to fit when they end.
    set(&mut pair, a, |path| (path.mtu, path.mtu_discovery) = (65_000, MtuDiscovery::Icmp));
    assert_eq!(largest(&mut pair, a, z), (9000, IpFragments::Forbidden));
    set(&mut pair, a, |path| (path.mtu, path.mtu_discovery) = (1500, MtuDiscovery::Icmp));
    assert_eq!(largest(&mut pair, a, z), (1500, IpFragments::Forbidden));
}

#[test]
fn without_discovery_packets_are_of_one_size_whatever_anybody_says() {
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", "") };
    let mut pair = Pair::new(&config, 1);
    pair.drop = Box::new(|sent| is_too_large(sent, 1300));
    let (a, z) = pair.connect(&config);
    set(&mut pair, a, |path| (path.mtu, path.mtu_discovery) = (1400, MtuDiscovery::Off));
    assert_eq!(largest(&mut pair, a, z), (1400, IpFragments::Allowed), "routers fragment them");
    let quoted = pair.log.iter().rfind(|sent| sent.from == Side::A).unwrap().bytes.clone();
    let kind = IcmpKind::TooBig { mtu: 1300 };
    let now = pair.now;
    let icmp = Icmp { destination: addresses(Side::Z, 1)[0], kind, quoted: Some(quoted) };
    pair.end(Side::A).handle_icmp(now, &icmp);
    assert_eq!(path(&mut pair, a).mtu, 1400);
    pair.run(secs(1200));
    assert_eq!(largest(&mut pair, a, z), (1400, IpFragments::Allowed));
    set(&mut pair, a, |path| (path.mtu, path.mtu_discovery) = (1200, MtuDiscovery::Icmp));
    assert_eq!(largest(&mut pair, a, z), (1200, IpFragments::Forbidden));
    for (mtu, discovery, why) in [
        (511, MtuDiscovery::Off, "mtu is 511, not in 512 to 65535"),
        (1500, MtuDiscovery::probes(1499), "mtu_discovery.max is 1499, not in 1500 to 65535"),
        (
            1500,
            MtuDiscovery::Probes { max: 9000, raise_after: ms(999) },
            "mtu_discovery.raise_after is 999ms, not 1s or more",
        ),
    ] {
        let settings = path(&mut pair, a).settings;
        let wrong = crate::PathSettings { mtu, mtu_discovery: discovery, ..settings };
        let now = pair.now;
        let refused = pair.end(Side::A).configure_path(now, a, PathId(0), wrong);
        assert!(refused.unwrap_err().to_string().contains(why), "{why}");
    }
}

#[test]
fn what_holds_for_a_path_outlives_a_restart_of_the_peer() {
    let config = AssociationConfig { no_delay: true, ..profile("rfc9260", "") };
    let (mut pair, a, _) = searched(&config, 9000);
    set(&mut pair, a, |path| path.mtu_discovery = MtuDiscovery::probes(9000));
    pair.run(secs(60));
    assert_eq!(path(&mut pair, a).mtu, 9000);
    let local_addresses = addresses(Side::Z, 1);
    let another = EndpointConfig { local_addresses, ..EndpointConfig::default() };
    pair.replace(Side::Z, Endpoint::new(another, [9; 32]));
    pair.open(Side::Z, &config);
    pair.run(secs(1));
    assert!(pair.saw(Side::A, |event| *event == Event::Restarted));
    assert_eq!(path(&mut pair, a).settings.mtu_discovery, MtuDiscovery::probes(9000));
    pair.run(secs(60));
    assert_eq!(path(&mut pair, a).mtu, 9000, "it is found again");
}

/// The window grows by the MTU, also that of small messages in packets of their own (RFC 9260 §7.2.2).
#[test]
fn what_the_window_holds_back_is_worth_a_search() {
    let config = AssociationConfig { bundling: false, ..searching(1500) };
    let mut pair = Pair::new(&config, 1);
    let (a, _) = pair.connect(&config);
    for _ in 0..200 {
        let (now, options) = (pair.now, SendOptions::default());
        let message = Bytes::from(vec![1; 50]);
        pair.end(Side::A).send(now, a, StreamId(0), message, options).unwrap();
    }
    pair.run(secs(5));
    assert_eq!(path(&mut pair, a).mtu, 1500);
    // What is lost of small packets says nothing of the probe, which was large.
    pair.drop = Box::new(|sent| sent.number % 5 == 0);
    for _ in 0..300 {
        pair.send(Side::A, a, 0, vec![1; 50]);
        pair.run(ms(50));
    }
    let found = path(&mut pair, a);
    assert_eq!((found.mtu, found.counters.mtu_black_holes), (1500, 0));
}

#[test]
fn a_window_of_one_large_packet_does_not_wait_for_delayed_sacks() {
    let config = |profile: &str| {
        let base = searching(9000);
        AssociationConfig { profile: super::profile(profile, "").profile, ..base }
    };
    for (name, waits) in [("rfc9260", true), ("rfc9260+immediate-sack", false)] {
        let mut pair = Pair::new(&config(name), 1);
        let (a, z) = pair.connect(&config(name));
        // Enough to begin the search, and too little at a time to open the window.
        for _ in 0..10 {
            pair.send(Side::A, a, 0, vec![0; 4000]);
            pair.run(secs(1));
        }
        pair.run(secs(60));
        let stats = path(&mut pair, a);
        assert!((stats.mtu, stats.cwnd < 9000) == (9000, true), "{stats:?}");
        pair.recv_all(Side::Z, z);
        pair.send(Side::A, a, 0, vec![7; 50_000]);
        pair.run(ms(150));
        assert_eq!(pair.recv_all(Side::Z, z).is_empty(), waits, "{name}");
    }
}
