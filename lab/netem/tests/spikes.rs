//! What delay spikes do to packets at each place.

use tresse_netem::{
    Class, Link, LinkChange, LinkConfig, Nanos, Spike, SpikePlace, SpikesConfig, Verdict,
};

const MS: fn(u64) -> Nanos = Nanos::from_millis;

/// 1 Mbit/s, 10 ms: a packet of 1250 bytes takes 10 ms to serialise. A spike from 100 to 200 ms.
fn config(place: SpikePlace) -> LinkConfig {
    let list = vec![Spike { start_ms: 100.0, length_ms: 100.0 }];
    LinkConfig {
        spikes: Some(SpikesConfig { list, place, ..SpikesConfig::default() }),
        ..LinkConfig::new(1000.0, 10.0)
    }
}

/// Offers a packet of 1250 bytes at each moment and lists what arrives when.
fn carry(config: LinkConfig, offers: &[u64]) -> (Vec<(u64, u64)>, Link<u64>) {
    let mut link = Link::new(config, 7).expect("valid settings");
    let mut arrived = Vec::new();
    let mut collect = |link: &mut Link<u64>, until: Nanos| {
        while let Some(now) = link.next_wakeup().filter(|now| *now <= until) {
            while let Some(delivery) = link.poll(now) {
                assert_eq!(delivery.at, now, "nothing arrives between wake-ups");
                arrived.push((delivery.at.as_millis(), delivery.packet));
            }
        }
    };
    for (packet, at) in offers.iter().enumerate() {
        collect(&mut link, MS(*at));
        link.offer(MS(*at), 1250, Class::NONE, packet as u64 + 1);
    }
    collect(&mut link, Nanos::MAX);
    (arrived, link)
}

#[test]
fn at_the_sender_packets_wait_outside_and_enter_together() {
    // 1 and 2 are in before the spike; the queue empties during it.
    let (arrived, link) = carry(config(SpikePlace::Sender), &[95, 99, 100, 150, 199, 200, 250]);
    let expected = [(115, 1), (125, 2), (220, 3), (230, 4), (240, 5), (250, 6), (270, 7)];
    assert_eq!(arrived, expected);
    assert_eq!(link.stats().max_queue_packets, 3, "3 goes out at once, 4, 5 and 6 wait");
}

#[test]
fn packets_kept_outside_take_no_queue_until_they_enter_it() {
    let limited = LinkConfig { queue_packets: Some(2), ..config(SpikePlace::Sender) };
    let (arrived, link) = carry(limited, &[100, 110, 120, 130, 140]);
    assert_eq!(arrived, [(220, 1), (230, 2), (240, 3)]);
    assert_eq!((link.stats().dropped_queue, link.stats().in_transit), (2, 0));
}

#[test]
fn at_the_link_nothing_is_serialised() {
    // 1 is out, 2 is half out when the spike begins, 3 to 5 wait.
    let (arrived, link) = carry(config(SpikePlace::Link), &[85, 86, 100, 150, 200]);
    assert_eq!(arrived, [(105, 1), (215, 2), (225, 3), (235, 4), (245, 5)]);
    assert_eq!(link.stats().max_queue_packets, 3);
    let limited = LinkConfig { queue_packets: Some(1), ..config(SpikePlace::Link) };
    let (arrived, link) = carry(limited, &[85, 86, 100, 150, 200]);
    assert_eq!(arrived, [(105, 1), (215, 2), (225, 3)]);
    assert_eq!(link.stats().dropped_queue, 2);
}

#[test]
fn a_link_without_a_rate_stalls_as_well() {
    let unlimited = LinkConfig { bandwidth_kbps: None, ..config(SpikePlace::Link) };
    let (arrived, _) = carry(unlimited, &[99, 100, 150, 200]);
    assert_eq!(arrived, [(109, 1), (210, 2), (210, 3), (210, 4)]);
}

#[test]
fn at_the_receiver_packets_arrive_together() {
    let (arrived, _) = carry(config(SpikePlace::Receiver), &[79, 80, 81, 150, 180, 190]);
    // 79 would arrive at 99, 80 at 109, 81 at 119, 150 at 170, 180 at 200, 190 at 210.
    assert_eq!(arrived, [(99, 1), (200, 2), (200, 3), (200, 4), (200, 5), (210, 6)]);
}

#[test]
fn reordered_packets_wait_at_the_receiver_too() {
    let base = config(SpikePlace::Receiver);
    let delayed =
        LinkConfig { reorder_packets: vec![1], reorder_delay_ms: Some(60.0), ..base.clone() };
    assert_eq!(carry(delayed, &[50, 60]).0, [(80, 2), (200, 1)]);
    let expired = LinkConfig {
        reorder_packets: vec![1],
        reorder_after: Some(3),
        reorder_hold_ms: Some(60.0),
        ..base.clone()
    };
    assert_eq!(carry(expired, &[50, 60]).0, [(80, 2), (200, 1)]);
    // Passed by the second packet, which waits itself.
    let passed = LinkConfig { reorder_packets: vec![1], reorder_after: Some(1), ..base };
    assert_eq!(carry(passed, &[70, 110]).0, [(200, 2), (200, 1)]);
}

#[test]
fn loss_at_the_entry_comes_before_the_spike() {
    let lossy = LinkConfig { drop_packets: vec![2], ..config(SpikePlace::Sender) };
    let mut link = Link::new(lossy, 1).expect("valid");
    assert_eq!(link.offer(MS(110), 1250, Class::NONE, 1), Verdict::Accepted);
    assert!(matches!(link.offer(MS(120), 1250, Class::NONE, 2), Verdict::Dropped(_)));
    assert_eq!(link.stats().in_transit, 1);
}

#[test]
fn going_down_loses_what_waits_outside() {
    for place in [SpikePlace::Sender, SpikePlace::Link, SpikePlace::Receiver] {
        let up = |at_ms, up| LinkChange { at_ms, up: Some(up), ..LinkChange::default() };
        let config =
            LinkConfig { changes: vec![up(150.0, false), up(160.0, true)], ..config(place) };
        let (arrived, link) = carry(config, &[90, 120, 170]);
        let expected: &[_] = match place {
            SpikePlace::Sender => &[(110, 1), (220, 3)],
            // The first had left when the spike began, and was on its way for 10 ms.
            SpikePlace::Link => &[(110, 1), (220, 3)],
            SpikePlace::Receiver => &[(200, 3)],
        };
        assert_eq!(arrived, expected, "{place:?}");
        let lost = 3 - expected.len() as u64;
        assert_eq!((link.stats().dropped_down, link.stats().in_transit), (lost, 0));
    }
}

#[test]
fn without_their_spikes_packets_enter_at_once() {
    let mut link = Link::new(config(SpikePlace::Sender), 1).expect("valid");
    link.offer(MS(110), 1250, Class::NONE, 1);
    link.reconfigure(MS(120), LinkConfig::new(1000.0, 10.0)).expect("valid");
    link.offer(MS(120), 1250, Class::NONE, 2);
    let arrived: Vec<_> =
        std::iter::from_fn(|| link.poll(MS(500))).map(|d| (d.at.as_millis(), d.packet)).collect();
    assert_eq!(arrived, [(140, 1), (150, 2)]);
}

#[test]
fn random_spikes_follow_from_the_seed_whatever_the_traffic() {
    let spikes = SpikesConfig {
        interval_s: Some([1.0, 2.0]),
        length_s: Some([0.3, 1.0]),
        place: SpikePlace::Receiver,
        ..SpikesConfig::default()
    };
    let config = LinkConfig { spikes: Some(spikes), ..LinkConfig::default() };
    // Ends of spikes as one packet every `step` ms sees them; a spike is longer than a step.
    let ends = |seed, step| {
        let mut link = Link::new(config.clone(), seed).expect("valid");
        for at in (0..100_000).step_by(step) {
            link.offer(MS(at), 100, Class::NONE, ());
        }
        let mut ends: Vec<Nanos> = std::iter::from_fn(|| link.poll(MS(1_000_000)))
            .filter(|delivery| delivery.at != delivery.offered_at)
            .map(|delivery| delivery.at)
            .collect();
        ends.dedup();
        ends
    };
    let seen = ends(1, 10);
    assert!((30..80).contains(&seen.len()), "{} spikes in 100 s", seen.len());
    assert_eq!(seen, ends(1, 100));
    assert_ne!(seen, ends(2, 10));
}
