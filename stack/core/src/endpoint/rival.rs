//! An INIT from the address and the SCTP ports of an association, but from another UDP port: the peer has
//! restarted and its NAT gave it another one, or a second host behind that NAT uses the same SCTP port.
//!
//! RFC 6951 §5.4 has only the generic lookup, which would take every such host for a restart. The peer that
//! we know can tell: it is asked by heartbeats, and the INIT, which will come again, waits. If it answers,
//! the INIT is a stranger's. If two heartbeats in a row are lost, it is that of a restart.

use super::cookie::Cookie;
use super::ports::Ports;
use super::roll::Roll;
use crate::datagram::Datagram;
use crate::ids::AssociationId;
use crate::time::Time;
use tresse_wire::CommonHeader;

/// Where more associations than this could be meant, all are taken for strangers'.
const MAX_ASKED: usize = 4;
/// This many are asked at the same time: what an INIT draws stays below three times its bytes. It comes
/// again, and asks the others.
const ASKED_AT_ONCE: usize = 2;

/// Who an INIT may be from, besides a stranger.
pub(super) enum Rival {
    /// All peers that it could be are still there.
    Nobody,
    /// They have been asked.
    Unknown,
    /// The peer of this association, which is no longer where it was.
    Restarted(AssociationId),
}

impl Roll {
    /// Looks whether the INIT in `datagram` is a restart from another UDP port.
    pub(super) fn rival(
        &mut self,
        now: Time,
        ports: &Ports,
        datagram: &Datagram,
        header: CommonHeader,
    ) -> Rival {
        let ids = self.at_other_ports(datagram, header);
        if ids.len() > MAX_ASKED {
            return Rival::Nobody;
        }
        let mut asked = 0;
        for id in ids {
            if asked == ASKED_AT_ONCE {
                break;
            }
            let Some(a) = self.get_mut(id) else { continue };
            let Some(path) = a.paths().find(datagram.source) else { continue };
            match a.is_present(now, path) {
                Some(true) => {}
                Some(false) => return Rival::Restarted(id),
                None => {
                    asked += 1;
                    self.settle(now, ports, id);
                }
            }
        }
        if asked > 0 { Rival::Unknown } else { Rival::Nobody }
    }

    /// The association that a cookie for such a restart names, unless its peer has answered meanwhile.
    pub(super) fn restarted_elsewhere(
        &self,
        datagram: &Datagram,
        header: CommonHeader,
        cookie: &Cookie,
    ) -> Option<AssociationId> {
        self.at_other_ports(datagram, header).into_iter().find(|id| {
            self.get(*id).is_some_and(|a| {
                let ties = (a.identity().local_tie_tag, a.identity().peer_tie_tag);
                let path = a.paths().find(datagram.source);
                ties == (cookie.local_tie_tag, cookie.peer_tie_tag)
                    && path.is_some_and(|path| a.paths()[path].heartbeat.is_unanswered())
            })
        })
    }

    /// The associations at that address and these SCTP ports, whatever the UDP port; a few.
    fn at_other_ports(&self, datagram: &Datagram, header: CommonHeader) -> Vec<AssociationId> {
        let (ours, theirs) = (header.destination_port, header.source_port);
        self.index().at_ports(ours, datagram.source, theirs).take(MAX_ASKED + 1).collect()
    }
}
