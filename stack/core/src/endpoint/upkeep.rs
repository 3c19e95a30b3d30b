//! What the endpoint keeps of its associations beside themselves: its lists of them are in step with them after
//! every call.

use super::{AssociationId, Endpoint, Transmit};
use crate::association::Association;
use crate::stats::AssociationStats;
use crate::time::Time;

impl Endpoint {
    pub(super) fn insert(&mut self, association: Association) -> AssociationId {
        let tag = association.identity.local_tag.0;
        self.stats.associations_begun += 1;
        let id = self.associations.insert(association);
        self.index.add_tag(tag, id);
        id
    }

    /// After anything happened to an association: passes on its events, and keeps the endpoint's
    /// lists in step with it.
    pub(super) fn settle(&mut self, now: Time, id: AssociationId) {
        self.settle_to_be_polled(now, id);
        self.schedule(id);
    }

    /// The same, but that deadlines which have come nearer count once `poll_transmit` has asked it for packets.
    pub(super) fn settle_to_be_polled(&mut self, now: Time, id: AssociationId) {
        let Some(a) = self.associations.get_mut(id) else { return };
        if a.is_closed() {
            if self.index.remove_tag(a.identity.local_tag.0) {
                let life = self.ports.longest_cookie_life(a.identity.local_port);
                self.past.add(now, a.identity, life);
            }
            self.index.forget_peer(id, a);
        } else {
            self.index.update_peer(id, a);
        }
        self.account.touch(id, a);
        self.enqueue(id);
        self.tell(id);
    }

    /// The next packet of those that may have one to send.
    pub(super) fn poll_associations(
        &mut self,
        now: Time,
        buffer: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let short = self.account.is_short().then(|| self.budget());
        while let Some(id) = self.agenda.sender() {
            let packet = self.associations.get_mut(id).and_then(|a| {
                let Some(budget) = short else { return a.poll_transmit(now, buffer) };
                a.obey(now, budget);
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
                self.tell(id);
                self.schedule(id);
            }
        }
        None
    }

    /// Has `poll_transmit` ask the association for packets.
    pub(super) fn enqueue(&mut self, id: AssociationId) {
        if let Some(a) = self.associations.get_mut(id) {
            self.agenda.enqueue(id, &mut a.listing);
        }
    }

    /// Passes on events and trace events.
    pub(super) fn tell(&mut self, id: AssociationId) {
        if let Some(a) = self.associations.get_mut(id) {
            self.tidings.collect(id, &mut a.journal);
        }
    }

    /// Registers the next deadline of an association, unless an earlier one is registered.
    pub(super) fn schedule(&mut self, id: AssociationId) {
        let Some(a) = self.associations.get_mut(id) else { return };
        if let Some(next) = a.next_timeout() {
            self.agenda.schedule(id, &mut a.listing, next);
        }
    }

    //= RFC 9260 14.2-1
    /// Removes closed associations of which everything was told and read. One that has something left is put on
    /// the list again when the last of it goes, so that those who are never read cost nothing.
    pub(super) fn reap(&mut self) {
        while let Some(id) = self.agenda.take_leaving() {
            if self
                .associations
                .get(id)
                .is_some_and(|a| a.readable() == 0 && !a.listing.is_queued())
            {
                self.remove(id);
            }
        }
    }

    pub(super) fn remove(&mut self, id: AssociationId) {
        let Some(a) = self.associations.remove(id) else { return };
        self.account.remove(id, &a);
        // What it leaves unread counts as its source's until it is read.
        a.listing.claimed_by().into_iter().for_each(|address| self.claims.remove(address));
        self.stats.associations_ended += 1;
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
