//! Which association a tag or a peer's address belongs to.
//!
//! The peer's UDP port counts (RFC 6951): clients behind one NAT share its address and may well have
//! chosen the same SCTP port. RFC 9260 §8.5 finds an association by addresses and ports and then
//! checks the tag; here the tag finds it and the address and ports are checked, which is the same for
//! every packet that would be accepted, and also finds the peer whose NAT has changed its UDP port.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;

use tresse_wire::VerificationTag;

use super::peer_tags::{PeerTag, PeerTags};
use crate::association::{Association, Identity, PeerKey};
use crate::ids::AssociationId;

/// The associations that are not closed.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By our verification tag.
    by_tag: BTreeMap<u32, AssociationId>,
    /// By every address of the peer.
    by_peer: BTreeMap<PeerKey, AssociationId>,
    /// By the peer's verification tag, beside the ports.
    by_peer_tag: BTreeMap<PeerTag, AssociationId>,
    /// The tags of the peers of all shards, if this is one.
    peer_tags: Option<PeerTags>,
    /// What was added to `by_peer` and removed from it, if anybody wants to know.
    changes: Option<VecDeque<(PeerKey, bool)>>,
}

impl Index {
    /// That of a shard of an endpoint, which tells what comes and goes; `peer_tags`: the tags of the peers of all shards.
    pub(super) fn of_shard(peer_tags: PeerTags) -> Index {
        Index { peer_tags: Some(peer_tags), changes: Some(VecDeque::new()), ..Index::default() }
    }

    /// The next address that was added (`true`) or removed, if anybody wants to know.
    pub(super) fn next_change(&mut self) -> Option<(PeerKey, bool)> {
        self.changes.as_mut()?.pop_front()
    }

    /// How many associations there are.
    pub(super) fn len(&self) -> usize {
        self.by_tag.len()
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_tag.is_empty() && self.by_peer.is_empty() && self.by_peer_tag.is_empty()
    }

    pub(super) fn of_tag(&self, tag: u32) -> Option<AssociationId> {
        self.by_tag.get(&tag).copied()
    }

    pub(super) fn of_peer(&self, key: &PeerKey) -> Option<AssociationId> {
        self.by_peer.get(key).copied()
    }

    /// The association with the peer that has this verification tag on these ports.
    pub(super) fn of_peer_tag(
        &self,
        (local_port, remote_port): (u16, u16),
        tag: VerificationTag,
    ) -> Option<AssociationId> {
        self.by_peer_tag.get(&(local_port, remote_port, tag.0)).copied()
    }

    /// Whether another shard has an association with that peer; `Some(true)` if that shard has called it.
    pub(super) fn peer_tag_elsewhere(
        &self,
        (local_port, remote_port): (u16, u16),
        tag: VerificationTag,
    ) -> Option<bool> {
        self.peer_tags.as_ref()?.elsewhere((local_port, remote_port, tag.0))
    }

    /// Every association with a peer at this address and these ports, whatever its UDP port.
    pub(super) fn at_ports(
        &self,
        local_port: u16,
        address: IpAddr,
        remote_port: u16,
    ) -> impl Iterator<Item = AssociationId> {
        let key = |encapsulation| PeerKey { local_port, address, remote_port, encapsulation };
        self.by_peer.range(key(None)..=key(Some(u16::MAX))).map(|(_, id)| *id)
    }

    /// Every association with a peer at this address.
    pub(super) fn at_address(&self, address: IpAddr) -> impl Iterator<Item = AssociationId> {
        self.by_peer.iter().filter(move |(key, _)| key.address == address).map(|(_, id)| *id)
    }

    pub(super) fn add_tag(&mut self, tag: u32, id: AssociationId) {
        self.by_tag.insert(tag, id);
    }

    /// Whether the tag was there.
    pub(super) fn remove_tag(&mut self, tag: u32) -> bool {
        self.by_tag.remove(&tag).is_some()
    }

    /// Takes up what the association has learned of its peer: its tag, its addresses, and UDP ports that
    /// have changed.
    pub(super) fn update_peer(&mut self, id: AssociationId, association: &mut Association) {
        self.update_peer_tag(id, association);
        if association.listing.is_indexed(association.paths().len()) {
            return;
        }
        self.remove_addresses(id, association);
        let Identity { local_port, remote_port, .. } = association.identity();
        let keys = association.paths().iter().map(|path| PeerKey {
            local_port,
            address: path.address.remote(),
            remote_port,
            encapsulation: path.address.encapsulation(),
        });
        let keys = keys.collect();
        association.listing.index(keys);
        for key in association.listing.keys() {
            // An address that another association has is not taken from it (RFC 5062 §2).
            if let Entry::Vacant(free) = self.by_peer.entry(*key) {
                free.insert(id);
                if let Some(changes) = &mut self.changes {
                    changes.push_back((*key, true));
                }
            }
        }
    }

    fn update_peer_tag(&mut self, id: AssociationId, association: &mut Association) {
        let Identity { local_port, remote_port, peer_tag, .. } = association.identity();
        if association.listing.tag() == peer_tag {
            return;
        }
        self.remove_peer_tag(id, association);
        association.listing.set_tag(peer_tag);
        if peer_tag.0 != 0 {
            let key = (local_port, remote_port, peer_tag.0);
            if let Entry::Vacant(free) = self.by_peer_tag.entry(key) {
                free.insert(id);
                if let Some(tags) = &self.peer_tags {
                    tags.add(key, !association.origin().was_accepted());
                }
            }
        }
    }

    fn remove_peer_tag(&mut self, id: AssociationId, association: &Association) {
        let Identity { local_port, remote_port, .. } = association.identity();
        let key = (local_port, remote_port, association.listing.tag().0);
        if self.by_peer_tag.get(&key) == Some(&id) {
            self.by_peer_tag.remove(&key);
            if let Some(tags) = &self.peer_tags {
                tags.remove(key);
            }
        }
    }

    /// Takes an address from the association that has it.
    pub(super) fn release(&mut self, key: &PeerKey) {
        if self.by_peer.remove(key).is_some()
            && let Some(changes) = &mut self.changes
        {
            changes.push_back((*key, false));
        }
    }

    /// Forgets the peer of an association.
    pub(super) fn forget_peer(&mut self, id: AssociationId, association: &mut Association) {
        self.remove_peer_tag(id, association);
        self.remove_addresses(id, association);
    }

    fn remove_addresses(&mut self, id: AssociationId, association: &mut Association) {
        for key in association.listing.take_keys() {
            if self.by_peer.get(&key) == Some(&id) {
                self.by_peer.remove(&key);
                if let Some(changes) = &mut self.changes {
                    changes.push_back((key, false));
                }
            }
        }
    }
}
