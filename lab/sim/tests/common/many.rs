//! Many worlds, each from its seed.

use std::env;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The worlds that the environment's `variable` asks for, such as `0..100`.
pub(crate) fn asked(variable: &str, usual: Range<u64>) -> Range<u64> {
    let Ok(text) = env::var(variable) else { return usual };
    let parse = |part: &str| part.trim().parse().ok();
    let range = text.split_once("..").and_then(|(a, b)| Some(parse(a)?..parse(b)?));
    range.unwrap_or_else(|| panic!("{variable}={text} is not like {}..{}", usual.start, usual.end))
}

/// Has every processor take the next seed of `range` until there is none.
pub(crate) fn for_each(range: &Range<u64>, work: impl Fn(u64) + Sync) {
    let threads = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let next = AtomicU64::new(range.start);
    let work = || {
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= range.end {
                break;
            }
            work(seed);
        }
    };
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
}
