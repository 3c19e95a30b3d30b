//! The search for the path MTU in random worlds: narrow paths and wide ones, which become others, with ICMP and mostly
//! without; against an association that was told what packets the narrowest of them will ever take.
//!
//! - `cargo test -p tresse-sim --test mtu` plays 60 worlds, with `TRESSE_THOROUGH=1`, as `.ci/run` has it, 300.
//! - `TRESSE_MTU_WORLDS=0..5000 cargo test --release -p tresse-sim --test mtu -- --nocapture` plays 5000, and names those that
//!   are harmed.
//! - `TRESSE_MTU_WORLDS=17..18` plays one, and tells what became of the path MTU, and when.

#[path = "../common/mod.rs"]
mod common;
mod judge;
mod known;
mod play;
mod world;

use std::collections::BTreeMap;
use std::env;
use std::sync::Mutex;

use common::many::{asked, for_each};
use judge::Verdict;
use world::World;

#[test]
fn worlds_are_not_harmed_by_a_search() {
    let thorough = env::var_os("TRESSE_THOROUGH").is_some();
    let range = asked("TRESSE_MTU_WORLDS", 0..if thorough { 300 } else { 60 });
    let harmed = Mutex::new(BTreeMap::new());
    for_each(&range, |seed| {
        let world = World::draw(seed);
        let verdict = Verdict::of(&world);
        let harms = verdict.harms(&world);
        if !harms.is_empty() || range.end - range.start == 1 {
            println!("world {seed}: {harms:?}: {verdict}\n    {world}");
        }
        if range.end - range.start == 1 {
            verdict.tell_steps();
        }
        if !harms.is_empty() {
            harmed.lock().expect("nobody panics while holding it").insert(seed, harms.join(", "));
        }
    });
    let mut harmed = harmed.into_inner().expect("nobody panics while holding it");
    harmed.retain(|seed, _| known::cause(*seed).is_none());
    assert!(harmed.is_empty(), "{} harmed: {harmed:?}", harmed.len());
}

/// Each was harmed once, by what `known.rs` says.
#[test]
fn worlds_that_were_harmed_are_not_any_more() {
    for (seed, _) in known::MENDED {
        let world = World::draw(seed);
        let verdict = Verdict::of(&world);
        assert_eq!(verdict.harms(&world), [""; 0], "world {seed}: {verdict}\n    {world}");
    }
}
