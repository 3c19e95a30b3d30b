//! Which association of a socket has a peer's address: messages are sent by address, and there may
//! be many associations.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use super::Engine;

/// A socket, and address and port of a peer of its.
pub(super) type Name = (u64, IpAddr, u16);

/// The associations of each name: several if peers behind one NAT use the same port.
#[derive(Default)]
pub(super) struct Peers(HashMap<Name, Vec<u32>>);

impl Engine {
    /// The association of a socket with a peer's address. Of several it is the one whose message
    /// was handed over last.
    pub(super) fn association_with(&self, id: u64, peer: SocketAddr) -> Option<u32> {
        let numbers = self.peers.0.get(&(id, peer.ip(), peer.port()))?;
        let alive = numbers.iter().filter_map(|number| {
            let association = self.associations.get(number)?;
            (!association.ended && !association.waiting).then_some((association.heard, *number))
        });
        alive.max().map(|(_, number)| number)
    }

    /// Whether one of a socket's associations has that address of its peer.
    pub(super) fn is_peer(&self, id: u64, number: u32, peer: SocketAddr) -> bool {
        let numbers = self.peers.0.get(&(id, peer.ip(), peer.port()));
        numbers.is_some_and(|numbers| numbers.contains(&number))
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
            self.peers.0.entry(*name).or_default().push(number);
        }
    }

    /// Removes all that `enter_names` entered.
    pub(super) fn drop_names(&mut self, number: u32) {
        let Some(association) = self.associations.get_mut(&number) else { return };
        for name in association.names.drain(..) {
            if let Some(numbers) = self.peers.0.get_mut(&name) {
                numbers.retain(|other| *other != number);
                if numbers.is_empty() {
                    self.peers.0.remove(&name);
                }
            }
        }
    }
}
