//! The search for the path MTU in random worlds: narrow paths and wide ones, which become others, with ICMP and mostly
//! without; against an association that was told what packets the narrowest of them will ever take.
//!
//! - `cargo test -p tresse-sim --test mtu` plays 37 worlds, with `TRESSE_THOROUGH=1`, as `.ci/run` has it, 150.
//! - `TRESSE_MTU_WORLDS=0..5000 cargo test --release -p tresse-sim --test mtu -- --nocapture` plays 5000, and names those that
//!   are harmed.
//! - `TRESSE_CARRIED_MTU_WORLDS=0..1000` has them over UDP and IPv6, `TRESSE_DRESSED_MTU_WORLDS=0..1000` with data both ways, AUTH
//!   and I-DATA.
//! - `TRESSE_MTU_WORLDS=17..18` plays one, and tells what became of the path MTU, and when.

#[path = "../common/mod.rs"]
mod common;
mod judge;
mod known;
mod play;
mod world;

use std::collections::BTreeMap;
use std::env;
use std::ops::Range;
use std::sync::Mutex;

use common::many::{asked, for_each};
use judge::Verdict;
use world::World;

/// The worlds of `range`, or of those that `variable` asks for, that are harmed.
fn harmed(
    variable: &str,
    range: Range<u64>,
    draw: impl Fn(u64) -> World + Sync,
) -> BTreeMap<u64, String> {
    let range = asked(variable, range);
    let is_one = range.end - range.start == 1;
    let harmed = Mutex::new(BTreeMap::new());
    for_each(&range, |seed| {
        let world = draw(seed);
        let verdict = Verdict::of(&world);
        let harms = verdict.harms(&world);
        if !harms.is_empty() || is_one {
            println!("world {seed}: {harms:?}: {verdict}\n    {world}");
        }
        if is_one {
            verdict.tell_steps();
        }
        if !harms.is_empty() {
            harmed.lock().expect("nobody panics while holding it").insert(seed, harms.join(", "));
        }
    });
    harmed.into_inner().expect("nobody panics while holding it")
}

/// Just these harms are known of the world.
fn is_known(known: &[(u64, &str, &str)], seed: u64, harms: &str) -> bool {
    known.iter().any(|world| (world.0, world.1) == (seed, harms))
}

/// With `TRESSE_THOROUGH=1`, as `.ci/run` has it; a quarter without.
fn usual(worlds: u64) -> Range<u64> {
    0..if env::var_os("TRESSE_THOROUGH").is_some() { worlds } else { worlds / 4 }
}

#[test]
fn worlds_are_not_harmed_by_a_search() {
    let mut harmed = harmed("TRESSE_MTU_WORLDS", usual(150), World::draw);
    harmed.retain(|seed, harms| !is_known(&known::KNOWN, *seed, harms));
    assert!(harmed.is_empty(), "{} harmed: {harmed:?}", harmed.len());
}

/// In UDP datagrams, IPv6 packets, or both.
#[test]
fn nor_are_those_with_other_headers() {
    let mut harmed = harmed("TRESSE_CARRIED_MTU_WORLDS", usual(30), World::carried);
    harmed.retain(|seed, harms| !is_known(&known::CARRIED, *seed, harms));
    assert!(harmed.is_empty(), "{} harmed: {harmed:?}", harmed.len());
}

/// The other end sends, too, and headers are longer.
#[test]
fn nor_are_those_with_data_both_ways() {
    let mut harmed = harmed("TRESSE_DRESSED_MTU_WORLDS", usual(60), World::dressed);
    harmed.retain(|seed, harms| !is_known(&known::DRESSED, *seed, harms));
    assert!(harmed.is_empty(), "{} harmed: {harmed:?}", harmed.len());
}

/// Each was harmed once, by what `known.rs` says.
#[test]
fn worlds_that_were_harmed_are_not_any_more() {
    let plain = known::MENDED.iter().map(|(seed, _)| (seed, World::draw(*seed)));
    let dressed = known::MENDED_DRESSED.iter().map(|(seed, _)| (seed, World::dressed(*seed)));
    let worlds: Vec<(&u64, World)> = plain.chain(dressed).collect();
    for_each(&(0..worlds.len() as u64), |at| {
        let (seed, world) = &worlds[at as usize];
        let verdict = Verdict::of(world);
        assert_eq!(verdict.harms(world), [""; 0], "world {seed}: {verdict}\n    {world}");
    });
}
