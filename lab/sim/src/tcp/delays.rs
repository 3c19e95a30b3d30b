//! Retransmission delays as tcptrace has them: the time between two transmissions of the same data.

use std::collections::BTreeMap;

use tresse_core::Time;

/// The delays of a sender, milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Delays {
    /// When each segment that is not acknowledged was sent last, by its first byte.
    last: BTreeMap<u64, Time>,
    count: u64,
    min: f64,
    max: f64,
    sum: f64,
    squares: f64,
}

impl Delays {
    /// The segment that begins at this byte is sent, and whether again.
    pub(super) fn sent(&mut self, now: Time, begin: u64) {
        let Some(before) = self.last.insert(begin, now) else { return };
        self.note(now.since(before).as_nanos() as f64 / 1e6);
    }

    /// Something was sent again, this many milliseconds after the transmission before.
    pub fn note(&mut self, ms: f64) {
        self.min = if self.count == 0 { ms } else { self.min.min(ms) };
        self.max = self.max.max(ms);
        self.count += 1;
        self.sum += ms;
        self.squares += ms * ms;
    }

    /// All before this byte is acknowledged.
    pub(super) fn acknowledged(&mut self, una: u64) {
        while self.last.first_key_value().is_some_and(|(begin, _)| *begin < una) {
            self.last.pop_first();
        }
    }

    /// Retransmissions.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Smallest, largest and average delay and the standard deviation, milliseconds; `None` if nothing was sent again.
    pub fn summary(&self) -> Option<[f64; 4]> {
        let n = self.count as f64;
        let average = self.sum / n;
        let variance = (self.squares - n * average * average) / (n - 1.0).max(1.0);
        (self.count > 0).then(|| [self.min, self.max, average, variance.max(0.0).sqrt()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_the_time_since_the_last_transmission() {
        let mut delays = Delays::default();
        assert_eq!(delays.summary(), None);
        for ms in [0, 100, 300, 700] {
            delays.sent(Time::from_millis(ms), 1);
        }
        delays.acknowledged(2);
        delays.sent(Time::from_millis(800), 2);
        let [min, max, average, deviation] = delays.summary().unwrap();
        assert_eq!((delays.count(), min, max), (3, 100.0, 400.0));
        assert!((average - 700.0 / 3.0).abs() < 1e-9 && (deviation - 152.752).abs() < 1e-3);
    }
}
