//! What the sending half tells its mechanisms, and asks them, event by event. It knows none of them by name.

use std::time::Duration;

use super::bundling::{self, Worth};
use super::spurious::Verdict;
use super::timer::tail_loss_probe::NewData;
use super::timer::{RoundTrip, rto_restart, thin_no_backoff, thin_rto_min};
use super::{Decisions, Recovery, SackFacts, TimerFacts};
use crate::event::LossCause;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::scoreboard::Scoreboard;
use crate::time::Time;

/// RTO.Min after an RTT was measured.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RtoMin {
    /// This, as it may have been before.
    Is(Duration),
    /// This, because the bound of all streams is the second one from now on.
    Moved(Duration, Duration),
}

impl Recovery {
    /// The stream is thin.
    #[inline]
    pub(crate) fn is_thin(&self, board: &Scoreboard) -> bool {
        self.thin.is_thin(board)
    }

    /// A SACK was applied. Returns which loss was none, and whether a probe turned out to have repaired one.
    pub(crate) fn judge(
        &mut self,
        facts: &SackFacts<'_>,
        round_trip: Option<RoundTrip>,
        decisions: &mut Decisions,
    ) -> (Option<Verdict>, bool) {
        let verdict = self.spurious.on_sack(facts, decisions);
        self.on_sack(facts, decisions);
        let probe = self.probe.as_mut();
        (verdict, probe.is_some_and(|probe| probe.on_sack(facts, round_trip)))
    }

    /// An RTT was measured.
    pub(crate) fn on_rtt(
        &mut self,
        profile: &Profile,
        thin: bool,
        sample: Duration,
        srtt: Duration,
    ) -> RtoMin {
        if let Some(probe) = &mut self.probe {
            probe.on_rtt();
        }
        let Some(dynamic) = &mut self.dynamic_rto_min else {
            return RtoMin::Is(Self::rto_min(profile, thin));
        };
        let before = dynamic.rto_min();
        dynamic.on_rtt(sample, srtt);
        let bound = dynamic.rto_min();
        let min = thin_rto_min::rto_min(profile, bound, thin);
        if bound == before { RtoMin::Is(min) } else { RtoMin::Moved(min, bound) }
    }

    /// RTO.Min as it is configured.
    pub(crate) fn rto_min(profile: &Profile, thin: bool) -> Duration {
        thin_rto_min::rto_min(profile, profile.rto.min(), thin)
    }

    /// T3-rtx starts again because of a SACK. How long it runs if not for the RTO: `outstanding` tells the age of
    /// the earliest chunk, and how many packets are outstanding or wait.
    #[inline]
    pub(crate) fn restart(
        profile: &Profile,
        rto: Duration,
        outstanding: impl FnOnce() -> (Duration, usize),
    ) -> Option<Duration> {
        let parameters = &profile.rto_restart;
        parameters.enabled.then(|| {
            let (age, packets) = outstanding();
            rto_restart::wait(parameters, rto, age, packets, profile.rto.granularity())
        })
    }

    /// Whether RTO keeps its value at the expiration number `in_a_row` (from 1).
    pub(crate) fn keeps_rto(profile: &Profile, thin: bool, in_a_row: u32) -> bool {
        thin_no_backoff::keeps_rto(profile, thin, in_a_row)
    }

    /// Whether RTO is doubled later if an expiration that kept it was too early.
    pub(crate) fn makes_backoff_good(profile: &Profile) -> bool {
        profile.thin_no_backoff.backs_off_if_early
    }

    /// Fast Recovery begins.
    pub(crate) fn on_fast_recovery(&mut self) {
        if let Some(dynamic) = &mut self.dynamic_rto_min {
            dynamic.on_fast_retransmit();
        }
        if let Some(probe) = &mut self.probe {
            probe.reset();
        }
    }

    /// A packet with DATA left, the highest of its TSNs `highest`.
    #[inline]
    pub(crate) fn on_packet(&mut self, highest: u64) {
        self.thin.on_sent(highest);
    }

    /// New data was in it. `recovering`: some path is in Fast Recovery.
    pub(crate) fn on_new_data(
        &mut self,
        now: Time,
        board: &Scoreboard,
        round_trip: Option<RoundTrip>,
        asks_for_sack: bool,
        recovering: bool,
    ) {
        let Some(probe) = &mut self.probe else { return };
        // RFC 8985 §7.2: unless other mechanisms are at work.
        let quiet = !recovering && board.first_lost().is_none() && board.packets_gap_acked() == 0;
        let packets = board.packets_in_flight();
        probe.on_new_data(now, &NewData { packets, round_trip, asks_for_sack }, quiet);
    }

    /// When T3-rtx is to be preceded by a probe.
    pub(crate) fn probe_deadline(&self) -> Option<Time> {
        self.probe.as_ref()?.deadline()
    }

    /// That time has come; nothing may be sent in vain before `guess_at`, or at all.
    pub(crate) fn on_probe_deadline(
        &mut self,
        facts: &TimerFacts<'_>,
        guess_at: Option<Time>,
        decisions: &mut Decisions,
    ) {
        let Some(probe) = &mut self.probe else { return };
        match guess_at {
            Some(at) if at <= facts.now => probe.on_deadline(facts, decisions),
            at => probe.put_off(at),
        }
    }

    /// A packet of retransmissions has room, for `cause`: which chunks in flight ride along.
    pub(crate) fn beside_lost(
        profile: &Profile,
        thin: bool,
        cause: Option<LossCause>,
    ) -> Option<Worth> {
        let fills = bundling::fast_retransmit::fills(profile, thin, cause);
        fills.then(|| Worth::new(profile.bundle_fast_retransmit.overdue()))
    }

    /// A probe has room: which chunks in flight ride along.
    pub(crate) fn beside_probe(profile: &Profile, thin: bool) -> Option<Worth> {
        let bundle = &profile.bundle_fast_retransmit;
        (bundle.enabled && thin).then(|| Worth::new(bundle.overdue()))
    }

    /// A packet with `left` bytes is to take `new` bytes that wait: how many are for chunks in flight, and which.
    pub(crate) fn beside_new(
        profile: &Profile,
        thin: bool,
        left: usize,
        new: usize,
    ) -> (usize, Worth) {
        let room = bundling::new_data::room(profile, thin, left, new);
        (room, Worth::new(profile.bundle_new.overdue()))
    }

    /// The age that makes a chunk on `path` worth it; `None` if any does.
    pub(crate) fn worth_from(
        &self,
        worth: Worth,
        path: PathId,
        srtt: Option<Duration>,
        rttvar: Duration,
    ) -> Option<Duration> {
        worth.rttvars().map(|n| self.overdue.age(path, srtt, rttvar, n))
    }

    /// What is in flight leaves a path that stops answering.
    pub(crate) fn watches_silence(profile: &Profile) -> bool {
        profile.multipath.silent_path
    }

    /// How long a peer may delay a SACK that was not asked for (RFC 9260 §6.2).
    pub(crate) fn longest_sack_delay(profile: &Profile) -> Duration {
        profile.tail_loss_probe.max_sack_delay()
    }

    /// The age from which on a chunk on `path` could have been answered.
    pub(crate) fn answered_from(&self, path: PathId, srtt: Option<Duration>) -> Duration {
        srtt.map_or(Duration::ZERO, |_| self.overdue.age(path, srtt, Duration::ZERO, 0.0))
    }
}
