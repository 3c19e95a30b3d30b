//! Loss recovery: algorithms look at facts and return decisions; only the sending half acts.
//!
//! One file per mechanism; a profile switches each of them, and any subset composes. In which
//! order they are asked:
//!
//! | when | what |
//! |---|---|
//! | a SACK was applied | [`thin_stream`], then [`spurious`] with its [`response`](spurious::response), then [`loss`]: fast retransmit, thin fast retransmit, Early Retransmit (bytes, packets; unless switched off), RACK, Limited Transmit. A chunk is declared lost once, for the first cause |
//! | an RTT was measured | RTO.Min: [`dynamic_rto_min`](timer::dynamic_rto_min), then [`thin_rto_min`](timer::thin_rto_min) if it is lower |
//! | T3-rtx starts again after a SACK | [`t3_rtx`](timer::t3_rtx) decides whether, [`rto_restart`](timer::rto_restart) how long |
//! | T3-rtx would expire | [`tail_loss_probe`](timer::tail_loss_probe) first, if one may be sent |
//! | T3-rtx expired | [`thin_no_backoff`](timer::thin_no_backoff); RACK spares what is too young; F-RTO holds all but one packet |
//! | a packet is written | what is lost, or [`bundling`] in front of new data; [`immediate_sack`] on its last chunk |
//! | any of this might be in vain | [`budget`] says whether it may be done |

mod budget;
mod bundling;
mod chunk_rescheduling;
mod hooks;
mod immediate_sack;
mod loss;
mod registry;
mod silent_path;
mod spurious;
#[cfg(test)]
mod tests;
mod thin_stream;
pub(crate) mod timer;

use std::time::Duration;

use smallvec::SmallVec;

use crate::event::LossCause;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::scoreboard::{AckOutcome, MissingRange, Scoreboard};
use crate::time::Time;
use budget::Budget;
pub(crate) use bundling::Worth;
use bundling::overdue::Overdue;
pub(crate) use chunk_rescheduling::{Buffers, Rescheduling as Detours};
pub(crate) use hooks::{Guess, RtoMin};
pub(crate) use immediate_sack::Asking;
use loss::early_retransmit_switch_off::EarlyRetransmitSwitchOff;
use registry::AnyAlgorithm;
pub(crate) use silent_path::PathFacts;
use spurious::SpuriousDetection;
pub(crate) use spurious::{Cut, Trigger, Verdict, ticks, windows};
use thin_stream::ThinStream;
use timer::dynamic_rto_min::DynamicRtoMin;
use timer::tail_loss_probe::TailLossProbe;

/// What an algorithm may look at when a SACK was applied.
pub(crate) struct SackFacts<'a> {
    pub(crate) now: Time,
    pub(crate) board: &'a Scoreboard,
    pub(crate) outcome: &'a AckOutcome,
    /// TSNs that the SACK reported as duplicates, unwrapped.
    pub(crate) duplicates: &'a [u64],
    /// At least one chunk got a miss indication from this SACK.
    pub(crate) struck: bool,
    /// Unsent user data waits, and the peer's window has room for it.
    pub(crate) new_data_ready: bool,
    /// Data takes one path at a time, so that the order in which it arrives says something.
    pub(crate) in_order: bool,
    /// Sender Maximum Segment Size: the PMDCS of the data path.
    pub(crate) smss: usize,
    /// In Fast Recovery (RFC 9260 §7.2.4).
    pub(crate) in_fast_recovery: bool,
    /// The stream is thin.
    pub(crate) thin: bool,
    /// TSecr of the packet's TIMESTAMP chunk.
    pub(crate) timestamp_echo: Option<u32>,
    /// The SACK carries the retransmit bit.
    pub(crate) retransmit_bit: bool,
    /// Smoothed RTT of each path.
    pub(crate) srtt: &'a [Option<Duration>],
    /// Shortest RTT of each path in the last minutes.
    pub(crate) least: &'a [Option<Duration>],
}

impl SackFacts<'_> {
    pub(crate) fn missing(&self) -> impl Iterator<Item = &MissingRange> {
        self.board.missing()
    }
}

/// What an algorithm may look at when a timer of its own expired.
pub(crate) struct TimerFacts<'a> {
    pub(crate) now: Time,
    pub(crate) board: &'a Scoreboard,
    /// As in [`SackFacts`].
    pub(crate) new_data_ready: bool,
    /// The SACK of a chunk sent longer ago than this should have come.
    pub(crate) round_trip: Duration,
}

/// A chunk that left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    pub(crate) now: Time,
    pub(crate) path: PathId,
    pub(crate) seq: u64,
    /// Why, if it was sent before.
    pub(crate) again: Option<LossCause>,
    /// Its header, data and padding.
    pub(crate) bytes: usize,
    /// The sequence number after the last one that was in use then.
    pub(crate) end: u64,
    /// No queue was found on its path.
    pub(crate) calm: bool,
    /// It is new and asks for a SACK at once (RFC 7053).
    pub(crate) asks: bool,
}

/// What an algorithm wants done.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// Chunks to declare lost: first and last sequence number, and why.
    pub(crate) lost: SmallVec<[(u64, u64, LossCause); 4]>,
    /// New packets that may be sent beyond the congestion window.
    pub(crate) send_new: u32,
    /// One of them probes the tail of what is in flight.
    pub(crate) probes_new: bool,
    /// A chunk in flight to send again for that, and why.
    pub(crate) probe: Option<(u64, LossCause)>,
}

impl Decisions {
    pub(crate) fn clear(&mut self) {
        self.lost.clear();
        self.send_new = 0;
        self.probes_new = false;
        self.probe = None;
    }

    fn lose(&mut self, range: &MissingRange, cause: LossCause) {
        self.lost.push((range.start, range.end, cause));
    }
}

/// An algorithm that finds losses. Every hook does nothing by default.
trait Algorithm {
    /// It, if the profile switches it on. `retransmit_bit`: SACKs say whether they answer a retransmission.
    fn of(profile: &Profile, retransmit_bit: bool) -> Option<Self>
    where
        Self: Sized;
    /// A chunk left, for the first time or again.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// A SACK with gap blocks, or one that acknowledged something, was applied.
    fn on_sack(&mut self, _facts: &SackFacts<'_>, _decisions: &mut Decisions) {}
    /// T3-rtx expired on some path.
    fn on_timeout(&mut self) {}
    /// When [`on_deadline`](Self::on_deadline) is due.
    fn deadline(&self) -> Option<Time> {
        None
    }
    /// The deadline may have passed.
    fn on_deadline(&mut self, _facts: &TimerFacts<'_>, _decisions: &mut Decisions) {}
    /// A chunk that a timeout had declared lost, and that was sent at `sent`, is in flight again.
    fn on_restored(&mut self, _path: PathId, _seq: u64, _sent: Time) {}
    /// What SACKs had declared lost was only reordered.
    fn on_spurious_loss(&mut self) {}
    /// Whether a chunk in flight, sent at `sent`, is not lost although T3-rtx expired.
    fn spares(&self, _now: Time, _path: PathId, _sent: Time) -> bool {
        false
    }
    /// What its decisions rest on.
    fn evidence(&self) -> Evidence {
        Evidence::Own
    }
    /// Whether the number of SACKs that report a chunk missing is no evidence, for what arrives is reordered.
    fn distrusts_counts(&self, _facts: &SackFacts<'_>) -> bool {
        false
    }
    /// Whether what less than three packets have overtaken may be declared lost.
    fn trust_order(&mut self, _trusted: bool) {}

    /// Itself; of one in a box, what is in it.
    fn as_algorithm(&self) -> &dyn Algorithm
    where
        Self: Sized + 'static,
    {
        self
    }
    /// The same, to change it.
    fn as_algorithm_mut(&mut self) -> &mut dyn Algorithm
    where
        Self: Sized + 'static,
    {
        self
    }
}

/// What the decisions of an algorithm rest on. It is not asked while that is no evidence.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Evidence {
    /// As many miss indications as RFC 9260 asks for.
    Count,
    /// Fewer.
    LowCount,
    /// A single one, which makes a repetition a guess.
    One,
    /// Something else, which it judges itself.
    Own,
}

/// The mechanisms of one association.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// In the order of evaluation.
    algorithms: SmallVec<[AnyAlgorithm; 4]>,
    switch_off: Option<EarlyRetransmitSwitchOff>,
    thin: ThinStream,
    dynamic_rto_min: Option<DynamicRtoMin>,
    probe: Option<TailLossProbe>,
    overdue: Overdue,
    budget: Budget,
    spurious: SpuriousDetection,
}

impl Recovery {
    /// `timestamps` and `retransmit_bit` say what was agreed with the peer.
    pub(crate) fn new(profile: &Profile, timestamps: bool, retransmit_bit: bool) -> Recovery {
        let dynamic = &profile.dynamic_rto_min;
        let probe = &profile.tail_loss_probe;
        let switch_off = profile.early_retransmit_switch_off.enabled;
        Recovery {
            algorithms: AnyAlgorithm::all(profile, retransmit_bit),
            switch_off: switch_off.then(EarlyRetransmitSwitchOff::new),
            thin: ThinStream::new(&profile.thin_stream),
            dynamic_rto_min: dynamic
                .enabled
                .then(|| DynamicRtoMin::new(dynamic, profile.rto.max())),
            probe: probe.enabled.then(|| TailLossProbe::new(probe)),
            overdue: Overdue::default(),
            budget: Budget::new(profile.budget.enabled),
            spurious: SpuriousDetection::new(profile, timestamps, retransmit_bit),
        }
    }

    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        self.budget.on_sent(sent);
        for algorithm in &mut self.algorithms {
            algorithm.on_sent(sent);
        }
        if let (Some(switch), Some(cause)) = (&mut self.switch_off, sent.again) {
            switch.on_sent_again(sent.seq, cause);
        }
    }

    pub(crate) fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        self.overdue.on_sack(facts);
        self.budget.on_sack(facts);
        if let Some(switch) = &mut self.switch_off
            && !facts.duplicates.is_empty()
        {
            switch.on_duplicates(facts.duplicates, facts.board.cumulative());
        }
        let off = self.switch_off.as_ref().is_some_and(EarlyRetransmitSwitchOff::is_off);
        let miscounts = self.algorithms.iter().any(|a| a.get().distrusts_counts(facts));
        let trusted = self.budget.trusts_order();
        for algorithm in &mut self.algorithms {
            let algorithm = algorithm.get_mut();
            algorithm.trust_order(trusted);
            let silent = match algorithm.evidence() {
                Evidence::Count => miscounts,
                Evidence::LowCount => off,
                Evidence::One => off || !self.budget.affords_reported(),
                Evidence::Own => false,
            };
            if !silent {
                algorithm.on_sack(facts, decisions);
            }
        }
    }

    pub(crate) fn on_timeout(&mut self) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_timeout();
        }
        if let Some(dynamic) = &mut self.dynamic_rto_min {
            dynamic.on_timeout();
        }
        if let Some(probe) = &mut self.probe {
            probe.reset();
        }
    }

    /// A chunk that a timeout had declared lost, and that was sent at `sent`, is in flight again.
    pub(crate) fn on_restored(&mut self, path: PathId, seq: u64, sent: Time) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_restored(path, seq, sent);
        }
    }

    /// What SACKs had declared lost was only reordered.
    pub(crate) fn on_spurious_loss(&mut self) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_spurious_loss();
        }
    }

    /// The earliest deadline of the algorithms; that of the tail loss probe is apart.
    pub(crate) fn deadline(&self) -> Option<Time> {
        self.algorithms.iter().filter_map(|a| a.get().deadline()).min()
    }

    pub(crate) fn on_deadline(&mut self, facts: &TimerFacts<'_>, decisions: &mut Decisions) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_deadline(facts, decisions);
        }
    }

    /// Whether a chunk in flight, sent at `sent`, is not lost although T3-rtx expired.
    pub(crate) fn spares(&self, now: Time, path: PathId, sent: Time) -> bool {
        self.algorithms.iter().any(|a| a.get().spares(now, path, sent))
    }
}
