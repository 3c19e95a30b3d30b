//! What corrects an estimate of how much the other paths send while a packet is under way: it grows when the buffers
//! blocked an open path, and shrinks otherwise (Ferlin et al. 2016, §III-C).

use super::View;

const STEP: f64 = 0.05;
/// Bounds of the correction: a bad phase is forgotten, a good one makes nobody careless.
const LAMBDA: (f64, f64) = (1.0, 4.0);

/// The correction of the estimate, `lambda`.
#[derive(Debug)]
pub(super) struct Correction {
    lambda: f64,
    /// `blocked` of the view when lambda was last corrected.
    blocked: u64,
    /// Packets until it is corrected again.
    countdown: usize,
}

impl Default for Correction {
    fn default() -> Self {
        Correction { lambda: 1.0, blocked: 0, countdown: 0 }
    }
}

impl Correction {
    /// The factor now; it is corrected once in about `window` bytes.
    pub(super) fn factor(&mut self, view: &View<'_>, window: usize) -> f64 {
        if self.countdown > 0 {
            self.countdown -= 1;
            return self.lambda;
        }
        self.countdown = window / view.mss.max(1);
        let step = if view.blocked > self.blocked { STEP } else { -STEP };
        self.lambda = (self.lambda + step).clamp(LAMBDA.0, LAMBDA.1);
        self.blocked = view.blocked;
        self.lambda
    }
}
