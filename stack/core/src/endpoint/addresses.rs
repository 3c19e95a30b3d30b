//! The addresses of our host: what a wildcard means, and what happens as interfaces come and go.

use std::net::IpAddr;

use super::Endpoint;
use crate::time::Time;

impl Endpoint {
    /// Tells which addresses the host has now: at the beginning, and each time that they change.
    ///
    /// They are what a port without [`local_addresses`](crate::PortConfig::local_addresses), which is
    /// bound to a wildcard, offers to its peers (RFC 9260 §5.1.2): all of them that a peer can reach,
    /// which leaves out loopback and link-local addresses for most. Leave out those that packets cannot
    /// be sent from, such as IPv6 addresses when there is only a socket for IPv4.
    ///
    /// An association uses the addresses that its peer was told of when it was set up; one that the host
    /// has lost is not used until it is back, whether it was bound explicitly or by a wildcard. Without
    /// this call a wildcard offers nothing, and associations use the one address that their peer has seen.
    pub fn set_host_addresses(&mut self, now: Time, addresses: &[IpAddr]) {
        if !self.ports.move_host(addresses) {
            return;
        }
        for id in self.roll.ids() {
            if let Some(a) = self.roll.get_mut(id).filter(|a| !a.is_closed()) {
                a.on_host_change(now, self.ports.host());
                self.roll.settle(now, &self.ports, id);
            }
        }
    }
}
