//! Associations that peers have opened, before this side has taken them.

use crate::association::Association;
use crate::peer::Peer;

/// An association that a peer has opened: [`accept`](Self::accept) takes it, [`refuse`](Self::refuse) and dropping it
/// end it at once. What the peer sends in the meantime waits.
///
/// The peer has proved by then that it receives at its address. To keep nothing at all of a peer, not even that long,
/// turn it away with [`EndpointConfig::peers`](tresse_core::EndpointConfig::peers).
#[derive(Debug)]
pub struct Incoming {
    association: Option<Association>,
}

impl Incoming {
    pub(crate) fn new(association: Association) -> Incoming {
        Incoming { association: Some(association) }
    }

    fn get(&self) -> &Association {
        self.association.as_ref().expect("it is there until it is taken")
    }

    /// Who it is: its addresses, its UDP port (`None` on raw IP) and its SCTP port. The first address is the one that it calls
    /// from, where it has proved to receive (RFC 9260 §5.1.3); the others are what it says of itself. That is known also if the
    /// peer has ended it by now.
    #[must_use]
    pub fn peer(&self) -> Peer {
        self.get().peer()
    }

    /// Takes it.
    #[must_use]
    pub fn accept(mut self) -> Association {
        self.association.take().expect("it is there until it is taken")
    }

    /// Aborts it (RFC 9260 §9.1); `reason` is shown to the peer.
    pub fn refuse(mut self, reason: impl AsRef<[u8]>) {
        if let Some(association) = self.association.take() {
            association.abort(reason);
        }
    }
}

impl Drop for Incoming {
    fn drop(&mut self) {
        if let Some(association) = self.association.take() {
            association.abort(b"nobody took this association");
        }
    }
}
