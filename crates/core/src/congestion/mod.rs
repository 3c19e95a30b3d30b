//! Congestion control: one controller per path decides how much may be in flight there.

pub(crate) mod prr;
mod rfc9260;

use rfc9260::Rfc9260;

use crate::profile::{CongestionAlgorithm, CongestionParameters};

/// What a SACK means for one path.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AckFacts {
    /// Bytes acknowledged for the first time on this path, with headers and padding.
    pub(crate) bytes: usize,
    /// Bytes in flight on this path before the SACK.
    pub(crate) flight_before: usize,
    /// The Cumulative TSN Ack Point advanced.
    pub(crate) cumulative_advanced: bool,
    pub(crate) in_fast_recovery: bool,
    /// Nothing is outstanding on the path any more.
    pub(crate) all_acked: bool,
}

/// A congestion controller. All sizes are bytes of DATA chunks with headers and padding.
pub(crate) trait CongestionControl {
    fn cwnd(&self) -> usize;
    fn ssthresh(&self) -> usize;
    fn on_ack(&mut self, facts: &AckFacts);
    /// Loss found by SACKs, at the start of an episode.
    fn on_loss(&mut self);
    /// T3-rtx expired; `again` says that it has since anything was acknowledged.
    fn on_timeout(&mut self, again: bool);
    /// Nothing was sent for one RTO.
    fn on_idle(&mut self);
    /// Sets both from outside: the answer to a spurious loss, and rate reduction.
    fn set_window(&mut self, cwnd: usize, ssthresh: usize);
    /// The window of a new association.
    fn initial_window(&self) -> usize;
}

/// The registry of congestion controllers.
#[derive(Debug)]
pub(crate) enum Controller {
    Rfc9260(Rfc9260),
}

impl Controller {
    pub(crate) fn new(parameters: &CongestionParameters, pmdcs: usize, ipv6: bool) -> Controller {
        match parameters.algorithm {
            CongestionAlgorithm::Rfc9260 => {
                Controller::Rfc9260(Rfc9260::new(parameters, pmdcs, ipv6))
            }
        }
    }

    pub(crate) fn get(&self) -> &dyn CongestionControl {
        match self {
            Controller::Rfc9260(c) => c,
        }
    }

    pub(crate) fn get_mut(&mut self) -> &mut dyn CongestionControl {
        match self {
            Controller::Rfc9260(c) => c,
        }
    }
}
