//! User data over the whole time of a direction, however long it is, in bounded memory.

/// This many intervals at most divide the time where it is drawn.
const INTERVALS: f64 = 150.0;

/// The first length of an interval in which bytes are summed, in seconds.
const FINEST: f64 = 1e-4;

/// How many of them are held at most, and a tenth of that at least once they have been joined: twice [`INTERVALS`], so that what is
/// drawn are sums of whole ones.
const MOST: usize = 3000;

/// Bytes in intervals that become ten times as long when there are too many.
#[derive(Debug)]
pub(super) struct Rate {
    step: f64,
    bytes: Vec<f64>,
}

impl Default for Rate {
    fn default() -> Rate {
        Rate { step: FINEST, bytes: Vec::new() }
    }
}

impl Rate {
    /// Counts bytes at a time in seconds.
    pub(super) fn add(&mut self, at: f64, bytes: f64) {
        while at / self.step >= MOST as f64 {
            self.step *= 10.0;
            self.bytes = self.bytes.chunks(10).map(|ten| ten.iter().sum()).collect();
        }
        let interval = (at / self.step) as usize;
        if interval >= self.bytes.len() {
            self.bytes.resize(interval + 1, 0.0);
        }
        self.bytes[interval] += bytes;
    }

    /// Mbit/s in each [`interval`] of this length, from the beginning, as steps. It ends at nothing.
    pub(super) fn mbps(&self, step: f64) -> Vec<(f64, f64)> {
        if self.bytes.is_empty() {
            return Vec::new();
        }
        // No shorter than what is held, and a multiple of it: see MOST.
        let ratio = ((step / self.step).round() as usize).max(1);
        let sums = self.bytes.chunks(ratio).map(|some| some.iter().sum::<f64>());
        let mbps = sums.map(|bytes| bytes * 8.0 / step / 1e6).chain([0.0]);
        (0..).zip(mbps).map(|(n, mbps)| (f64::from(n) * step, mbps)).collect()
    }
}

/// A round interval of which no more than [`INTERVALS`] are in this many seconds: all that something was counted in, or more.
pub(super) fn interval(end: f64) -> f64 {
    let rough = (end / INTERVALS).max(FINEST);
    let unit = 10f64.powf(rough.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|n| n * unit);
    steps.into_iter().find(|step| *step >= rough * 0.999_999).unwrap_or(rough)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(bytes: &[(f64, f64)]) -> Rate {
        let mut rate = Rate::default();
        bytes.iter().for_each(|(at, bytes)| rate.add(*at, *bytes));
        rate
    }

    #[test]
    fn throughput_is_of_intervals_of_round_length() {
        // 15 s: intervals of 100 ms.
        let steps = rate(&[(0.01, 1000.0), (0.06, 250.0), (0.31, 5000.0)]).mbps(interval(15.0));
        let near = [(0.0, 0.1), (0.1, 0.0), (0.2, 0.0), (0.3, 0.4), (0.4, 0.0)];
        assert_eq!(steps.len(), near.len());
        for ((at, mbps), (when, expected)) in steps.into_iter().zip(near) {
            assert!((at - when).abs() < 1e-9 && (mbps - expected).abs() < 1e-9, "{at} {mbps}");
        }
        assert!(Rate::default().mbps(interval(3.0)).is_empty());
    }

    #[test]
    fn nothing_is_lost_however_long_it_lasts() {
        for end in [0.003, 0.7, 29.0, 31.0, 299.0, 301.0, 86_400.0] {
            let all: Vec<(f64, f64)> =
                (0..10_000).map(|n| (end * f64::from(n) / 1e4, 7.0)).collect();
            let rate = rate(&all);
            assert!(rate.bytes.len() <= MOST);
            let steps = rate.mbps(interval(end));
            assert!((2..=152).contains(&steps.len()), "{end}: {}", steps.len());
            let step = steps[1].0;
            let bytes: f64 = steps.iter().map(|(_, mbps)| mbps * 1e6 / 8.0 * step).sum();
            assert!((bytes - 70_000.0).abs() < 1.0, "{end}: {bytes}");
        }
    }
}
