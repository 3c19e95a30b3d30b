//! Packetization layer path MTU discovery (DPLPMTUD, RFC 8899): the answers to probes say which packets get through, whether
//! routers send ICMP or not.
//!
//! PLPMTU, here bytes of IP packets, headers included, begins with [`BASE`]. A HEARTBEAT chunk in a packet that PAD makes
//! longer (RFC 4820) is a probe. One of that size confirms the base; then the configured MTU is tried, for it is the likeliest,
//! and the common sizes behind what is known, in turn, until MAX_PROBES in a row were not answered. Ten minutes later
//! larger ones are tried again. Where packets above the base are lost again and again, it is the base that is used, and
//! all begins again.
//!
//! PROBE_TIMER is RTO of RFC 9260 without any backoff, at least a second. An answer that comes later counts, too: where
//! the round trip has become many times as long, packets are small until it comes. In the
//! ERROR state it is twice as long each time.
//!
//! Probes take from a link what a stream of small messages may need, and bring it nothing. RFC 8899 §4.3 lets a sender inhibit
//! them that has nothing to send; here, who has only small messages sends none either. The base is probed when something is
//! lost that may have been larger than what is known to get through ([`Search::doubt`]), and what is larger than the base when
//! that would be of use ([`Search::want`]).
//!
//! A peer that drops packets for a PAD chunk in them answers none of those. As long as none was answered, every second probe of a
//! size has its padding within the Heartbeat Info, which comes back ([`Padding`]). And what data that was acknowledged has proved to
//! get through is never gone below.
//!
//! Where a link is slow, a large packet holds up all that is behind it, and a probe is one: what the answers to smaller
//! ones took beyond the round trip, by as much as that varies, or beyond the shortest one if that is less, is a guess at how long
//! it would be under way. None is sent of which that is more than a round trip, and [`LEAST_DETENTION`] at least. The
//! configured MTU is not asked about.

//= RFC 6951 5.6-3
mod data;
mod doubt;
mod probes;
#[cfg(test)]
mod tests;

use std::time::Duration;

use data::Data;
pub(crate) use data::{LostChunk, SMALLEST};
pub(super) use doubt::Finding;
pub(crate) use probes::Padding;
use probes::{MAX_PROBES, Probes};

use super::HeartbeatInfo;
use crate::ids::MtuSearchState;
use crate::mtu_discovery::MtuDiscovery;
use crate::recovery::RoundTrip;
use crate::settings::PathSettings;
use crate::time::Time;

//= RFC 8899 5.1.2-1
/// BASE_PLPMTU: IPv6 takes no less (RFC 8200 §5), and RFC 8899 §5.1.2 recommends 1200 bytes above IP and UDP.
pub(super) const BASE: usize = 1280;

/// After this many of them that were not answered, a guess counts as wrong, and the least that may be gained is tried.
const GUESS_PROBES: u8 = 2;

/// PROBE_TIMER is no shorter (RFC 8899 §5.1.1).
const SHORTEST_WAIT: Duration = Duration::from_secs(1);

/// A probe may hold up what is behind it for so long, however short the round trip is.
const LEAST_DETENTION: Duration = Duration::from_millis(100);

/// Common sizes: tunnels of various kinds, Google's cloud, PPPoE, Ethernet, FDDI, jumbo frames, the loopback interface.
const COMMON: [usize; 16] = [
    1340, 1380, 1400, 1420, 1440, 1450, 1460, 1476, 1480, 1492, 1500, 2002, 4352, 8500, 9000,
    65_535,
];

/// What follows for PLPMTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Packets of this size get through.
    Fits(usize),
    /// Not even those of the base do, as far as is known; those that data has proved do.
    TooLarge { proved: usize },
}

/// Why a search may begin.
#[derive(Clone, Copy, Debug, Default)]
struct Reason {
    /// When the base was looked at because of losses.
    found: Option<Time>,
    /// The peer was reached.
    reached: bool,
    /// Packets larger than the base would be of use.
    wanted: bool,
}

/// How long a probe takes, and may.
#[derive(Debug)]
struct Cost {
    /// Nanoseconds that each of its bytes takes, as far as answers tell.
    per_byte: Option<f64>,
    /// It may take so much longer than the round trip.
    detention: Duration,
}

/// The search on one path.
#[derive(Debug)]
pub(super) struct Search {
    phase: MtuSearchState,
    /// BASE_PLPMTU.
    base: usize,
    /// MAX_PLPMTU.
    max: usize,
    /// What is probed first.
    guess: usize,
    /// Nothing of this size or above is tried in this round.
    ceiling: usize,
    /// PROBE_COUNT: probes in a row that were not answered.
    unanswered: u8,
    /// How often the base was probed in vain in the ERROR state.
    failures: u32,
    /// The last probes.
    probes: Probes,
    /// Why it may begin.
    reason: Reason,
    /// What data tells.
    data: Data,
    /// The last one is not answered yet.
    awaited: bool,
    /// The next one leaves no sooner: a round trip after the last one.
    free: Time,
    /// How long a probe takes, and may.
    cost: Cost,
    /// PMTU_RAISE_TIMER.
    raise_after: Duration,
    /// PROBE_TIMER or PMTU_RAISE_TIMER, until then.
    due: Option<Time>,
}

impl Search {
    /// The one that is set, if one is.
    pub(super) fn of(settings: &PathSettings) -> Option<Search> {
        let MtuDiscovery::Probes { max, raise_after } = settings.mtu_discovery else { return None };
        Some(Search { raise_after, ..Search::new(settings.mtu, max) })
    }

    /// Up to `max`; `configured` is the size that is likely.
    fn new(configured: usize, max: usize) -> Search {
        let max = max.max(configured);
        Search {
            raise_after: MtuDiscovery::RAISE_AFTER,
            phase: MtuSearchState::Disabled,
            base: configured.min(BASE),
            max,
            guess: configured,
            ceiling: usize::MAX,
            unanswered: 0,
            failures: 0,
            probes: Probes::default(),
            reason: Reason::default(),
            data: Data::new(configured.min(BASE)),
            awaited: false,
            free: Time::ZERO,
            cost: Cost { per_byte: None, detention: LEAST_DETENTION },
            due: None,
        }
    }

    /// BASE_PLPMTU.
    pub(super) const fn base(&self) -> usize {
        self.base
    }

    /// Where it stands.
    pub(super) const fn state(&self) -> MtuSearchState {
        self.phase
    }

    /// When to look again.
    #[inline]
    pub(super) const fn due(&self) -> Option<Time> {
        self.due
    }

    /// The peer can be reached: the BASE state, if larger packets are of use, or something was probed before.
    pub(super) fn reach(&mut self, now: Time, wanted: bool) {
        let rests = self.phase == MtuSearchState::Disabled && self.due.is_none();
        self.reason.reached = true;
        self.reason.wanted |= wanted;
        if self.reason.wanted || !rests {
            self.begin(now);
        }
    }

    /// Packets larger than the base would be of use.
    pub(super) fn want(&mut self, now: Time) {
        if std::mem::replace(&mut self.reason.wanted, true) {
            return;
        }
        if self.rests() {
            self.begin(now);
        } else if self.phase == MtuSearchState::Complete {
            self.enter(MtuSearchState::Searching, now);
        }
    }

    /// It could begin, but was of no use so far.
    fn rests(&self) -> bool {
        self.phase == MtuSearchState::Disabled && self.reason.reached && self.due.is_none()
    }

    /// A packet of this size leaves.
    #[inline]
    pub(super) fn on_packet(&mut self, now: Time, size: usize) {
        self.data.on_packet(now, size);
    }

    fn begin(&mut self, now: Time) {
        self.forget(now);
        let unanswered = self.unanswered();
        self.enter(MtuSearchState::Base, now);
        self.unanswered = unanswered;
        self.ceiling = usize::MAX;
    }

    /// What was found out before `now` holds no more.
    fn forget(&mut self, now: Time) {
        self.probes.clear();
        self.data.forget(now);
    }

    /// Probes of the base in a row that were not answered, before the path failed or its source was left, perhaps because of what it
    /// was to carry.
    pub(super) fn unanswered(&self) -> u8 {
        match self.phase {
            MtuSearchState::Base => self.unanswered.saturating_add(u8::from(self.awaited)),
            MtuSearchState::Disabled => self.unanswered,
            _ => 0,
        }
    }

    /// Packets go another way from now on, with these settings: what was doubted still is, and looked at.
    pub(super) fn start_over(&self, now: Time, settings: &PathSettings) -> Option<Search> {
        let unanswered = self.unanswered();
        let data = self.data.on_another_way(now);
        let reason = Reason { reached: false, ..self.reason };
        let is_doubtful = matches!(self.phase, MtuSearchState::Base | MtuSearchState::Error);
        let due = is_doubtful.then_some(now);
        Some(Search { unanswered, data, reason, due, ..Search::of(settings)? })
    }

    /// The peer cannot be reached: the DISABLED state, until `again`.
    pub(super) fn suspend(&mut self, again: Option<Time>) {
        self.unanswered = self.unanswered();
        self.phase = MtuSearchState::Disabled;
        self.awaited = false;
        self.due = again;
    }

    /// The peer can be reached again: what was suspended for a time begins, since a timer that was due at `then`, which is
    /// past, expires now.
    pub(super) fn resume(&mut self, then: Time) {
        if self.phase == MtuSearchState::Disabled && self.due.is_some() {
            self.due = Some(then);
        }
    }

    /// A timer has expired. What packets of `size`, the PLPMTU, are to be followed by, and the size of the probe that
    /// leaves now, if one does.
    pub(super) fn on_timer(&mut self, now: Time, size: usize) -> (Option<Verdict>, Option<usize>) {
        let lost = std::mem::take(&mut self.awaited);
        self.due = None;
        if lost {
            self.unanswered = self.unanswered.saturating_add(1);
        }
        let mut verdict = None;
        match self.phase {
            MtuSearchState::Disabled => self.begin(now),
            MtuSearchState::Base
                if self.unanswered >= MAX_PROBES && self.data.proved() >= self.base =>
            {
                self.enter(MtuSearchState::Searching, now);
            }
            MtuSearchState::Base if self.unanswered >= MAX_PROBES => {
                self.enter(MtuSearchState::Error, now);
                verdict = Some(Verdict::TooLarge { proved: self.data.proved() });
            }
            MtuSearchState::Error if lost => self.failures += 1,
            MtuSearchState::Base | MtuSearchState::Error => {}
            MtuSearchState::Searching if self.unanswered >= MAX_PROBES => {
                self.complete(now);
                return (None, None);
            }
            MtuSearchState::Searching => {
                if self.unanswered >= GUESS_PROBES && self.guess > size {
                    self.ceiling = self.ceiling.min(self.guess);
                }
            }
            MtuSearchState::Complete => {
                self.enter(MtuSearchState::Searching, now);
                self.ceiling = usize::MAX;
            }
        }
        let probe = self.candidate(size);
        if probe.is_none() {
            self.complete(now);
        }
        (verdict, probe)
    }

    //= RFC 8899 5.1.1-1
    /// A probe of this size leaves. The round trip takes `srtt`, if that is known, and `rto` at most.
    pub(super) fn on_sent(
        &mut self,
        now: Time,
        info: HeartbeatInfo,
        size: usize,
        [srtt, rto]: [Option<Duration>; 2],
    ) {
        let rto = rto.unwrap_or(SHORTEST_WAIT);
        self.probes.push(info, size, self.padding());
        self.awaited = true;
        //= RFC 8899 3-12 8-1
        self.free = now + srtt.unwrap_or(rto);
        self.cost.detention = srtt.unwrap_or(LEAST_DETENTION).max(LEAST_DETENTION);
        let doubled = rto.max(SHORTEST_WAIT).saturating_mul(1 << self.failures.min(16));
        self.due = Some(now + doubled.min(self.raise_after));
    }

    /// How the next probe is padded.
    pub(super) const fn padding(&self) -> Padding {
        self.probes.padding(self.unanswered % 2 == 1)
    }

    /// The probe that was to leave could not be sent: it is tried again after `rto`, and counts for nothing.
    pub(super) fn postpone(&mut self, now: Time, rto: Duration) {
        self.due = Some(now + rto.max(SHORTEST_WAIT));
    }

    /// Whether `info` stands in one of the last probes.
    pub(super) fn knows(&self, info: HeartbeatInfo) -> bool {
        self.probes.knows(info)
    }

    //= RFC 8899 3-7 3-22 3-23
    /// The probe with `info` has arrived, where packets are of `size` today, and no round trip took less than `least`.
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        info: HeartbeatInfo,
        size: usize,
        round_trip: Option<RoundTrip>,
        least: Option<Duration>,
    ) -> Option<Verdict> {
        let (probed, is_last) = self.probes.take(info)?;
        let [srtt, rttvar] = round_trip.map_or_else(Default::default, |r| [r.srtt, r.rttvar]);
        let took = now.since(info.sent);
        // Where queues make the round trip, an answer may take less of it than SRTT without being quick.
        let longer = took.saturating_sub(srtt) + rttvar;
        let longer = longer.min(took.saturating_sub(least.unwrap_or_default()));
        let per_byte = longer.as_nanos() as f64 / probed as f64;
        // What waits in queues is no property of the size: the least counts.
        let least = &mut self.cost.per_byte;
        *least = Some(least.map_or(per_byte, |least| least.min(per_byte)));
        if is_last {
            self.awaited = false;
        }
        let confirms = matches!(self.phase, MtuSearchState::Base | MtuSearchState::Error)
            && probed >= self.base;
        let raises = probed > size && self.phase != MtuSearchState::Disabled;
        if confirms || raises {
            self.ceiling = self.ceiling.max(probed + 1);
            self.enter(MtuSearchState::Searching, now);
        }
        (confirms || raises).then_some(Verdict::Fits(probed.max(self.base)))
    }

    /// Data was acknowledged that left at `sent` in a packet of this size, which no router may have fragmented.
    pub(super) fn on_data(&mut self, now: Time, sent: Time, size: usize) -> Option<Verdict> {
        if !self.data.on_acked(sent, size) {
            return None;
        }
        let proved = self.data.proved() >= self.base;
        let confirms = self.phase == MtuSearchState::Error && proved;
        if confirms {
            self.enter(MtuSearchState::Searching, now);
        }
        confirms.then_some(Verdict::Fits(self.base))
    }

    //= RFC 8899 3-8 3-11 4.6.2-1 6.2.1.4-2 6.2.2.4-2
    /// A router, or the own system, says that no more than `mtu` bytes get through, where packets are of `size` today: news
    /// for a probe that is larger. RFC 8899 §3, 6: one that is not less than what is probed is ignored.
    pub(super) fn on_too_big(&mut self, now: Time, mtu: usize, size: usize) {
        let probed = self.probes.newest().filter(|_| self.awaited);
        if self.phase != MtuSearchState::Searching || probed.is_none_or(|probed| mtu >= probed) {
            return;
        }
        self.ceiling = mtu + 1;
        self.guess = mtu;
        self.enter(MtuSearchState::Searching, now);
        if mtu <= size {
            self.complete(now);
        }
    }

    //= RFC 8899 3-21 8-4
    /// Packets are lost that are larger than the base, or a router says that they are. `likely` is what it says.
    pub(super) fn on_black_hole(&mut self, now: Time, likely: Option<usize>) {
        // What a late answer tells was true before.
        self.forget(now);
        self.enter(MtuSearchState::Base, now);
        self.ceiling = likely.map_or(usize::MAX, |likely| likely + 1);
        self.guess = likely.unwrap_or(self.guess);
    }

    /// A router says that even the base is too large.
    pub(super) fn on_narrow(&mut self, now: Time) {
        self.forget(now);
        self.enter(MtuSearchState::Error, now);
        self.due = Some(now + self.raise_after);
    }

    fn enter(&mut self, phase: MtuSearchState, now: Time) {
        self.phase = phase;
        (self.unanswered, self.failures, self.awaited) = (0, 0, false);
        self.due = Some(now.max(self.free));
    }

    //= RFC 8899 5.1.1-2 5.2-1 6.2.1.3-1
    /// No more probes until larger ones are tried again.
    fn complete(&mut self, now: Time) {
        self.phase = MtuSearchState::Complete;
        self.awaited = false;
        self.due = Some(now + self.raise_after);
    }

    //= RFC 8899 5.3.2-1
    /// What is probed next, where packets are of `size` today.
    fn candidate(&self, size: usize) -> Option<usize> {
        let is_possible = |probed: &usize| (size + 1..self.ceiling).contains(probed);
        match self.phase {
            MtuSearchState::Base | MtuSearchState::Error => Some(self.base),
            MtuSearchState::Searching if !self.reason.wanted => None,
            MtuSearchState::Searching if is_possible(&self.guess) => Some(self.guess),
            MtuSearchState::Searching => {
                let common = COMMON.into_iter().filter(|common| *common < self.max);
                let next = common.chain([self.max]).find(is_possible);
                let time = |probed| self.cost.per_byte.unwrap_or(0.0) * probed as f64;
                next.filter(|probed| time(*probed) <= self.cost.detention.as_nanos() as f64)
            }
            MtuSearchState::Disabled | MtuSearchState::Complete => None,
        }
    }
}
