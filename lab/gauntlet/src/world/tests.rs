use super::*;
use tresse_netem::LinkChange;

fn worlds() -> impl Iterator<Item = World> {
    (0..1000).map(World::draw)
}

#[test]
fn every_link_is_valid_and_within_the_distribution() {
    for world in worlds() {
        let own = world.paths.iter().flat_map(|p| [&p.forward, &p.backward]);
        let shared = world.shared.iter().flat_map(|s| [&s.forward, &s.backward]);
        for link in own.clone().chain(shared) {
            assert_eq!(link.validate(), Ok(()), "{world}");
            assert!((10..=1000).contains(&link.queue_packets.unwrap_or(10)), "{world}");
            let kbps = link.bandwidth_kbps.unwrap_or(500.0);
            assert!((49.9..=200_000.0).contains(&kbps), "{world}");
        }
        assert!(own.clone().all(|link| (1.0..=150.0).contains(&link.delay_ms)), "{world}");
        let loss =
            |link: &LinkConfig| link.gilbert_elliott.map_or(link.loss, |ge| ge.p / (ge.p + ge.r));
        assert!(own.clone().all(|link| loss(link) <= 0.03), "{world}");
        assert!((1..=4).contains(&world.paths.len()) && world.bulk.size <= world.buffer / 8);
        assert!(world.seconds > world.warmup_s && world.seconds < 120.0, "{world}");
        if world.family == Family::Clean {
            assert!(world.is_lossless() && world.buffer as f64 >= 2.0 * world.bdp_bytes());
        }
    }
}

#[test]
fn what_is_rare_is_there() {
    let share = |wanted: &dyn Fn(&World) -> bool| worlds().filter(|w| wanted(w)).count();
    let forward = |w: &World, wanted: &dyn Fn(&LinkConfig) -> bool| {
        (0..w.paths.len()).any(|path| wanted(w.limit(path)))
    };
    assert!(share(&|w| w.paths.len() == 4) > 50);
    assert!(share(&|w| forward(w, &|l| l.red.is_some())) > 150);
    assert!(share(&|w| forward(w, &|l| l.codel.is_some())) > 150);
    assert!(share(&|w| forward(w, &|l| l.changes.len() > 20)) > 50, "like a cellular link");
    assert!(share(&|w| forward(w, &|l| l.gilbert_elliott.is_some())) > 100);
    assert!(share(&|w| forward(w, &|l| l.reorder > 0.0)) > 50);
    assert!(share(&|w| w.bdp_bytes() > 300e3) > 50);
    assert!(share(&|w| w.limits().any(|(link, _)| bits_per_s(link) > 50e6)) > 20);
    assert!(share(&|w| w.buffer == 256 << 10) > 50);
    assert!(share(&|w| w.bulk.size < 200) > 50 && share(&|w| w.bulk.size > 10_000) > 50);
    assert!(share(&|w| w.competitors() > 1) > 40);
    assert!(share(&|w| w.shared.as_ref().is_some_and(|s| s.paths.len() == 2)) > 40);
    let cubic = |w: &World| w.shared.as_ref().is_some_and(|s| s.profile.contains("cubic"));
    assert!((60..140).contains(&share(&cubic)), "half of the shared ones: {}", share(&cubic));
}

#[test]
fn the_same_number_is_the_same_world() {
    let text = |seed| format!("{:?}", World::draw(seed));
    assert_eq!(text(17), text(17));
    assert_ne!(text(17), text(37));
    assert_eq!(Family::of(17), Family::of(37));
}

#[test]
fn one_path_works_while_others_die() {
    for world in worlds().filter(|w| w.family == Family::Dying) {
        let changing = world.paths.iter().filter(|p| !p.forward.changes.is_empty()).count();
        assert!(changing >= 1 && changing < world.paths.len(), "{world}");
    }
}

#[test]
fn what_a_link_carries_follows_its_changes() {
    let change = |at_ms, kbps: Option<f64>, up| LinkChange {
        at_ms,
        bandwidth_kbps: kbps,
        up,
        ..LinkChange::default()
    };
    let changes = vec![
        change(2000.0, Some(500.0), None),
        change(4000.0, None, Some(false)),
        change(5000.0, None, Some(true)),
    ];
    let link = LinkConfig { changes, ..LinkConfig::new(1000.0, 1.0) };
    // 1 s of 1000, 2 s of 500, 1 s of nothing, 1 s of 500 kbit/s.
    assert!((carried_bits(&link, 1.0, 6.0) - 2.5e6).abs() < 1.0);
    assert!((carried_bits(&link, 0.0, 1.5) - 1.5e6).abs() < 1.0);
    assert_eq!(carried_bits(&link, 4.2, 4.8), 0.0);
}

#[test]
fn headers_take_their_share() {
    assert!((payload_share(FULL) - 1452.0 / 1500.0).abs() < 1e-9);
    // 12 chunks of 116 bytes in a packet.
    assert!((payload_share(100) - 1200.0 / 1424.0).abs() < 1e-9);
    assert!((payload_share(2 * FULL) - 1452.0 / 1500.0).abs() < 1e-9);
}
