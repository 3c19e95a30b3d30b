//! Numbers that stand for all packets of many worlds: equal ones, where a change shall move nothing (`conformance/unchanged.sh`).

use std::env;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use crate::run::Options;
use crate::scenario::{EXTENDED, KEYED, LARGE, MIXED, MOVING, NASTY, RESTLESS};
use crate::seeds;

const FAMILIES: [(&str, u64); 8] = [
    ("plain", 0),
    ("extended", EXTENDED),
    ("mixed", MIXED),
    ("nasty", NASTY),
    ("keyed", KEYED),
    ("moving", MOVING),
    ("restless", RESTLESS),
    ("large", LARGE),
];

/// Prints the digest of each of the first `TRESSE_DIGESTS` seeds of each family.
pub(crate) fn print() {
    let Ok(text) = env::var("TRESSE_DIGESTS") else { return };
    let count: u64 = text.parse().unwrap_or_else(|_| panic!("TRESSE_DIGESTS={text} is no number"));
    let (next, lines) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some((family, offset)) = FAMILIES.get((at / count.max(1)) as usize) else { return };
            let seed = offset + at % count;
            let report = seeds::run_seed(seed, &Options { digest: true, ..Options::default() }).1;
            let line = format!("digest {family} {seed} {:016x} {}", report.digest, report.packets);
            lines.lock().expect("no thread panics").push((at, line));
        }
    };
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    thread::scope(|scope| (0..threads).for_each(|_| drop(scope.spawn(work))));
    let mut lines = lines.into_inner().expect("no thread panics");
    lines.sort_unstable();
    assert_eq!(lines.len() as u64, count * FAMILIES.len() as u64);
    lines.iter().for_each(|(_, line)| println!("{line}"));
}
