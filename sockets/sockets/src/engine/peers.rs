//! Which associations have a peer's address: messages are sent by address, and there may be many associations.

use std::collections::HashMap;
use std::net::IpAddr;

/// A socket, and address and port of a peer of its.
pub(super) type Name = (u64, IpAddr, u16);

/// The associations of each name: several if peers behind one NAT use the same port.
#[derive(Default)]
pub(super) struct Peers(HashMap<Name, Vec<u32>>);

impl Peers {
    pub(super) fn of(&self, name: &Name) -> &[u32] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    pub(super) fn enter(&mut self, name: Name, number: u32) {
        self.0.entry(name).or_default().push(number);
    }

    pub(super) fn remove(&mut self, name: &Name, number: u32) {
        if let Some(numbers) = self.0.get_mut(name) {
            numbers.retain(|other| *other != number);
            if numbers.is_empty() {
                self.0.remove(name);
            }
        }
    }
}
