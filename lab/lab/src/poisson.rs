//! Whether the count of one run and the counts of several others are of the same thing.

use tresse_report::statistics::t_quantile;

/// Probability that a binomial variable, of `n` trials that succeed with `p` each, is at most `k`.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    // In logarithms: (1 - p)^n is 0 for many trials.
    let mut term = n as f64 * (-p).ln_1p();
    let mut sum = term.exp();
    for i in 0..k.min(n) {
        term += ((n - i) as f64 / (i + 1) as f64 * p / (1.0 - p)).ln();
        sum += term.exp();
    }
    sum.min(1.0)
}

/// By how many standard deviations of a normal distribution the mean `ours` of this many runs is above the count
/// `theirs` of one run, if events are independent: the test is the exact one. If one run is like the others, its share
/// of all events is binomial, of all events that there were, each with a probability of one run among all.
pub(crate) fn score(theirs: f64, ours: f64, runs: usize) -> f64 {
    let runs = runs.max(1) as f64;
    let count = theirs.max(0.0).round() as u64; // Saturates.
    let all = count.saturating_add((ours.max(0.0) * runs).round() as u64);
    let one = 1.0 / (runs + 1.0);
    let fewer = at_most(count, all, one);
    let more = 1.0 - count.checked_sub(1).map_or(0.0, |below| at_most(below, all, one));
    let tail = fewer.min(more).clamp(1e-12, 0.5);
    let z = t_quantile(1.0 - tail, 1e9);
    if fewer < more { z } else { -z }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_have_their_own_limits() {
        let usual = |theirs: f64, ours: f64, runs| score(theirs, ours, runs).abs() <= 1.96;
        // 1 of 41 runs has an event: 1/41 is less than 2.5 %. If another has one as well, it is 2/41.
        assert!(!usual(1.0, 0.0, 40) && usual(1.0, 0.025, 40));
        // Of very many runs the mean is known: nothing is usual up to a mean of -ln 0.025 = 3.69.
        assert!(usual(0.0, 3.66, 100_000) && !usual(0.0, 3.72, 100_000));
        assert!(usual(0.0, 0.0, 40));
        // Tables of the 95 % limits of a mean of 10 begin at 4 and end at 17.
        let counts: Vec<f64> =
            (0..40).map(f64::from).filter(|n| usual(*n, 10.0, 1_000_000)).collect();
        assert_eq!((counts[0], counts[counts.len() - 1]), (4.0, 17.0));
    }

    #[test]
    fn large_counts_are_about_normal_and_few_runs_say_less() {
        // 100 and the mean of 40 runs of 121: 21 over the square root of 100 to 121, less half an event.
        let z = score(100.0, 121.0, 40);
        assert!((1.8..2.0).contains(&z), "{z}");
        assert!(score(142.0, 121.0, 40) < -1.7);
        // One run of ours has a spread of its own.
        assert!(score(100.0, 121.0, 1) < 0.75 * z);
        assert!(score(500.0, 1000.0, 40) > 6.0);
    }
}
