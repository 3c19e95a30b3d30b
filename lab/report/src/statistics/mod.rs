//! Summaries of samples: mean, deviation, percentiles, confidence intervals.

mod student;

pub use student::t_quantile;

/// What a table says of a sample. All values are in the unit of the sample.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Summary {
    /// Values in the sample.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Half the width of the 95 % confidence interval of the mean (Student t with n − 1 degrees
    /// of freedom); `None` for fewer than two values.
    pub ci95: Option<f64>,
    /// Sample standard deviation (n − 1); `None` for fewer than two values.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// 50th percentile.
    pub median: f64,
    /// 95th percentile.
    pub p95: f64,
    /// Largest value.
    pub max: f64,
}

impl Summary {
    /// The summary of `values`; `None` if there are none. Values that are not finite are left
    /// out.
    pub fn of(values: &[f64]) -> Option<Summary> {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (first, last) = (*sorted.first()?, *sorted.last()?);
        let n = sorted.len();
        let mean = mean(&sorted)?;
        let sd = (n > 1).then(|| {
            let squares: f64 = sorted.iter().map(|v| (v - mean).powi(2)).sum();
            (squares / (n - 1) as f64).sqrt()
        });
        let ci95 = sd.map(|sd| t_quantile(0.975, (n - 1) as f64) * sd / (n as f64).sqrt());
        Some(Summary {
            n,
            mean,
            ci95,
            sd,
            min: first,
            median: percentile_of_sorted(&sorted, 50.0),
            p95: percentile_of_sorted(&sorted, 95.0),
            max: last,
        })
    }
}

/// Arithmetic mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The `p`-th percentile (0 to 100) by linear interpolation between closest ranks (Hyndman & Fan
/// type 7, as in R and NumPy); `None` of nothing.
pub fn percentile(values: &[f64], p: f64) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    (!sorted.is_empty()).then(|| percentile_of_sorted(&sorted, p))
}

fn percentile_of_sorted(sorted: &[f64], p: f64) -> f64 {
    let rank = p.clamp(0.0, 100.0) / 100.0 * (sorted.len() - 1) as f64;
    let (low, high) = (rank.floor() as usize, rank.ceil() as usize);
    sorted[low] + (sorted[high] - sorted[low]) * (rank - low as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(a: f64, b: f64) -> bool {
        (a - b).abs() < 1e-9 * b.abs().max(1.0)
    }

    #[test]
    fn a_known_sample() {
        // NIST/SEMATECH handbook style check: 2, 4, 4, 4, 5, 5, 7, 9 has mean 5 and
        // population variance 4, so the sample variance is 32/7.
        let s = Summary::of(&[9.0, 2.0, 4.0, 4.0, 5.0, 4.0, 5.0, 7.0]).unwrap();
        assert_eq!((s.n, s.mean, s.min, s.max, s.median), (8, 5.0, 2.0, 9.0, 4.5));
        assert!(close(s.sd.unwrap(), (32.0f64 / 7.0).sqrt()));
        // t(0.975, 7) = 2.364624; half width = t·sd/√8.
        assert!((s.ci95.unwrap() - 2.364_624 * (32.0f64 / 7.0).sqrt() / 8f64.sqrt()).abs() < 1e-5);
    }

    #[test]
    fn percentiles_interpolate() {
        let values = [15.0, 20.0, 35.0, 40.0, 50.0];
        assert!(close(percentile(&values, 40.0).unwrap(), 29.0));
        assert!(close(percentile(&values, 0.0).unwrap(), 15.0));
        assert!(close(percentile(&values, 100.0).unwrap(), 50.0));
        assert!(close(percentile(&values, 95.0).unwrap(), 48.0));
        assert_eq!(percentile(&[], 50.0), None);
    }

    #[test]
    fn small_samples() {
        assert!(Summary::of(&[]).is_none());
        assert!(Summary::of(&[f64::NAN]).is_none());
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.sd, one.ci95, one.p95), (3.0, None, None, 3.0));
        // Two values: t(0.975, 1) = 12.7062.
        let two = Summary::of(&[1.0, 3.0]).unwrap();
        assert!((two.ci95.unwrap() - 12.706_2).abs() < 1e-3);
    }
}
