//! Concurrent transfer over two unlike paths that lose packets: whatever is switched on, every
//! message arrives once, those of a stream in order.

use std::collections::BTreeMap;

use super::*;
use crate::error::SendError;
use crate::rng::Rng;
use crate::stats::PathCounters;

const MESSAGES: u32 = 250;
const STREAMS: u16 = 3;

/// Message number `n`: stream, unordered or not, and length follow from it.
fn message(n: u32) -> (u16, bool, Vec<u8>) {
    let len = [30, 400, 1400, 5000][n as usize % 4] + n as usize % 7;
    let mut payload = vec![n as u8; len];
    payload[..4].copy_from_slice(&n.to_be_bytes());
    ((n % u32::from(STREAMS)) as u16, n.is_multiple_of(5), payload)
}

/// A transfer from A to Z with small buffers and a reader that is sometimes slow.
fn transfer(name: &str, seed: u8) -> Pair {
    let config = AssociationConfig {
        concurrent_transfer: true,
        send_buffer: 30_000,
        receive_buffer: 24_000,
        ..profile(name, "[rto]\nmin_ms = 100")
    };
    let (mut pair, a, z) = Pair::connected(&config, 2);
    pair.run(secs(3)); // Both paths are confirmed.
    let mut rng = Rng::from_seed([seed; 32]);
    pair.drop = Box::new(move |p| p.number > 20 && rng.next_f64() < 0.03);
    // The second path is slower by 25 ms.
    let slow = addresses(Side::Z, 2)[1];
    pair.detour = Box::new(move |p| if p.to.destination == slow { ms(25) } else { Duration::ZERO });
    let mut waiting = 0;
    let mut next: BTreeMap<u16, u32> = BTreeMap::new();
    let mut arrived = vec![false; MESSAGES as usize];
    let deadline = pair.now + secs(600);
    while arrived.iter().any(|arrived| !arrived) {
        assert!(pair.now < deadline, "{name}, seed {seed}: stalled");
        while waiting < MESSAGES {
            let (stream, unordered, payload) = message(waiting);
            let options = SendOptions { unordered, ..SendOptions::default() };
            let now = pair.now;
            match pair.end(Side::A).send(now, a, StreamId(stream), payload.into(), options) {
                Ok(()) => waiting += 1,
                Err(SendError::WouldBlock) => break,
                Err(error) => panic!("{name}, seed {seed}: {error}"),
            }
        }
        pair.run(ms(20));
        if (pair.now.as_nanos() / 100_000_000).is_multiple_of(3) {
            continue;
        }
        for received in pair.recv_all(Side::Z, z) {
            let n = u32::from_be_bytes(received.payload[..4].try_into().unwrap());
            let (stream, unordered, payload) = message(n);
            assert_eq!(received.payload, payload);
            assert!(!std::mem::replace(&mut arrived[n as usize], true), "{n} came twice");
            if !unordered {
                let last = next.insert(stream, n);
                assert!(
                    last.is_none_or(|last| last < n),
                    "{name}, seed {seed}: {n} after {last:?}"
                );
            }
        }
    }
    // The last SACK may be lost, too.
    while pair.end(Side::A).stats(a).unwrap().send_buffered > 0 {
        assert!(pair.now < deadline, "{name}, seed {seed}: never acknowledged");
        pair.run(secs(1));
    }
    pair
}

const CONTROLS: [&str; 6] = ["cmt-rpv1", "cmt-rpv2", "lia", "olia", "balia", "rfc9260"];

#[test]
fn every_message_arrives_once_whatever_is_switched_on() {
    let bases = ["rfc9260", "tresse", "freebsd-cmt", "sarnow-rescheduling"];
    let receivers = ["", "+nr-sack", "+nr-sack-all", "+dac", "+nr-sack-all+dac", "+nr-sack+dac"];
    let windows = ["", "+sack-window", "+sack-window-pieces"];
    for (seed, base) in (0..24).zip(bases.iter().cycle()) {
        let (control, receiver) = (CONTROLS[seed % 6], receivers[seed * 5 / 4 % 6]);
        let window = windows[seed / 2 % 3];
        let control = if control == "rfc9260" { String::new() } else { format!("+{control}") };
        let name = format!("{base}{control}{receiver}{window}");
        transfer(&name, seed as u8);
    }
}

#[test]
fn a_receiver_that_promised_everything_never_reneges() {
    for seed in 0..8 {
        let mut pair = transfer("freebsd-cmt+nr-sack-all+dac", seed);
        let a = pair.end(Side::A).associations()[0];
        assert_eq!(pair.end(Side::A).stats(a).unwrap().reneged, 0, "seed {seed}");
        assert!(pair.sent(Side::Z, ChunkType::SACK).is_empty());
    }
}

/// The windows of both paths after a while without loss, in bytes.
fn windows(control: &str, scheduler: Option<&str>) -> [usize; 2] {
    let concurrent_transfer = scheduler.is_some();
    let scheduler = scheduler.unwrap_or("primary");
    let overrides =
        format!("[congestion]\nalgorithm = '{control}'\n[multipath]\nscheduler = '{scheduler}'");
    let config = AssociationConfig { concurrent_transfer, ..profile("rfc9260", &overrides) };
    let (mut pair, a, z) = Pair::connected(&config, 2);
    pair.run(secs(3));
    for _ in 0..90 {
        let now = pair.now;
        let payload = Bytes::from(vec![0; 10_000]);
        pair.end(Side::A).send(now, a, StreamId(0), payload, SendOptions::default()).unwrap();
    }
    for _ in 0..30 {
        pair.run(ms(5));
        pair.recv_all(Side::Z, z);
    }
    [0, 1].map(|path| pair.end(Side::A).path_stats(a)[path].cwnd)
}

#[test]
fn a_path_counts_for_the_others_while_it_carries_data() {
    // CMT/RPv1 splits the growth of slow start by ssthresh, which is the same for both paths.
    let growth = |windows: [usize; 2]| windows.map(|cwnd| cwnd - 4404);
    let both = Some("round-robin");
    let plain = growth(windows("rfc9260", None));
    assert!(plain[0] > 50_000 && plain[1] == 0, "{plain:?}");
    for idle in [None, Some("primary")] {
        assert_eq!(growth(windows("cmt-rpv1", idle)), plain, "the idle path does not count");
    }
    let [first, second] = growth(windows("cmt-rpv1", both));
    let together = growth(windows("rfc9260", both)).iter().sum::<usize>();
    assert!(first > 0 && second > 0);
    assert!(2 * (first + second) < together, "{first} + {second}, but {together} uncoupled");
}

#[test]
fn the_figures_of_the_paths_are_those_of_the_association_and_outlive_it() {
    let mut pair = transfer("tresse", 5);
    let end = pair.end(Side::A);
    let a = end.associations()[0];
    let (stats, paths) = (end.stats(a).unwrap(), end.path_stats(a));
    let sum = |count: fn(&PathCounters) -> u64| -> u64 {
        paths.iter().map(|path| count(&path.counters)).sum()
    };
    assert_eq!(sum(|c| c.packets_sent), stats.packets_sent);
    assert_eq!(sum(|c| c.bytes_sent), stats.bytes_sent);
    assert_eq!(sum(|c| c.packets_received), stats.packets_received);
    assert_eq!(sum(|c| c.bytes_received), stats.bytes_received);
    assert_eq!(sum(|c| c.data_chunks_sent), stats.data_chunks_sent);
    assert_eq!(sum(|c| c.retransmitted_chunks), stats.retransmissions());
    assert_eq!(sum(|c| c.lost_chunks), stats.losses());
    assert!(stats.losses() > 0 && paths.iter().all(|path| path.counters.data_chunks_sent > 0));
    for path in &paths {
        let wait = path.queueing_delay().unwrap();
        assert_eq!(path.min_rtt.unwrap() + wait, path.srtt.unwrap());
    }

    let now = pair.now;
    let end = pair.end(Side::A);
    end.abort(now, a, b"the end").unwrap();
    pair.run(secs(1));
    let end = pair.end(Side::A);
    end.forget(a);
    assert!(end.stats(a).is_none());
    let totals = end.totals();
    assert_eq!(totals.lost_chunks, stats.lost_chunks);
    assert_eq!(totals.packets_sent, stats.packets_sent + 1, "the ABORT");
    assert_eq!((totals.send_buffered, totals.peer_rwnd), (0, 0));
    let counts = end.endpoint_stats();
    assert_eq!((counts.associations_begun, counts.associations_ended), (1, 1));
}
