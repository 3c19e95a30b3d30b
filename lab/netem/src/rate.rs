//! Serialisation: how long a packet occupies the link.

use crate::time::Nanos;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Rate {
    /// `None` is unlimited.
    bits_per_second: Option<u64>,
}

impl Rate {
    /// `None` is unlimited.
    pub(crate) fn new(kbps: Option<f64>) -> Rate {
        // Validation keeps this between 1 and 10^15.
        Rate { bits_per_second: kbps.map(|kbps| (kbps * 1e3).round() as u64) }
    }

    /// Rounded up to whole nanoseconds, so that the rate is never exceeded.
    pub(crate) fn time_for(self, bytes: u64) -> Nanos {
        let Some(rate) = self.bits_per_second else { return Nanos::ZERO };
        match bytes.checked_mul(8_000_000_000) {
            Some(bit_nanos) => Nanos::new(bit_nanos.div_ceil(rate)),
            None => {
                let nanos = (u128::from(bytes) * 8_000_000_000).div_ceil(u128::from(rate));
                Nanos::new(u64::try_from(nanos).unwrap_or(u64::MAX))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_and_rounded_up() {
        let rate = |kbps| Rate::new(Some(kbps));
        assert_eq!(rate(1000.0).time_for(1250), Nanos::from_millis(10));
        assert_eq!(rate(3.0).time_for(1), Nanos::new(2_666_667));
        assert_eq!(rate(0.001).time_for(u64::MAX), Nanos::MAX);
        assert_eq!(rate(0.001).time_for(2_000_000_000).get(), 16_000_000_000_000_000_000);
        assert_eq!(Rate::new(None).time_for(9000), Nanos::ZERO);
    }
}
