//! Worlds that broke a law once, with the margin that they had when they were last noted: what is known to be bad
//! may not become worse, and what is good may not become bad (`main.rs`).

use tresse_gauntlet::{Law, Verdict};

/// The list: world, law, margin in percent.
const LIST: &str = include_str!("known.txt");

/// A broken law may be worse by so much of its bound before it counts: other code draws other random
/// numbers.
pub(crate) const SLACK: f64 = 0.1;

/// A world that is known to break a law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Known {
    /// Its number.
    pub(crate) world: u64,
    /// The law.
    pub(crate) law: Law,
    /// [`Verdict::margin`] when it was noted.
    pub(crate) margin: f64,
}

/// All of them.
///
/// # Panics
/// If the list that is built in cannot be read; a test reads it.
pub(crate) fn list() -> Vec<Known> {
    let lines = LIST.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| read(line).expect("world, law, margin")).collect()
}

fn read(line: &str) -> Option<Known> {
    let mut words = line.split_whitespace();
    let (world, law, percent) = (words.next()?, words.next()?, words.next()?);
    Some(Known {
        world: world.parse().ok()?,
        law: Law::ALL.into_iter().find(|l| l.key() == law)?,
        margin: percent.parse::<f64>().ok()? / 100.0,
    })
}

/// The line of the list for a law that a world breaks.
pub(crate) fn line(world: u64, verdict: &Verdict) -> String {
    format!("{world} {} {:.0}", verdict.law.key(), 100.0 * verdict.margin)
}

/// Whether the world breaks the law by more than is known of it.
pub(crate) fn is_news(known: &[Known], world: u64, verdict: &Verdict) -> bool {
    let of = known.iter().find(|known| known.world == world && known.law == verdict.law);
    verdict.margin < of.map_or(0.0, |known| known.margin.min(0.0)) - SLACK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order_and_without_repetition() {
        let places: Vec<(u64, Law)> = list().iter().map(|k| (k.world, k.law)).collect();
        assert!(places.is_sorted_by(|a, b| a < b), "{places:?}");
        assert!(list().iter().all(|known| known.margin <= 0.0));
    }

    #[test]
    fn what_is_known_may_not_become_much_worse() {
        let known = [Known { world: 3, law: Law::Order, margin: -0.3 }];
        let verdict =
            |margin| Verdict { law: Law::Order, value: 1.0, demand: Law::Order.demand(1), margin };
        assert!(!is_news(&known, 3, &verdict(-0.39)) && is_news(&known, 3, &verdict(-0.41)));
        assert!(!is_news(&known, 4, &verdict(-0.09)) && is_news(&known, 4, &verdict(-0.11)));
        let again = read(&line(3, &verdict(-0.3))).expect("what is written can be read");
        assert_eq!(again, known[0]);
    }
}
