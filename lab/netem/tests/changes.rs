//! Settings that change by themselves.

use tresse_netem::{Class, DropCause, Link, LinkChange, LinkConfig, Nanos, Verdict};

const MS: fn(u64) -> Nanos = Nanos::from_millis;

fn at(at_ms: f64) -> LinkChange {
    LinkChange { at_ms, ..LinkChange::default() }
}

/// 1 Mbit/s, 10 ms: a packet of 1250 bytes takes 10 ms to serialise.
fn slow(changes: Vec<LinkChange>) -> LinkConfig {
    LinkConfig { changes, ..LinkConfig::new(1000.0, 10.0) }
}

fn arrivals(link: &mut Link<u32>, until: u64) -> Vec<(u64, u32)> {
    std::iter::from_fn(|| link.poll(MS(until))).map(|d| (d.at.as_millis(), d.packet)).collect()
}

#[test]
fn bandwidth_applies_from_the_next_packet() {
    let faster = LinkChange { bandwidth_kbps: Some(2000.0), ..at(15.0) };
    for polls in [&[][..], &[5, 15, 16, 28]] {
        let mut link = Link::new(slow(vec![faster]), 1).expect("valid");
        for packet in 1..=4 {
            link.offer(MS(0), 1250, Class::NONE, packet);
        }
        let mut arrived = Vec::new();
        for now in polls {
            arrived.extend(arrivals(&mut link, *now));
        }
        arrived.extend(arrivals(&mut link, 1000));
        // At 15 ms packet 2 is half out.
        assert_eq!(arrived, [(20, 1), (30, 2), (35, 3), (40, 4)]);
        assert_eq!(link.config().bandwidth_kbps, Some(2000.0));
    }
}

#[test]
fn a_wake_up_is_not_too_late_for_a_shorter_delay() {
    let config = LinkConfig {
        changes: vec![LinkChange { delay_ms: Some(1.0), ..at(5.0) }],
        ..LinkConfig::new(1000.0, 500.0)
    };
    let mut link = Link::new(config, 1).expect("valid");
    link.offer(MS(0), 1250, Class::NONE, 1);
    link.offer(MS(0), 1250, Class::NONE, 2);
    let mut arrived = Vec::new();
    while let Some(now) = link.next_wakeup() {
        while let Some(delivery) = link.poll(now) {
            assert_eq!(delivery.at, now);
            arrived.push((now.as_millis(), delivery.packet));
        }
    }
    assert_eq!(arrived, [(510, 1), (510, 2)], "nobody overtakes");
}

#[test]
fn loss_comes_and_goes() {
    let loss = |at_ms, loss| LinkChange { loss: Some(loss), ..at(at_ms) };
    let config =
        LinkConfig { changes: vec![loss(10.0, 1.0), loss(20.0, 0.0)], ..LinkConfig::default() };
    let mut link = Link::new(config, 1).expect("valid");
    for packet in 0..30_u32 {
        let verdict = link.offer(MS(packet.into()), 100, Class::NONE, packet);
        let lost = (10..20).contains(&packet);
        let expected = if lost { Verdict::Dropped(DropCause::Random) } else { Verdict::Accepted };
        assert_eq!(verdict, expected, "{packet}");
    }
}

#[test]
fn an_outage_again_and_again() {
    let up = |at_ms, up| LinkChange { up: Some(up), every_ms: Some(100.0), ..at(at_ms) };
    let mut link = Link::new(slow(vec![up(50.0, false), up(80.0, true)]), 1).expect("valid");
    let mut accepted = Vec::new();
    for now in (0..300_u32).step_by(10) {
        if link.offer(MS(now.into()), 125, Class::NONE, now) == Verdict::Accepted {
            accepted.push(now);
        }
    }
    let expected: Vec<u32> =
        (0..300).step_by(10).filter(|now| !(50..80).contains(&(now % 100))).collect();
    assert_eq!(accepted, expected);
    // What is sent 10 ms before the link goes down arrives 1 ms too late.
    let arrived: Vec<u32> = arrivals(&mut link, 1000).iter().map(|(_, packet)| *packet).collect();
    let expected: Vec<u32> = expected.into_iter().filter(|now| now % 100 != 40).collect();
    assert_eq!(arrived, expected);
    assert_eq!(link.stats().dropped_down, 3 * 3 + 3);
}

#[test]
fn what_has_arrived_is_not_lost_by_going_down_though_polled_late() {
    let down = LinkChange { up: Some(false), ..at(25.0) };
    let mut link = Link::new(slow(vec![down]), 1).expect("valid");
    for packet in 1..=5 {
        link.offer(MS(0), 1250, Class::NONE, packet);
    }
    assert_eq!(arrivals(&mut link, 1000), [(20, 1)]);
    assert_eq!((link.stats().dropped_down, link.stats().in_transit), (4, 0));
    assert_eq!(link.next_wakeup(), None);
}

#[test]
fn packets_held_back_are_released_before_the_link_goes_down() {
    let config = LinkConfig {
        reorder_packets: vec![1],
        reorder_after: Some(9),
        reorder_hold_ms: Some(5.0),
        changes: vec![LinkChange { up: Some(false), ..at(26.0) }],
        ..LinkConfig::new(1000.0, 10.0)
    };
    let mut link = Link::new(config, 1).expect("valid");
    link.offer(MS(0), 1250, Class::NONE, 1);
    assert_eq!(arrivals(&mut link, 1000), [(25, 1)]);
}

#[test]
fn reconfiguring_begins_a_new_list() {
    let mut link =
        Link::new(slow(vec![LinkChange { up: Some(false), ..at(50.0) }]), 1).expect("valid");
    let kbps = |at_ms, kbps| LinkChange { bandwidth_kbps: Some(kbps), ..at(at_ms) };
    link.reconfigure(MS(20), slow(vec![kbps(10.0, 1.0), kbps(20.0, 500.0)])).expect("valid");
    assert_eq!(link.offer(MS(60), 1250, Class::NONE, 1), Verdict::Accepted);
    assert_eq!(link.config().bandwidth_kbps, Some(500.0), "10 ms is past, 20 ms is not");
    assert_eq!(arrivals(&mut link, 1000), [(90, 1)]);
}

#[test]
fn a_link_at_rest_asks_for_no_wake_up() {
    let outage = LinkChange { up: Some(false), every_ms: Some(1.0), ..at(1.0) };
    let mut link = Link::<u32>::new(slow(vec![outage]), 1).expect("valid");
    assert_eq!(link.next_wakeup(), None);
    assert_eq!(link.poll(MS(100_000)), None);
    assert!(!link.config().up);
}
