//! Flows that tell random losses from a full queue (`congestion.loss_differentiation`), among themselves: nobody else gives
//! way there, and the queue may be a few packets.

use std::sync::Arc;

use tresse_core::Profile;
use tresse_gauntlet::play::{self, Cast};
use tresse_gauntlet::{Family, World};

/// Worlds, of which one in five has a shared bottleneck.
const WORLDS: std::ops::Range<u64> = 0..150;

/// What all get of the bottleneck, and what we send again of that, in worlds where everybody is `tresse` with
/// `parameters`.
fn among_themselves(parameters: &str) -> (f64, f64) {
    let profile = Profile::tresse().with_overrides(parameters).unwrap();
    let profile = Arc::new(profile);
    let cast = Cast {
        profile: Arc::clone(&profile),
        alone: None,
        bulk: true,
        others: Some(profile),
        replication: 0,
    };
    let (mut used, mut again, mut sent, mut worlds) = (0.0, 0.0, 0.0, 0.0);
    for seed in WORLDS.filter(|seed| Family::of(*seed) == Family::Shared) {
        let world = World::draw(seed);
        let Some(shared) = &world.shared else { continue };
        let capacity = shared.forward.bandwidth_kbps.unwrap() / 1e3;
        let played = play::play(&world, &cast).unwrap_or_else(|error| panic!("{error}\n{world}"));
        used += (played.bottleneck_mbps + played.others_mbps.iter().sum::<f64>()) / capacity;
        again += played.retransmissions as f64;
        sent += played.goodput_mbps * 1e6 / 8.0 * world.seconds / world.bulk.size.min(1452) as f64;
        worlds += 1.0;
    }
    assert!(worlds > 20.0, "{worlds}");
    (used / worlds, again / sent)
}

#[test]
fn among_themselves_they_lose_no_more_and_use_no_less() {
    let (used, again) = among_themselves("");
    let (used_so, again_so) = among_themselves("congestion.loss_differentiation = true");
    println!("used {used:.3} and {used_so:.3}, sent again {again:.4} and {again_so:.4}");
    assert!(again_so < 1.2 * again, "{again_so} of what is sent, and {again}");
    assert!(used_so > 0.98 * used, "{used_so} of the bottleneck, and {used}");
}
