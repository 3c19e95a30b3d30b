//! A little more is sent, to see whether the rate rises (as BBR does, Cardwell et al. 2016). What leaves in one round is
//! acknowledged in the next.

/// Rounds without a trial after one in vain.
const REST: u32 = 16;
/// Rounds of a trial.
const ROUNDS: u32 = 2;
/// Bounds of `s`.
const MIN_SHIFT: u32 = 3;
const MAX_SHIFT: u32 = 7;

#[derive(Clone, Copy, Debug)]
struct Trial {
    /// How many are left.
    rounds: u32,
    /// The rate before.
    rate: f64,
}

/// The one that is under way, and those before it.
#[derive(Debug)]
pub(super) struct Trials {
    trial: Option<Trial>,
    /// Rounds until the next one.
    rest: u32,
    /// `s`: a trial is this power of two smaller than the bandwidth-delay product.
    shift: u32,
}

impl Default for Trials {
    fn default() -> Trials {
        Trials { trial: None, rest: 0, shift: MIN_SHIFT }
    }
}

impl Trials {
    /// A round is over.
    pub(super) const fn on_round(&mut self) {
        self.rest = self.rest.saturating_sub(1);
        if let Some(trial) = &mut self.trial {
            trial.rounds -= 1;
        }
    }

    /// Nothing follows from the one that is under way.
    pub(super) const fn stop(&mut self) {
        self.trial = None;
    }

    /// Nor does anything from one that is over.
    pub(super) fn stop_if_over(&mut self) {
        self.trial = self.trial.filter(|trial| trial.rounds > 0);
    }

    /// If it is over: whether it has raised the rate, which is `rate` now.
    pub(super) fn judge(&mut self, rate: f64) {
        if let Some(trial) = self.trial.take_if(|trial| trial.rounds == 0) {
            let expected = trial.rate * (1.0 + 0.25 / f64::from(1u32 << self.shift));
            self.end(rate > expected);
        }
    }

    fn end(&mut self, worth_it: bool) {
        if worth_it {
            self.shift = (self.shift - 1).max(MIN_SHIFT);
        } else {
            self.rest = REST;
            self.shift = (self.shift + 1).min(MAX_SHIFT);
        }
    }

    /// One begins, unless another one is under way or was in vain.
    pub(super) const fn begin(&mut self, rate: f64) {
        if self.trial.is_none() && self.rest == 0 {
            self.trial = Some(Trial { rounds: ROUNDS, rate });
        }
    }

    /// A loss: the one that is under way was in vain.
    pub(super) fn on_loss(&mut self) {
        if self.trial.take().is_some() {
            self.end(false);
        }
    }

    /// By how much the window grows, for one that has just begun.
    pub(super) fn bytes(&self, bdp: usize) -> usize {
        let begins = self.trial.is_some_and(|trial| trial.rounds == ROUNDS);
        if begins { bdp >> self.shift } else { 0 }
    }

    /// Of the rate, what is sent meanwhile.
    pub(super) fn gain(&self) -> Option<f64> {
        self.trial.map(|_| 1.0 + 1.0 / f64::from(1u32 << self.shift))
    }
}
