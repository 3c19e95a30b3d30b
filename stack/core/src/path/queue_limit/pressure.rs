//! How often a path loses, and the window that RFC 9260 would have there.
//!
//! Idea: a flow of RFC 9260 §7.2.2 grows by one packet in a round trip and halves its window at a loss, so that with a
//! loss every n rounds it has n to 2 n packets. Who loses no more often than such a flow would with a full path takes
//! nothing from others by keeping its window. Who loses more often loses at random, or others want the path as
//! well, and only the second can be harmed: it is spared what such a flow has, and no more; the half of RFC 9260 it keeps in
//! any case (the loss intervals are those of TFRC, RFC 5348 §5, in round trips). Timeouts do not count.
//!
//! ```text
//! n        rounds between losses, exponentially weighted by 1/4; at first what fills the path
//! full     rounds after which such a flow would fill the path again: its packets / 1.75
//! kept     1.75 n packets, divided among the paths that are pressed, here or by rivals
//! felt     two losses came, and since the last one fewer than 8 times `full` rounds passed
//! ```

/// Of n: where between n and 2 n packets a loss leaves the window.
const PEAK: f64 = 1.75;
/// Weight of the last interval.
const WEIGHT: f64 = 0.25;
/// An interval counts as no longer than this many times that of a full path.
const LONGEST: f64 = 2.0;
/// Without a loss for this many times the interval of a full path nothing presses any more.
const FORGOTTEN: f64 = 8.0;

/// The losses of one path.
#[derive(Debug, Default)]
pub(super) struct Pressure {
    rounds: u64,
    lost_at: Option<u64>,
    /// Rounds between losses.
    interval: Option<f64>,
}

impl Pressure {
    pub(super) fn on_round(&mut self) {
        self.rounds += 1;
    }

    /// Recovery begins on a path that holds `packets`.
    pub(super) fn on_loss(&mut self, packets: f64) {
        if let Some(since) = self.since() {
            let full = packets / PEAK;
            let rounds = since.max(1.0).min(LONGEST * full);
            let mean = self.interval.unwrap_or(full);
            self.interval = Some(mean + WEIGHT * (rounds - mean));
        }
        self.lost_at = Some(self.rounds);
    }

    /// Rounds since the last loss.
    fn since(&self) -> Option<f64> {
        self.lost_at.map(|at| (self.rounds - at) as f64)
    }

    /// Losses limit the path, which holds `packets`.
    pub(super) fn is_felt(&self, packets: f64) -> bool {
        let recent = self.since().is_some_and(|since| since < FORGOTTEN * packets / PEAK);
        recent && self.interval.is_some()
    }

    /// Packets that the window keeps at a loss, if a half of it is less.
    pub(super) fn kept(&self) -> f64 {
        self.interval.map_or(f64::INFINITY, |rounds| PEAK * rounds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After many losses, one every `rounds` rounds, on a path of `packets`.
    fn losing(rounds: u64, packets: f64) -> Pressure {
        let mut pressure = Pressure::default();
        for _ in 0..100 {
            (0..rounds).for_each(|_| pressure.on_round());
            pressure.on_loss(packets);
        }
        pressure
    }

    #[test]
    fn a_first_loss_says_nothing() {
        let mut pressure = Pressure::default();
        pressure.on_loss(100.0);
        assert!(!pressure.is_felt(100.0));
        assert_eq!(pressure.kept(), f64::INFINITY);
    }

    #[test]
    fn what_is_kept_is_the_window_of_a_flow_that_loses_as_often() {
        let kept = losing(10, 100.0).kept();
        assert!((kept - 17.5).abs() < 0.1, "{kept}");
        // A flow that fills the path of 100 packets loses every 50 to 60 rounds: nothing is taken from it.
        assert!(losing(58, 100.0).kept() >= 100.0);
    }

    #[test]
    fn pressure_ends() {
        let mut pressure = losing(10, 100.0);
        assert!(pressure.is_felt(100.0));
        (0..458).for_each(|_| pressure.on_round());
        assert!(!pressure.is_felt(100.0));
    }
}
