//! How fast a path delivered in its last rounds, and whether that still grows (as BBR does, Cardwell et al. 2016).

/// Rounds that the rate is remembered for.
const ROUNDS: usize = 10;
/// Rounds without growth after which the path is full.
const FULL_ROUNDS: u32 = 3;

/// Bytes per second.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: [f64; ROUNDS],
    next: usize,
    growth: Growth,
}

/// The rate when it last grew by a quarter, and rounds since.
#[derive(Clone, Copy, Debug, Default)]
struct Growth {
    rate: f64,
    rounds: u32,
}

impl Growth {
    fn on_round(&mut self, rate: f64) {
        if rate >= 1.25 * self.rate {
            *self = Growth { rate, rounds: 0 };
        } else {
            self.rounds = self.rounds.saturating_add(1);
        }
    }
}

impl Rates {
    /// That of a round.
    pub(super) fn note(&mut self, rate: f64) {
        self.last[self.next] = rate;
        self.next = (self.next + 1) % ROUNDS;
        self.growth.on_round(rate);
    }

    /// What was seen before is no longer so: all there is now is `rate`.
    pub(super) const fn forget(&mut self, rate: f64) {
        self.last = [rate; ROUNDS];
    }

    /// The largest one; 0 before the first round.
    pub(super) fn largest(&self) -> f64 {
        self.last.iter().copied().fold(0.0, f64::max)
    }

    /// The path is not full yet, as far as is known.
    pub(super) const fn are_growing(&self) -> bool {
        self.growth.rounds < FULL_ROUNDS
    }

    /// A loss: it is.
    pub(super) const fn on_loss(&mut self) {
        self.growth.rounds = FULL_ROUNDS;
    }
}
