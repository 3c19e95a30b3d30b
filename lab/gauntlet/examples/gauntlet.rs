//! Plays worlds and prints what the laws make of each.
//!
//! ```text
//! cargo run --release -p tresse-gauntlet --example gauntlet -- 0..300
//! cargo run --release -p tresse-gauntlet --example gauntlet -- 0..300 tresse+lia 'multipath.pacing = 1.2'
//! cargo run --release -p tresse-gauntlet --example gauntlet -- 0..300 tresse+bbr '' thin
//! ```
//!
//! The last argument keeps to one family of worlds. Of thin streams each line has the 99th percentile of the time that a message
//! takes from when it is due to its delivery, in ms, with bulk and without, and that since its first
//! transmission with bulk: what is between the first and the last of them it waited in the sender. Then that of the first
//! over each path alone, with bulk.

use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{env, thread};

use tresse_core::Profile;
use tresse_gauntlet::{Law, Measures, World, judge, law};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = env::args().skip(1);
    let range = arguments.next().unwrap_or_else(|| "0..100".into());
    let name = arguments.next().unwrap_or_else(|| "tresse".into());
    let parameters = arguments.next().unwrap_or_default();
    let (from, to): (u64, u64) = match range.split_once("..") {
        Some((from, to)) => (from.parse()?, to.parse()?),
        None => (range.parse()?, range.parse::<u64>()? + 1),
    };
    let family = arguments.next();
    let plays = |seed: &u64| {
        let world = World::draw(*seed);
        family.as_ref().is_none_or(|family| world.family.name() == family)
    };
    let profile = Arc::new(Profile::named(&name)?.with_overrides(&parameters)?);
    let next = AtomicU64::new(from);
    let all = Mutex::new(Vec::new());
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= to {
                break;
            }
            if !plays(&seed) {
                continue;
            }
            let measured = judge::measure(&World::draw(seed), &profile);
            all.lock().expect("nobody panics while holding it").push((seed, measured));
        }
    };
    let threads = thread::available_parallelism()?.get();
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut all = all.into_inner().expect("nobody panics while holding it");
    all.sort_by_key(|(seed, _)| *seed);
    let mut packets = 0;
    let mut values: Vec<(Law, f64, f64, u64)> = Vec::new();
    for (seed, measured) in &all {
        let world = World::draw(*seed);
        match measured {
            Err(error) => println!("FAILED: {error}\n{world}"),
            Ok(measures) => {
                packets += measures.packets();
                print!("{}", line(&world, measures));
                for verdict in law::judge(&world, measures) {
                    let mark = if verdict.holds() { "" } else { "!" };
                    print!("  [{}] {:.1} %{mark}", verdict.law.name(), 100.0 * verdict.value);
                    values.push((verdict.law, verdict.value, verdict.margin, *seed));
                }
                println!();
                if to - from <= 3 {
                    println!("{world}\n{measures:#?}");
                }
            }
        }
    }
    for law in Law::ALL {
        let mut of_law: Vec<_> = values.iter().filter(|v| v.0 == law).collect();
        of_law.sort_by(|a, b| a.2.total_cmp(&b.2));
        let fails = of_law.iter().filter(|v| v.2 < 0.0).count();
        print!("{}: {fails} of {} worlds break it; worst:", law.name(), of_law.len());
        for (_, value, _, seed) in of_law.iter().take(10) {
            print!(" {seed} ({:.1} %)", 100.0 * value);
        }
        println!();
    }
    println!("{packets} packets");
    Ok(())
}

fn line(world: &World, measures: &Measures) -> String {
    let alone: Vec<String> =
        measures.alone.iter().map(|p| format!("{:.2}", p.goodput_mbps)).collect();
    let thin = measures.thin_alone.as_ref().map_or_else(String::new, |alone| {
        let [due, sent] = measures.ours.thin_ms;
        let paths = measures.alone.iter().map(|p| format!("{:.1}", p.thin_ms[0]));
        let paths = paths.collect::<Vec<_>>().join(" / ");
        let alone = alone.thin_ms[0];
        format!("; thin {due:.1} ms, alone {alone:.1}, sent {sent:.1}, on each path {paths}")
    });
    format!(
        "world {}, {}: {:.2} Mbit/s; alone {}; ideal {:.2}{thin}",
        world.seed,
        world.family.name(),
        measures.ours.goodput_mbps,
        alone.join(" / "),
        world.ideal_mbps()
    )
}
