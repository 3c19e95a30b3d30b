//! Which addresses an association uses: those of the peer that we can reach (RFC 9260 §5.1.2), and for
//! each of them one of ours that the peer knows of.
//!
//! A path keeps its source for as long as it is answered. When it is not, heartbeats ask whether another
//! source is, and if that remains open, too, the sources are tried in turn: as long as one pair of
//! addresses works, it will be found.

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;

use super::common::Common;
use super::outbox::Control;
use crate::config::AssociationConfig;
use crate::ids::PathId;
use crate::path::source::{Host, Sources};
use crate::path::{HeartbeatInfo, MAX_PATHS, Path, Paths};
use crate::state::State;
use crate::time::Time;

/// This many other sources are asked for at each error; then it is the turn of others.
const SEARCHED: usize = 4;

/// What an association may use of our addresses and of the peer's.
#[derive(Debug)]
pub(crate) struct Addresses {
    /// Ours.
    sources: Sources,
    /// Some of the peer have no path: we cannot reach them, or they were too many.
    are_omitted: bool,
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

impl Addresses {
    pub(super) fn new(sources: Sources) -> Addresses {
        Addresses { sources, are_omitted: false }
    }

    /// The addresses of ours that the peer knows of.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// The addresses of ours that the peer knows of, to be told what has changed.
    pub(super) fn sources_mut(&mut self) -> &mut Sources {
        &mut self.sources
    }

    /// Whether the peer has addresses without a path: we cannot reach them, or they were too many.
    pub(crate) fn are_omitted(&self) -> bool {
        self.are_omitted
    }

    /// It has some of which we were not told.
    pub(super) fn omit(&mut self, omitted: bool) {
        self.are_omitted |= omitted;
    }

    /// The peer answered during the handshake, `from` one of its addresses, at this address of ours: so it
    /// knows it. Of the path to another one of them that says nothing: it may be of the other family.
    pub(super) fn learn(&mut self, paths: &mut Paths, path: PathId, from: IpAddr, local: IpAddr) {
        self.sources.learn(local);
        if self.sources.knows(local) && paths[path].address.remote() == from {
            paths[path].address.on_answer_at(local);
        }
    }

    //= RFC 9260 5.1.2-5
    /// Takes the peer's `addresses`, that of its INIT or INIT ACK first, as the only ones.
    ///
    /// RFC 9260 §5.1.2 C: "The receiver SHOULD use only these transport addresses"; §5.1.2 A: if none is
    /// listed, the source address "as the only destination transport address for this peer".
    ///
    /// `false` if it is too late, since something is outstanding.
    pub(super) fn adopt(
        &mut self,
        paths: &mut Paths,
        config: &AssociationConfig,
        addresses: &[IpAddr],
        outstanding: bool,
    ) -> bool {
        let usable = self.sources.usable_peers(addresses);
        self.are_omitted |= usable.len() < addresses.len();
        // What is outstanding names its path. It was sent after the first answer of the peer, which has
        // settled the addresses.
        if outstanding {
            return false;
        }
        let sources = &self.sources;
        let encapsulation = paths[PathId(0)].address.encapsulation();
        paths.become_those_to(&usable, |id, remote, others| {
            Path::new(
                id,
                remote,
                source_beside(sources, remote, &others.iter()),
                encapsulation,
                config,
            )
        });
        self.pin(paths);
        true
    }

    /// Takes the peer's `addresses`, that of its INIT first, beside those that its INIT ACK has listed.
    ///
    /// When both ends call each other, a peer that lists none (RFC 6951 §5.7) may have called from another
    /// address than the one that we called: both are its own.
    /// `true` if some are new.
    pub(super) fn join(&mut self, cx: &mut Common<'_>, addresses: &[IpAddr]) -> bool {
        let usable = self.sources.usable_peers(addresses);
        let monitored = cx.state.is_monitored();
        let Common { now, config, paths, .. } = cx;
        let before = paths.len();
        let sources = &self.sources;
        let encapsulation = paths[PathId(0)].address.encapsulation();
        let both: Vec<IpAddr> = paths.iter().map(|p| p.address.remote()).chain(usable).collect();
        paths.become_those_to(&both, |id, remote, others| {
            let local = source_beside(sources, remote, &others.iter());
            let mut path = Path::new(id, remote, local, encapsulation, config);
            // §5.4 rule 2: who brings the cookie has received it there.
            if Some(&remote) == addresses.first() {
                path.reachability.confirm();
            }
            path.heartbeat.plan(monitored.then_some(*now));
            path
        });
        self.are_omitted |= addresses.iter().any(|a| paths.find(*a).is_none());
        paths.len() > before
    }

    /// Gives every path a source that the peer knows of, if there is any.
    fn pin(&self, paths: &mut Paths) {
        for path in paths.ids() {
            let address = &paths[path].address;
            if address.local().is_none_or(|l| !self.sources.knows(l)) {
                let local = source_beside(&self.sources, address.remote(), &paths.iter());
                paths[path].address.begin_from(local);
            }
        }
    }

    /// A packet of the peer arrived at `local` on a path that has not shown to work: that way it may. A
    /// source that was taken just now has one RTO to show that it does.
    pub(super) fn heard_at(&self, cx: &mut Common<'_>, path: PathId, local: IpAddr) {
        let p = &cx.paths[path];
        let tried = p.address.taken_at().is_none_or(|at| cx.now >= at + p.rto());
        if tried && p.doubts_source() {
            self.take(cx, path, local);
        }
    }

    fn take(&self, cx: &mut Common<'_>, path: PathId, local: IpAddr) {
        let address = &cx.paths[path].address;
        let other = !address.shuns(local) && address.could_leave_from(local);
        if other && self.may_leave_from(local) {
            change_source(cx, path, local);
        }
    }

    /// Whether the peer would know a packet from `local`, and our host can send it.
    pub(super) fn may_leave_from(&self, local: IpAddr) -> bool {
        let sources = &self.sources;
        sources.knows(local) && !sources.has_lost(local) && !sources.is_leaving(local)
    }

    /// Paths leave from another source than one that is lost, or that the peer is asked to forget.
    pub(super) fn leave_lost(&self, cx: &mut Common<'_>) {
        for path in cx.paths.ids() {
            let address = &cx.paths[path].address;
            let usable = address.local().is_some_and(|local| self.may_leave_from(local));
            let next = self.sources.next(address.remote(), address.local());
            if !usable && let Some(next) = next.filter(|next| self.may_leave_from(*next)) {
                move_source(cx, path, next);
            }
        }
    }

    /// The peer knows `local` now: a path that had to share its source with another one leaves from there if that is nearer.
    ///
    /// Two networks of which one has lost its address share the other's until it has another: as long as that lasts, both
    /// stand still if it goes, and what one brings is answered over the other.
    pub(super) fn spread_to(&self, cx: &mut Common<'_>, local: IpAddr) {
        for path in cx.paths.ids() {
            let address = &cx.paths[path].address;
            let remote = address.remote();
            let Some(source) = address.local() else { continue };
            let beside =
                |p: &Path| p.address.remote() != remote && p.address.local() == Some(source);
            if cx.paths.iter().any(beside) && self.sources.is_nearer(local, source, remote) {
                self.take(cx, path, local);
            }
        }
    }

    /// The source of an answer on `path` to what arrived at `local`: that address, so that the peer learns
    /// of the pair of addresses that it has tried; `None` for the path's own source.
    pub(super) fn reply_source(
        &self,
        paths: &Paths,
        path: PathId,
        local: IpAddr,
    ) -> Option<IpAddr> {
        let other = paths[path].address.local() != Some(local);
        (other && self.may_leave_from(local)).then_some(local)
    }

    /// Something that was sent on `path` at `sent` was not answered. If it left from an earlier source, of
    /// the one of today it says nothing.
    pub(super) fn doubt(&self, cx: &mut Common<'_>, path: PathId, sent: Time) {
        if !cx.profile().heartbeat.other_sources {
            return;
        }
        let p = &cx.paths[path];
        let Path { address, heartbeat, .. } = p;
        let other = |l: &IpAddr| address.could_leave_from(*l) && self.may_leave_from(*l);
        let found = heartbeat.found().filter(other);
        let next = || self.sources.next(address.remote(), address.local());
        if p.doubts_source()
            && address.is_since(sent)
            && let Some(next) = found.or_else(next)
        {
            cx.paths[path].shun_source();
            change_source(cx, path, next);
        }
        // §8.3: no heartbeats before the association is established, or after SHUTDOWN.
        if cx.state.may_send_data() {
            self.search(cx, path);
        }
    }

    /// Sends heartbeats from other sources than that of `path`.
    fn search(&self, cx: &mut Common<'_>, path: PathId) {
        let p = &cx.paths[path];
        //= RFC 7829 3.2-13
        // RFC 7829 §3.2 rule 5: "if the Path Heartbeat function is disabled for the destination address in
        // question, HEARTBEATs MUST NOT be sent."
        // RFC 9260 §5.4: HEARTBEATs for an unconfirmed address are limited by HB.Max.Burst.
        if !p.is_confirmed() || !p.settings.heartbeats {
            return;
        }
        let mut others = self.sources.others(p.address.remote(), p.address.local());
        others.truncate(SEARCHED);
        if others.is_empty() {
            return;
        }
        try_sources(cx, path, &others);
    }

    /// A path works, be it that a heartbeat was answered or that data takes the place of heartbeats. If it shares its source with
    /// another path, and another source is nearer, that is asked: as long as it is not taken, what the path brings is answered
    /// over the network of the other one.
    pub(super) fn ask_nearer(&self, cx: &mut Common<'_>, path: PathId) {
        let p = &cx.paths[path];
        let asks = cx.profile().heartbeat.other_sources && p.settings.heartbeats;
        if asks
            && cx.state.may_send_data()
            && let Some(source) = self.nearer(cx.paths, path)
        {
            try_sources(cx, path, &[source]);
        }
    }

    /// A source that is nearer than the one that a path shares with another.
    fn nearer(&self, paths: &Paths, path: PathId) -> Option<IpAddr> {
        let address = &paths[path].address;
        let (remote, source) = (address.remote(), address.local()?);
        let is_shared = paths.iter().any(|p| p.id != path && p.address.local() == Some(source));
        let others = self.sources.others(remote, Some(source));
        let nearer = others.into_iter().find(|local| {
            !address.shuns(*local)
                && self.may_leave_from(*local)
                && self.sources.is_nearer(*local, source, remote)
        });
        nearer.filter(|_| is_shared)
    }

    /// A heartbeat of such a search was answered at `local`: from there the path may work. That is for
    /// data to show, or for the next heartbeat, which then leaves at once: a source that only large
    /// packets do not get away from must not look healthy for ever. One that has worked and has lost a
    /// single packet is kept, unless it is another path's and this one is nearer; if it loses another one, this is the next.
    pub(super) fn found(&self, cx: &mut Common<'_>, path: PathId, local: IpAddr) {
        if cx.paths[path].address.shuns(local) {
            return;
        }
        cx.paths[path].heartbeat.end_trial();
        if cx.paths[path].doubts_source() || self.nearer(cx.paths, path) == Some(local) {
            self.take(cx, path, local);
        } else {
            cx.paths[path].heartbeat.keep_found(local);
        }
        let p = &mut cx.paths[path];
        if !p.preferred() && !p.heartbeat.is_awaited() {
            p.heartbeat.plan(Some(cx.now));
        }
    }

    /// The addresses of our host have changed.
    pub(super) fn on_host_change(&mut self, cx: &mut Common<'_>, host: &Arc<Host>) {
        self.sources.set_host(Arc::clone(host));
        let burst = cx.profile().heartbeat.max_burst.max(1);
        let apart = cx.paths.iter().map(Path::rto).min().unwrap_or_default();
        let apart = apart.min(cx.profile().rto.initial());
        let mut asked: u32 = 0;
        for path in cx.paths.ids() {
            let address = &cx.paths[path].address;
            let lost = address.local().is_some_and(|l| self.sources.has_lost(l));
            // If all are lost, it may be the first that is back.
            let next = self.sources.next(address.remote(), address.local());
            let next = next.filter(|l| !self.sources.has_lost(*l));
            if lost && let Some(next) = next {
                move_source(cx, path, next);
            }
            // What works now is known soon, and not a heartbeat interval later; but not all is asked at once.
            let p = &mut cx.paths[path];
            let monitored = cx.state == State::Established && p.settings.heartbeats;
            if monitored && !(p.address.is_proven() && p.usable()) && !p.heartbeat.is_awaited() {
                let at = cx.now + apart * (asked / burst);
                p.heartbeat.hasten(at);
                asked += 1;
            }
        }
    }
}

/// Sends a heartbeat from each of these.
fn try_sources(cx: &mut Common<'_>, path: PathId, sources: &[IpAddr]) {
    let info = HeartbeatInfo { path, sent: cx.now, nonce: cx.rng.next_u64() };
    cx.paths[path].heartbeat.begin_trial(info);
    for source in sources {
        let info = Bytes::copy_from_slice(&info.encode());
        cx.push(path, Control::Heartbeat(info, Some(*source)));
    }
}

/// The source is gone, and `local` takes its place.
fn move_source(cx: &mut Common<'_>, path: PathId, local: IpAddr) {
    change_source(cx, path, local);
    cx.paths[path].address.ask();
}

fn change_source(cx: &mut Common<'_>, path: PathId, local: IpAddr) {
    //= RFC 9260 7.2.5-1 7.2.5.2-1
    // RFC 9260 §7.2.5.2: with "the selection of a different source address ... the congestion control
    // parameters for the affected destination addresses MUST be reset to their initial values".
    cx.paths[path].leave_from(cx.now, local, cx.config);
    cx.paths.search_mtu(path, cx.now);
}
