//! Which association a packet is for (RFC 9260 §8.5, RFC 5061 §5.2).

use std::net::IpAddr;

use tresse_wire::{CommonHeader, Packet};

use super::roll::Roll;
use crate::association::{Association, PeerKey, lookup_addresses};
use crate::datagram::Datagram;
use crate::ids::AssociationId;
use crate::state::State;

impl Roll {
    /// The association that a tag of ours names, if the ports agree with it.
    pub(super) fn tagged(&self, header: CommonHeader) -> Option<(AssociationId, &Association)> {
        let id = self.index().of_tag(header.verification_tag.0)?;
        let found = self.get(id)?;
        let ports = (found.identity().local_port, found.identity().remote_port);
        (ports == (header.destination_port, header.source_port)).then_some((id, found))
    }

    /// The association of a packet: by our tag if address and ports agree, else by those alone, for
    /// what bears another tag or none. An INIT ACK may come from any address (§5.1.3); so may anything
    /// from a peer of whose addresses some were left out.
    pub(super) fn find(&self, datagram: &Datagram, header: CommonHeader) -> Option<AssociationId> {
        let (ours, theirs) = (header.destination_port, header.source_port);
        let tagged = self.tagged(header).filter(|(_, a)| {
            a.state() == State::CookieWait
                || a.addresses().are_omitted()
                || a.paths().find(datagram.source).is_some()
        });
        tagged.map(|(id, _)| id).or_else(|| {
            self.index().of_peer(&PeerKey {
                local_port: ours,
                address: datagram.source,
                remote_port: theirs,
                encapsulation: datagram.encapsulation,
            })
        })
    }

    //= RFC 5061 5.2-1 5.3.2-2
    /// The association of a packet from another address that the peer has now: by our tag, and the Address Parameter of its
    /// ASCONF chunk, of one of several (RFC 5061 §5.2 D2, D2-ext).
    pub(super) fn named(&self, header: CommonHeader, packet: &Packet<'_>) -> Option<AssociationId> {
        let (id, a) = self.tagged(header)?;
        lookup_addresses(packet).any(|lookup| a.is_named_by(lookup)).then_some(id)
    }

    //= RFC 9260 5.1.2-6
    /// §5.1.2 D: any address of the INIT may identify an existing association. But one that a peer has
    /// listed and that was never confirmed to be its own (§5.4) is no proof, unless the packet comes from
    /// there: behind different NATs, many hosts have the same private address.
    pub(super) fn find_any(
        &self,
        addresses: &[IpAddr],
        datagram: &Datagram,
        header: CommonHeader,
    ) -> Option<AssociationId> {
        addresses.iter().find_map(|address| {
            let id = self.index().of_peer(&PeerKey {
                local_port: header.destination_port,
                address: *address,
                remote_port: header.source_port,
                encapsulation: datagram.encapsulation,
            })?;
            (self.has_confirmed(id, *address) || *address == datagram.source).then_some(id)
        })
    }

    /// Whether an association has this peer. §5.4: what another peer has listed, and was never confirmed to be
    /// its own, takes nobody's place.
    pub(super) fn is_taken(&self, key: &PeerKey) -> bool {
        self.index().of_peer(key).is_some_and(|id| self.has_confirmed(id, key.address))
    }

    /// Whether an address was confirmed to be one of the association's peer (§5.4).
    pub(super) fn has_confirmed(&self, id: AssociationId, address: IpAddr) -> bool {
        let Some(paths) = self.get(id).map(Association::paths) else { return false };
        paths.find(address).is_some_and(|path| paths[path].is_confirmed())
    }
}
