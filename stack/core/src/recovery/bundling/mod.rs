//! Chunks that are not lost but travel in a packet that leaves anyway.

pub(crate) mod bundle_fast_retransmit;
pub(crate) mod bundle_new;
pub(crate) mod overdue;

use crate::ids::LossCause;

/// Which chunks in flight are worth a place: any of them, or those [`overdue`] by this many RTTVAR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth(Option<f64>);

impl Worth {
    /// Why they leave again.
    pub(crate) const CAUSE: LossCause = LossCause::Bundled;

    pub(super) const fn new(overdue: Option<f64>) -> Worth {
        Worth(overdue)
    }

    /// Any of them.
    pub(crate) const fn is_any(self) -> bool {
        self.0.is_none()
    }

    /// By how many RTTVAR they are overdue.
    pub(super) const fn rttvars(self) -> Option<f64> {
        self.0
    }
}
