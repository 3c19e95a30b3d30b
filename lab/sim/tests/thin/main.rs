//! Do no harm: thin streams in random worlds where the link is narrow, shared, bloated or slow on the way
//! back, with the default profile and with RFC 9260. Nobody may be worse off.
//!
//! - `cargo test -p tresse-sim --test thin` plays 50 worlds.
//! - `TRESSE_WORLDS=0..20000 cargo test --release -p tresse-sim --test thin worlds -- --nocapture` plays
//!   20 000 and names those that are harmed.
//! - `TRESSE_WORLD=17 cargo test --release -p tresse-sim --test thin worlds -- --nocapture` plays one.
//! - `TRESSE_STRANGE=0..600 cargo test --release -p tresse-sim --test thin strange -- --nocapture` plays 600 with two
//!   addresses or with reordering.
//! - `TRESSE_FULL_LINKS=0..600 cargo test --release -p tresse-sim --test thin full_link` plays 600 full links.
//! - `TRESSE_PROFILE=rfc9260+rack` has another profile tested, `TRESSE_PARAMETERS='budget.enabled = false'`
//!   one with other parameters. `TRESSE_REPLICATIONS=64` plays this many of each world, whatever they bring;
//!   `TRESSE_DOUBTFUL=8` lets those pass that seem fine after this many, as 50 worlds and `.ci/run` do.

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
use judge::{Profiles, Verdict, judge};
use play::{Played, play};
use tresse_core::LossCause;
use tresse_sim::LinkConfig;
use world::{Kind, World};

/// Worlds that every test run plays; `.ci/run` plays the first 500.
const DEFAULT: Range<u64> = 0..50;

fn tested() -> Profiles {
    let name = env::var("TRESSE_PROFILE").unwrap_or_else(|_| "tresse".into());
    Profiles::against_rfc9260(&name, &env::var("TRESSE_PARAMETERS").unwrap_or_default())
}

fn tell(world: &World, verdict: &Verdict) {
    let seed = world.seed;
    println!("world {seed}: {:?}: {verdict}\n    {world}", verdict.harms());
    if let Some(cause) = known::cause(seed) {
        println!("    known to be harmed: {cause}");
    }
    tell_sent("tested", &verdict.tested);
    tell_sent("RFC 9260", &verdict.reference);
}

fn tell_sent(name: &str, played: &Played) {
    let sent = &played.sent;
    let again = LossCause::ALL.iter().map(|cause| (cause, sent.retransmissions_by(*cause)));
    let again: Vec<String> =
        again.filter(|(_, n)| *n > 0).map(|(cause, n)| format!("{cause:?} {n}")).collect();
    println!(
        "    {name}: {} timeouts, {} of them spurious; {} fast recoveries, {} of them spurious; sent again: {}",
        sent.timeouts,
        sent.spurious_timeouts,
        sent.fast_recoveries,
        sent.spurious_fast_retransmits,
        again.join(", ")
    );
}

/// What many worlds brought.
#[derive(Default)]
struct Summary {
    harmed: BTreeMap<u64, String>,
    of_kind: BTreeMap<Kind, (u64, u64)>,
    /// Those that would be harmed if no lost SACK explained a repetition in vain.
    unexplained: u64,
    messages: u64,
    packets: u64,
    needless: [u64; 2],
    lost_sacks: u64,
    /// Logarithms of the ratios of the means.
    gains: f64,
}

fn play_all(range: &Range<u64>, profiles: &Profiles) -> Summary {
    let summary = Mutex::new(Summary::default());
    for_each(range, |seed| {
        let world = World::draw(seed);
        let verdict = judge(&world, profiles);
        let mut summary = summary.lock().expect("nobody panics while holding it");
        let count = summary.of_kind.entry(world.kind).or_default();
        count.0 += 1;
        let harms = verdict.harms();
        if !harms.is_empty() {
            count.1 += 1;
            tell(&world, &verdict);
            summary.harmed.insert(seed, harms.join(", "));
        }
        summary.messages += verdict.tested.times.len() as u64;
        summary.packets += verdict.tested.packets + verdict.reference.packets;
        summary.unexplained += u64::from(verdict.is_needless_without_excuse());
        summary.needless[0] += verdict.tested.needless;
        summary.needless[1] += verdict.reference.needless;
        summary.lost_sacks += verdict.tested.lost_sacks;
        summary.gains += verdict.ratios().0.ln();
    });
    summary.into_inner().expect("nobody panics while holding it")
}

#[test]
fn worlds_are_not_harmed() {
    let profiles = tested();
    if let Ok(seed) = env::var("TRESSE_WORLD") {
        let world = World::draw(seed.parse().expect("a number"));
        let verdict = judge(&world, &profiles);
        tell(&world, &verdict);
        let harms = verdict.harms();
        assert!(harms.is_empty() || known::cause(world.seed).is_some(), "harmed: {harms:?}");
        return;
    }
    let range = asked("TRESSE_WORLDS", DEFAULT);
    let summary = play_all(&range, &profiles);
    let worlds = range.end - range.start;
    let gain = (summary.gains / worlds as f64).exp();
    println!("{worlds} worlds, {} messages, {} packets", summary.messages, summary.packets);
    println!("a message takes {gain:.3} times as long, geometric mean of all worlds");
    let [needless, reference] = summary.needless;
    println!(
        "in vain: {needless} chunks, {reference} with RFC 9260; SACKs lost: {}",
        summary.lost_sacks
    );
    println!("too many in vain if lost SACKs explained none: {} worlds", summary.unexplained);
    for (kind, (all, harmed)) in &summary.of_kind {
        println!("{kind:?}: {harmed} of {all} harmed");
    }
    let mut harmed = summary.harmed;
    harmed.retain(|seed, _| known::cause(*seed).is_none());
    assert!(harmed.is_empty(), "{} harmed: {harmed:?}", harmed.len());
}

/// Strange worlds that every test run plays.
const STRANGE: Range<u64> = 0..60;

/// Both ends have two addresses, on the same links or on others, or packets overtake each other.
#[test]
fn strange_worlds_are_not_harmed() {
    let profiles = tested();
    let harmed = Mutex::new(BTreeMap::new());
    for_each(&asked("TRESSE_STRANGE", STRANGE), |seed| {
        let world = World::strange(seed);
        let verdict = judge(&world, &profiles);
        let harms = verdict.harms();
        let mut harmed = harmed.lock().expect("nobody panics while holding it");
        if !harms.is_empty() {
            println!("strange world {seed}: {harms:?}: {verdict}\n    {world}");
            harmed.insert(seed, harms.join(", "));
        }
    });
    let mut harmed = harmed.into_inner().expect("nobody panics while holding it");
    harmed.retain(|seed, _| known::strange_cause(*seed).is_none());
    assert!(harmed.is_empty(), "{} harmed: {harmed:?}", harmed.len());
}

/// The default profile harms nobody in these worlds.
fn assert_harmless(seeds: &[u64]) {
    let profiles = Profiles::against_rfc9260("tresse", "");
    for seed in seeds {
        let world = World::draw(*seed);
        let verdict = judge(&world, &profiles);
        tell(&world, &verdict);
        assert_eq!(verdict.harms(), Vec::<&str>::new(), "{world}");
    }
}

/// Beside transfers that fill a short queue retransmissions are lost, too. Each lowers the window once more,
/// below the floor of RFC 9260, and afterwards it has to be back there as soon as after T3-rtx. Limited Transmit had
/// sent into the full queue besides (`docs/harm.md`).
#[test]
fn a_window_that_was_lowered_twice_is_soon_back_at_its_floor() {
    assert_harmless(&[842]);
}

/// A retransmission is lost although there is no queue, and the window was lowered below the floor of ssthresh
/// (`core/src/congestion/second_loss.rs`).
#[test]
fn a_retransmission_lost_on_a_calm_path_leaves_the_window_at_its_floor() {
    assert_harmless(&[257]);
}

/// Between messages cwnd decayed once per RTO, and a thin stream's RTO is shorter: no window was left when a queue of
/// seconds came (`core/src/path/patience.rs`).
#[test]
fn the_window_of_an_idle_path_decays_no_sooner_than_by_rfc9260() {
    assert_harmless(&[286, 2074]);
}

/// Links of 7 to 8 kbit/s that are 84 to 98 % full: a repair is a packet more than they have room for, and behind
/// the queue that it made chunk after chunk looked lost.
#[test]
fn a_repair_on_a_nearly_full_link_makes_no_other_chunk_look_lost() {
    assert_harmless(&[1164, 1638, 2124]);
}

/// The links on which the default profile collapsed: every copy lengthened the queue, the queue made more
/// chunks overdue, and each acknowledgement that was taken for one of a copy declared all others lost.
#[test]
fn the_links_of_the_collapse_are_not_harmed() {
    let lossy = |kbps, delay| LinkConfig { loss: 0.01, ..LinkConfig::new(kbps, delay) };
    for (link, every_ms) in
        [(lossy(30.0, 50.0), 50.0), (lossy(100.0, 20.0), 20.0), (LinkConfig::new(8.0, 50.0), 250.0)]
    {
        let world = World::alone(1, &link, 100, every_ms);
        let verdict = judge(&world, &Profiles::against_rfc9260("tresse", ""));
        tell(&world, &verdict);
        assert_eq!(verdict.harms(), Vec::<&str>::new(), "{world}");
    }
}

/// What a full link may be offered, in units of what RFC 9260 offers.
const AT_MOST: f64 = 1.1;

/// Full links that every test run plays; with `TRESSE_THOROUGH=1`, as `.ci/run` has it, three times as many.
const FULL_LINKS: Range<u64> = 0..100;
const MORE_FULL_LINKS: Range<u64> = 0..300;

/// RFC 5681 §5: whatever looks like a loss, the load that is offered to a full link does not grow. Where
/// RFC 9260 leaves a part of the link idle, it is not full.
#[test]
fn a_full_link_is_offered_no_more_than_by_rfc9260() {
    let profiles = tested();
    let overloaded = Mutex::new(BTreeMap::new());
    let usual = if env::var_os("TRESSE_THOROUGH").is_some() { MORE_FULL_LINKS } else { FULL_LINKS };
    for_each(&asked("TRESSE_FULL_LINKS", usual), |seed| {
        let world = World::saturated(seed);
        let [reference, tested] = [&profiles.reference, &profiles.tested].map(|profile| {
            let mut played = play(&world, profile, 0);
            played.add(&play(&world, profile, 1));
            played
        });
        let carried =
            world.forward.bandwidth_kbps.unwrap_or_default() * 125.0 * world.seconds * 2.0;
        let ratio = tested.offered as f64 / carried.max(reference.offered as f64);
        if ratio > AT_MOST {
            let mut overloaded = overloaded.lock().expect("nobody panics while holding it");
            println!("full link {seed}: {ratio:.3} times the load: {world}");
            tell_sent("tested", &tested);
            tell_sent("RFC 9260", &reference);
            overloaded.insert(seed, format!("{ratio:.3} times the load: {world}"));
        }
    });
    let overloaded = overloaded.into_inner().expect("nobody panics while holding it");
    assert!(overloaded.is_empty(), "{}: {overloaded:#?}", overloaded.len());
}
