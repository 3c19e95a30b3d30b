//! Paths that come with a new address of the peer, and go with one that it has no more (RFC 5061 §5.3).

use std::net::IpAddr;

use super::{AddressChanges, Affected, Common, Halves};
use crate::association::addresses::source_beside;
use crate::event::Event;
use crate::ids::PathId;
use crate::path::Path;

/// A path whose address is none of the peer's any more, and where its work goes.
#[derive(Clone, Copy, Debug)]
pub(in crate::association) struct Gone {
    pub(in crate::association) path: PathId,
    pub(in crate::association) instead: PathId,
}

impl AddressChanges {
    /// An address was confirmed: what waited for one may leave, and it may be the one that the peer prefers.
    pub(in crate::association) fn on_confirmed(&mut self, cx: &mut Common<'_>, path: PathId) {
        let remote = cx.paths[path].address.remote();
        let wanted = self.preferred.take_if(|preferred| *preferred == remote).is_some();
        if wanted || !cx.paths[cx.paths.primary()].is_confirmed() {
            cx.set_primary(path);
        }
        cx.paths.begin_opportunity(cx.profile());
    }

    /// The association is set up, or begins again: the peer may have said where it would like data to come to.
    pub(in crate::association) fn heed(&mut self, cx: &mut Common<'_>) {
        if let Some(path) = self.preferred.and_then(|primary| cx.paths.find(primary)) {
            self.prefer(cx, path);
        }
    }

    /// The peer would like data to come to this address.
    pub(super) fn prefer(&mut self, cx: &mut Common<'_>, path: PathId) {
        let p = &cx.paths[path];
        if p.is_confirmed() {
            self.preferred = None;
            cx.set_primary(path);
        } else {
            self.preferred = Some(p.address.remote());
        }
    }
}

//= RFC 5061 5.3-4 5.3-24
/// The peer has an address more: its path is asked by a heartbeat before anything else is sent there (F14). `None` if there
/// are too many.
pub(super) fn add_path(
    cx: &mut Common<'_>,
    affected: &mut Affected<'_>,
    remote: IpAddr,
    encapsulation: Option<u16>,
) -> Option<PathId> {
    let cumulative = affected.halves.sender.data().cumulative();
    let (sources, config) = (affected.addresses.sources(), cx.config);
    let path = cx.paths.add(cumulative, |id, others| {
        let local = source_beside(sources, remote, &others.iter());
        Path::new(id, remote, local, encapsulation, config)
    })?;
    affected.authenticator.reserve(cx.paths);
    cx.paths[path].heartbeat.plan(Some(cx.now));
    cx.journal.peer_event(Event::PeerAddressAdded(path, remote));
    Some(path)
}

//= RFC 5061 5.3-22 5.3-23
/// An address of the peer is none any more (F13): nothing is sent there again, and what is in flight leaves over another path.
/// `None` if it is the last one.
pub(super) fn remove_path(
    cx: &mut Common<'_>,
    halves: &mut Halves<'_>,
    path: PathId,
) -> Option<Gone> {
    let before = cx.paths.primary();
    if !cx.paths.remove(path, halves.sender.data().next_sequence()) {
        return None;
    }
    let instead = cx.paths.data_path();
    let p = &mut cx.paths[path];
    p.t3.stop();
    p.heartbeat.plan(None);
    p.heartbeat.end_trial();
    let address = p.address.remote();
    halves.sender.leave_path(&mut cx.sending(), path);
    cx.outbox.leave_path(path, instead);
    halves.receiver.leave_path(path, instead);
    cx.journal.peer_event(Event::PeerAddressRemoved(path, address));
    if cx.paths.primary() != before {
        cx.primary_changed();
    }
    Some(Gone { path, instead })
}
