//! Packetization layer path MTU discovery (DPLPMTUD, RFC 8899): the answers to probes say which packets get through, whether
//! routers send ICMP or not.
//!
//! PLPMTU, here bytes of IP packets, headers included, begins with [`BASE`]. A HEARTBEAT chunk in a packet that PAD makes
//! longer (RFC 4820) is a probe. One of that size confirms the base; then the configured MTU is tried, for it is the likeliest,
//! and the common sizes behind what is known, in turn, until MAX_PROBES in a row were not answered. Ten minutes later
//! larger ones are tried again. Where packets above the base are lost again and again, it is the base that is used, and
//! all begins again.
//!
//! PROBE_TIMER is RTO of RFC 9260, at least a second. An answer that comes later counts, too, so that a timer which is too
//! short costs probes and nothing else.
//!
//! Where a link is slow, a large packet holds up all that is behind it, and a probe is one: what the answers to smaller
//! ones took beyond the round trip says how long it would be under way. None is sent that would take longer than a round trip, and
//! [`LEAST_DETENTION`] at least. The configured MTU is not asked about.

use std::time::Duration;

use smallvec::SmallVec;

use super::{HeartbeatInfo, PathSettings};
use crate::mtu_discovery::MtuDiscovery;
use crate::time::Time;

//= RFC 8899 5.1.2-1
/// BASE_PLPMTU: IPv6 takes no less (RFC 8200 §5), and RFC 8899 §5.1.2 recommends 1200 bytes above IP and UDP.
pub(super) const BASE: usize = 1280;

/// MAX_PROBES (RFC 8899 §5.1.2).
const MAX_PROBES: u8 = 3;

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

/// The states of RFC 8899 §5.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SearchState {
    Disabled,
    Base,
    Error,
    Searching,
    Complete,
}

/// What follows for PLPMTU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Packets of this size get through.
    Fits(usize),
    /// Not even those of the base do.
    TooLarge,
}

/// The search on one path.
#[derive(Debug)]
pub(super) struct Search {
    phase: SearchState,
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
    /// The last probes, each with its size.
    probes: SmallVec<[(HeartbeatInfo, usize); MAX_PROBES as usize]>,
    /// The last one is not answered yet.
    awaited: bool,
    /// The next one leaves no sooner: a round trip after the last one.
    free: Time,
    /// Nanoseconds that each byte of a probe takes, at most.
    per_byte: Option<f64>,
    /// A probe may take so much longer than the round trip.
    detention: Duration,
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
            phase: SearchState::Disabled,
            base: configured.min(BASE),
            max,
            guess: configured,
            ceiling: usize::MAX,
            unanswered: 0,
            failures: 0,
            probes: SmallVec::new(),
            awaited: false,
            free: Time::ZERO,
            per_byte: None,
            detention: LEAST_DETENTION,
            due: None,
        }
    }

    /// BASE_PLPMTU.
    pub(super) const fn base(&self) -> usize {
        self.base
    }

    /// When to look again.
    #[inline]
    pub(super) const fn due(&self) -> Option<Time> {
        self.due
    }

    /// The peer can be reached: the BASE state.
    pub(super) fn begin(&mut self, now: Time) {
        self.probes.clear();
        self.enter(SearchState::Base, now);
        self.ceiling = usize::MAX;
    }

    /// The peer cannot be reached: the DISABLED state, until `again`.
    pub(super) fn suspend(&mut self, again: Option<Time>) {
        self.phase = SearchState::Disabled;
        self.awaited = false;
        self.due = again;
    }

    /// The peer can be reached again: what was suspended for a time begins, since a timer that was due at `then`, which is
    /// past, expires now.
    pub(super) fn resume(&mut self, then: Time) {
        if self.phase == SearchState::Disabled && self.due.is_some() {
            self.due = Some(then);
        }
    }

    /// A timer has expired. What packets of `size`, the PLPMTU, are to be followed by, and the size of the probe that
    /// leaves now, if one does.
    pub(super) fn on_timer(&mut self, now: Time, size: usize) -> (Option<Verdict>, Option<usize>) {
        let lost = std::mem::take(&mut self.awaited);
        self.due = None;
        if lost {
            self.unanswered += 1;
        }
        let mut verdict = None;
        match self.phase {
            SearchState::Disabled => self.begin(now),
            SearchState::Base if self.unanswered >= MAX_PROBES => {
                self.enter(SearchState::Error, now);
                verdict = Some(Verdict::TooLarge);
            }
            SearchState::Error if lost => self.failures += 1,
            SearchState::Base | SearchState::Error => {}
            SearchState::Searching if self.unanswered >= MAX_PROBES => {
                self.complete(now);
                return (None, None);
            }
            SearchState::Searching => {
                if self.unanswered >= GUESS_PROBES && self.guess > size {
                    self.ceiling = self.ceiling.min(self.guess);
                }
            }
            SearchState::Complete => {
                self.enter(SearchState::Searching, now);
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
        if self.probes.len() == self.probes.inline_size() {
            self.probes.remove(0);
        }
        self.probes.push((info, size));
        self.awaited = true;
        //= RFC 8899 3-12 8-1
        self.free = now + srtt.unwrap_or(rto);
        self.detention = srtt.unwrap_or(LEAST_DETENTION).max(LEAST_DETENTION);
        let doubled = rto.max(SHORTEST_WAIT).saturating_mul(1 << self.failures.min(16));
        self.due = Some(now + doubled.min(self.raise_after));
    }

    /// The probe that was to leave could not be sent: it is tried again at `then`, and counts for nothing.
    pub(super) fn postpone(&mut self, then: Time) {
        self.due = Some(then);
    }

    /// Whether `info` stands in one of the last probes.
    pub(super) fn knows(&self, info: HeartbeatInfo) -> bool {
        self.probes.iter().any(|(sent, _)| *sent == info)
    }

    //= RFC 8899 3-7 3-22 3-23
    /// The probe with `info` has arrived, where packets are of `size` today and the round trip takes `srtt`.
    pub(super) fn on_answer(
        &mut self,
        now: Time,
        info: HeartbeatInfo,
        size: usize,
        srtt: Option<Duration>,
    ) -> Option<Verdict> {
        let at = self.probes.iter().position(|(sent, _)| *sent == info)?;
        let (_, probed) = self.probes.remove(at);
        let longer = now.since(info.sent).saturating_sub(srtt.unwrap_or(Duration::ZERO));
        let per_byte = longer.as_nanos() as f64 / probed as f64;
        // What waits in queues is no property of the size: the least counts.
        self.per_byte = Some(self.per_byte.map_or(per_byte, |least| least.min(per_byte)));
        if at == self.probes.len() {
            self.awaited = false;
        }
        let confirms =
            matches!(self.phase, SearchState::Base | SearchState::Error) && probed >= self.base;
        let raises = probed > size && self.phase != SearchState::Disabled;
        if confirms || raises {
            self.ceiling = self.ceiling.max(probed + 1);
            self.enter(SearchState::Searching, now);
        }
        (confirms || raises).then_some(Verdict::Fits(probed.max(self.base)))
    }

    //= RFC 8899 3-8 3-11 4.6.2-1 6.2.1.4-2 6.2.2.4-2
    /// A router, or the own system, says that no more than `mtu` bytes get through, where packets are of `size` today: news
    /// for a probe that is larger. RFC 8899 §3, 6: one that is not less than what is probed is ignored.
    pub(super) fn on_too_big(&mut self, now: Time, mtu: usize, size: usize) {
        let probed = self.probes.last().filter(|_| self.awaited).map(|(_, probed)| *probed);
        if self.phase != SearchState::Searching || probed.is_none_or(|probed| mtu >= probed) {
            return;
        }
        self.ceiling = mtu + 1;
        self.guess = mtu;
        self.enter(SearchState::Searching, now);
        if mtu <= size {
            self.complete(now);
        }
    }

    //= RFC 8899 3-21 8-4
    /// Packets are lost that are larger than the base, or a router says that they are. `likely` is what it says.
    pub(super) fn on_black_hole(&mut self, now: Time, likely: Option<usize>) {
        // What a late answer tells was true before.
        self.probes.clear();
        self.enter(SearchState::Base, now);
        self.ceiling = likely.map_or(usize::MAX, |likely| likely + 1);
        self.guess = likely.unwrap_or(self.guess);
    }

    /// A router says that even the base is too large.
    pub(super) fn on_narrow(&mut self, now: Time) {
        self.enter(SearchState::Error, now);
        self.due = Some(now + self.raise_after);
    }

    fn enter(&mut self, phase: SearchState, now: Time) {
        self.phase = phase;
        (self.unanswered, self.failures, self.awaited) = (0, 0, false);
        self.due = Some(now.max(self.free));
    }

    //= RFC 8899 5.1.1-2 5.2-1 6.2.1.3-1
    /// No more probes until larger ones are tried again.
    fn complete(&mut self, now: Time) {
        self.phase = SearchState::Complete;
        self.awaited = false;
        self.due = Some(now + self.raise_after);
    }

    //= RFC 8899 5.3.2-1
    /// What is probed next, where packets are of `size` today.
    fn candidate(&self, size: usize) -> Option<usize> {
        let is_possible = |probed: &usize| (size + 1..self.ceiling).contains(probed);
        match self.phase {
            SearchState::Base | SearchState::Error => Some(self.base),
            SearchState::Searching if is_possible(&self.guess) => Some(self.guess),
            SearchState::Searching => {
                let common = COMMON.into_iter().filter(|common| *common < self.max);
                let next = common.chain([self.max]).find(is_possible);
                let time = |probed| self.per_byte.unwrap_or(0.0) * probed as f64;
                next.filter(|probed| time(*probed) <= self.detention.as_nanos() as f64)
            }
            SearchState::Disabled | SearchState::Complete => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::path::PathId;

    const RTT: Duration = Duration::from_millis(100);
    const TIMES: [Option<Duration>; 2] = [Some(RTT), Some(Duration::from_millis(300))];

    /// Plays a search on a path that takes packets of up to `real` bytes, lossless, whose routers tell that or not.
    /// Gives PLPMTU in the end, probes and seconds.
    fn play(search: &mut Search, mut size: usize, real: usize, tells: bool) -> (usize, u32, u64) {
        let (mut now, mut probes) = (Time::ZERO, 0);
        search.begin(now);
        while search.phase != SearchState::Complete {
            now = search.due().expect("it goes on until it is complete");
            let (verdict, probe) = search.on_timer(now, size);
            if verdict == Some(Verdict::TooLarge) {
                size = 512;
            }
            let Some(probe) = probe else { continue };
            probes += 1;
            let info = HeartbeatInfo { path: PathId(0), sent: now, nonce: u64::from(probes) };
            search.on_sent(now, info, probe, TIMES);
            let back = now + RTT;
            if probe <= real {
                assert!(search.knows(info));
                if let Some(Verdict::Fits(fits)) = search.on_answer(back, info, size, Some(RTT)) {
                    assert!(fits <= real && fits >= size);
                    size = fits;
                }
            } else if tells {
                search.on_too_big(back, real, size);
            }
            assert!(probes < 100, "no end");
        }
        (size, probes, now.since(Time::ZERO).as_secs())
    }

    //= RFC 8899 3-7 3-8 3-21 5.3.2-1
    /// RFC 8899 §5.1.4: each phase, on paths of many sizes.
    #[test]
    fn the_largest_common_size_is_found() {
        for (max, real, found) in [
            (1500, 1500, 1500),
            (1500, 1499, 1492),
            (1500, 1420, 1420),
            (1500, 1280, 1280),
            (9000, 1500, 1500),
            (9000, 9000, 9000),
            (9000, 8999, 8500),
            (9000, 1460, 1460),
            (65_535, 65_535, 65_535),
        ] {
            let (size, probes, seconds) = play(&mut Search::new(1500, max), 1280, real, false);
            assert_eq!(size, found, "{real} of {max}");
            assert!(probes <= 16 && seconds <= 8, "{real}: {probes} probes, {seconds} s");
            let (size, told, _) = play(&mut Search::new(1500, max), 1280, real, true);
            assert!(size == real || size == found && found == max, "told {real}: {size}");
            assert!(told <= probes, "told {real}: {told} probes, else {probes}");
        }
    }

    //= RFC 8899 3-22 3-23 5.1.1-1 5.1.1-2 5.2-1 6.2.1.3-1
    #[test]
    fn three_probes_in_a_row_end_the_search_for_ten_minutes() {
        let mut search = Search::new(1500, 9000);
        let (size, ..) = play(&mut search, 1280, 1500, false);
        let due = search.due().unwrap();
        let (verdict, probe) = search.on_timer(due, size);
        assert_eq!((verdict, probe), (None, Some(2002)), "a larger one is tried again");
        let ended = due;
        for n in 0..3 {
            let now = search.due().filter(|due| *due > ended).unwrap_or(ended);
            if n > 0 {
                assert_eq!(search.on_timer(now, size).1, Some(2002));
            }
            let info = HeartbeatInfo { path: PathId(0), sent: now, nonce: 100 + n };
            search.on_sent(now, info, 2002, TIMES);
            assert_eq!(search.due(), Some(now + SHORTEST_WAIT), "no less than a second");
        }
        let now = search.due().unwrap();
        assert_eq!(search.on_timer(now, size), (None, None));
        assert_eq!(search.due(), Some(now + MtuDiscovery::RAISE_AFTER));
        // The answer to one of them comes late.
        let late = HeartbeatInfo { path: PathId(0), sent: ended, nonce: 100 };
        assert_eq!(search.on_answer(now, late, size, Some(RTT)), Some(Verdict::Fits(2002)));
        assert_eq!(search.due(), Some(now), "and it goes on");
        assert_eq!(search.on_answer(now, late, 2002, Some(RTT)), None, "once");
    }

    //= RFC 8899 5.1.2-1
    /// RFC 8899 §5.2, ERROR: until packets of the base get through.
    #[test]
    fn a_path_below_the_base_is_probed_ever_more_rarely() {
        let mut search = Search::new(1500, 1500);
        search.begin(Time::ZERO);
        let (mut now, mut narrow, mut sent) = (Time::ZERO, 0, Vec::new());
        for n in 0..20 {
            now = search.due().unwrap();
            let (verdict, probe) = search.on_timer(now, 512);
            narrow += u32::from(verdict == Some(Verdict::TooLarge));
            assert_eq!(probe, Some(BASE));
            let info = HeartbeatInfo { path: PathId(0), sent: now, nonce: n };
            search.on_sent(now, info, BASE, TIMES);
            sent.push(info);
        }
        assert_eq!(narrow, 1);
        assert_eq!(search.due(), Some(now + MtuDiscovery::RAISE_AFTER));
        assert_eq!(search.on_answer(now, sent[19], 512, Some(RTT)), Some(Verdict::Fits(BASE)));
        assert_eq!(search.on_timer(now, BASE).1, Some(1500));
    }

    //= RFC 8899 3-11 4.6.2-1 8-4
    #[test]
    fn what_routers_say_is_probed_and_not_believed() {
        let mut search = Search::new(1500, 1500);
        search.on_too_big(Time::ZERO, 1400, BASE);
        assert_eq!(search.due(), None, "nothing was probed");
        search.begin(Time::ZERO);
        search.on_black_hole(Time::ZERO, Some(1432));
        let info = |nonce| HeartbeatInfo { path: PathId(0), sent: Time::ZERO, nonce };
        for (nonce, expected) in [(1, BASE), (2, 1432)] {
            let (_, probe) = search.on_timer(Time::ZERO, if nonce == 1 { 1500 } else { BASE });
            assert_eq!(probe, Some(expected));
            search.on_sent(Time::ZERO, info(nonce), expected, TIMES);
            search.on_too_big(Time::ZERO, 1500, BASE);
            assert_eq!(search.due(), Some(Time::ZERO + SHORTEST_WAIT), "no news");
            assert!(search.on_answer(Time::ZERO, info(nonce), BASE, Some(RTT)).is_some());
        }
        assert_eq!(search.on_timer(Time::ZERO, 1432), (None, None), "nothing above");
    }

    //= RFC 8899 3-12 8-1
    #[test]
    fn a_round_trip_is_between_probes_whatever_routers_say() {
        let mut search = Search::new(1500, 9000);
        search.begin(Time::ZERO);
        let info = |nonce| HeartbeatInfo { path: PathId(0), sent: Time::ZERO, nonce };
        search.on_timer(Time::ZERO, BASE);
        search.on_sent(Time::ZERO, info(1), BASE, TIMES);
        let now = Time::ZERO + RTT;
        search.on_answer(now, info(1), BASE, Some(RTT));
        assert_eq!(search.due(), Some(now));
        assert_eq!(search.on_timer(now, BASE).1, Some(1500));
        search.on_sent(now, info(2), 1500, TIMES);
        search.on_too_big(now, 1400, BASE);
        assert_eq!(search.due(), Some(now + RTT), "the own system answers at once");
    }

    /// A packet of 65 535 bytes takes half a minute at 14 kbit/s.
    #[test]
    fn what_would_block_a_slow_link_is_not_probed() {
        for (kbps, found) in [(14, 1500), (100, 1500), (1_000, 9000), (100_000, 65_535)] {
            let mut search = Search::new(1500, 65_535);
            search.begin(Time::ZERO);
            let mut size = BASE;
            for nonce in 0..100 {
                let now = search.due().unwrap();
                let Some(probe) = search.on_timer(now, size).1 else { break };
                let info = HeartbeatInfo { path: PathId(0), sent: now, nonce };
                search.on_sent(now, info, probe, TIMES);
                let link = Duration::from_micros(probe as u64 * 8_000 / kbps);
                let verdict = search.on_answer(now + RTT + link, info, size, Some(RTT));
                let Some(Verdict::Fits(fits)) = verdict else { panic!("{verdict:?}") };
                size = fits;
            }
            assert_eq!(size, found, "{kbps} kbit/s");
        }
    }
}
