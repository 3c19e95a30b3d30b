//! All associations of an endpoint, and its lists of them: which one a packet is for, what is to be done for whom, what
//! they hold, what they have told. Who changes an association settles it: then the lists are in step again.

use slotmap::SlotMap;

use super::account::{Account, growth};
use super::agenda::Agenda;
use super::claims::Claims;
use super::cookie::Cookie;
use super::index::Index;
use super::past::PastAssociations;
use super::ports::Ports;
use super::tidings::Tidings;
use crate::association::{AcceptedCookie, Association, Identity, PeerKey};
use crate::datagram::Transmit;
use crate::error::{NoAssociation, SendError};
use crate::event::{Event, ReceivedMessage, SendOptions, TraceEvent};
use crate::ids::AssociationId;
use crate::memory::Allowance;
use crate::stats::{AssociationStats, EndpointStats};
use crate::time::Time;
use bytes::Bytes;
use std::net::IpAddr;
use tresse_wire::StreamId;

/// The roll of associations.
#[derive(Debug)]
pub(super) struct Roll {
    associations: SlotMap<AssociationId, Association>,
    /// As many as there may be.
    most: usize,
    /// Which association a packet is for. Closed ones are not in it.
    index: Index,
    agenda: Agenda,
    account: Account,
    claims: Claims,
    past: PastAssociations,
    tidings: Tidings,
    begun: u64,
    ended: u64,
    aborted_for_memory: u64,
}

impl Roll {
    /// None yet, `most` at most, which hold this many bytes of memory.
    pub(super) fn new(most: usize, memory: usize, index: Index) -> Roll {
        Roll {
            associations: SlotMap::with_key(),
            most,
            index,
            agenda: Agenda::default(),
            account: Account::new(memory),
            claims: Claims::default(),
            past: PastAssociations::default(),
            tidings: Tidings::default(),
            begun: 0,
            ended: 0,
            aborted_for_memory: 0,
        }
    }

    #[inline]
    pub(super) fn get(&self, id: AssociationId) -> Option<&Association> {
        self.associations.get(id)
    }

    /// Whoever changes an association [settles](Self::settle) it.
    #[inline]
    pub(super) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        self.associations.get_mut(id)
    }

    /// All of them, in no order that anybody may rely on.
    pub(super) fn ids(&self) -> Vec<AssociationId> {
        self.associations.keys().collect()
    }

    /// Which association a packet is for.
    pub(super) const fn index(&self) -> &Index {
        &self.index
    }

    /// There may be no more.
    pub(super) fn is_full(&self) -> bool {
        self.associations.len() >= self.most
    }

    /// There is no memory for another one.
    pub(super) fn is_scarce(&self) -> bool {
        self.account.is_scarce()
    }

    /// Whether there is room for another one.
    pub(super) fn has_room(&self) -> bool {
        !self.is_full() && !self.is_scarce()
    }

    /// What each may hold now.
    pub(super) fn allowance(&self) -> Allowance {
        self.account.allowance(self.index.len())
    }

    /// How many a source has that this address belongs to.
    pub(super) fn claimed_by(&self, address: IpAddr) -> u32 {
        self.claims.of(address)
    }

    /// Whether a cookie stems from the setup of an association that is over.
    pub(super) fn is_over(&self, now: Time, cookie: &Cookie) -> bool {
        self.past.include(now, cookie)
    }

    /// What an endpoint counts of its associations.
    pub(super) fn count_into(&self, stats: &mut EndpointStats) {
        stats.associations_begun = self.begun;
        stats.associations_ended = self.ended;
        stats.aborted_for_memory = self.aborted_for_memory;
        stats.memory = self.account.total(&self.associations);
    }

    /// The figures of all associations together, also of those that have gone.
    pub(super) fn totals(&self) -> AssociationStats {
        let mut totals = self.past.stats().clone();
        for association in self.associations.values() {
            totals.add(&association.stats());
        }
        totals
    }

    /// Takes an address from the association that has it.
    pub(super) fn release(&mut self, key: &PeerKey) {
        self.index.release(key);
    }

    /// The next address of a peer that was added or removed, if anybody wants to know.
    pub(super) fn next_change(&mut self) -> Option<(PeerKey, bool)> {
        self.index.next_change()
    }

    pub(super) fn insert(&mut self, association: Association) -> AssociationId {
        let tag = association.identity().local_tag.0;
        self.begun += 1;
        let id = self.associations.insert(association);
        self.index.add_tag(tag, id);
        id
    }

    /// Inserts an association that a peer has opened, which was confirmed to be at `address`.
    pub(super) fn accept(
        &mut self,
        mut association: Association,
        address: IpAddr,
    ) -> AssociationId {
        association.begin_within(self.allowance());
        association.listing.claim(address);
        self.claims.add(address);
        self.insert(association)
    }

    /// The peer of an association has restarted.
    pub(super) fn restart(
        &mut self,
        now: Time,
        id: AssociationId,
        cookie: &AcceptedCookie,
        (source, local): (IpAddr, IpAddr),
    ) {
        let Some(a) = self.associations.get_mut(id) else { return };
        self.index.remove_tag(a.identity().local_tag.0);
        a.restart(now, cookie, source, local);
        self.index.add_tag(a.identity().local_tag.0, id);
    }

    /// The peer left a tag behind: a cookie that carries it opens nothing any more.
    pub(super) fn remember(&mut self, now: Time, ports: &Ports, past: Identity) {
        let life = ports.longest_cookie_life(past.local_port);
        self.past.add(now, past, life);
    }

    /// Does something to an association that is not closed; `none` if there is no such one.
    pub(super) fn with<E>(
        &mut self,
        now: Time,
        ports: &Ports,
        (id, none): (AssociationId, E),
        operation: impl FnOnce(&mut Association) -> Result<(), E>,
    ) -> Result<(), E> {
        let a = self.associations.get_mut(id).filter(|a| !a.is_closed());
        let result = operation(a.ok_or(none)?);
        self.settle(now, ports, id);
        result
    }

    /// Drops an association that is closed.
    pub(super) fn forget(&mut self, id: AssociationId) {
        if self.associations.get(id).is_some_and(Association::is_closed) {
            self.remove(id);
        }
    }

    /// Queues a message.
    pub(super) fn send(
        &mut self,
        now: Time,
        ports: &Ports,
        (id, stream): (AssociationId, StreamId),
        payload: Bytes,
        options: SendOptions,
    ) -> Result<(), SendError> {
        let a = self.associations.get_mut(id).ok_or(NoAssociation)?;
        if self.account.is_short() || a.is_bounded() {
            a.keep_within(now, self.account.allowance(self.index.len()));
        }
        self.account.expect(growth(0) + payload.len());
        a.send(now, stream, payload, options)?;
        self.account.touch(id, a);
        self.relieve(now, ports);
        // No event or deadline comes of it that draining `poll_transmit` will not see to.
        self.enqueue(id);
        Ok(())
    }

    /// The next message that arrived.
    pub(super) fn recv(
        &mut self,
        now: Time,
        ports: &Ports,
        id: AssociationId,
    ) -> Option<ReceivedMessage> {
        let a = self.associations.get_mut(id)?;
        if self.account.is_short() {
            a.keep_within(now, self.account.allowance(self.index.len()));
        }
        let message = a.recv(now);
        message.as_ref()?;
        self.account.touch(id, a);
        let tells = !a.journal.is_empty();
        if a.listing.is_leaving() && a.readable() == 0 {
            self.agenda.may_leave(id);
        } else if a.sack_is_due() && !a.is_closed() {
            self.enqueue(id);
        }
        if tells {
            self.settle(now, ports, id);
        }
        message
    }

    /// A packet of this many bytes is about to be taken.
    #[inline]
    pub(super) fn expect(&mut self, packet: usize) {
        self.account.expect(growth(packet));
    }

    /// Takes a packet that is for an association.
    #[inline]
    pub(super) fn deliver(
        &mut self,
        now: Time,
        ports: &Ports,
        id: AssociationId,
        take: impl FnOnce(&mut Association),
    ) {
        let allowance = self.allowance();
        if let Some(a) = self.associations.get_mut(id) {
            a.keep_within(now, allowance);
            take(a);
        }
        self.settle_to_be_polled(now, ports, id);
    }

    /// Runs every timer that is due.
    pub(super) fn handle_timeout(&mut self, now: Time, ports: &Ports) {
        while let Some(id) = self.agenda.take_due(now) {
            if let Some(a) = self.associations.get_mut(id) {
                a.listing.register(None);
                a.keep_within(now, self.account.allowance(self.index.len()));
                a.handle_timeout(now);
            }
            self.settle(now, ports, id);
        }
        self.relieve(now, ports);
    }

    /// The next deadline.
    pub(super) fn next_deadline(&self) -> Option<Time> {
        self.agenda.next_deadline()
    }

    /// The next event.
    pub(super) fn poll_event(&mut self) -> Option<(AssociationId, Event)> {
        self.reap();
        let (id, event) = self.tidings.next_event()?;
        if let Some(a) = self.associations.get_mut(id) {
            a.journal.told(&event);
            self.account.touch(id, a);
            if matches!(event, Event::Closed(_)) {
                a.listing.leave();
                self.agenda.may_leave(id);
            }
        }
        Some((id, event))
    }

    /// The next trace event.
    pub(super) fn poll_trace(&mut self) -> Option<(AssociationId, Time, TraceEvent)> {
        self.tidings.next_trace()
    }

    /// Writes the next packet.
    pub(super) fn poll_transmit(
        &mut self,
        now: Time,
        ports: &Ports,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        loop {
            if let Some(packet) = self.poll_senders(now, buffer) {
                self.relieve(now, ports);
                return Some(packet);
            }
            // What is ended for want of memory has a last packet to send.
            if !self.relieve(now, ports) {
                break;
            }
        }
        self.reap(); // What a closed association still had to send has left.
        None
    }

    /// The next packet of those that may have one to send.
    fn poll_senders(&mut self, now: Time, buffer: &mut Vec<u8>) -> Option<Transmit> {
        let short = self.account.is_short().then(|| self.allowance());
        while let Some(id) = self.agenda.sender() {
            let packet = self.associations.get_mut(id).and_then(|a| {
                let Some(allowance) = short else { return a.poll_transmit(now, buffer) };
                a.keep_within(now, allowance);
                let packet = a.poll_transmit(now, buffer);
                self.account.touch(id, a);
                packet
            });
            if packet.is_some() {
                return packet;
            }
            self.agenda.end_turn();
            if let Some(a) = self.associations.get_mut(id) {
                a.listing.dequeue();
                if a.listing.is_leaving() {
                    self.agenda.may_leave(id);
                }
                self.collect(id);
                self.schedule(id);
            }
        }
        None
    }

    /// After anything happened to an association: passes on its events, and keeps the lists in step with it.
    pub(super) fn settle(&mut self, now: Time, ports: &Ports, id: AssociationId) {
        self.settle_to_be_polled(now, ports, id);
        self.schedule(id);
    }

    /// As `settle`, but deadlines which have come nearer count once `poll_transmit` has asked it for packets.
    fn settle_to_be_polled(&mut self, now: Time, ports: &Ports, id: AssociationId) {
        let Some(a) = self.associations.get_mut(id) else { return };
        if a.is_closed() {
            if self.index.remove_tag(a.identity().local_tag.0) {
                let life = ports.longest_cookie_life(a.identity().local_port);
                self.past.add(now, a.identity(), life);
            }
            self.index.forget_peer(id, a);
        } else {
            self.index.update_peer(id, a);
        }
        self.account.touch(id, a);
        self.enqueue(id);
        self.collect(id);
    }

    /// Has `poll_transmit` ask the association for packets.
    fn enqueue(&mut self, id: AssociationId) {
        if let Some(a) = self.associations.get_mut(id) {
            self.agenda.enqueue(id, &mut a.listing);
        }
    }

    /// Passes on events and trace events.
    fn collect(&mut self, id: AssociationId) {
        if let Some(a) = self.associations.get_mut(id) {
            self.tidings.collect(id, &mut a.journal);
        }
    }

    /// Registers the next deadline of an association, unless an earlier one is registered.
    fn schedule(&mut self, id: AssociationId) {
        let Some(a) = self.associations.get_mut(id) else { return };
        if let Some(next) = a.next_timeout() {
            self.agenda.schedule(id, &mut a.listing, next);
        }
    }

    /// While more memory is used than there is, ends the association that holds the most. Tells whether one
    /// was ended.
    #[inline(always)]
    pub(super) fn relieve(&mut self, now: Time, ports: &Ports) -> bool {
        self.account.is_due() && self.look_and_relieve(now, ports)
    }

    #[cold]
    #[inline(never)]
    fn look_and_relieve(&mut self, now: Time, ports: &Ports) -> bool {
        self.account.audit(&mut self.associations);
        let before = self.aborted_for_memory;
        while let Some(id) = self.account.worst() {
            let Some(worst) = self.associations.get_mut(id) else { break };
            worst.abort_for_memory();
            self.aborted_for_memory += 1;
            self.settle(now, ports, id);
        }
        self.aborted_for_memory > before
    }

    //= RFC 9260 14.2-1
    /// Removes closed associations of which everything was told and read. One that has something left is put on
    /// the list again when the last of it goes, so that those who are never read cost nothing.
    fn reap(&mut self) {
        while let Some(id) = self.agenda.take_leaving() {
            let a = self.associations.get(id);
            if a.is_some_and(|a| a.readable() == 0 && !a.listing.is_queued()) {
                self.remove(id);
            }
        }
    }

    fn remove(&mut self, id: AssociationId) {
        let Some(a) = self.associations.remove(id) else { return };
        self.account.remove(id, &a);
        // What it leaves unread counts as its source's until it is read.
        a.listing.claimed_by().into_iter().for_each(|address| self.claims.remove(address));
        self.ended += 1;
        // What it still holds is nobody's any more.
        let stats = AssociationStats {
            send_buffered: 0,
            receive_buffered: 0,
            peer_rwnd: 0,
            memory: 0,
            ..a.stats()
        };
        self.past.count(&stats);
        self.agenda.strike(id, &a.listing);
    }
}

#[cfg(test)]
impl std::ops::Index<AssociationId> for Roll {
    type Output = Association;

    fn index(&self, id: AssociationId) -> &Association {
        &self.associations[id]
    }
}

#[cfg(test)]
impl std::ops::IndexMut<AssociationId> for Roll {
    fn index_mut(&mut self, id: AssociationId) -> &mut Association {
        &mut self.associations[id]
    }
}

#[cfg(test)]
impl Roll {
    /// What there is room for without more memory.
    pub(super) fn capacity(&self) -> usize {
        self.associations.capacity()
    }

    /// Events that wait.
    pub(super) fn events(&self) -> usize {
        self.tidings.events()
    }

    /// What is to be done for whom.
    pub(super) const fn agenda(&self) -> &Agenda {
        &self.agenda
    }
}
