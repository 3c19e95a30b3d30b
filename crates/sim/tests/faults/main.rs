//! Simulated faults: two hosts, a bad network, and everything that must hold nevertheless.
//!
//! One number, the seed, decides all of a scenario: protocol profiles, interfaces, addresses, routes,
//! links, what the applications send and how they read, who connects and shuts down when, and what goes
//! wrong. Whatever it is, the invariants of [`ledger::Kind`] hold.
//!
//! - `cargo test -p tresse-sim --test faults` runs 20 000 seeds.
//! - `TRESSE_SEEDS=20000..900000` runs others, and says how far it is and where to go on.
//! - `TRESSE_SEED=17` (with `-- --nocapture`) shows one: scenario, packets and events;
//!   `TRESSE_PCAP=file.pcapng` writes its packets to a file.

mod actor;
mod draw;
mod health;
mod ledger;
mod limits;
mod replay;
mod run;
mod scenario;
mod seeds;
mod self_test;
mod stage;

use run::Options;

/// The most associations that end although a pair of addresses works, as a share of all seeds. To be
/// lowered until there are none: see "What is open" in `docs/faults.md`.
const OPEN: [(&str, f64); 2] = [(health::UNHEALTHY, 0.001), (health::UNHEALTHY_CONCURRENT, 0.008)];

#[test]
fn seeds_hold_every_invariant() {
    if let Some(seed) = seeds::to_replay() {
        return replay::replay(seed);
    }
    let range = seeds::range();
    let summary = seeds::run_all(range.clone());
    println!("{} seeds, {} packets", summary.seeds, summary.packets);
    println!("longest {:?} ms, slowest mild {:?} ms", summary.longest, summary.slowest_mild);
    println!("busiest {:?}", summary.busiest);
    for (name, count) in &summary.features {
        println!("{count:8} {name}");
    }
    for (seed, violations) in &summary.failures {
        eprintln!("seed {seed} fails:");
        for violation in violations {
            eprintln!("  {violation}");
        }
        eprintln!("  replay: {}", seeds::replay_command(*seed));
    }
    assert!(summary.failures.is_empty(), "{} seeds of {range:?} fail", summary.failures.len());
    for (name, share) in OPEN {
        let count = summary.features.get(name).copied().unwrap_or(0);
        let most = (share * summary.seeds as f64).max(5.0);
        assert!(count as f64 <= most, "{name}: {count} of {} seeds", summary.seeds);
    }
}

#[test]
fn the_same_seed_gives_the_same_packets() {
    for seed in 0..200 {
        let digest = |trace| {
            let options = Options { digest: true, trace, ..Options::default() };
            let report = seeds::run_seed(seed, &options).1;
            (report.digest, report.packets)
        };
        let first = digest(false);
        assert_eq!(first, digest(false), "seed {seed}");
        assert_eq!(first, digest(true), "seed {seed} with trace");
    }
}
