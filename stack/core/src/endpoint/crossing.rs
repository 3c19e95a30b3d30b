//! Two calls that cross, over addresses of which nobody can know yet that they are those of one peer.
//!
//! RFC 9260 §5.2 knows an association by the addresses that INIT, INIT ACK and cookie list. But a peer may
//! list none (RFC 6951 §5.7), or be called at one that it is not bound to. Its call then looks like that of
//! a stranger, and two associations here would come of one of the peer: what it has sent to the one it
//! would send to the other again, once Table 12 B has given it that tag.
//!
//! Whatever the addresses, an association of the peer has one verification tag. Its INIT, its INIT ACK, and
//! our cookie for it carry that tag, so the second of two associations with it is none. Of a call of ours
//! that was answered with that tag,
//!
//! - an INIT with it is one of a collision (§5.2.1),
//! - a COOKIE ECHO with it, but another tag of ours, is one that came late (Table 12 C).
//!
//! And a call that is answered with the tag of a peer which has called us meanwhile is in vain.
//!
//! The shards of an endpoint know the tags of each other's peers. One cannot answer for another: it discards the INIT
//! of a collision, for the COOKIE ECHO of the call, which comes as often as it must, settles it (Table 12 B and D).

use tresse_wire::{CommonHeader, VerificationTag};

use super::roll::Roll;
use crate::association::Association;
use crate::event::CloseReason;
use crate::ids::AssociationId;
use crate::state::State;

impl Roll {
    fn with_peer_tag(&self, header: CommonHeader, tag: VerificationTag) -> Option<AssociationId> {
        self.index().of_peer_tag((header.destination_port, header.source_port), tag)
    }

    /// The association that a call of ours was answered for with this tag of the peer; also one that the peer
    /// has opened, if our tag in `header` is that one's. Of those who call us, two may have the same tag,
    /// however they have come to it.
    pub(super) fn called(
        &self,
        header: CommonHeader,
        tag: VerificationTag,
    ) -> Option<AssociationId> {
        self.with_peer_tag(header, tag).filter(|id| {
            let ours = header.verification_tag;
            let fits =
                |a: &Association| !a.origin().was_accepted() || a.identity().local_tag == ours;
            self.get(*id).is_some_and(fits)
        })
    }

    /// Whether another shard of this endpoint has called the peer with this tag.
    pub(super) fn called_elsewhere(&self, header: CommonHeader, tag: VerificationTag) -> bool {
        let ports = (header.destination_port, header.source_port);
        self.index().peer_tag_elsewhere(ports, tag) == Some(true)
    }

    /// An INIT ACK with the Initiate Tag `tag` answers the call `id`: whether that peer has called us
    /// meanwhile, and is the peer of another association. Then the call ends. The peer hears nothing of
    /// that, for an ABORT would be for the other association as well.
    pub(super) fn ends_call(
        &mut self,
        id: AssociationId,
        header: CommonHeader,
        tag: VerificationTag,
    ) -> bool {
        let ports = (header.destination_port, header.source_port);
        let other = self.with_peer_tag(header, tag).is_some_and(|other| other != id)
            || self.index().peer_tag_elsewhere(ports, tag).is_some();
        let call = self.get_mut(id).filter(|a| other && a.state() == State::CookieWait);
        let Some(call) = call else { return false };
        call.close(CloseReason::Crossed);
        true
    }
}
