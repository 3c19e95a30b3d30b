//! Some of the gauntlet with the default profile: no world breaks a law that is not known to break it, and none
//! has become worse (`known.txt`).
//!
//! - `TRESSE_GAUNTLET=0..1000 cargo test --release -p tresse-gauntlet --test gauntlet` plays others.
//! - `TRESSE_GAUNTLET_LIST=known.txt` writes the list of those that break a law today.

mod known;

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{env, fs, thread};

use tresse_core::Profile;
use tresse_gauntlet::{World, judge, law};

/// Worlds that a developer's `cargo test` plays.
const FEWER: Range<u64> = 0..75;
/// Worlds that are played with `TRESSE_THOROUGH=1`, as `.ci/run` has it, beside those that ever failed.
const MORE: Range<u64> = 0..300;

/// The worlds that are asked for.
fn worlds() -> Vec<u64> {
    let Ok(text) = env::var("TRESSE_GAUNTLET") else {
        let is_set = |name| env::var_os(name).is_some();
        if !is_set("TRESSE_THOROUGH") && !is_set("TRESSE_GAUNTLET_LIST") {
            return FEWER.collect();
        }
        let ever_failed = known::list().into_iter().map(|known| known.world);
        let mut worlds: Vec<u64> = MORE.chain(ever_failed).collect();
        worlds.sort_unstable();
        worlds.dedup();
        return worlds;
    };
    let parse = |part: &str| part.trim().parse::<u64>().ok();
    let range = text.split_once("..").and_then(|(a, b)| Some(parse(a)?..parse(b)?));
    range.unwrap_or_else(|| panic!("TRESSE_GAUNTLET={text} is not like 0..300")).collect()
}

#[test]
fn no_world_breaks_a_law_that_it_kept() {
    let (worlds, known) = (worlds(), known::list());
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicUsize::new(0);
    let lines = Mutex::new(Vec::new());
    let news = Mutex::new(Vec::new());
    let work = || {
        while let Some(seed) = worlds.get(next.fetch_add(1, Ordering::Relaxed)) {
            let world = World::draw(*seed);
            let measures = judge::measure(&world, &Profile::tresse());
            let measures = measures.unwrap_or_else(|error| panic!("{error}\n{world}"));
            for verdict in law::judge(&world, &measures) {
                if !verdict.holds() {
                    let line = (*seed, verdict.law, known::line(*seed, &verdict));
                    lines.lock().expect("nobody panics with it").push(line);
                }
                if known::is_news(&known, *seed, &verdict) {
                    let text = format!("{}: {:.3}\n{world}", verdict.law.name(), verdict.value);
                    news.lock().expect("nobody panics with it").push(text);
                }
            }
        }
    };
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut lines = lines.into_inner().expect("nobody panics with it");
    lines.sort_unstable();
    println!("{} worlds, {} broken laws", worlds.len(), lines.len());
    if let Ok(path) = env::var("TRESSE_GAUNTLET_LIST") {
        let lines: Vec<String> = lines.into_iter().map(|(_, _, line)| line).collect();
        let head = "# World, law, margin in percent of the bound: see known.rs.";
        fs::write(path, format!("{head}\n{}\n", lines.join("\n"))).expect("a writable file");
        return;
    }
    let news = news.into_inner().expect("nobody panics with it");
    assert!(news.is_empty(), "{} broken laws are new:\n{}", news.len(), news.join("\n"));
}
