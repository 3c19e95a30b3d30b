//! The peer's addresses, and which of them to use.

use std::net::IpAddr;
use std::ops::{Index, IndexMut};

use smallvec::SmallVec;

use super::{Pace, Path};
use crate::config::AssociationConfig;
use crate::ids::PathId;
use crate::profile::Profile;
use crate::time::Time;

/// A peer that lists more addresses is believed for the first ones only (RFC 5062 §3: each
/// address costs heartbeats to hosts that may not be the peer's).
pub(crate) const MAX_PATHS: usize = 16;

/// Numbers of paths: some more than there may be paths, for the number of one that was removed is not given away as long as a
/// chunk is outstanding that may have been sent there. Sets of paths are 32 bits.
const MAX_NUMBERS: usize = 2 * MAX_PATHS;

/// So many packets that could have been larger make it worth while to look for the path MTU: a search is some four probes, each
/// about as large.
const WORTH_A_SEARCH: u8 = 10;

/// After so many packets in a row more waits to be sent: the window holds it back, which grows by the MTU, whatever packets hold.
const HELD_BACK: u8 = 20;

/// What became of a path on which something was not answered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failure {
    changed: bool,
    switched: bool,
}

impl Failure {
    /// Its state is another one.
    pub(crate) const fn changes_state(self) -> bool {
        self.changed
    }

    /// It is the primary path no more.
    pub(crate) const fn changes_primary(self) -> bool {
        self.switched
    }
}

/// All paths of an association; never empty.
#[derive(Debug)]
pub(crate) struct Paths {
    /// By their numbers. Those that were removed stay until their numbers are given away, so that what names them finds
    /// something: a SACK of what was sent there, a timer, a heartbeat.
    list: Vec<Path>,
    primary: PathId,
    /// The set of those that were removed.
    gone: u32,
    /// They, each with the first sequence number that was certainly not sent there.
    removed: SmallVec<[(PathId, u64); 0]>,
    /// Packets that left and could have been larger, up to [`WORTH_A_SEARCH`].
    full: u8,
    /// Packets in a row behind which more waited, up to [`HELD_BACK`].
    held_back: u8,
}

impl Paths {
    pub(crate) fn new(first: Path) -> Paths {
        Paths {
            list: vec![first],
            primary: PathId(0),
            gone: 0,
            removed: SmallVec::new(),
            full: 0,
            held_back: 0,
        }
    }

    /// A packet leaves that could be larger, for there is more to send.
    #[inline]
    pub(crate) fn on_full_packet(&mut self, now: Time) {
        if self.full < WORTH_A_SEARCH {
            self.full += 1;
            if self.full == WORTH_A_SEARCH {
                self.search_mtus(now);
            }
        }
    }

    /// A packet with DATA leaves, and more waits to be sent, or not.
    #[inline]
    pub(crate) fn on_left(&mut self, now: Time, waits: bool) {
        if self.full < WORTH_A_SEARCH {
            self.held_back = if waits { self.held_back + 1 } else { 0 };
            if self.held_back == HELD_BACK {
                self.search_at_once(now);
            }
        }
    }

    /// A message was refused that does not fit a packet.
    pub(crate) fn on_too_large(&mut self, now: Time) {
        if self.full < WORTH_A_SEARCH {
            self.search_at_once(now);
        }
    }

    fn search_at_once(&mut self, now: Time) {
        self.full = WORTH_A_SEARCH;
        self.search_mtus(now);
    }

    /// On every path, since the smallest MTU says how messages are fragmented.
    fn search_mtus(&mut self, now: Time) {
        self.iter_mut().for_each(|path| path.mtu.want_larger(now));
    }

    /// The peer is reached on `path`, if it is confirmed: the search for its MTU may begin.
    pub(crate) fn search_mtu(&mut self, path: PathId, now: Time) {
        let wanted = self.full == WORTH_A_SEARCH;
        if self[path].is_confirmed() {
            self[path].mtu.reach(now, wanted);
        }
    }

    /// Leaves the paths to `remotes` only, one at least; `make` makes those that are new, from the number
    /// and the ones there are. The others keep their order, but not their numbers.
    pub(crate) fn become_those_to(
        &mut self,
        remotes: &[IpAddr],
        mut make: impl FnMut(PathId, IpAddr, &[Path]) -> Path,
    ) {
        let primary = self[self.primary].address.remote();
        let gone = std::mem::take(&mut self.gone);
        self.removed.clear();
        self.list.retain(|p| gone & p.id.bit() == 0 && remotes.contains(&p.address.remote()));
        for remote in remotes {
            if self.list.len() < MAX_PATHS && self.find(*remote).is_none() {
                let path = make(PathId(self.list.len() as u8), *remote, &self.list);
                self.list.push(path);
            }
        }
        for (i, path) in self.list.iter_mut().enumerate() {
            path.id = PathId(i as u8);
        }
        self.primary = self.find(primary).unwrap_or_default();
    }

    /// Some were removed one by one: since numbers are given away only when there are no others, their places show that.
    pub(crate) const fn have_gone(&self) -> bool {
        self.gone != 0
    }

    /// Looks a path up by the peer's address.
    pub(crate) fn find(&self, remote: IpAddr) -> Option<PathId> {
        self.iter().find(|p| p.address.remote() == remote).map(|p| p.id)
    }

    pub(crate) fn primary(&self) -> PathId {
        self.primary
    }

    /// Data goes to this path by default; `true` if that is new.
    pub(crate) fn set_primary(&mut self, path: PathId) -> bool {
        std::mem::replace(&mut self.primary, path) != path
    }

    //= RFC 7829 5-4 5-5
    /// Something was not answered on a path, as [`Path::count_failure`]; also whether that made another one the primary path.
    ///
    /// RFC 7829 §5: "the path that, at the given time, would be chosen for data transfer".
    pub(crate) fn count_failure(&mut self, path: PathId, error: bool) -> Failure {
        let changed = self[path].count_failure(error);
        let before = self.primary;
        if path == before && self[path].reachability.hands_over(&self[path].settings) {
            self.primary = self.data_path();
        }
        Failure { changed, switched: self.primary != before }
    }

    /// Adds one, if there may be one more; `make` makes it, from its number and those there are. What is sent has sequence
    /// numbers above `cumulative`.
    pub(crate) fn add(
        &mut self,
        cumulative: u64,
        make: impl FnOnce(PathId, &Paths) -> Path,
    ) -> Option<PathId> {
        if self.len() >= MAX_PATHS {
            return None;
        }
        let fresh = (self.list.len() < MAX_NUMBERS).then_some(PathId(self.list.len() as u8));
        let id = match fresh {
            Some(id) => id,
            None => {
                let free = self.removed.iter().position(|(_, next)| *next <= cumulative + 1)?;
                self.removed.remove(free).0
            }
        };
        let path = make(id, self);
        match self.list.get_mut(usize::from(id.0)) {
            Some(place) => *place = path,
            None => self.list.push(path),
        }
        self.gone &= !id.bit();
        Some(id)
    }

    /// Removes one, unless it is the last; `next` is the sequence number of the next chunk. If it was the primary path, another one is.
    pub(crate) fn remove(&mut self, path: PathId, next: u64) -> bool {
        if self.get(path).is_none() || self.len() == 1 {
            return false;
        }
        // RFC 9260 §5.4: no data has gone to an address that was never confirmed. A host whose addresses flap adds many such.
        let next = if self[path].is_confirmed() { next } else { 0 };
        self.gone |= path.bit();
        self.removed.push((path, next));
        if self.primary == path {
            let confirmed = self.iter().find(|p| p.is_confirmed()).map(|p| p.id);
            self.primary = confirmed.or_else(|| self.ids().next()).unwrap_or_default();
            self.primary = self.data_path();
        }
        true
    }

    /// The one itself; where data goes if it was removed.
    #[inline]
    pub(crate) fn living(&self, path: PathId) -> PathId {
        if self.gone & path.bit() == 0 { path } else { self.data_path() }
    }

    /// It was not removed.
    #[inline]
    pub(crate) const fn is_living(&self, path: PathId) -> bool {
        self.gone & path.bit() == 0
    }

    pub(crate) fn get(&self, path: PathId) -> Option<&Path> {
        self.list.get(usize::from(path.0)).filter(|_| self.is_living(path))
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.list.len() - self.gone.count_ones() as usize
    }

    /// Their numbers, in order; it does not borrow them.
    #[inline]
    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        let (numbers, gone) = (self.list.len() as u8, self.gone);
        (0..numbers).map(PathId).filter(move |path| gone & path.bit() == 0)
    }

    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> + Clone {
        let gone = self.gone;
        self.list.iter().filter(move |p| gone & p.id.bit() == 0)
    }

    #[inline]
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        let gone = self.gone;
        self.list.iter_mut().filter(move |p| gone & p.id.bit() == 0)
    }

    /// Several of them may carry data at once.
    #[inline]
    pub(crate) fn are_concurrent(&self, config: &AssociationConfig) -> bool {
        config.concurrent_transfer && self.len() > 1
    }

    /// An opportunity to send came: Max.Burst packets may leave on each of them, all that can if that is 0. Credit
    /// that is not used is taken back when it is over; several SACKs handled before it add up.
    pub(crate) fn begin_opportunity(&mut self, profile: &Profile) {
        let packets = profile.limits.max_burst as usize;
        for path in self.iter_mut() {
            let bytes = packets * path.pmdcs();
            path.bursts.grant(Some(bytes).filter(|_| packets > 0));
        }
    }

    /// When the next packet has its turn that waits for that alone.
    pub(crate) fn departure_deadline(&self) -> Option<Time> {
        self.iter().filter_map(|p| p.bursts.deadline()).min()
    }

    /// When a path wants to ask for answers again, since its source is gone.
    pub(crate) fn question_deadline(&self) -> Option<Time> {
        self.iter().filter_map(|p| p.address.asks_at()).min()
    }

    //= RFC 9260 6.4-1 6.4.1-1 8.2-4
    //= RFC 7829 3.2-3 3.2-4 3.2-6 3.2-7 3.2-8 3.2-9 3.2-10 4-1 4-2 4.1-1 4.1-2 4.1-3
    /// Where new data goes.
    ///
    /// RFC 9260 §6.4: the primary path; §6.4.1: an active alternate if it is inactive. RFC 7829
    /// §3.2: of those potentially failed, if there is no other, the one with the lowest error count;
    /// §4.1 rule 3: the same where all are inactive, or what is new would go for ever where nothing comes
    /// through, while each retransmission elsewhere is acknowledged.
    #[inline]
    pub(crate) fn data_path(&self) -> PathId {
        if self[self.primary].preferred() { self.primary } else { self.substitute() }
    }

    /// The path that carries data in the place of the primary one.
    fn substitute(&self) -> PathId {
        let preferred = self.iter().find(|p| p.preferred());
        let fewest = |of: fn(&&Path) -> bool| {
            let of = self.iter().filter(of);
            of.min_by_key(|p| (p.reachability.failures(), p.id != self.primary))
        };
        let found =
            preferred.or_else(|| fewest(|p| p.usable())).or_else(|| fewest(|p| p.is_confirmed()));
        found.map_or(self.primary, |p| p.id)
    }

    /// The paths that carry data: those that can, or the one that RFC 9260 §6.4 names.
    pub(crate) fn data_paths(&self) -> impl Iterator<Item = PathId> {
        let any = self.iter().any(Path::preferred);
        let fallback = self.data_path();
        self.iter()
            .filter(move |p| if any { p.preferred() } else { p.id == fallback })
            .map(|p| p.id)
    }

    //= RFC 9260 6.4.1-2
    //= RFC 7829 3.2-5
    /// Where a chunk that timed out on `last` goes.
    ///
    /// RFC 9260 §6.4: an active destination different from the last one, if there is any: the next
    /// one in the order of the list.
    pub(crate) fn alternate(&self, last: PathId) -> PathId {
        let n = self.list.len();
        let start = usize::from(last.0);
        let others =
            || (1..n).map(|i| &self.list[(start + i) % n]).filter(|p| self.is_living(p.id));
        let preferred = others().find(|p| p.preferred());
        let fewest = || others().filter(|p| p.usable()).min_by_key(|p| p.reachability.failures());
        //= RFC 7829 4.1-4
        // RFC 7829 §4.1: where all are inactive, "the sender MUST choose one", of those with the "fewest
        // consecutive timeouts" the next in turn.
        let dormant = || {
            let inactive = others().filter(|p| p.is_confirmed() && !self[last].usable());
            inactive.min_by_key(|p| p.reachability.failures())
        };
        preferred.or_else(fewest).or_else(dormant).map_or_else(
            || if self[last].is_confirmed() { self.living(last) } else { self.data_path() },
            |p| p.id,
        )
    }

    /// Where a chunk would go that times out on `last` by the timer that RFC 9260 would have (`path/patience.rs`).
    /// Timers that expire earlier make paths fail in another order, in which it must not go: with an RTO for each path,
    /// that moves everything behind it.
    pub(crate) fn next_in_turn(&self, last: PathId, pace: Pace) -> PathId {
        let (n, start) = (self.list.len(), usize::from(last.0));
        let usable = |p: &&Path| p.is_confirmed() && self.is_living(p.id);
        let others = || (1..n).map(|i| &self.list[(start + i) % n]).filter(usable);
        let missed = |p: &Path| p.reachability.missed(pace);
        let fails = |p: &Path| missed(p) > p.settings.max_retrans;
        let active = others().find(|p| !fails(p));
        let dormant = || others().filter(|_| fails(&self[last])).min_by_key(|p| missed(p));
        active.or_else(dormant).map_or_else(|| self.living(last), |p| p.id)
    }

    /// Some path is in Fast Recovery (RFC 9260 §7.2.4 rule 6).
    pub(crate) fn in_fast_recovery(&self) -> bool {
        self.iter().any(|p| p.window.is_recovering())
    }

    /// Forgets what was measured: the peer restarted (RFC 9260 §5.2.4 A). Confirmation and settings
    /// stay.
    pub(crate) fn reset(&mut self, config: &AssociationConfig) {
        for path in &mut self.list {
            *path = path.restarted(config);
        }
    }

    //= RFC 9260 6-9 6.9-5 6.9-10 7.3-3 7.3-4
    /// The smallest PMDCS of all paths (AMDCS, RFC 9260 §7.3).
    pub(crate) fn amdcs(&self) -> usize {
        self.iter().map(Path::pmdcs).min().unwrap_or(512)
    }
}

impl Index<PathId> for Paths {
    type Output = Path;
    fn index(&self, path: PathId) -> &Path {
        &self.list[usize::from(path.0)]
    }
}

impl IndexMut<PathId> for Paths {
    fn index_mut(&mut self, path: PathId) -> &mut Path {
        &mut self.list[usize::from(path.0)]
    }
}
