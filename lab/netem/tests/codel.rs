//! Controlled delay at the head of a real queue.

use tresse_netem::{Class, CodelConfig, Link, LinkConfig, Nanos};

/// 10 Mbit/s: a packet of 1250 bytes takes 1 ms to serialise.
fn link(codel: Option<CodelConfig>) -> Link<u64> {
    let config = LinkConfig { codel, queue_packets: Some(200), ..LinkConfig::new(10_000.0, 5.0) };
    Link::new(config, 1).expect("valid")
}

/// A burst, then `seconds` of a packet each millisecond, which is just what the link can carry. Milliseconds that
/// each delivered packet took.
fn burst_and_full_load(link: &mut Link<u64>, burst: u64, seconds: u64) -> Vec<(u64, u64)> {
    let mut took = Vec::new();
    for ms in 0..seconds * 1000 {
        let now = Nanos::from_millis(ms);
        while let Some(delivery) = link.poll(now) {
            took.push((ms, (delivery.at - delivery.offered_at).as_millis()));
        }
        for n in 0..if ms == 0 { burst } else { 1 } {
            link.offer(now, 1250, Class::NONE, n);
        }
    }
    took
}

/// RFC 8289 §3: a standing queue only delays. Drop tail keeps the 50 ms of the burst for ever. CoDel drops some 45
/// packets, at distances of 100 / sqrt(n) ms, in Σ 100 / sqrt(n) = 1.25 s after the first interval.
#[test]
fn a_standing_queue_is_taken_away() {
    let mut tail = link(None);
    let took = burst_and_full_load(&mut tail, 50, 5);
    assert_eq!(took.last().map(|(_, ms)| *ms), Some(55));
    let mut codel = link(Some(CodelConfig::default()));
    let took = burst_and_full_load(&mut codel, 50, 5);
    let late: Vec<u64> = took.iter().filter(|(at, _)| *at > 1500).map(|(_, ms)| *ms).collect();
    assert!(late.len() > 3400 && late.iter().all(|ms| *ms <= 5 + 1 + 5), "{:?}", late.iter().max());
    let stats = codel.stats();
    assert!((44..=47).contains(&stats.dropped_codel), "{}", stats.dropped_codel);
    assert_eq!(stats.dropped(), stats.dropped_codel);
    assert_eq!(stats.offered, stats.delivered + stats.dropped() + stats.in_transit);
}

/// RFC 8289 §3.1: "good queue" is gone within a round trip; nothing of it is dropped.
#[test]
fn a_burst_that_drains_within_an_interval_is_let_through() {
    let mut link = link(Some(CodelConfig::default()));
    for n in 0..90 {
        link.offer(Nanos::ZERO, 1250, Class::NONE, n);
    }
    let mut arrived = Vec::new();
    while let Some(now) = link.next_wakeup() {
        while let Some(delivery) = link.poll(now) {
            assert_eq!(delivery.at, now, "woken at the moment of each arrival");
            arrived.push(delivery.packet);
        }
    }
    assert_eq!(arrived, (0..90).collect::<Vec<_>>());
    assert_eq!(link.stats().dropped(), 0);
}

#[test]
fn it_stands_in_toml_and_excludes_red() {
    let config: LinkConfig = toml::from_str("codel = {}").expect("a table");
    assert_eq!(config.codel, Some(CodelConfig::default()));
    let both: LinkConfig =
        toml::from_str("codel.target_ms = 10\nred = { min_threshold = 5, max_threshold = 15 }")
            .expect("tables");
    assert_eq!(both.validate().unwrap_err().key, "codel");
    let marks: LinkConfig = toml::from_str("codel.ecn = true").expect("a table");
    assert_eq!(marks.codel, Some(CodelConfig { ecn: true, ..CodelConfig::default() }));
    assert!(toml::from_str::<LinkConfig>("codel.marks = true").is_err());
}
