//! Which addresses an association uses: those of the peer that we can reach (RFC 9260 §5.1.2), and for
//! each of them one of ours that the peer knows of.
//!
//! A path keeps its source for as long as it is answered. When it is not, heartbeats ask whether another
//! source is, and if that remains open, too, the sources are tried in turn: as long as one pair of
//! addresses works, it will be found.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::verification::Verification;
use super::{Association, Control, State};
use crate::asconf::Changes;
use crate::path::source::{Host, Sources};
use crate::path::{HeartbeatInfo, MAX_PATHS, Path, PathId};
use crate::time::Time;

/// This many other sources are asked for at each error; then it is the turn of others.
const SEARCHED: usize = 4;

/// What an association may use of our addresses and of the peer's.
#[derive(Debug)]
pub(super) struct Addresses {
    /// Ours.
    pub(super) sources: Sources,
    /// Some of the peer have no path: we cannot reach them, or they were too many.
    pub(super) are_omitted: bool,
    pub(super) verification: Verification,
    /// Changes of addresses (RFC 5061), if those were agreed on.
    pub(super) changes: Option<Box<Changes>>,
    /// The address that the peer prefers, as long as it is not confirmed.
    pub(super) preferred: Option<IpAddr>,
}

impl Addresses {
    pub(super) fn new(sources: Sources) -> Addresses {
        Addresses {
            sources,
            are_omitted: false,
            verification: Verification::default(),
            changes: None,
            preferred: None,
        }
    }
}

impl Sources {
    /// Those addresses of a peer that get a path. The first one, from which it sent its INIT or INIT ACK,
    /// always does.
    pub(crate) fn usable_peers(&self, addresses: &[IpAddr]) -> Vec<IpAddr> {
        let Some((first, others)) = addresses.split_first() else { return Vec::new() };
        let beside_us = self.is_own(*first) || first.is_loopback();
        let usable = |r: &&IpAddr| self.reach(**r) && (beside_us || !self.is_own(**r));
        let others = others.iter().filter(usable);
        std::iter::once(first).chain(others).take(MAX_PATHS).copied().collect()
    }
}

/// The source to begin with on a path to `remote`: paths share those that are equally near.
pub(super) fn source_beside<'p>(
    sources: &Sources,
    remote: IpAddr,
    others: &(impl Iterator<Item = &'p Path> + Clone),
) -> Option<IpAddr> {
    sources.best(remote, |l| others.clone().filter(|p| p.address.local() == Some(l)).count())
}

impl Association {
    /// The addresses of ours that the peer knows of.
    pub(crate) fn sources(&self) -> &Sources {
        &self.addresses.sources
    }

    /// Whether the peer has addresses without a path: we cannot reach them, or they were too many.
    pub(crate) fn omits_addresses(&self) -> bool {
        self.addresses.are_omitted
    }

    /// The peer answered during the handshake, `from` one of its addresses, at this address of ours: so it
    /// knows it. Of the path to another one of them that says nothing: it may be of the other family.
    pub(super) fn learn_source(&mut self, path: PathId, from: IpAddr, local: IpAddr) {
        self.addresses.sources.learn(local);
        if self.addresses.sources.knows(local) && self.paths[path].address.remote() == from {
            self.paths[path].address.on_answer_at(local);
        }
    }

    //= RFC 9260 5.1.2-5
    /// Takes the peer's `addresses`, that of its INIT or INIT ACK first, as the only ones.
    ///
    /// RFC 9260 §5.1.2 C: "The receiver SHOULD use only these transport addresses"; §5.1.2 A: if none is
    /// listed, the source address "as the only destination transport address for this peer".
    pub(super) fn adopt_addresses(&mut self, addresses: &[IpAddr]) {
        let usable = self.addresses.sources.usable_peers(addresses);
        self.addresses.are_omitted |= usable.len() < addresses.len();
        let Association { addresses: Addresses { sources, .. }, paths, config, origin, .. } = self;
        let encapsulation = paths[PathId(0)].address.encapsulation();
        // What is outstanding names its path. It was sent after the first answer of the peer, which has
        // settled the addresses.
        if self.sender.outstanding() > 0 {
            return;
        }
        let target = paths[origin.path].address.remote();
        paths.become_those_to(&usable, |id, remote, others| {
            Path::new(
                id,
                remote,
                source_beside(sources, remote, &others.iter()),
                encapsulation,
                config,
            )
        });
        origin.path = paths.find(target).unwrap_or_default();
        self.listing.moved = true;
        self.pin_sources();
    }

    /// Takes the peer's `addresses`, that of its INIT first, beside those that its INIT ACK has listed.
    ///
    /// When both ends call each other, a peer that lists none (RFC 6951 §5.7) may have called from another
    /// address than the one that we called: both are its own.
    pub(super) fn join_addresses(&mut self, now: Time, addresses: &[IpAddr]) {
        let usable = self.addresses.sources.usable_peers(addresses);
        let monitored = self.is_monitored();
        let Association { addresses: Addresses { sources, .. }, paths, config, .. } = self;
        let before = paths.len();
        let encapsulation = paths[PathId(0)].address.encapsulation();
        let both: Vec<IpAddr> = paths.iter().map(|p| p.address.remote()).chain(usable).collect();
        paths.become_those_to(&both, |id, remote, others| {
            let local = source_beside(sources, remote, &others.iter());
            let mut path = Path::new(id, remote, local, encapsulation, config);
            // §5.4 rule 2: who brings the cookie has received it there.
            if Some(&remote) == addresses.first() {
                path.reachability.confirm();
            }
            path.heartbeat.plan(monitored.then_some(now));
            path
        });
        self.addresses.are_omitted |= addresses.iter().any(|a| paths.find(*a).is_none());
        self.listing.moved |= paths.len() > before;
        self.reserve_for_authentication();
    }

    /// Gives every path a source that the peer knows of, if there is any.
    pub(super) fn pin_sources(&mut self) {
        for path in self.paths.ids() {
            let address = &self.paths[path].address;
            if address.local().is_none_or(|l| !self.addresses.sources.knows(l)) {
                let local =
                    source_beside(&self.addresses.sources, address.remote(), &self.paths.iter());
                self.paths[path].address.begin_from(local);
            }
        }
    }

    /// A packet of the peer arrived at `local` on a path that has not shown to work: that way it may. A
    /// source that was taken just now has one RTO to show that it does.
    pub(super) fn heard_at(&mut self, now: Time, path: PathId, local: IpAddr) {
        let p = &self.paths[path];
        let tried = p.address.taken_at().is_none_or(|at| now >= at + p.rto());
        if tried && p.doubts_source() {
            self.take_source(now, path, local);
        }
    }

    fn take_source(&mut self, now: Time, path: PathId, local: IpAddr) {
        let address = &self.paths[path].address;
        let other = !address.shuns(local) && address.could_leave_from(local);
        if other && self.may_leave_from(local) {
            self.change_source(now, path, local);
        }
    }

    /// Whether the peer would know a packet from `local`, and our host can send it.
    pub(super) fn may_leave_from(&self, local: IpAddr) -> bool {
        let sources = &self.addresses.sources;
        sources.knows(local) && !sources.has_lost(local) && !sources.is_leaving(local)
    }

    /// The source of an answer on `path` to what arrived at `local`: that address, so that the peer learns
    /// of the pair of addresses that it has tried; `None` for the path's own source.
    pub(super) fn reply_source(&self, path: PathId, local: IpAddr) -> Option<IpAddr> {
        Some(local)
            .filter(|l| self.may_leave_from(*l) && self.paths[path].address.local() != Some(*l))
    }

    /// Something that was sent on `path` at `sent` was not answered. If it left from an earlier source, of
    /// the one of today it says nothing.
    pub(super) fn doubt_source(&mut self, now: Time, path: PathId, sent: Time) {
        if !self.profile().heartbeat.other_sources {
            return;
        }
        let p = &self.paths[path];
        let Path { address, heartbeat, .. } = p;
        let other = |l: &IpAddr| address.could_leave_from(*l) && self.may_leave_from(*l);
        let found = heartbeat.found().filter(other);
        let next = || self.addresses.sources.next(address.remote(), address.local());
        if p.doubts_source()
            && address.is_since(sent)
            && let Some(next) = found.or_else(next)
        {
            self.paths[path].shun_source();
            self.change_source(now, path, next);
        }
        // §8.3: no heartbeats before the association is established, or after SHUTDOWN.
        if self.may_send_data() {
            self.search_source(now, path);
        }
    }

    /// Sends heartbeats from other sources than that of `path`.
    fn search_source(&mut self, now: Time, path: PathId) {
        let p = &self.paths[path];
        //= RFC 7829 3.2-13
        // RFC 7829 §3.2 rule 5: "if the Path Heartbeat function is disabled for the destination address in
        // question, HEARTBEATs MUST NOT be sent."
        // RFC 9260 §5.4: what probes an unconfirmed address is limited by HB.Max.Burst.
        if !p.is_confirmed() || !p.settings.heartbeats {
            return;
        }
        let mut others = self.addresses.sources.others(p.address.remote(), p.address.local());
        others.truncate(SEARCHED);
        if others.is_empty() {
            return;
        }
        let info = HeartbeatInfo { path, sent: now, nonce: self.rng.next_u64() };
        self.paths[path].heartbeat.begin_search(info);
        for source in others {
            let info = Bytes::copy_from_slice(&info.encode());
            self.push_control(path, Control::Heartbeat(info, Some(source)));
        }
    }

    /// A heartbeat of such a search was answered at `local`: from there the path may work. That is for
    /// data to show, or for the next heartbeat, which then leaves at once: a source that only large
    /// packets do not get away from must not look healthy for ever. One that has worked and has lost a
    /// single packet is kept; if it loses another one, this is the next.
    pub(super) fn found_source(&mut self, now: Time, path: PathId, local: IpAddr) {
        if self.paths[path].address.shuns(local) {
            return;
        }
        self.paths[path].heartbeat.end_search();
        if self.paths[path].doubts_source() {
            self.take_source(now, path, local);
        } else {
            self.paths[path].heartbeat.keep_found(local);
        }
        let p = &mut self.paths[path];
        if !p.preferred() && !p.heartbeat.is_awaited() {
            p.heartbeat.plan(Some(now));
        }
    }

    fn change_source(&mut self, now: Time, path: PathId, local: IpAddr) {
        //= RFC 9260 7.2.5-1 7.2.5.2-1
        // RFC 9260 §7.2.5.2: with "the selection of a different source address ... the congestion control
        // parameters for the affected destination addresses MUST be reset to their initial values".
        self.paths[path].leave_from(now, local, &self.config);
    }

    /// The addresses of our host have changed.
    pub(crate) fn on_host_change(&mut self, now: Time, host: &Arc<Host>) {
        self.addresses.sources.set_host(Arc::clone(host));
        let burst = self.profile().heartbeat.max_burst.max(1);
        let apart = self.paths.iter().map(Path::rto).min().unwrap_or_default();
        let apart = apart.min(self.profile().rto.initial());
        let mut asked: u32 = 0;
        for path in self.paths.ids() {
            let address = &self.paths[path].address;
            let lost = address.local().is_some_and(|l| self.addresses.sources.has_lost(l));
            // If all are lost, it may be the first that is back.
            let next = self.addresses.sources.next(address.remote(), address.local());
            let next = next.filter(|l| !self.addresses.sources.has_lost(*l));
            if lost && let Some(next) = next {
                self.change_source(now, path, next);
            }
            // What works now is known soon, and not a heartbeat interval later; but not all is asked at once.
            let p = &mut self.paths[path];
            let monitored = self.phase.state() == State::Established && p.settings.heartbeats;
            if monitored && !(p.address.is_proven() && p.usable()) && !p.heartbeat.is_awaited() {
                let at = now + apart * (asked / burst);
                p.heartbeat.hasten(at);
                asked += 1;
            }
        }
        self.follow_host(now);
    }
}
