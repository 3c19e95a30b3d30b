//! What each stage does to packets, in exact numbers.

use tresse_netem::{Class, DropCause, Link, LinkConfig, LossStage, Nanos, Verdict};

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn link(config: LinkConfig) -> Link<u32> {
    Link::new(config, 7).expect("valid settings")
}

/// 1 Mbit/s, 10 ms: a packet of 1250 bytes takes 10 ms to serialise.
fn slow() -> LinkConfig {
    LinkConfig::new(1000.0, 10.0)
}

/// Everything that arrives up to `until`, as milliseconds and packet.
fn arrivals(link: &mut Link<u32>, until: Nanos) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| link.poll(until)).map(|d| (d.at.as_millis(), d.packet)).collect()
}

/// Offers packets 1 to `count` of 1250 bytes at once and lists all arrivals.
fn burst(config: LinkConfig, count: u32) -> (Vec<(u64, u32)>, Link<u32>) {
    let mut link = link(config);
    for packet in 1..=count {
        link.offer(Nanos::ZERO, 1250, Class::NONE, packet);
    }
    (arrivals(&mut link, MS(1_000_000)), link)
}

fn packets(arrivals: &[(u64, u32)]) -> Vec<u32> {
    arrivals.iter().map(|(_, packet)| *packet).collect()
}

#[test]
fn a_perfect_link_delivers_at_once() {
    let mut link = link(LinkConfig::default());
    assert_eq!(link.next_wakeup(), None);
    assert_eq!(link.offer(MS(5), 1500, Class::NONE, 1), Verdict::Accepted);
    assert_eq!(link.next_wakeup(), Some(MS(5)));
    let delivery = link.poll(MS(5)).expect("arrived");
    assert_eq!((delivery.at, delivery.offered_at, delivery.number), (MS(5), MS(5), 1));
    assert!(!delivery.copy && delivery.corruption.is_none());
    assert_eq!(link.poll(MS(5)), None);
    assert_eq!(link.next_wakeup(), None);
}

#[test]
fn serialisation_then_delay() {
    let (arrived, link) = burst(slow(), 3);
    assert_eq!(arrived, [(20, 1), (30, 2), (40, 3)]);
    let stats = link.stats();
    assert_eq!((stats.offered_bytes, stats.delivered_bytes), (3750, 3750));
    // Two packets waited from 0 to 10 ms, one from 10 to 20 ms.
    assert_eq!((stats.max_queue_packets, stats.max_queue_bytes), (2, 2500));
    assert!((stats.mean_queue_packets(MS(40)) - 0.75).abs() < 1e-9);
    assert!((stats.mean_queue_bytes(MS(40)) - 937.5).abs() < 1e-9);
}

#[test]
fn overhead_costs_bandwidth_but_is_not_counted_as_delivered() {
    let (arrived, link) = burst(LinkConfig { overhead_bytes: 125, ..slow() }, 2);
    assert_eq!(arrived, [(21, 1), (32, 2)]);
    assert_eq!(link.stats().delivered_bytes, 2500);
}

#[test]
fn drop_tail_counts_waiting_packets_or_bytes() {
    for config in [
        LinkConfig { queue_packets: Some(2), ..slow() },
        LinkConfig { queue_bytes: Some(2500), ..slow() },
        LinkConfig { queue_bytes: Some(3749), ..slow() },
    ] {
        // One is being serialised, two wait, the rest does not fit.
        let (arrived, link) = burst(config, 5);
        assert_eq!(packets(&arrived), [1, 2, 3]);
        assert_eq!(link.stats().dropped_queue, 2);
    }
    let mut link = link(LinkConfig { queue_packets: Some(0), ..slow() });
    assert_eq!(link.offer(MS(0), 1250, Class::NONE, 1), Verdict::Accepted);
    assert_eq!(link.offer(MS(9), 1250, Class::NONE, 2), Verdict::Dropped(DropCause::Queue));
    assert_eq!(link.offer(MS(10), 1250, Class::NONE, 3), Verdict::Accepted);
}

#[test]
fn lists_name_packets_among_all_or_of_a_class() {
    let mut link = link(LinkConfig {
        drop_packets: vec![6],
        drop_data: vec![2],
        drop_acks: vec![1, 3],
        ..LinkConfig::default()
    });
    let (data, ack) = (Class::DATA, Class::ACK);
    let both = data | ack;
    let classes = [Class::NONE, data, ack, both, ack, data, Class::NONE];
    let lost: Vec<usize> = (1..)
        .zip(classes)
        .filter(|(_, class)| {
            let verdict = link.offer(MS(0), 100, *class, 0);
            verdict == Verdict::Dropped(DropCause::Pattern)
        })
        .map(|(number, _)| number)
        .collect();
    // 3: first acknowledgment; 4: second of data; 5: third acknowledgment; 6: sixth packet.
    assert_eq!(lost, [3, 4, 5, 6]);
    let stats = link.stats();
    assert_eq!((stats.offered, stats.offered_data, stats.offered_acks), (7, 3, 3));
}

#[test]
fn loss_on_the_wire_takes_bandwidth() {
    let config = LinkConfig { drop_packets: vec![2], ..slow() };
    assert_eq!(burst(config.clone(), 3).0, [(20, 1), (30, 3)]);
    let (arrived, link) = burst(LinkConfig { loss_stage: LossStage::Wire, ..config }, 3);
    assert_eq!(arrived, [(20, 1), (40, 3)]);
    assert_eq!(link.stats().dropped_pattern, 1);
}

#[test]
fn random_loss_has_its_rate_and_replays() {
    let lost = |seed| {
        let config = LinkConfig { loss: 0.05, ..LinkConfig::default() };
        let mut link = Link::new(config, seed).expect("valid");
        let verdicts: Vec<Verdict> =
            (0..100_000).map(|_| link.offer(MS(0), 100, Class::NONE, ())).collect();
        (link.stats().dropped_random, verdicts)
    };
    let (count, verdicts) = lost(1);
    // Within five standard deviations of 69.
    assert!((4655..=5345).contains(&count), "{count} of 100000 lost");
    assert_eq!(verdicts, lost(1).1);
    assert_ne!(verdicts, lost(2).1);
}

#[test]
fn impairments_draw_from_streams_of_their_own() {
    let base = LinkConfig { loss: 0.1, ..LinkConfig::default() };
    let lost = |config: LinkConfig| -> Vec<bool> {
        let mut link = link(config);
        (0..1000).map(|_| link.offer(MS(0), 100, Class::NONE, 0) != Verdict::Accepted).collect()
    };
    let other = LinkConfig {
        duplicate: 0.3,
        corrupt: 0.3,
        reorder: 0.3,
        reorder_after: Some(2),
        delay_ms: 5.0,
        jitter_ms: 5.0,
        ..base.clone()
    };
    assert_eq!(lost(base), lost(other));
}

#[test]
fn a_copy_follows_and_takes_bandwidth() {
    let config = LinkConfig { duplicate_packets: vec![2], drop_packets: vec![3], ..slow() };
    let (arrived, link) = burst(config, 4);
    assert_eq!(arrived, [(20, 1), (30, 2), (40, 2), (50, 4)]);
    assert_eq!((link.stats().duplicated, link.stats().delivered), (1, 4));
    let mut link = self::link(LinkConfig { duplicate: 1.0, ..LinkConfig::default() });
    link.offer(MS(0), 9, Class::NONE, 1);
    assert!(!link.poll(MS(0)).expect("original").copy);
    assert!(link.poll(MS(0)).expect("copy").copy);
}

#[test]
fn corruption_says_which_bits() {
    let config = LinkConfig { corrupt_packets: vec![2], corrupt_bits: 3, ..LinkConfig::default() };
    let mut link = link(config);
    for packet in 1..=2 {
        link.offer(MS(0), 20, Class::NONE, packet);
    }
    assert_eq!(link.poll(MS(0)).expect("first").corruption, None);
    let corruption = link.poll(MS(0)).expect("second").corruption.expect("corrupted");
    let mut bytes = [0u8; 20];
    corruption.apply(&mut bytes);
    assert_eq!(bytes.iter().map(|b| b.count_ones()).sum::<u32>(), 3);
    assert_eq!(link.stats().corrupted, 1);
}

#[test]
fn reordering_by_packets_that_pass() {
    let config = LinkConfig { reorder_packets: vec![2], reorder_after: Some(3), ..slow() };
    let (arrived, link) = burst(config.clone(), 7);
    // Packet 2 uses its turn on the bottleneck and arrives right behind packet 5.
    assert_eq!(arrived, [(20, 1), (40, 3), (50, 4), (60, 5), (60, 2), (70, 6), (80, 7)]);
    assert_eq!(link.stats().reordered, 1);
    // Too few pass: it stays, for ever or as long as allowed.
    let (arrived, mut link) = burst(config.clone(), 4);
    assert_eq!(packets(&arrived), [1, 3, 4]);
    assert_eq!((link.stats().in_transit, link.next_wakeup()), (1, None));
    link.set_up(MS(2_000_000), false);
    assert_eq!(link.stats().dropped_down, 1);
    let (arrived, link) = burst(LinkConfig { reorder_hold_ms: Some(15.0), ..config }, 4);
    assert_eq!(arrived, [(20, 1), (40, 3), (45, 2), (50, 4)]);
    assert_eq!(link.stats().in_transit, 0);
}

#[test]
fn several_packets_held_back_keep_their_order() {
    let config =
        LinkConfig { reorder_packets: vec![1, 2], reorder_after: Some(2), ..LinkConfig::default() };
    assert_eq!(packets(&burst(config, 4).0), [3, 4, 1, 2]);
}

#[test]
fn reordering_by_delay() {
    let config = LinkConfig { reorder_data: vec![1], reorder_delay_ms: Some(15.0), ..slow() };
    let mut link = link(config);
    for (packet, class) in [(1, Class::ACK), (2, Class::DATA), (3, Class::NONE), (4, Class::DATA)] {
        link.offer(MS(0), 1250, class, packet);
    }
    assert_eq!(arrivals(&mut link, MS(100)), [(20, 1), (40, 3), (45, 2), (50, 4)]);
    assert_eq!(link.stats().reordered, 1);
}

#[test]
fn jitter_stays_in_its_bounds_and_keeps_order_unless_told() {
    let config = LinkConfig { delay_ms: 20.0, jitter_ms: 15.0, ..LinkConfig::default() };
    for reorders in [false, true] {
        let mut link = link(LinkConfig { jitter_reorders: reorders, ..config.clone() });
        let mut delays = Vec::new();
        for packet in 0..2000 {
            let now = MS(u64::from(packet));
            link.offer(now, 100, Class::NONE, packet);
        }
        let mut order = Vec::new();
        while let Some(delivery) = link.poll(MS(10_000)) {
            delays.push((delivery.at - delivery.offered_at).as_secs_f64() * 1e3);
            order.push(delivery.packet);
        }
        assert_eq!(order.is_sorted(), !reorders);
        assert_eq!(link.stats().reordered > 0, reorders);
        assert!(delays.iter().all(|d| (5.0..=35.0).contains(d)));
        let mean = delays.iter().sum::<f64>() / delays.len() as f64;
        assert!(!reorders || (mean - 20.0).abs() < 1.0, "mean {mean}");
    }
}

#[test]
fn going_down_loses_everything_inside() {
    let mut link = link(slow());
    for packet in 1..=5 {
        link.offer(MS(0), 1250, Class::NONE, packet);
    }
    assert_eq!(arrivals(&mut link, MS(25)), [(20, 1)]);
    link.set_up(MS(25), false);
    link.set_up(MS(26), false);
    assert_eq!((link.stats().dropped_down, link.stats().in_transit), (4, 0));
    assert_eq!(link.offer(MS(30), 1250, Class::NONE, 6), Verdict::Dropped(DropCause::Down));
    link.set_up(MS(40), true);
    assert_eq!(link.offer(MS(40), 1250, Class::NONE, 7), Verdict::Accepted);
    assert_eq!(arrivals(&mut link, MS(1000)), [(60, 7)]);
}

#[test]
fn new_settings_apply_to_what_has_not_started() {
    let mut link = link(slow());
    for packet in 1..=4 {
        link.offer(MS(0), 1250, Class::NONE, packet);
    }
    // At 15 ms packet 2 is half out; 3 and 4 go twice as fast.
    let faster = LinkConfig { bandwidth_kbps: Some(2000.0), drop_packets: vec![2, 5], ..slow() };
    link.reconfigure(MS(15), faster.clone()).expect("valid");
    assert_eq!(link.config(), &faster);
    assert_eq!(
        link.offer(MS(15), 1250, Class::NONE, 5),
        Verdict::Dropped(DropCause::Pattern),
        "numbers go on"
    );
    assert_eq!(arrivals(&mut link, MS(1000)), [(20, 1), (30, 2), (35, 3), (40, 4)]);
    let fault = link.reconfigure(MS(2000), LinkConfig { loss: 2.0, ..slow() });
    assert!(fault.is_err());
    assert_eq!(link.config(), &faster);
}

#[test]
fn a_shorter_delay_lets_nobody_overtake() {
    let mut link = link(LinkConfig { delay_ms: 100.0, ..LinkConfig::default() });
    link.offer(MS(0), 100, Class::NONE, 1);
    link.reconfigure(MS(1), LinkConfig { delay_ms: 10.0, ..LinkConfig::default() }).expect("valid");
    link.offer(MS(1), 100, Class::NONE, 2);
    link.offer(MS(95), 100, Class::NONE, 3);
    assert_eq!(arrivals(&mut link, MS(1000)), [(100, 1), (100, 2), (105, 3)]);
}

#[test]
fn time_does_not_run_backwards() {
    let mut link = link(slow());
    link.offer(MS(100), 1250, Class::NONE, 1);
    link.offer(MS(50), 1250, Class::NONE, 2);
    assert_eq!(arrivals(&mut link, MS(1000)), [(120, 1), (130, 2)]);
}
