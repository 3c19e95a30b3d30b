//! What the sending half tells its mechanisms, and asks them, event by event. It knows them by
//! what they do, not by name.

use std::ops::Range;
use std::time::Duration;

use smallvec::SmallVec;

use super::bundling::Worth;
use super::registry::{AllAdvisors, AllRules, AnyAlgorithm};
use super::spurious::{Cut, Episode, PeerHelp, SpuriousDetection, SpuriousFinding, Trigger};
use super::{
    Advisor, Buffers, Decisions, Distrust, Evidence, Guess, Misses, NewData, Rule, SackFacts, Sent,
    TimerFacts,
};
use crate::ids::{LossCause, PathId};
use crate::profile::Profile;
use crate::scoreboard::{AckOutcome, Eligibility, Scoreboard};
use crate::time::Time;

/// RTO.Min after an RTT was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RtoMin {
    /// This, as it may have been before.
    Is(Duration),
    /// This, because the bound of all streams is the second one from now on.
    Moved(Duration, Duration),
}

/// The mechanisms of one association.
#[derive(Debug)]
pub(crate) struct Recovery {
    /// In the order of evaluation.
    algorithms: Box<[AnyAlgorithm]>,
    /// What they were told last of the order in which packets arrive.
    trusts_order: bool,
    advisors: AllAdvisors,
    spurious: SpuriousDetection,
}

impl Recovery {
    /// `timestamps` and `retransmit_bit` say what was agreed with the peer.
    pub(crate) fn new(profile: &Profile, timestamps: bool, retransmit_bit: bool) -> Recovery {
        Recovery {
            algorithms: AnyAlgorithm::all(profile, retransmit_bit),
            trusts_order: true,
            advisors: AllAdvisors::of(profile),
            spurious: SpuriousDetection::new(profile, timestamps, retransmit_bit),
        }
    }

    /// What mechanisms want of the peer, which the handshake agrees on.
    pub(crate) fn wants(profile: &Profile) -> PeerHelp {
        SpuriousDetection::wants(profile)
    }

    /// The stream is thin.
    #[inline]
    pub(crate) fn is_thin(&self, board: &Scoreboard) -> bool {
        self.advisors.is_thin(board)
    }

    /// A SACK was applied, which acknowledges all up to `cumulative`.
    pub(crate) fn on_acked(&mut self, cumulative: u64, has_gaps: bool) {
        self.advisors.on_acked(cumulative, has_gaps);
    }

    /// What may be in vain is bounded: it is a guess, of which only this many may be sent.
    #[inline]
    pub(crate) fn bounds_guesses(&self) -> bool {
        self.advisors.bounds_guesses()
    }

    /// From when on a guess may be sent; `None`: not before RFC 9260 would. `round_trips` says how long the shortest and the longest
    /// of its path were; `answered_from`, since when the peer would have answered.
    pub(crate) fn guess_at(
        &self,
        guess: &Guess,
        round_trips: &impl Fn() -> Option<(Duration, Duration)>,
        answered_from: &impl Fn() -> Option<Time>,
    ) -> Option<Time> {
        let longest = || self.advisors.longest(guess.path);
        self.advisors.guess_at(guess, &longest, round_trips, answered_from)
    }

    /// Whether a premature timer waits for a guess although another path works: `in_a_row` have expired before on its own, which has
    /// answered at the source that it has if it is `proven`.
    pub(crate) fn bounds_timer(&self, in_a_row: u32, proven: bool) -> bool {
        self.advisors.bounds_timer(in_a_row, proven)
    }

    /// Whether a premature timer may send what takes another path that works: the SRTT of its `own`, and of the `other`.
    pub(crate) fn affords_detour(&self, own: Option<Duration>, other: Option<Duration>) -> bool {
        self.advisors.affords_detour(own, other)
    }

    /// Whether one of these chunks asked for its SACK when it was new.
    pub(crate) fn asked(&self, chunks: &Range<u64>) -> bool {
        self.advisors.asked(chunks)
    }

    /// T3-rtx expired on some path.
    pub(crate) fn on_timeout(&mut self) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_timeout();
        }
    }

    /// Whether a chunk in flight, sent at `sent`, is not lost although T3-rtx expired.
    pub(crate) fn spares(&self, now: Time, path: PathId, sent: Time) -> bool {
        self.algorithms.iter().any(|a| a.get().spares(now, path, sent))
    }

    /// A chunk that a timeout had declared lost, and that was sent at `sent`, is in flight again.
    pub(crate) fn on_restored(&mut self, path: PathId, seq: u64, sent: Time) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_restored(path, seq, sent);
        }
    }

    /// A timer that expired before that of RFC 9260 would have declared a chunk lost.
    pub(crate) fn on_premature_timeout(&mut self, seq: u64) {
        self.advisors.on_premature_timeout(seq);
    }

    /// Windows are cut for a loss that may prove spurious.
    pub(crate) fn on_cut(
        &mut self,
        trigger: Trigger,
        cuts: SmallVec<[Cut; 2]>,
        cumulative: u64,
        highest: u64,
    ) {
        self.spurious.begin(trigger, cuts, cumulative, highest);
    }

    /// T3-rtx expired, and SACKs tell in which order what it sends again arrives; `recovering`: an earlier recovery was not
    /// over.
    pub(crate) fn on_readable_timeout(&mut self, cumulative: u64, highest: u64, recovering: bool) {
        self.spurious.on_timeout(cumulative, highest, recovering);
    }

    /// A lost chunk left again.
    pub(crate) fn on_retransmission(&mut self, now: Time, seq: u64) {
        self.spurious.on_retransmission(now, seq);
    }

    /// What is lost is to wait, but for one packet.
    pub(crate) fn holds_retransmissions(&self) -> bool {
        self.spurious.holds_retransmissions()
    }

    /// What SACKs had declared lost was only reordered.
    pub(crate) fn on_spurious_loss(&mut self) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_spurious_loss();
        }
    }

    /// What a loss has cost that was none is given back.
    pub(crate) const fn gives_back(profile: &Profile) -> bool {
        SpuriousDetection::gives_back(profile)
    }

    /// Not to this path, though. `is_standing` tells whether its latest round trip was that many times the shortest.
    pub(crate) fn leaves_cut(
        profile: &Profile,
        cut: &Cut,
        is_standing: impl FnOnce(f64) -> bool,
    ) -> bool {
        SpuriousDetection::leaves_cut(profile, cut, is_standing)
    }

    /// cwnd and ssthresh of a path to which it is, and which has those of `now`, and `flight` bytes in flight; `acked` bytes
    /// showed that.
    pub(crate) fn restored(
        profile: &Profile,
        cut: &Cut,
        now: (usize, usize),
        flight: usize,
        acked: usize,
        initial_window: usize,
    ) -> (usize, usize) {
        SpuriousDetection::restored(profile, cut, now, flight, acked, initial_window)
    }

    /// A timeout was none: what follows for the timer.
    pub(crate) fn adapt_timer(&mut self, episode: &Episode, granularity: Duration) {
        self.spurious.adapt_timer(episode, granularity);
    }

    /// The chunk `seq` took `rtt`: SRTT and RTTVAR, if they follow from that because of a timeout that was none.
    pub(crate) fn adapted(&mut self, seq: u64, rtt: Duration) -> Option<(Duration, Duration)> {
        self.spurious.adapted(seq, rtt)
    }

    /// A SACK was applied. Returns which loss was none.
    pub(crate) fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        decisions: &mut Decisions,
    ) -> Option<SpuriousFinding> {
        self.spurious.on_sack(facts, decisions)
    }

    /// Every algorithm looks at that SACK whose decisions rest on what is evidence now.
    pub(crate) fn on_sack(&mut self, facts: &SackFacts<'_>, decisions: &mut Decisions) {
        self.advisors.on_sack(facts);
        let mut distrust = Distrust::of(&[Evidence::One]).when(!self.advisors.affords_reported());
        for algorithm in &mut self.algorithms {
            distrust = distrust.with(algorithm.get_mut().distrusts(facts));
        }
        let trusted = self.advisors.trusts_order();
        let changed = std::mem::replace(&mut self.trusts_order, trusted) != trusted;
        for algorithm in &mut self.algorithms {
            let algorithm = algorithm.get_mut();
            if changed {
                algorithm.trust_order(trusted);
            }
            if !distrust.has(algorithm.evidence()) {
                algorithm.on_sack(facts, decisions);
            }
        }
    }

    /// An RTT was measured on `path`.
    pub(crate) fn on_rtt(
        &mut self,
        profile: &Profile,
        path: PathId,
        thin: bool,
        sample: Duration,
        srtt: Duration,
    ) -> RtoMin {
        self.advisors.on_rtt(path);
        let before = self.moving_bound();
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_rtt(sample, srtt);
        }
        let min = self.rto_min(profile, thin);
        match self.moving_bound() {
            Some(bound) if before != Some(bound) => RtoMin::Moved(min, bound),
            _ => RtoMin::Is(min),
        }
    }

    /// The bound of RTO for all streams, if some algorithm has another one than the configured one.
    fn moving_bound(&self) -> Option<Duration> {
        self.algorithms.iter().find_map(AnyAlgorithm::rto_min)
    }

    /// RTO.Min: the bound that moves if there is one, else that of the profile, after the rules.
    pub(crate) fn rto_min(&self, profile: &Profile, thin: bool) -> Duration {
        let bound = self.moving_bound().unwrap_or(profile.rto.min());
        AllRules::rto_min(profile, bound, thin)
    }

    /// T3-rtx starts again because of a SACK. How long it runs if not for the RTO: `outstanding` tells the age of
    /// the earliest chunk, and how many packets are outstanding or wait.
    #[inline]
    pub(crate) fn restart(
        profile: &Profile,
        rto: Duration,
        outstanding: &impl Fn() -> (Duration, usize),
    ) -> Option<Duration> {
        AllRules::restart(profile, rto, outstanding)
    }

    /// Whether RTO keeps its value at the expiration number `in_a_row` (from 1).
    pub(crate) fn keeps_rto(&self, profile: &Profile, thin: bool, in_a_row: u32) -> bool {
        self.advisors.keeps_rto(profile, thin, in_a_row)
    }

    /// It did on `path`; up to `highest` was sent by then.
    pub(crate) fn on_rto_kept(&mut self, path: PathId, highest: u64) {
        self.advisors.on_rto_kept(path, highest);
    }

    /// A SACK reported these duplicates: the paths, as a set of bits, of which RTO is doubled for such an expiration after all.
    pub(crate) fn late_backoffs(&mut self, profile: &Profile, duplicates: &[u64]) -> u32 {
        self.advisors.late_backoffs(profile, duplicates)
    }

    /// `path` is gone.
    pub(crate) fn on_path_gone(&mut self, path: PathId) {
        self.advisors.on_path_gone(path);
    }

    /// The path of data leaves from another source, since the one before is gone.
    pub(crate) fn on_source_change(&mut self, now: Time) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_source_change(now);
        }
    }

    /// Fast Recovery begins.
    pub(crate) fn on_fast_recovery(&mut self) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_fast_recovery();
        }
    }

    /// A chunk left, for the first time or again.
    pub(crate) fn on_sent(&mut self, sent: &Sent) {
        self.advisors.on_sent(sent);
        for algorithm in &mut self.algorithms {
            algorithm.on_sent(sent);
        }
    }

    /// A packet with DATA left, the highest of its TSNs `highest`.
    #[inline]
    pub(crate) fn on_packet(&mut self, highest: u64) {
        self.advisors.on_packet(highest);
    }

    /// New data was in it.
    pub(crate) fn on_new_data(&mut self, sent: &NewData<'_>) {
        for algorithm in &mut self.algorithms {
            algorithm.on_new_data(sent);
        }
    }

    /// The earliest deadline of the algorithms, early timers included, if T3-rtx expires at `t3`.
    pub(crate) fn deadline(&self, t3: Option<Time>) -> Option<Time> {
        let mut first = None;
        for algorithm in &self.algorithms {
            let early = algorithm.early().and_then(|early| early.due(t3));
            for at in [algorithm.deadline(), early].into_iter().flatten() {
                first = Some(first.map_or(at, |first: Time| first.min(at)));
            }
        }
        first
    }

    /// Some deadline may have passed.
    pub(crate) fn on_deadline(&mut self, facts: &TimerFacts<'_>, decisions: &mut Decisions) {
        for algorithm in &mut self.algorithms {
            algorithm.get_mut().on_deadline(facts, decisions);
        }
    }

    /// Early timers may have expired. Returns whether what is decided takes the place of T3-rtx.
    pub(crate) fn on_early(&mut self, facts: &TimerFacts<'_>, decisions: &mut Decisions) -> bool {
        let mut replaces = false;
        for algorithm in &mut self.algorithms {
            let is_due = |at: Time| at <= facts.now;
            let expired = algorithm.early().filter(|early| early.due(facts.t3).is_some_and(is_due));
            if let Some(early) = expired {
                algorithm.get_mut().on_early(facts, decisions);
                replaces |= !early.beside && decisions.has_early();
            }
        }
        replaces
    }

    /// A packet of retransmissions has room, for `cause`: which chunks in flight ride along.
    pub(crate) fn beside_lost(
        profile: &Profile,
        thin: bool,
        cause: Option<LossCause>,
    ) -> Option<Worth> {
        AllRules::beside_lost(profile, thin, cause)
    }

    /// A packet with a chunk that an early timer sends again has room: which chunks in flight ride along.
    pub(crate) fn beside_repeated(profile: &Profile, thin: bool) -> Option<Worth> {
        AllRules::beside_repeated(profile, thin)
    }

    /// A packet with `left` bytes is to take `new` bytes that wait: how many are for chunks in flight, and which.
    pub(crate) fn beside_new(
        profile: &Profile,
        thin: bool,
        left: usize,
        new: usize,
    ) -> Option<(usize, Worth)> {
        AllRules::beside_new(profile, thin, left, new)
    }

    /// The age that makes a chunk on `path` worth it; `None` if any does.
    pub(crate) fn worth_from(
        &self,
        worth: Worth,
        path: PathId,
        srtt: Option<Duration>,
        rttvar: Duration,
    ) -> Option<Duration> {
        worth.rttvars().map(|spare| self.late_from(path, srtt, rttvar, spare))
    }

    /// What is in flight leaves a path that stops answering.
    pub(crate) fn watches_silence(profile: &Profile) -> bool {
        AllRules::watches_silence(profile)
    }

    /// With several paths at once: what was missed, by a SACK that answers this many packets (0 if it does not say); `None`
    /// if the order of all of them counts.
    pub(crate) fn misses(profile: &Profile, outcome: &AckOutcome, packets: u8) -> Option<Misses> {
        AllRules::misses(profile, outcome, packets)
    }

    /// Whether a chunk that leaves again can be declared lost by miss indications once more; with several paths at once,
    /// whether it `moved` to another one.
    pub(crate) fn eligibility(profile: &Profile, moved: Option<bool>) -> Eligibility {
        AllRules::eligibility(profile, moved).unwrap_or(Eligibility::Rule5)
    }

    /// The age from which on a chunk on `path` could have been answered.
    pub(crate) fn answered_from(&self, path: PathId, srtt: Option<Duration>) -> Duration {
        srtt.map_or(Duration::ZERO, |_| self.late_from(path, srtt, Duration::ZERO, 0.0))
    }

    /// While nothing is known of `path`, nothing is late there.
    fn late_from(
        &self,
        path: PathId,
        srtt: Option<Duration>,
        rttvar: Duration,
        spare: f64,
    ) -> Duration {
        self.advisors.late_from(path, srtt, rttvar, spare).unwrap_or(Duration::MAX)
    }

    /// Whether a new chunk, the last one that waits or `alone` in a window that it fills, asks for its SACK at once.
    pub(crate) fn asks(
        &mut self,
        profile: &Profile,
        board: &Scoreboard,
        alone: bool,
        calm: bool,
    ) -> bool {
        let thin = self.is_thin(board);
        self.advisors.asks(profile, thin, alone, calm)
    }

    /// Whether one does that is sent again for `cause`.
    pub(crate) fn asks_again(&self, profile: &Profile, cause: LossCause) -> bool {
        self.advisors.asks_again(profile, cause)
    }

    /// What holds up the buffers and is to be sent again over another path, after a SACK, and why. `srtt` is that of a path.
    pub(crate) fn detours(
        &mut self,
        now: Time,
        profile: &Profile,
        buffers: &Buffers,
        board: &Scoreboard,
        srtt: &impl Fn(PathId) -> Duration,
    ) -> Option<(Range<u64>, LossCause)> {
        self.advisors.detours(now, profile, buffers, board, srtt)
    }
}
