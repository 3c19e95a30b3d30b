//! Paths that come with a new address of the peer, and go with one that it has no more (RFC 5061 §5.3).

use std::net::IpAddr;

use super::super::{Association, Control};
use crate::association::addresses::source_beside;
use crate::event::Event;
use crate::path::{Path, PathId};
use crate::time::Time;

impl Association {
    //= RFC 5061 5.3-4 5.3-24
    /// The peer has an address more: its path is asked by a heartbeat before anything else is sent there (F14). `None` if there
    /// are too many.
    pub(super) fn add_path(
        &mut self,
        now: Time,
        remote: IpAddr,
        encapsulation: Option<u16>,
    ) -> Option<PathId> {
        let cumulative = self.sender.cumulative();
        let Association { paths, addresses, config, .. } = self;
        let sources = &addresses.sources;
        let path = paths.add(cumulative, |id, others| {
            let local = source_beside(sources, remote, &others.iter());
            Path::new(id, remote, local, encapsulation, config)
        })?;
        self.reserve_for_authentication();
        self.paths[path].heartbeat.plan(Some(now));
        self.listing.moved = true;
        self.journal.peer_event(Event::PeerAddressAdded(path, remote));
        Some(path)
    }

    //= RFC 5061 5.3-22 5.3-23
    /// An address of the peer is none any more (F13): nothing is sent there again, and what is in flight leaves over another path.
    /// `false` if it is the last one.
    pub(super) fn remove_path(&mut self, now: Time, path: PathId) -> bool {
        let before = self.paths.primary();
        if !self.paths.remove(path, self.sender.next_sequence()) {
            return false;
        }
        let data = self.paths.data_path();
        let p = &mut self.paths[path];
        p.t3.stop();
        p.heartbeat.plan(None);
        p.heartbeat.end_search();
        let address = p.address.remote();
        let (sender, mut cx) = self.sending(now);
        sender.leave_path(&mut cx, path);
        self.outbox.leave_path(path, data);
        self.receiver.leave_path(path, data);
        if let Some(closing) = self.phase.closing_mut() {
            if closing.path == path {
                (closing.path, closing.source) = (data, None);
            }
            closing.answer = closing.answer.filter(|answer| *answer != path);
        }
        if self.origin.path == path {
            self.origin.path = data;
        }
        self.listing.moved = true;
        self.journal.peer_event(Event::PeerAddressRemoved(path, address));
        if self.paths.primary() != before {
            self.primary_changed();
        }
        true
    }

    /// An address was confirmed: what waited for one may leave, and it may be the one that the peer prefers.
    pub(in crate::association) fn on_confirmed(&mut self, path: PathId) {
        if !self.has_changes() {
            return;
        }
        let remote = self.paths[path].address.remote();
        let wanted = self.addresses.preferred.take_if(|preferred| *preferred == remote).is_some();
        if wanted || !self.paths[self.paths.primary()].is_confirmed() {
            self.prefer(path);
        }
        self.opportunity();
    }

    fn prefer(&mut self, path: PathId) {
        if self.paths.primary() != path {
            self.paths.set_primary(path);
            self.primary_changed();
        }
    }

    /// The peer would like data to come to this address.
    pub(super) fn prefer_address(&mut self, path: PathId) {
        let p = &self.paths[path];
        if p.is_confirmed() {
            self.addresses.preferred = None;
            self.prefer(path);
        } else {
            self.addresses.preferred = Some(p.address.remote());
        }
    }

    //= RFC 5061 5.3-5
    /// A chunk on a path that is gone by now leaves on another one, unless it asks just that one something. To addresses none
    /// of which is confirmed nothing leaves but what verifies them, and answers (F1): the rest is sent when its timer expires.
    pub(in crate::association) fn redirect(
        &self,
        path: PathId,
        control: &Control,
    ) -> Option<PathId> {
        if control.needs_confirmed_path() && !self.has_confirmed_path() {
            return None;
        }
        let living = self.paths.is_living(path);
        (living || !control.is_for_its_path()).then(|| self.paths.living(path))
    }
}
