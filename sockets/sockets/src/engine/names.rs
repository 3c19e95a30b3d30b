//! Which association of a socket has a peer's address.

use std::net::SocketAddr;

use super::Engine;

impl Engine {
    /// The association of a socket with a peer's address. Of several it is the one whose message
    /// was handed over last.
    pub(super) fn association_with(&self, id: u64, peer: SocketAddr) -> Option<u32> {
        let numbers = self.peers.of(&(id, peer.ip(), peer.port()));
        let alive = numbers.iter().filter_map(|number| {
            let association = self.associations.get(number)?;
            (!association.ended && !association.waiting).then_some((association.heard, *number))
        });
        alive.max().map(|(_, number)| number)
    }

    /// Whether one of a socket's associations has that address of its peer.
    pub(super) fn is_peer(&self, id: u64, number: u32, peer: SocketAddr) -> bool {
        self.peers.of(&(id, peer.ip(), peer.port())).contains(&number)
    }

    /// Enters an association with all addresses of its peer: it is new, or its socket or they have
    /// changed.
    pub(super) fn enter_names(&mut self, number: u32) {
        self.drop_names(number);
        let Some(association) = self.associations.get_mut(&number) else { return };
        let Some(id) = association.socket else { return };
        let (core, peer) = (association.core, association.peer);
        let paths = self.raw.act(|endpoint, _| endpoint.path_stats(core));
        let ips = paths.iter().map(|path| path.remote).filter(|ip| *ip != peer.ip());
        association.names =
            std::iter::once(peer.ip()).chain(ips).map(|ip| (id, ip, peer.port())).collect();
        for name in &association.names {
            self.peers.enter(*name, number);
        }
    }

    /// Removes all that `enter_names` entered.
    pub(super) fn drop_names(&mut self, number: u32) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        for name in association.names.drain(..) {
            self.peers.remove(&name, number);
        }
    }
}
