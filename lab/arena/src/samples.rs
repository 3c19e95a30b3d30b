//! Statistics of the samples that a cell keeps.

/// The mean; `None` of nothing.
pub(crate) fn mean(values: &[f32]) -> Option<f64> {
    let sum: f64 = values.iter().copied().map(f64::from).sum();
    (!values.is_empty()).then(|| sum / values.len() as f64)
}

/// The smallest value that this many percent do not exceed; `None` of nothing.
pub(crate) fn percentile(values: &[f32], percent: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f32::total_cmp);
    let rank = (percent / 100.0 * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.max(1) - 1).copied().map(f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_values_that_occurred() {
        let values = [3.0, 1.0, 2.0, 4.0];
        let at = |percent| percentile(&values, percent).unwrap();
        assert_eq!([at(0.0), at(25.0), at(50.0), at(51.0), at(100.0)], [1.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!((percentile(&[], 50.0), mean(&[])), (None, None));
        assert_eq!(mean(&values), Some(2.5));
    }
}
