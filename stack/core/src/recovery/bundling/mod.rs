//! Chunks that are not lost but travel in a packet that leaves anyway.

pub(crate) mod bundle_fast_retransmit;
pub(crate) mod bundle_new;
pub(crate) mod late_sacks;

use crate::ids::LossCause;

/// Which chunks in flight are worth a place: any of them, or those whose SACK is late ([`late_sacks`]) by this many RTTVAR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Worth(Option<f64>);

impl Worth {
    /// Why they leave again.
    pub(crate) const CAUSE: LossCause = LossCause::Bundled;

    pub(super) const fn new(rttvars: Option<f64>) -> Worth {
        Worth(rttvars)
    }

    /// Any of them.
    pub(crate) const fn is_any(self) -> bool {
        self.0.is_none()
    }

    /// By how many RTTVAR their SACK is late.
    pub(super) const fn rttvars(self) -> Option<f64> {
        self.0
    }
}
