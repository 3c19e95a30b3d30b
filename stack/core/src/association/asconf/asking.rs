//! What this end asks of its peer (RFC 5061 §5.1): that addresses of ours are added, deleted, or made the primary one.

use std::net::IpAddr;

use tresse_wire::{AsconfAck, Cause, CauseWriter, Chunk, ChunkType};

use crate::asconf::{Meaning, Request};
use crate::association::{Association, Control, State};
use crate::error::AddressError;
use crate::event::{AddressChange, AddressOutcome, CloseReason};
use crate::path::PathId;
use crate::path::source::is_usable;
use crate::time::Time;

impl Association {
    //= RFC 5061 4.2.1-2 4.2.2-2 5.3-1 5.3-11 5.3-12 5.3-13 5.4-1
    /// Asks the peer to add an address of ours, delete it, or send to it.
    pub(crate) fn change_address(
        &mut self,
        now: Time,
        change: AddressChange,
        address: IpAddr,
    ) -> Result<(), AddressError> {
        match self.state() {
            State::Established => {}
            State::CookieWait | State::CookieEchoed => return Err(AddressError::NotEstablished),
            _ => return Err(AddressError::ShuttingDown),
        }
        let Some(changes) = &self.addresses.changes else {
            return Err(AddressError::NotSupported);
        };
        if changes.requests.are_unknown(change) {
            return Err(AddressError::NotSupported);
        }
        let sources = &self.addresses.sources;
        if !is_usable(address)
            || !self.paths.iter().any(|p| sources.matches(address, p.address.remote()))
        {
            return Err(AddressError::Unusable { address });
        }
        let remote = self.paths[self.paths.primary()].address.remote();
        let unseen = sources.needs_wildcard(address, remote);
        let stays = self.staying();
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
        self.ask_for_change(now, Request { change, address, unseen })?;
        // What the user does not want no host brings back.
        match change {
            AddressChange::Add => self.addresses.sources.want(address),
            AddressChange::Delete => self.addresses.sources.decline(address),
            AddressChange::SetPrimary => {}
        }
        Ok(())
    }

    pub(super) fn ask_for_change(
        &mut self,
        now: Time,
        request: Request,
    ) -> Result<(), AddressError> {
        let Some(changes) = &mut self.addresses.changes else {
            return Err(AddressError::NotSupported);
        };
        if !changes.requests.push(request) {
            return Err(AddressError::TooMany);
        }
        self.pursue_changes(now);
        Ok(())
    }

    /// Our addresses that the peer knows, once it has granted all that was asked.
    pub(super) fn staying(&self) -> Vec<IpAddr> {
        let mut stays = self.addresses.sources.known().to_vec();
        let changes = self.addresses.changes.as_ref();
        for request in changes.into_iter().flat_map(|changes| changes.requests.open()) {
            match request.change {
                AddressChange::Add => stays.push(request.address),
                AddressChange::Delete => stays.retain(|address| *address != request.address),
                AddressChange::SetPrimary => {}
            }
        }
        stays
    }

    //= RFC 5061 4.1.1-4 5.1-1 5.1.1-5 5.3-8 5.3.2-1
    /// The next chunk, if none is under way.
    pub(super) fn pursue_changes(&mut self, now: Time) {
        if !self.may_change_addresses() {
            return;
        }
        let Some(changes) = self.addresses.changes.as_mut().filter(|c| c.requests.may_begin())
        else {
            return;
        };
        // §4.1.1: "an address of the sender [...] considered part of the association by the peer"; none if what the peer sees
        // is the address of a NAT.
        let remote = self.paths[self.paths.primary()].address.remote();
        let sources = &self.addresses.sources;
        let lookup = sources.known().iter().find(|l| !sources.needs_wildcard(**l, remote));
        let none: IpAddr = match remote {
            IpAddr::V4(_) => [0; 4].into(),
            IpAddr::V6(_) => [0; 16].into(),
        };
        changes.requests.begin(lookup.copied().unwrap_or(none));
        // F4: what is deleted "MUST NOT be used as a source address for any subsequent packets".
        let leaving = changes.requests.under_way();
        let leaving = leaving.filter(|request| request.change == AddressChange::Delete);
        let leaving: Vec<IpAddr> = leaving.map(|request| request.address).collect();
        leaving.iter().for_each(|address| self.addresses.sources.leave(*address));
        self.leave_lost_sources(now);
        self.journal.stats.asconfs_sent += 1;
        self.send_asconf(now, self.paths.data_path());
    }

    /// Paths leave from another source than one that is lost, or that the peer is asked to forget.
    pub(super) fn leave_lost_sources(&mut self, now: Time) {
        for path in self.paths.ids() {
            let address = &self.paths[path].address;
            let usable = address.local().is_some_and(|local| self.may_leave_from(local));
            let next = self.addresses.sources.next(address.remote(), address.local());
            if !usable && let Some(next) = next.filter(|next| self.may_leave_from(*next)) {
                self.paths[path].leave_from(now, next, &self.config);
            }
        }
    }

    //= RFC 5061 5.1-6
    /// The chunk leaves, the same each time, and the T-4 RTO timer runs.
    fn send_asconf(&mut self, now: Time, path: PathId) {
        let source = self.asconf_source(path);
        self.push_control(path, Control::Asconf(source));
        let rto = self.paths[path].rto();
        let wait = self.context(now).start_patience(path, rto);
        if let Some(changes) = &mut self.addresses.changes {
            changes.requests.on_sent(now, path, now + wait);
        }
    }

    //= RFC 5061 5.3-3 5.3-8 5.3-14 5.3-26
    /// Where it leaves from, if not from the source of the path: from none that it deletes (F6), from the one that is added if
    /// there is no other (F1), and if the peer sees another address instead, from that in any case.
    fn asconf_source(&self, path: PathId) -> Option<IpAddr> {
        let p = &self.paths[path].address;
        let under_way = || self.addresses.changes.iter().flat_map(|c| c.requests.under_way());
        let added = |seen: bool| {
            let added = under_way().filter(move |r| r.change == AddressChange::Add);
            let fits = |r: &&Request| {
                (seen || r.unseen) && self.addresses.sources.matches(r.address, p.remote())
            };
            let mut added = added.filter(fits).map(|r| r.address);
            added.find(|address| !self.addresses.sources.has_lost(*address))
        };
        let usable = || p.local().filter(|local| self.may_leave_from(*local));
        let primary = || under_way().find(|r| r.unseen && r.change == AddressChange::SetPrimary);
        added(false)
            .or_else(|| primary().map(|r| r.address))
            .or_else(usable)
            .or_else(|| added(true))
    }

    //= RFC 5061 5.1-10 5.1-11 5.5-2
    /// The T-4 RTO timer expired (B1 to B5).
    pub(in crate::association) fn on_changes_timer(&mut self, now: Time) {
        let sent = self.addresses.changes.as_ref().and_then(|changes| changes.requests.sent_on());
        let Some((last, _)) = sent else { return };
        if !self.outlives_silence(now, last) {
            return;
        }
        self.journal.stats.asconfs_repeated += 1;
        self.outbox.drop_asconf();
        self.send_asconf(now, self.paths.alternate(last));
    }

    //= RFC 5061 5.1-7 5.3-2
    /// An ASCONF-ACK chunk, which was authenticated.
    pub(in crate::association) fn on_asconf_ack(&mut self, now: Time, ack: &AsconfAck<'_>) {
        if !self.may_change_addresses() {
            return;
        }
        let Some(changes) = &mut self.addresses.changes else { return };
        let sent = changes.requests.sent_on();
        match changes.requests.on_ack(ack) {
            Meaning::Old => {}
            Meaning::Illegal => {
                let causes = CauseWriter::new().illegal_asconf_ack().finish();
                self.abort_with(causes, CloseReason::ProtocolViolation("illegal ASCONF-ACK"));
            }
            Meaning::Answers(answers) => {
                self.outbox.drop_asconf();
                if let Some((path, sent)) = sent.filter(|(path, _)| self.paths.is_living(*path)) {
                    self.answered(path, sent);
                }
                let (mut has_more, mut has_failed) = (false, false);
                for (request, outcome) in answers {
                    has_more |=
                        request.change == AddressChange::Add && outcome == AddressOutcome::Done;
                    has_failed |= outcome == AddressOutcome::Failed;
                    self.conclude_change(request, outcome);
                }
                self.leave_lost_sources(now);
                self.opportunity();
                self.follow_answers(now, has_more, has_failed);
                self.pursue_changes(now);
            }
        }
    }

    //= RFC 5061 5.3-3 5.3-26
    /// A request was granted, or not.
    fn conclude_change(&mut self, request: Request, outcome: AddressOutcome) {
        let done = outcome == AddressOutcome::Done;
        let sources = &mut self.addresses.sources;
        match request.change {
            // F2
            AddressChange::Add if done => sources.learn(request.address),
            AddressChange::Delete if done => sources.forget(request.address),
            AddressChange::Delete => sources.keep(request.address),
            AddressChange::Add | AddressChange::SetPrimary => {}
        }
        self.tell_of_change(request, outcome);
    }

    //= RFC 5061 4.1.1-8 5.1-9 5.1.1-7
    /// An Unrecognized Chunk Type error cause of the peer: if that is our ASCONF chunk, it gets no more of them (A9).
    pub(in crate::association) fn on_unrecognized_chunk(&mut self, cause: &Cause<'_>) {
        let Cause::UnrecognizedChunkType(chunk) = cause else { return };
        if chunk.first() != Some(&ChunkType::ASCONF.0) {
            return;
        }
        let Some(changes) = &mut self.addresses.changes else { return };
        let open = changes.requests.give_up(true);
        self.outbox.drop_asconf();
        self.addresses.sources.stay();
        for request in open {
            self.tell_of_change(request, AddressOutcome::NotSupported);
        }
    }

    /// Writes the ASCONF chunk that is under way, if there still is one.
    pub(in crate::association) fn write_asconf(&self, writer: &mut tresse_wire::PacketWriter<'_>) {
        let changes = self.addresses.changes.as_ref();
        if let Some((number, address, list)) = changes.and_then(|changes| changes.requests.chunk())
        {
            let requests = tresse_wire::Parameters::new(&list);
            writer.asconf(&tresse_wire::Asconf { number, address, requests });
        }
    }
}

/// The addresses that ASCONF chunks of a packet name, one after the other (RFC 5061 §5.2 D2, D2-ext).
pub(crate) fn lookup_addresses(packet: &tresse_wire::Packet<'_>) -> impl Iterator<Item = IpAddr> {
    packet.chunks().map_while(Result::ok).filter_map(|raw| {
        let asconf = (raw.chunk_type == ChunkType::ASCONF).then(|| Chunk::parse(raw).ok())??;
        if let Chunk::Asconf(asconf) = asconf { Some(asconf.address) } else { None }
    })
}
