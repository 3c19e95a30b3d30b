//! ICMP messages about packets that were sent: to which association they belong, and whether they
//! are to be believed (RFC 9260 §10).

use tresse_wire::ChunkType;

use super::Endpoint;
use crate::association::Association;
use crate::datagram::Icmp;
use crate::ids::AssociationId;
use crate::time::Time;

/// The part of a quoted packet that names its association.
struct Quoted {
    ports: (u16, u16),
    tag: u32,
    /// Of an INIT: its Initiate Tag.
    initiate_tag: Option<u32>,
}

impl Quoted {
    /// `None` if it is too short. This is a packet of ours, cut off anywhere, so there is no checksum
    /// to verify.
    fn parse(bytes: &[u8]) -> Option<Quoted> {
        let number = |at: usize| Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?));
        let ports = number(0)?;
        let is_init = bytes.get(12) == Some(&ChunkType::INIT.0);
        Some(Quoted {
            ports: ((ports >> 16) as u16, ports as u16),
            tag: number(4)?,
            initiate_tag: number(16).filter(|_| is_init),
        })
    }

    /// ICMP6: the tag must be the one that the peer expects, or that of the INIT itself.
    fn proves(&self, association: &Association) -> bool {
        let identity = &association.identity();
        match self.tag {
            0 => self.initiate_tag == Some(identity.local_tag.0),
            tag => tag == identity.peer_tag.0,
        }
    }
}

impl Endpoint {
    //= RFC 9260 10-1 12.4-1
    //= RFC 8899 3-9 4.6.1-1 4.6.1-2 4.6.1-3 4.6.1-4 6.2.1.4-1 6.2.2.4-1 8-2 8-3
    /// Takes an ICMP message about a packet that this endpoint sent. What cannot be tied to an
    /// association, or lacks its verification tag, is counted and ignored.
    pub fn handle_icmp(&mut self, now: Time, icmp: &Icmp) {
        let Some(quoted) = &icmp.quoted else {
            let all: Vec<AssociationId> = self.roll.index().at_address(icmp.destination).collect();
            for id in all {
                self.apply_icmp(now, id, icmp, false);
            }
            return;
        };
        //= RFC 9260 10-3 10-4 10-5
        //= RFC 6951 5.5-1
        // ICMP5: "If the association cannot be found, an implementation SHOULD ignore the ICMP
        // message." ICMP6: the tag "MUST" match.
        let found = Quoted::parse(quoted).and_then(|quoted| {
            let (ours, theirs) = quoted.ports;
            let mut known = self.roll.index().at_ports(ours, icmp.destination, theirs);
            let proven = |id: &AssociationId| {
                self.roll.get(*id).is_some_and(|association| quoted.proves(association))
            };
            known.find(proven).map(|id| (id, quoted.tag == 0))
        });
        match found {
            Some((id, is_init)) => self.apply_icmp(now, id, icmp, is_init),
            None => self.stats.icmp_ignored += 1,
        }
    }

    fn apply_icmp(&mut self, now: Time, id: AssociationId, icmp: &Icmp, is_init: bool) {
        self.stats.icmp_accepted += 1;
        if let Some(a) = self.roll.get_mut(id) {
            a.on_icmp(now, icmp.destination, icmp.kind, is_init);
        }
        self.roll.settle(now, &self.ports, id);
    }
}
