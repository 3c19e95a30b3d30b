use super::*;
use crate::play::Played;

fn played(goodput_mbps: f64) -> Played {
    Played { goodput_mbps, ..Played::default() }
}

/// The first world of a family for which `wanted` holds.
fn world(family: Family, wanted: impl Fn(&World) -> bool) -> World {
    let mut worlds = (0..500).map(World::draw).filter(|w| w.family == family);
    worlds.find(wanted).expect("one of many")
}

fn measures(world: &World, ours: Played) -> Measures {
    Measures {
        world: world.seed,
        replications: 1,
        ours,
        alone: vec![played(4.0), played(8.0)],
        without_us: Vec::new(),
        thin_alone: None,
    }
}

fn of(law: Law, world: &World, measures: &Measures) -> Verdict {
    let verdicts = judge(world, measures);
    *verdicts.iter().find(|v| v.law == law).expect("it applies")
}

#[test]
fn we_are_compared_with_the_best_path_and_the_ideal_sum() {
    let world = world(Family::Clean, |w| w.paths.len() == 2);
    let ideal = world.ideal_mbps();
    let mut measures = measures(&world, played(7.6));
    let harm = of(Law::NoHarmToUs, &world, &measures);
    assert!((harm.value - 0.95).abs() < 1e-9 && !harm.holds() && !harm.is_beyond_worst());
    measures.ours.goodput_mbps = 7.5;
    assert!(of(Law::NoHarmToUs, &world, &measures).is_beyond_worst());
    measures.ours.goodput_mbps = 7.97;
    assert!(of(Law::NoHarmToUs, &world, &measures).holds(), "half a percent is nothing");
    measures.ours.goodput_mbps = ideal * 0.95;
    assert!(of(Law::FullUse, &world, &measures).margin.abs() < 1e-9);
    measures.ours.goodput_mbps = ideal * 0.84;
    assert!(of(Law::FullUse, &world, &measures).is_beyond_worst());
}

#[test]
fn a_fair_flow_is_what_each_gets_when_all_are_of_one_kind() {
    let one = world(Family::Shared, |w| w.competitors() == 2 && w.paths.len() == 1);
    let two = world(Family::Shared, |w| w.competitors() == 2 && w.paths.len() == 2);
    let shares = |world: &World, at_bottleneck: f64, all: f64| {
        let ours = Played { bottleneck_mbps: at_bottleneck, ..played(all) };
        let without = Played { others_mbps: vec![2.0, 6.0], ..played(4.0) };
        let measures = Measures { without_us: vec![without], ..measures(world, ours) };
        [Law::NoHarmToOthers, Law::NotStarved].map(|law| of(law, world, &measures).holds())
    };
    assert_eq!(shares(&one, 7.9, 7.9), [true, true]);
    assert_eq!(shares(&one, 8.1, 8.1), [false, true]);
    assert_eq!(shares(&one, 1.9, 1.9), [true, false]);
    assert_eq!(shares(&two, 5.3, 9.0), [false, true], "with several paths 1.3 is the limit");
    assert_eq!(shares(&two, 0.1, 9.0), [true, true], "one may leave a bottleneck to others");
}

#[test]
fn delays_and_pauses_are_limited() {
    let world = world(Family::Dying, |w| !w.bulk.unordered);
    let ours =
        Played { delay_ms: [10.0, 121.0], pause_ms: 501.0, round_trip_ms: 100.0, ..played(9.0) };
    let mut measures = measures(&world, ours);
    measures.alone[0].delay_ms = [1.0, 10.0];
    measures.alone[1].delay_ms = [1.0, 100.0];
    let order = of(Law::Order, &world, &measures);
    assert!((order.value - 1.21).abs() < 1e-9 && !order.holds());
    assert!(!of(Law::Alive, &world, &measures).holds(), "500 ms are allowed");
    measures.ours.pause_ms = 499.0;
    assert!(of(Law::Alive, &world, &measures).holds());
}

#[test]
fn a_thin_stream_is_compared_with_itself_alone() {
    let world = world(Family::Thin, |_| true);
    let alone = Played { thin_ms: [100.0, 90.0], ..Played::default() };
    for (ms, holds) in [(129.0, true), (131.0, false)] {
        let ours = Played { thin_ms: [ms, 1.0], ..played(9.0) };
        let measures = Measures { thin_alone: Some(alone.clone()), ..measures(&world, ours) };
        assert_eq!(of(Law::ThinBesideBulk, &world, &measures).holds(), holds);
    }
}

#[test]
fn every_law_has_worlds_and_nothing_is_judged_without_a_measure() {
    let worlds: Vec<World> = (0..100).map(World::draw).collect();
    for law in Law::ALL {
        let count = worlds.iter().filter(|w| Law::of(w).contains(&law)).count();
        assert!(count >= 5, "{}: {count}", law.name());
    }
    let world = world(Family::Open, |w| w.paths.len() == 2);
    let none = Measures { alone: Vec::new(), ..measures(&world, played(1.0)) };
    assert!(!judge(&world, &none).iter().any(|v| v.law == Law::NoHarmToUs));
}

#[test]
fn a_fair_flow_may_have_what_one_would_have_over_the_best_of_our_paths() {
    let two = world(Family::Shared, |w| w.competitors() == 1 && w.paths.len() == 2);
    let without = |other: f64, own: f64| Played { others_mbps: vec![other], ..played(own) };
    let mut measures = measures(&two, Played { bottleneck_mbps: 7.0, ..played(7.0) });
    // Over the first path an equal share; the second one has a much shorter round trip.
    measures.without_us = vec![without(5.0, 5.0), without(2.0, 6.0)];
    assert_eq!(measures.fair_mbps(), Some((4.0, 6.0)));
    assert!(of(Law::NoHarmToOthers, &two, &measures).holds(), "7.0 are less than 1.3 times 6.0");
    measures.ours.goodput_mbps = 2.1;
    assert!(of(Law::NotStarved, &two, &measures).holds());
    measures.ours.goodput_mbps = 1.9;
    assert!(!of(Law::NotStarved, &two, &measures).holds());
}
