//! What holds for every link and every load.

use proptest::prelude::*;
use tresse_netem::{
    Class, Delivery, GilbertElliottConfig, Link, LinkChange, LinkConfig, LossStage, Nanos,
    RedConfig, Spike, SpikePlace, SpikesConfig, Verdict,
};

/// An offered packet: pause before it in microseconds, size, class.
type Load = Vec<(u64, u32, u8)>;

fn load() -> impl Strategy<Value = Load> {
    prop::collection::vec((0u64..3000, 1u32..2000, 0u8..4), 1..150)
}

fn class(bits: u8) -> Class {
    let data = if bits & 1 != 0 { Class::DATA } else { Class::NONE };
    let ack = if bits & 2 != 0 { Class::ACK } else { Class::NONE };
    data | ack
}

fn numbers() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(1u64..150, 0..5)
}

/// Random or listed, within the seconds that a load takes.
fn spikes() -> impl Strategy<Value = SpikesConfig> {
    let place =
        prop_oneof![Just(SpikePlace::Sender), Just(SpikePlace::Link), Just(SpikePlace::Receiver)];
    let spike =
        (0.0..500.0, 0.0..80.0).prop_map(|(start_ms, length_ms)| Spike { start_ms, length_ms });
    let listed = prop::collection::vec(spike, 1..6)
        .prop_map(|list| SpikesConfig { list, ..SpikesConfig::default() });
    let random = (0.0..0.1, 0.0..0.1).prop_map(|(interval, length)| SpikesConfig {
        interval_s: Some([interval, interval + 0.1]),
        length_s: Some([length, length + 0.1]),
        ..SpikesConfig::default()
    });
    (prop_oneof![listed, random], place)
        .prop_map(|(config, place)| SpikesConfig { place, ..config })
}

fn red() -> impl Strategy<Value = RedConfig> {
    (0.0..5.0, 0.1..10.0, 0.01..1.0, 0.01..1.0, any::<bool>()).prop_map(
        |(min, more, max_probability, weight, gentle)| RedConfig {
            max_probability,
            weight,
            gentle,
            ..RedConfig::new(min, min + more)
        },
    )
}

/// Bursts instead of independent losses.
fn gilbert_elliott() -> impl Strategy<Value = GilbertElliottConfig> {
    (0.0..0.3, 0.1..1.0).prop_map(|(p, r)| GilbertElliottConfig {
        p,
        r,
        loss_good: 0.01,
        loss_bad: 0.9,
        step_ms: None,
    })
}

/// Some change of bandwidth and up, which suits all settings.
fn changes() -> impl Strategy<Value = Vec<LinkChange>> {
    let change = (
        0.0..300.0,
        prop::option::of(1.0..100.0),
        100.0..20_000.0,
        prop::option::of(any::<bool>()),
    )
        .prop_map(|(at_ms, every_ms, kbps, up)| LinkChange {
            at_ms,
            every_ms,
            bandwidth_kbps: Some(kbps),
            up,
            ..LinkChange::default()
        });
    prop::collection::vec(change, 0..4)
}

prop_compose! {
    /// Bandwidth, queue, delay and loss: nothing that changes the order.
    fn orderly()(
        bandwidth_kbps in prop::option::of(100.0..20_000.0),
        overhead_bytes in 0u32..50,
        (delay_ms, jitter) in (0.0..50.0, 0.0..1.0),
        queue_packets in prop::option::of(0u32..20),
        queue_bytes in prop::option::of(0u64..20_000),
        (loss, wire) in (0.0..0.3, any::<bool>()),
        (drop_packets, drop_data, drop_acks) in (numbers(), numbers(), numbers()),
        (duplicate, duplicate_packets) in (0.0..0.2, numbers()),
        (corrupt, corrupt_packets, corrupt_bits) in (0.0..0.2, numbers(), 1u32..9),
        spikes in prop::option::of(spikes()),
        red in prop::option::of(red()),
        gilbert_elliott in prop::option::of(gilbert_elliott()),
    ) -> LinkConfig {
        LinkConfig {
            bandwidth_kbps,
            overhead_bytes,
            delay_ms,
            jitter_ms: delay_ms * jitter,
            queue_packets,
            queue_bytes,
            loss: if gilbert_elliott.is_some() { 0.0 } else { loss },
            gilbert_elliott,
            red,
            spikes,
            loss_stage: if wire { LossStage::Wire } else { LossStage::Entry },
            drop_packets,
            drop_data,
            drop_acks,
            duplicate,
            duplicate_packets,
            corrupt,
            corrupt_packets,
            corrupt_bits,
            ..LinkConfig::default()
        }
    }
}

prop_compose! {
    /// The same with reordering of every kind.
    fn any_config()(
        config in orderly(),
        jitter_reorders in any::<bool>(),
        reorder in 0.0..0.3,
        (reorder_packets, reorder_data) in (numbers(), numbers()),
        by_delay in any::<bool>(),
        after in 1u32..6,
        delay in 0.0..20.0,
        hold in prop::option::of(0.0..20.0),
        (changes, shorter) in (changes(), prop::option::of((0.0..300.0, 0.0..1.0_f64))),
    ) -> LinkConfig {
        let mut changes = changes;
        if let Some((at_ms, share)) = shorter {
            let delay_ms: f64 = config.jitter_ms + (config.delay_ms - config.jitter_ms) * share;
            let delay_ms = Some(delay_ms.max(config.jitter_ms));
            changes.push(LinkChange { at_ms, delay_ms, ..LinkChange::default() });
        }
        LinkConfig {
            changes,
            jitter_reorders,
            reorder,
            reorder_packets,
            reorder_data,
            reorder_delay_ms: by_delay.then_some(delay),
            reorder_after: (!by_delay).then_some(after),
            reorder_hold_ms: hold.filter(|_| !by_delay),
            ..config
        }
    }
}

fn micros(count: u64) -> Nanos {
    Nanos::new(count * 1000)
}

/// Offers the load, collecting what arrives: before each packet if `eager`, or only at the end.
fn run(link: &mut Link<usize>, load: &Load, eager: bool) -> (Vec<Verdict>, Vec<Delivery<usize>>) {
    let mut now = Nanos::ZERO;
    let mut verdicts = Vec::new();
    let mut deliveries = Vec::new();
    for (packet, (pause, size, bits)) in load.iter().enumerate() {
        now = now + micros(*pause);
        while eager && let Some(due) = link.next_wakeup().filter(|due| *due <= now) {
            while let Some(delivery) = link.poll(due) {
                assert_eq!(delivery.at, due, "no packet arrives between wake-ups");
                deliveries.push(delivery);
            }
        }
        verdicts.push(link.offer(now, *size, class(*bits), packet));
        conserved(link);
    }
    while let Some(due) = link.next_wakeup() {
        while let Some(delivery) = link.poll(due) {
            deliveries.push(delivery);
        }
        conserved(link);
    }
    (verdicts, deliveries)
}

fn conserved(link: &Link<usize>) {
    let stats = link.stats();
    assert_eq!(
        stats.offered + stats.duplicated,
        stats.delivered + stats.dropped() + stats.in_transit
    );
}

proptest! {
    /// Packets are conserved; how often a link is polled changes nothing; a seed replays.
    #[test]
    fn conservation_and_determinism(config in any_config(), load in load(), seed: u64) {
        let mut link = Link::new(config.clone(), seed).expect("valid");
        let eager = run(&mut link, &load, true);
        prop_assert_eq!(link.stats().delivered as usize, eager.1.len());
        prop_assert!(eager.1.is_sorted_by_key(|d| d.at));
        let corrupted = eager.1.iter().filter(|d| d.corruption.is_some()).count();
        prop_assert_eq!(link.stats().corrupted as usize, corrupted);
        if config.reorder_after.is_none() || config.reorder_hold_ms.is_some() {
            prop_assert_eq!(link.stats().in_transit, 0, "nothing stays inside");
        }
        let mut again = Link::new(config.clone(), seed).expect("valid");
        prop_assert_eq!(&eager, &run(&mut again, &load, true));
        prop_assert_eq!(again.stats(), link.stats());
        let mut lazy = Link::new(config, seed).expect("valid");
        let late = run(&mut lazy, &load, false);
        prop_assert_eq!(eager, late);
    }

    /// Without reordering the order is kept, and no packet is faster than light.
    #[test]
    fn order_and_delay(config in orderly(), load in load(), seed: u64) {
        let mut link = Link::new(config.clone(), seed).expect("valid");
        let (_, deliveries) = run(&mut link, &load, true);
        prop_assert!(deliveries.is_sorted_by_key(|d| (d.number, d.copy)));
        prop_assert_eq!(link.stats().reordered, 0);
        let least = config.delay_ms - config.jitter_ms;
        for delivery in &deliveries {
            let delay = (delivery.at - delivery.offered_at).as_secs_f64() * 1e3;
            prop_assert!(delay >= least - 1e-5);
        }
    }

    /// Between any two deliveries no more bits arrive than the bandwidth allows.
    #[test]
    fn rate_is_never_exceeded(config in orderly(), load in load(), kbps in 100.0..20_000.0) {
        let overhead_bytes = config.overhead_bytes;
        // What a spike has kept behind the link arrives all at once.
        let spikes = config.spikes.filter(|spikes| spikes.place != SpikePlace::Receiver);
        let config = LinkConfig { bandwidth_kbps: Some(kbps), jitter_ms: 0.0, spikes, ..config };
        let mut link = Link::new(config, 1).expect("valid");
        let (_, deliveries) = run(&mut link, &load, true);
        for pair in deliveries.windows(2) {
            let (_, size, _) = load[pair[1].packet];
            let bits = f64::from((size + overhead_bytes) * 8);
            let needed = bits / (kbps * 1e3).round() * 1e9;
            let taken = (pair[1].at - pair[0].at).get() as f64;
            prop_assert!(taken >= needed - 1e-3, "{taken} ns for {bits} bits, {needed} needed");
        }
    }

    /// The queue never holds more than its limits.
    #[test]
    fn queue_limits_hold(config in any_config(), load in load(), seed: u64) {
        let mut link = Link::new(config.clone(), seed).expect("valid");
        run(&mut link, &load, true);
        let stats = link.stats();
        if let Some(limit) = config.queue_packets {
            prop_assert!(stats.max_queue_packets <= u64::from(limit));
        }
        if let Some(limit) = config.queue_bytes {
            prop_assert!(stats.max_queue_bytes <= limit);
        }
    }

    /// New settings in the middle, any number of them, break none of this.
    #[test]
    fn reconfiguring_conserves(
        configs in prop::collection::vec((any_config(), any::<bool>()), 1..5),
        load in load(),
        seed: u64,
    ) {
        let mut link = Link::new(LinkConfig::default(), seed).expect("valid");
        let mut now = Nanos::ZERO;
        for (config, up) in configs {
            link.reconfigure(now, LinkConfig { up, ..config }).expect("valid");
            for (packet, (pause, size, bits)) in load.iter().enumerate() {
                now = now + micros(*pause);
                while link.poll(now).is_some() {}
                link.offer(now, *size, class(*bits), packet);
                conserved(&link);
            }
        }
        link.set_up(now, false);
        prop_assert_eq!(link.stats().in_transit, 0);
        prop_assert_eq!(link.next_wakeup(), None);
        conserved(&link);
    }
}
