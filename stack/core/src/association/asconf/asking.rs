//! What this end asks of its peer (RFC 5061 §5.1): that addresses of ours are added, deleted, or made the primary one.

use std::net::IpAddr;

use tresse_wire::{Asconf, PacketWriter, Parameters};

use super::{AddressChanges, Addresses, Common, Control};
use crate::asconf::Request;
use crate::error::AddressError;
use crate::event::AddressChange;
use crate::ids::PathId;
use crate::path::Paths;
use crate::path::source::{Sources, is_usable};

impl AddressChanges {
    //= RFC 5061 4.2.1-2 4.2.2-2 5.3-1 5.3-11 5.3-12 5.3-13 5.4-1
    /// Asks the peer to add an address of ours, delete it, or send to it. The association is established.
    pub(in crate::association) fn change(
        &mut self,
        cx: &mut Common<'_>,
        addresses: &mut Addresses,
        change: AddressChange,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        if self.requests.are_unknown(change) {
            return Err(AddressError::NotSupported);
        }
        let sources = addresses.sources();
        if !is_usable(address)
            || !cx.paths.iter().any(|p| sources.matches(address, p.address.remote()))
        {
            return Err(AddressError::Unusable { address });
        }
        let remote = cx.paths[cx.paths.primary()].address.remote();
        let unseen = sources.needs_wildcard(address, remote);
        let stays = self.staying(sources);
        match change {
            AddressChange::Add if stays.contains(&address) => {
                return Err(AddressError::Known { address });
            }
            AddressChange::Add => {}
            AddressChange::Delete | AddressChange::SetPrimary if !stays.contains(&address) => {
                return Err(AddressError::Unknown { address });
            }
            // F5: "An endpoint MUST NOT delete its last remaining IP address from an association."
            AddressChange::Delete if stays.len() == 1 => return Err(AddressError::Last),
            //= RFC 6951 3.2-2 5.7-2
            // RFC 6951 §5.7: wildcards only, and that to delete one address deletes all the others.
            AddressChange::Delete if unseen && stays.len() > 2 => {
                return Err(AddressError::Hidden { address });
            }
            AddressChange::Delete | AddressChange::SetPrimary => {}
        }
        if !self.requests.push(Request { change, address, unseen }) {
            return Err(AddressError::TooMany);
        }
        self.pursue(cx, addresses);
        // What the user does not want no host brings back.
        match change {
            AddressChange::Add => addresses.sources_mut().want(address),
            AddressChange::Delete => addresses.sources_mut().decline(address),
            AddressChange::SetPrimary => {}
        }
        Ok(())
    }

    /// Our addresses that the peer knows, once it has granted all that was asked.
    pub(super) fn staying(&self, sources: &Sources) -> Vec<IpAddr> {
        let mut stays = sources.known().to_vec();
        for request in self.requests.open() {
            match request.change {
                AddressChange::Add if !stays.contains(&request.address) => {
                    stays.push(request.address);
                }
                AddressChange::Add => {}
                AddressChange::Delete => stays.retain(|address| *address != request.address),
                AddressChange::SetPrimary => {}
            }
        }
        stays
    }

    //= RFC 5061 4.1.1-4 5.1-1 5.1.1-5 5.3-8 5.3.2-1
    /// The next chunk, if none is under way.
    pub(super) fn pursue(&mut self, cx: &mut Common<'_>, addresses: &mut Addresses) {
        if !cx.state.may_change_addresses() || !self.requests.may_begin() {
            return;
        }
        let sources = addresses.sources();
        let stays = self.staying(sources);
        // §4.1.1: "an address of the sender [...] considered part of the association by the peer"; none if what the peer sees
        // is the address of a NAT. One that is not deleted is so also when the answer is lost, and the chunk comes again from an
        // address that the peer has not heard of.
        let remote = cx.paths[cx.paths.primary()].address.remote();
        let seen = sources.known().iter().filter(|l| !sources.needs_wildcard(**l, remote));
        let lookup = seen.min_by_key(|l| !stays.contains(l));
        let none: IpAddr = match remote {
            IpAddr::V4(_) => [0; 4].into(),
            IpAddr::V6(_) => [0; 16].into(),
        };
        self.requests.begin(lookup.copied().unwrap_or(none));
        // F4: what is deleted "MUST NOT be used as a source address for any subsequent packets".
        let leaving = self.requests.under_way();
        let leaving = leaving.filter(|request| request.change == AddressChange::Delete);
        let leaving: Vec<IpAddr> = leaving.map(|request| request.address).collect();
        leaving.iter().for_each(|address| addresses.sources_mut().leave(*address));
        addresses.leave_lost(cx);
        cx.journal.stats.asconfs_sent += 1;
        let path = self.way(cx.paths, addresses).unwrap_or_else(|| cx.paths.data_path());
        self.send(cx, addresses, path);
    }

    //= RFC 5061 5.1-6
    /// The chunk leaves, the same each time, and the T-4 RTO timer runs.
    fn send(&mut self, cx: &mut Common<'_>, addresses: &Addresses, path: PathId) {
        let source = self.source(cx.paths, addresses, path);
        cx.push(path, Control::Asconf(source));
        let due = cx.expires(path);
        let source = source.or_else(|| cx.paths[path].address.local());
        self.requests.on_sent(cx.now, path, source, due);
    }

    //= RFC 5061 5.3-3 5.3-8 5.3-14 5.3-26
    /// Where it leaves from, if not from the source of the path: from none that it deletes (F6), from the one that is added if
    /// there is no other, or no answer came to it (F1), which holds also for one that the next chunk is to add, and if the peer
    /// sees another address instead, from that in any case. If all of these are gone, any address of the host does: the peer
    /// finds the association by the one that the chunk names (§4.1.1, §5.2 D2).
    ///
    /// If what is deleted is back meanwhile, and all that is left or no answer came to another one, it leaves from there, against F4
    /// and F6: whoever keeps to them says nothing until the association dies, as it does where the peer has no way to the others. A
    /// peer that has not deleted it yet refuses to (F8), and one that has answers there (E6). Not so a wildcard, which from there would
    /// delete the others; and one whose address is gone leaves from what the host has now: what it did is unknown then, and asked again.
    fn source(&self, paths: &Paths, addresses: &Addresses, path: PathId) -> Option<IpAddr> {
        let (p, sources) = (&paths[path].address, addresses.sources());
        let under_way = || self.requests.under_way();
        let fits = |r: &Request| {
            r.change == AddressChange::Add
                && sources.matches(r.address, p.remote())
                && !sources.has_lost(r.address)
        };
        let unseen = || under_way().find(|r| r.unseen && fits(r)).map(|r| r.address);
        let added = || under_way().find(|r| fits(r)).map(|r| r.address);
        let waits = || self.requests.open().find(|r| fits(r)).map(|r| r.address);
        // What a wildcard means depends on the address that it leaves from.
        let wildcard = under_way().any(|r| r.unseen);
        let new = || if wildcard { added() } else { waits() };
        let usable = || p.local().filter(|local| addresses.may_leave_from(*local));
        let primary = || {
            let is_primary = |r: &&Request| r.unseen && r.change == AddressChange::SetPrimary;
            under_way().find(|r| is_primary(r) && !sources.has_lost(r.address))
        };
        let back = || sources.back_again(p.remote()).filter(|_| !wildcard);
        // On each path they take turns: together they would alternate in step with the paths.
        let other = || match self.requests.unanswered(path) % 2 {
            0 => None,
            _ => back().or_else(new),
        };
        // The address that it means is gone, and nothing else of the host would be seen by the peer.
        let hidden = || {
            let hidden = if wildcard { sources.hidden(&[p.remote()]) } else { Vec::new() };
            hidden.first().copied()
        };
        unseen()
            .or_else(|| primary().map(|r| r.address))
            .or_else(other)
            .or_else(usable)
            .or_else(added)
            .or_else(|| sources.to_ask_from(p.remote()))
            .or_else(hidden)
    }

    /// Where the chunk is to leave: the path that carries data if it was answered at its source, else another one that was: a source
    /// that was lost just now is replaced by one that may lead nowhere. If there is none, a path with any source.
    fn way(&self, paths: &Paths, addresses: &Addresses) -> Option<PathId> {
        let mut all = vec![paths.data_path()];
        all.extend(paths.ids().filter(|path| paths[*path].is_confirmed()));
        let is_proven = |path: &&PathId| {
            let p = &paths[**path];
            let known = p.address.local().is_some_and(|local| addresses.may_leave_from(local));
            known && p.address.is_proven() && p.usable()
        };
        let has_any = |path: &&PathId| self.source(paths, addresses, **path).is_some();
        all.iter().find(is_proven).or_else(|| all.iter().find(has_any)).copied()
    }

    //= RFC 5061 5.3-3
    /// A packet of the peer arrived at `local`. If it is asked to add that, it has, and its answer was lost; and if no address of
    /// its is verified, heartbeats leave from there at once, against F1, which has them wait for the answer. Else none of the
    /// two would ever be verified, where both ends have deleted what the other one knew.
    pub(in crate::association) fn heard_at(
        &self,
        cx: &mut Common<'_>,
        addresses: &mut Addresses,
        local: IpAddr,
    ) {
        let mut under_way = self.requests.under_way();
        let added = |r: &Request| r.change == AddressChange::Add && r.address == local;
        if !cx.outbox.has_way(cx.paths) && under_way.any(added) {
            addresses.sources_mut().learn(local);
            addresses.leave_lost(cx);
        }
    }

    /// The chunk has left from an address that is gone, where no answer arrives any more: it leaves again at once, over a path
    /// that has a source.
    pub(super) fn leave_again(&mut self, cx: &mut Common<'_>, addresses: &Addresses) {
        let from = self.requests.sent_from();
        if !cx.state.may_change_addresses()
            || !from.is_some_and(|from| addresses.sources().has_lost(from))
        {
            return;
        }
        self.requests.was_in_vain();
        if let Some(path) = self.way(cx.paths, addresses) {
            self.repeat(cx, addresses, path);
        }
    }

    //= RFC 5061 5.1-10 5.1-11 5.5-2
    /// The T-4 RTO timer expired (B1 to B5): where the chunk was sent that leaves again by [`repeat`](Self::repeat).
    pub(in crate::association) fn expired(&self) -> Option<PathId> {
        self.requests.sent_on().map(|(path, _)| path)
    }

    /// The chunk leaves again, on `path`.
    pub(in crate::association) fn repeat(
        &mut self,
        cx: &mut Common<'_>,
        addresses: &Addresses,
        path: PathId,
    ) {
        cx.journal.stats.asconfs_repeated += 1;
        cx.outbox.drop_asconf();
        self.send(cx, addresses, path);
    }

    /// Writes the ASCONF chunk that is under way, if there still is one.
    pub(in crate::association) fn write(&self, writer: &mut PacketWriter<'_>) {
        if let Some((number, address, list)) = self.requests.chunk() {
            let requests = Parameters::new(&list);
            writer.asconf(&Asconf { number, address, requests });
        }
    }
}
