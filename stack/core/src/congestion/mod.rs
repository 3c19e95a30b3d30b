//! Congestion control: one controller per path decides how much may be in flight there.
//!
//! A coupled controller also looks at the windows of the other paths, which the association shows
//! it: [`Coupled`].

mod balia;
mod bbr;
mod cmt_rpv1;
mod cmt_rpv2;
mod coupled;
mod cubic;
mod cwnd_update;
mod hystart_plus_plus;
mod lia;
mod loss_differentiation;
mod olia;
mod prr;
mod rfc9260;
mod second_loss;

use std::time::Duration;

use balia::Balia;
use bbr::Bbr;
use cmt_rpv1::CmtRpv1;
use cmt_rpv2::CmtRpv2;
use coupled::CoupledControl;
use cubic::Cubic;
use lia::Lia;
use olia::Olia;
use rfc9260::Rfc9260;

// One mechanism a part, which has the name of the part. A second one for the same makes it an enum.
/// What a SACK says to each of several windows.
pub(crate) use cwnd_update::has_advanced;
/// What ends the first slow start before a loss does.
use hystart_plus_plus::SlowStartExit;
/// Which losses cut a window.
pub(crate) use loss_differentiation::CongestionSigns;
/// What lowers a window during Fast Recovery step by step.
pub(crate) use prr::RateReduction;
/// How low a loss takes ssthresh.
pub(crate) use second_loss::SsthreshFloor;

use crate::profile::{CongestionAlgorithm, CongestionParameters};
use crate::scoreboard::{LossSample, RateSample};
use crate::time::Time;

/// What coupled controllers know of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct CoupledPath {
    /// Bytes.
    pub(crate) cwnd: f64,
    /// Bytes; no more than the peer's receive buffer, also while it is "arbitrarily high".
    pub(crate) ssthresh: f64,
    /// Smoothed round-trip time in seconds, RTO before the first measurement; above zero.
    pub(crate) rtt: f64,
    /// Bytes acknowledged between losses ([`CongestionControl::between_losses`]).
    pub(crate) between_losses: f64,
}

impl CoupledPath {
    /// Bytes per second.
    fn rate(&self) -> f64 {
        self.cwnd / self.rtt
    }
}

/// The path of a controller, and those that carry data beside it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Coupled<'a> {
    pub(crate) own: CoupledPath,
    /// Of the others those that losses or other flows limit, if this one is limited so, too: usable, with data in
    /// flight, or new data within the last RTO. Empty for a controller that does not
    /// ask for them ([`CongestionControl::is_coupled`]).
    pub(crate) others: &'a [CoupledPath],
}

impl Coupled<'_> {
    fn all(&self) -> impl Iterator<Item = &CoupledPath> + Clone {
        std::iter::once(&self.own).chain(self.others)
    }

    /// The sum of `value` over all paths.
    fn sum(&self, value: impl Fn(&CoupledPath) -> f64) -> f64 {
        self.all().map(value).sum()
    }

    /// The largest `value` of all paths.
    fn max(&self, value: impl Fn(&CoupledPath) -> f64) -> f64 {
        self.all().map(value).fold(0.0, f64::max)
    }
}

/// What a SACK means for one path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct AckFacts<'a> {
    /// When it came.
    pub(crate) now: Time,
    /// Smoothed round-trip time, once there is one.
    pub(crate) srtt: Option<Duration>,
    /// Round trip of the chunk sent last, of those that are newly acknowledged here; `None` if it was sent twice.
    pub(crate) rtt: Option<Duration>,
    /// The highest sequence number newly acknowledged here.
    pub(crate) newest: Option<u64>,
    /// The sequence number of the next new chunk.
    pub(crate) next: u64,
    /// Packets are paced.
    pub(crate) paced: bool,
    /// Delivery rate, for a controller that asks for it ([`CongestionControl::samples_rate`]).
    pub(crate) rate: Option<&'a RateSample>,
    /// Bytes acknowledged for the first time on this path, with headers and padding.
    pub(crate) bytes: usize,
    /// Bytes in flight on this path before the SACK.
    pub(crate) flight_before: usize,
    /// The Cumulative TSN Ack Point advanced.
    pub(crate) cumulative_advanced: bool,
    pub(crate) in_fast_recovery: bool,
    /// Nothing is outstanding on the path any more.
    pub(crate) all_acked: bool,
    pub(crate) coupled: Coupled<'a>,
}

/// A congestion controller. All sizes are bytes of DATA chunks with headers and padding.
pub(crate) trait CongestionControl {
    fn cwnd(&self) -> usize;
    fn ssthresh(&self) -> usize;
    fn on_ack(&mut self, facts: &AckFacts<'_>);
    /// Loss found by SACKs, at the start of an episode.
    fn on_loss(&mut self, coupled: &Coupled<'_>);
    /// A packet was marked (ECN), at the start of an episode. RFC 3168 §5: "essentially the same as the congestion control
    /// response to a *single* dropped packet".
    fn on_mark(&mut self, coupled: &Coupled<'_>) {
        self.on_loss(coupled);
    }
    /// T3-rtx expired; `again` says that it has since anything was acknowledged.
    fn on_timeout(&mut self, again: bool, coupled: &Coupled<'_>);
    /// Nothing was sent for one RTO.
    fn on_idle(&mut self);
    /// Sets both from outside: the answer to a spurious loss, and rate reduction.
    fn set_window(&mut self, cwnd: usize, ssthresh: usize);
    /// The last loss or timeout was none (RFC 4015): the window that the response gives back.
    fn undo(&mut self, cwnd: usize, ssthresh: usize) {
        self.set_window(cwnd, ssthresh);
    }
    /// The path MTU has changed: the unit of growth, and the least that a window is.
    fn set_pmdcs(&mut self, pmdcs: usize);
    /// The window of a new association.
    fn initial_window(&self) -> usize;
    /// It looks at the other paths.
    fn is_coupled(&self) -> bool {
        false
    }
    /// It looks at delivery rates and single losses ([`on_lost`](Self::on_lost)).
    fn samples_rate(&self) -> bool {
        false
    }
    /// A chunk is lost: told to controllers that sample rates ([`samples_rate`](Self::samples_rate)).
    fn on_lost(&mut self, _lost: &LossSample) {}
    /// The recovery that began with the last loss is over.
    fn on_recovered(&mut self) {}
    /// Data leaves again, after there had been nothing to send and nothing was in flight: told to the same.
    fn on_restart(&mut self, _now: Time) {}
    /// The rate at which packets are to leave, in bytes of DATA per second; `None` leaves it to the window.
    fn pacing_rate(&self) -> Option<f64> {
        None
    }
    /// Its window follows what was measured of the path, whatever is lost: nothing else moves it. Rate reduction, the
    /// floor of ssthresh ([`second_loss`]), and what the path holds without a queue are for windows that a loss cuts.
    fn is_model_based(&self) -> bool {
        false
    }
    /// It holds itself back for now: what is delivered says nothing of the path.
    fn holds_back(&self) -> bool {
        false
    }
    /// Bytes acknowledged since the last loss, or between the last two if those were more.
    fn between_losses(&self) -> usize {
        0
    }

    /// Itself; of one in a box, what is in it.
    fn as_control(&self) -> &dyn CongestionControl
    where
        Self: Sized + 'static,
    {
        self
    }
    /// Itself, or what is in the box, to change it.
    fn as_control_mut(&mut self) -> &mut dyn CongestionControl
    where
        Self: Sized + 'static,
    {
        self
    }
}

/// Makes the registry: an enum of the controllers. Each is kept as it is or in a box, and made of that of RFC 9260.
macro_rules! controllers {
    ($($name:ident($held:ty): $make:expr,)*) => {
        /// The controller that a profile has chosen.
        #[derive(Debug)]
        pub(crate) enum Controller {
            $($name($held),)*
        }

        impl Controller {
            pub(crate) fn new(
                parameters: &CongestionParameters,
                pmdcs: usize,
                ipv6: bool,
            ) -> Controller {
                let base = Rfc9260::new(parameters, pmdcs, ipv6);
                match parameters.algorithm {
                    $(CongestionAlgorithm::$name => Controller::$name($make(base).into()),)*
                }
            }

            pub(crate) fn get(&self) -> &dyn CongestionControl {
                match self {
                    $(Controller::$name(control) => control.as_control(),)*
                }
            }

            pub(crate) fn get_mut(&mut self) -> &mut dyn CongestionControl {
                match self {
                    $(Controller::$name(control) => control.as_control_mut(),)*
                }
            }
        }
    };
}

// What is several times as large as the others is kept in a box.
controllers! {
    Rfc9260(Rfc9260): std::convert::identity,
    Cubic(Cubic): Cubic::new,
    Bbr(Box<Bbr>): Bbr::new,
    CmtRpv1(CoupledControl<CmtRpv1>): CoupledControl::new,
    CmtRpv2(CoupledControl<CmtRpv2>): CoupledControl::new,
    Lia(CoupledControl<Lia>): CoupledControl::new,
    Olia(CoupledControl<Olia>): CoupledControl::new,
    Balia(CoupledControl<Balia>): CoupledControl::new,
}

impl Controller {
    /// Whether controllers of this kind look at delivery rates ([`CongestionControl::samples_rate`]).
    pub(crate) fn samples_rate(parameters: &CongestionParameters) -> bool {
        Controller::new(parameters, 1, false).get().samples_rate()
    }
}

/// How slow start goes on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum SlowStart {
    /// By `weight` times the acknowledged bytes, of which `limit` count at most.
    Grow { limit: usize, weight: f64 },
    /// It is over.
    Done,
}

#[cfg(test)]
mod tests;
