//! How far counts of independent events are spread.

/// Probability that a Poisson variable of this mean is at most `n`.
fn at_most(n: u64, mean: f64) -> f64 {
    if mean <= 0.0 {
        return 1.0;
    }
    // In logarithms: exp(-mean) is 0 from a mean of 746 on.
    let mut term = -mean;
    let mut sum = term.exp();
    for k in 1..=n {
        term += (mean / k as f64).ln();
        sum += term.exp();
    }
    sum.min(1.0)
}

/// Whether `n` is where 95 % of the counts with this mean are: neither so few nor so many have a
/// probability of less than 2.5 %.
pub(crate) fn is_usual(n: f64, mean: f64) -> bool {
    const TAIL: f64 = 0.025;
    let n = n.max(0.0).round() as u64; // Saturates.
    let fewer = n.checked_sub(1).map_or(0.0, |fewer| at_most(fewer, mean));
    at_most(n, mean) >= TAIL && 1.0 - fewer >= TAIL
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_counts_have_their_own_limits() {
        // Nothing is usual up to a mean of -ln 0.025 = 3.69, one event from 1 - exp(-m) = 0.025 on.
        assert!(is_usual(0.0, 3.68) && !is_usual(0.0, 3.70));
        assert!(is_usual(1.0, 0.026) && !is_usual(1.0, 0.025));
        assert!(is_usual(0.0, 0.0) && !is_usual(1.0, 0.0));
        // Tables of the 95 % limits of a mean of 10 begin at 4 and end at 17.
        let usual: Vec<f64> = (0..40).map(f64::from).filter(|n| is_usual(*n, 10.0)).collect();
        assert_eq!((usual[0], usual[usual.len() - 1]), (4.0, 17.0));
    }

    #[test]
    fn large_counts_are_within_two_deviations() {
        for mean in [100.0_f64, 10_000.0] {
            let deviation = mean.sqrt();
            assert!(is_usual(mean - 1.9 * deviation, mean));
            assert!(is_usual(mean + 1.9 * deviation, mean));
            assert!(!is_usual(mean - 2.1 * deviation, mean));
            assert!(!is_usual(mean + 2.1 * deviation, mean));
        }
    }
}
