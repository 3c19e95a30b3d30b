//! Loss recovery: algorithms look at facts and return decisions; only the sending half acts.
//!
//! One file per mechanism; a profile switches each of them, and any subset composes. In which
//! order they are asked:
//!
//! | when | what |
//! |---|---|
//! | a SACK was applied | [`thin_stream`], then [`spurious`], then [`loss`]: fast retransmit, thin fast retransmit, Early Retransmit (bytes, packets; unless switched off), RACK, Limited Transmit. A chunk is declared lost once, for the first cause. The [response](spurious::spurious_response) comes behind both: what it puts back in flight they see with the next SACK |
//! | an RTT was measured | RTO.Min: [`dynamic_rto_min`](timer::dynamic_rto_min), then [`thin_rto_min`](timer::thin_rto_min) if it is lower |
//! | T3-rtx starts again after a SACK | [`t3_rtx`](timer::t3_rtx) decides whether, [`rto_restart`](timer::rto_restart) how long |
//! | T3-rtx would expire | who has an early timer first: [`tail_loss_probe`](timer::tail_loss_probe), if one may be sent |
//! | T3-rtx expired | [`thin_no_backoff`](timer::thin_no_backoff); RACK spares what is too young; F-RTO holds all but one packet |
//! | a packet is written | what is lost, or [`bundling`] in front of new data; [`immediate_sack`] on its last chunk |
//! | any of this might be in vain | [`budget`] says whether it may be done |

mod budget;
mod bundling;
mod chunk_rescheduling;
mod facts;
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

use std::ops::Range;
use std::time::Duration;

use smallvec::SmallVec;

use crate::ids::{LossCause, PathId};
use crate::profile::Profile;
use crate::scoreboard::{AckOutcome, Eligibility, MissingRange, Scoreboard};
use crate::time::Time;
pub(crate) use bundling::Worth;
pub(crate) use facts::{Buffers, Guess, NewData, RoundTrip, SackFacts, Sent, TimerFacts};
pub(crate) use hooks::{Recovery, RtoMin};
pub(crate) use loss::fast_retransmit::Copies;
pub(crate) use silent_path::SilenceFacts;
pub(crate) use spurious::{Cut, SpuriousFinding, Trigger, ticks};

/// A timer that expires before T3-rtx.
#[derive(Clone, Copy, Debug)]
struct Early {
    at: Time,
    /// What it sends neither takes the place of T3-rtx nor puts it off.
    beside: bool,
}

impl Early {
    /// When it expires if T3-rtx does at `t3`: no later, if it takes its place; before that, or not at all, if it is
    /// beside it.
    fn due(self, t3: Option<Time>) -> Option<Time> {
        let Early { at, beside } = self;
        if beside {
            return Some(at).filter(|at| t3.is_none_or(|t3| *at < t3));
        }
        Some(t3.map_or(at, |t3| t3.min(at)))
    }
}

/// What an algorithm wants done.
#[derive(Debug, Default)]
pub(crate) struct Decisions {
    /// Chunks to declare lost: first and last sequence number, and why.
    pub(crate) lost: SmallVec<[(u64, u64, LossCause); 4]>,
    /// New packets that may be sent beyond the congestion window.
    pub(crate) send_new: u32,
    /// One of them leaves because an early timer has expired, for this cause.
    pub(crate) new_early: Option<LossCause>,
    /// A chunk in flight to send again for that, and why.
    pub(crate) repeat: Option<(u64, LossCause)>,
    /// A chunk that was lost, as it turns out: what an early timer had repeated has repaired it.
    pub(crate) repaired: Option<u64>,
}

impl Decisions {
    pub(crate) fn clear(&mut self) {
        self.lost.clear();
        self.send_new = 0;
        self.new_early = None;
        self.repeat = None;
        self.repaired = None;
    }

    /// Something leaves because an early timer has expired.
    fn has_early(&self) -> bool {
        self.new_early.is_some() || self.repeat.is_some()
    }

    fn lose(&mut self, range: &MissingRange, cause: LossCause) {
        self.lost.push((range.start, range.end, cause));
    }
}

/// A mechanism that keeps something: that finds losses, or moves a bound. Every hook does nothing by default.
trait Algorithm {
    /// It, if the profile switches it on. `retransmit_bit`: SACKs say whether they answer a retransmission.
    fn of(profile: &Profile, retransmit_bit: bool) -> Option<Self>
    where
        Self: Sized;
    /// A chunk left, for the first time or again.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// A SACK, before [`on_sack`](Self::on_sack) of any algorithm gets it: what is no evidence for now.
    fn distrusts(&mut self, _facts: &SackFacts<'_>) -> Distrust {
        Distrust::default()
    }
    /// New data left.
    fn on_new_data(&mut self, _sent: &NewData<'_>) {}
    /// A SACK with gap blocks, or one that acknowledged something, was applied.
    fn on_sack(&mut self, _facts: &SackFacts<'_>, _decisions: &mut Decisions) {}
    /// An RTT was measured; `srtt` includes it.
    fn on_rtt(&mut self, _sample: Duration, _srtt: Duration) {}
    /// The bound of RTO for all streams, if it is other than the configured one.
    fn rto_min(&self) -> Option<Duration> {
        None
    }
    /// Fast Recovery begins.
    fn on_fast_recovery(&mut self) {}
    /// The path of data leaves from another source, since the one before is gone: so are answers that were under way to it.
    fn on_source_change(&mut self, _now: Time) {}
    /// T3-rtx expired on some path.
    fn on_timeout(&mut self) {}
    /// When [`on_deadline`](Self::on_deadline) is due.
    fn deadline(&self) -> Option<Time> {
        None
    }
    /// The deadline may have passed.
    fn on_deadline(&mut self, _facts: &TimerFacts<'_>, _decisions: &mut Decisions) {}
    /// When something is to be sent before T3-rtx expires.
    fn early(&self) -> Option<Early> {
        None
    }
    /// That time has come: what is sent, if anything may be.
    fn on_early(&mut self, _facts: &TimerFacts<'_>, _decisions: &mut Decisions) {}
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
    /// Whether what less than three packets have overtaken may be declared lost, from now on; at first it may.
    fn trust_order(&mut self, _trusted: bool) {}

    /// Itself; of one in a box, what is in it.
    fn as_algorithm(&self) -> &dyn Algorithm
    where
        Self: Sized + 'static,
    {
        self
    }
    /// Itself, or what is in the box, to change it.
    fn as_algorithm_mut(&mut self) -> &mut dyn Algorithm
    where
        Self: Sized + 'static,
    {
        self
    }
}

/// What was sent on a path before `sent`, with a sequence number below this, and is missing, was missed once more.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Miss {
    pub(crate) path: PathId,
    pub(crate) below: u64,
    pub(crate) sent: Time,
}

pub(crate) type Misses = SmallVec<[Miss; 4]>;

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

/// What is no evidence for now.
#[derive(Clone, Copy, Debug, Default)]
struct Distrust(u8);

impl Distrust {
    /// These are none.
    const fn of(evidence: &[Evidence]) -> Distrust {
        let (mut bits, mut i) = (0, 0);
        while i < evidence.len() {
            bits |= 1 << evidence[i] as u8;
            i += 1;
        }
        Distrust(bits)
    }

    /// This distrust if that `holds`, else none.
    const fn when(self, holds: bool) -> Distrust {
        if holds { self } else { Distrust(0) }
    }

    /// Those of both are none.
    const fn with(self, other: Distrust) -> Distrust {
        Distrust(self.0 | other.0)
    }

    /// Whether that is none.
    const fn has(self, evidence: Evidence) -> bool {
        self.0 & (1 << evidence as u8) != 0
    }
}

/// A mechanism that keeps nothing, and answers from the profile, which may change at any time. Every question has the answer
/// of RFC 9260 by default.
trait Rule {
    /// RTO.Min, which would be `bound`, when RTO is computed now.
    fn rto_min(_profile: &Profile, bound: Duration, _thin: bool) -> Duration {
        bound
    }
    /// How long T3-rtx runs that a SACK has restarted, if not for `rto`: `outstanding` tells the age of the earliest chunk,
    /// and how many packets are outstanding or wait.
    fn restart(
        _profile: &Profile,
        _rto: Duration,
        _outstanding: &impl Fn() -> (Duration, usize),
    ) -> Option<Duration> {
        None
    }
    /// Which chunks in flight fill up a packet that begins with a chunk lost for `cause`.
    fn beside_lost(_profile: &Profile, _thin: bool, _cause: Option<LossCause>) -> Option<Worth> {
        None
    }
    /// Which chunks in flight fill up a packet with one that an early timer sends again.
    fn beside_repeated(_profile: &Profile, _thin: bool) -> Option<Worth> {
        None
    }
    /// How many bytes are for chunks in flight in a packet with `left` of them that is to take `new` which wait, and which
    /// chunks.
    fn beside_new(
        _profile: &Profile,
        _thin: bool,
        _left: usize,
        _new: usize,
    ) -> Option<(usize, Worth)> {
        None
    }
    /// Whether what is in flight leaves a path that stops answering.
    fn watches_silence(_profile: &Profile) -> bool {
        false
    }
    /// With several paths at once: what was missed, by a SACK that answers this many packets (0 if it does not say); `None`
    /// if the order of all of them counts.
    fn misses(_profile: &Profile, _outcome: &AckOutcome, _packets: u8) -> Option<Misses> {
        None
    }
    /// Whether a chunk that leaves again can be declared lost by miss indications once more, if not as RFC 9260 has it; with
    /// several paths at once, whether it `moved` to another one.
    fn eligibility(_profile: &Profile, _moved: Option<bool>) -> Option<Eligibility> {
        None
    }
}

/// A mechanism that keeps something and is asked by others, whatever the profile switches on: what is thin, what is late, what
/// may be in vain, what asks for its SACK, what takes another path. Every question has the answer of RFC 9260 by default.
trait Advisor {
    /// As it begins.
    fn of(profile: &Profile) -> Self;
    /// A chunk left, for the first time or again.
    fn on_sent(&mut self, _sent: &Sent) {}
    /// A packet with DATA left, the highest of its sequence numbers `highest`.
    fn on_packet(&mut self, _highest: u64) {}
    /// A SACK was applied, which acknowledges all up to `cumulative`.
    fn on_acked(&mut self, _cumulative: u64, _has_gaps: bool) {}
    /// That SACK, as an [`Algorithm`] gets it, before any of them does.
    fn on_sack(&mut self, _facts: &SackFacts<'_>) {}
    /// A timer that expired before that of RFC 9260 would have declared a chunk lost.
    fn on_premature_timeout(&mut self, _seq: u64) {}
    /// An RTT was measured on `path`.
    fn on_rtt(&mut self, _path: PathId) {}
    /// `path` is gone.
    fn on_path_gone(&mut self, _path: PathId) {}

    /// RTO keeps its value at the expiration number `in_a_row` (from 1).
    fn keeps_rto(&self, _profile: &Profile, _thin: bool, _in_a_row: u32) -> bool {
        false
    }
    /// It did on `path`; up to `highest` was sent by then.
    fn on_rto_kept(&mut self, _path: PathId, _highest: u64) {}
    /// A SACK reported these duplicates: the paths, as a set of bits, of which RTO is doubled for such an expiration after all.
    fn late_backoffs(&mut self, _profile: &Profile, _duplicates: &[u64]) -> u32 {
        0
    }

    /// The stream is thin.
    fn is_thin(&self, _board: &Scoreboard) -> bool {
        false
    }
    /// How long a SACK has taken on `path` at most.
    fn longest(&self, _path: PathId) -> Option<Duration> {
        None
    }
    /// The age beyond which the SACK of a chunk on `path` is late, with this many RTTVAR to spare.
    fn late_from(
        &self,
        _path: PathId,
        _srtt: Option<Duration>,
        _rttvar: Duration,
        _spare: f64,
    ) -> Option<Duration> {
        None
    }

    /// What may be in vain is bounded.
    fn bounds_guesses(&self) -> bool {
        false
    }
    /// From when on a guess may be sent; `None`: not before RFC 9260 would. `longest`: [that](Self::longest) of its path;
    /// `round_trips`: the shortest and the longest of the last minutes; `answered_from`: since when the peer would have answered.
    fn guess_at(
        &self,
        guess: &Guess,
        _longest: &impl Fn() -> Option<Duration>,
        _round_trips: &impl Fn() -> Option<(Duration, Duration)>,
        _answered_from: &impl Fn() -> Option<Time>,
    ) -> Option<Time> {
        Some(guess.now)
    }
    /// A premature timer waits for a guess although another path works: `in_a_row` have expired before on its own, which has answered
    /// at the source that it has if it is `proven`.
    fn bounds_timer(&self, _in_a_row: u32, _proven: bool) -> bool {
        false
    }
    /// A premature timer may send what takes another path that works: the SRTT of its `own`, and of the `other`.
    fn affords_detour(&self, _own: Option<Duration>, _other: Option<Duration>) -> bool {
        true
    }
    /// A guess may be sent for what a SACK reports missing.
    fn affords_reported(&self) -> bool {
        true
    }
    /// A loss may be declared that less than three packets after it show.
    fn trusts_order(&self) -> bool {
        true
    }
    /// One of these chunks asked for its SACK when it was new.
    fn asked(&self, _chunks: &Range<u64>) -> bool {
        false
    }

    /// A new chunk, the last one that waits or `alone` in a window that it fills, asks for its SACK at once.
    fn asks(&mut self, _profile: &Profile, _thin: bool, _alone: bool, _calm: bool) -> bool {
        false
    }
    /// So does one that is sent again for `cause`.
    fn asks_again(&self, _profile: &Profile, _cause: LossCause) -> bool {
        false
    }

    /// The chunks to send again over another path after a SACK, and why. `srtt` is that of a path.
    fn detours(
        &mut self,
        _now: Time,
        _profile: &Profile,
        _buffers: &Buffers,
        _board: &Scoreboard,
        _srtt: &impl Fn(PathId) -> Duration,
    ) -> Option<(Range<u64>, LossCause)> {
        None
    }
}
