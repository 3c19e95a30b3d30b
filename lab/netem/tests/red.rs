//! Random early detection before a real queue.

use tresse_netem::{Class, DropCause, Link, LinkConfig, Nanos, RedConfig, Verdict};

/// 10 Mbit/s: a packet of 1250 bytes takes 1 ms to serialise.
fn config(red: Option<RedConfig>) -> LinkConfig {
    LinkConfig { red, queue_packets: Some(200), ..LinkConfig::new(10_000.0, 5.0) }
}

/// Offers 30 s of packets, 20 % more than fit.
fn overload(config: LinkConfig) -> (Link<()>, Vec<Verdict>) {
    let mut link = Link::new(config, 3).expect("valid");
    let verdicts = (0..36_000)
        .map(|n| {
            let now = Nanos::new(n * 1_000_000_000 / 1200);
            while link.poll(now).is_some() {}
            link.offer(now, 1250, Class::NONE, ())
        })
        .collect();
    (link, verdicts)
}

#[test]
fn the_queue_stays_where_the_drop_probability_is_the_overload() {
    let red = RedConfig { max_probability: 0.3, ..RedConfig::new(20.0, 80.0) };
    let (link, _) = overload(config(Some(red)));
    let stats = link.stats();
    assert_eq!(stats.dropped_queue, 0);
    // One packet in six has to go. Spread, p_b means one drop every (1 + 1 / p_b) / 2 packets, so
    // p_b = 1 / 11 and the average is 20 + 60 * (1 / 11) / 0.3 = 38 packets.
    let share = stats.dropped_red as f64 / 36_000.0;
    assert!((share - 1.0 / 6.0).abs() < 0.01, "{share}");
    let mean = stats.mean_queue_packets(Nanos::from_millis(30_000));
    assert!((mean - 38.2).abs() < 4.0, "{mean}");
    // Drop tail fills the queue instead.
    let (link, verdicts) = overload(config(None));
    assert!(link.stats().mean_queue_packets(Nanos::from_millis(30_000)) > 190.0);
    assert!(verdicts.iter().all(|v| *v != Verdict::Dropped(DropCause::Red)));
}

#[test]
fn an_idle_link_forgets() {
    let red = RedConfig { weight: 0.5, gentle: false, ..RedConfig::new(2.0, 4.0) };
    let mut link = Link::new(config(Some(red)), 1).expect("valid");
    let verdicts: Vec<_> = (0..20).map(|n| link.offer(Nanos::ZERO, 1250, Class::NONE, n)).collect();
    assert_eq!(verdicts.last(), Some(&Verdict::Dropped(DropCause::Red)));
    assert_eq!(link.stats().dropped_red + link.stats().in_transit, 20);
    // 500 bytes take 0.4 ms, so that 100 ms later the average is next to nothing.
    let verdict = link.offer(Nanos::from_millis(120), 1250, Class::NONE, 20);
    assert_eq!(verdict, Verdict::Accepted);
}
